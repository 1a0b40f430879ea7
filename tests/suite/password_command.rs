//! `--password-command`: when it runs, what it gets, and what its failures look like.

use std::fs;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use crate::reload::Site;
use crate::serve::echo;
use support::parts::Squid;
use support::socks::Microsocks;
use support::{eventually, Connection, Finished, Peer, Ptunnel, TempDir};

/// A keyring of one password: a script that prints it and counts its runs.
struct Keyring {
    folder: TempDir,
    command: String,
}

impl Keyring {
    fn new(password: &str) -> Keyring {
        Keyring::printing("cat \"$folder/password\"").with(password)
    }

    /// A keyring whose script ends with these lines.
    fn printing(script: &str) -> Keyring {
        let folder = TempDir::new();
        let place = folder.path().display();
        let text = format!(
            "#!/bin/sh\nfolder='{}'\necho run >>\"$folder/runs\"\n{}\n",
            place, script
        );
        let command = folder.file_with_mode("keyring", 0o700, text);
        Keyring { folder, command }
    }

    fn with(self, password: &str) -> Keyring {
        self.change(password);
        self
    }

    fn change(&self, password: &str) {
        self.folder
            .file("password", format!("{}\nmore\n", password));
    }

    fn runs(&self) -> usize {
        let runs = fs::read_to_string(self.folder.at("runs"));
        runs.map_or(0, |runs| runs.lines().count())
    }

    /// The program with this keyring, as joe.
    fn through(&self, proxy: impl std::fmt::Display) -> Ptunnel {
        Ptunnel::through(proxy).args(&["-U", "joe", "--password-command", &self.command, "-vvv"])
    }
}

#[track_caller]
fn assert_open(mut client: Connection) {
    client.send("hello");
    client.expect("hello");
}

/// The first password is wrong, as after a change that the keyring doesn't have yet.
#[test]
fn after_a_refusal_it_runs_again_and_a_changed_password_is_sent() {
    let server = echo();
    for squid in &[
        Squid::start(Some(("joe", "right"))),
        Squid::with_digest("joe", "right", 10),
    ] {
        let keyring = Keyring::new("wrong");
        let program = keyring.through(squid.address());
        let program = program.to(server.address()).start();
        assert_eq!(keyring.runs(), 0, "no tunnel has needed it");
        program.connect().expect_nothing();
        program.says(&["407", "rejected the username or the password"]);
        program.connect().expect_nothing();
        program.says(&["rejected the password before"]);
        assert_eq!(
            keyring.runs(),
            2,
            "the same password isn't sought once more"
        );
        assert!(!program.stderr().contains("wrong"), "{}", program.stderr());
        drop(program);

        keyring.change("wrong");
        let program = keyring.through(squid.address());
        let program = program.to(server.address()).start();
        program.connect().expect_nothing();
        keyring.change("right");
        assert_open(program.connect());
        let clients: Vec<Connection> = (0..10).map(|_| program.connect()).collect();
        clients.into_iter().for_each(assert_open);
        assert_eq!(keyring.runs(), 4);
        assert!(!program.stderr().contains("right"), "{}", program.stderr());
    }
}

/// The password that was accepted is changed on both sides while the program runs.
#[test]
fn a_password_that_expires_costs_one_tunnel() {
    let valid = Arc::new(Mutex::new("am9lOm9uZQ==")); // joe:one
    let now = valid.clone();
    let proxy = Peer::start(move |mut connection: Connection| {
        let head = String::from_utf8(connection.read_head()).unwrap();
        if head.contains(&format!("Basic {}\r\n", now.lock().unwrap())) {
            connection.send("HTTP/1.1 200 OK\r\n\r\n");
            return connection.echo();
        }
        connection.send(
            "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n",
        );
    });
    let keyring = Keyring::new("one");
    let program = keyring
        .through(proxy.address())
        .to("example.org:22")
        .start();
    for (password, encoded) in &[("two", "am9lOnR3bw=="), ("six", "am9lOnNpeA==")] {
        assert_open(program.connect());
        let mut open = program.connect();
        open.send("hello");
        open.expect("hello");
        *valid.lock().unwrap() = encoded;
        keyring.change(password);
        program.connect().expect_nothing();
        assert_open(program.connect());
        assert_open(open);
    }
    assert_eq!(keyring.runs(), 3);
}

/// A directory locks the account after a few wrong passwords.
#[test]
fn a_command_with_a_new_password_each_time_sends_two() {
    let refused =
        "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n";
    let proxy = Peer::replying(refused);
    let keyring = Keyring::printing("date +%s%N");
    let program = keyring
        .through(proxy.address())
        .to("example.org:22")
        .start();
    for _ in 0..3 {
        let clients: Vec<Connection> = (0..10).map(|_| program.connect()).collect();
        clients
            .into_iter()
            .for_each(|mut client| client.expect_nothing());
    }
    let heads = proxy.heads();
    let sent = heads.iter().filter(|head| head.contains("Basic "));
    assert_eq!(sent.count(), 2, "{:?}", heads);
    assert!(keyring.runs() <= 3, "{} runs", keyring.runs());
}

/// A keyring can ask its user in a window.
#[test]
fn other_tunnels_do_not_wait_for_it() {
    let (proxy, server) = (Peer::echoing(), echo());
    let keyring = Keyring::printing("while [ ! -e \"$folder/go\" ]; do sleep 0.05; done; echo x");
    let program = keyring.through(proxy.address());
    let program = program.args(&["--no-proxy", "127.0.0.1"]);
    let program = program.to("example.org:22").to(server.address()).start();
    let waiting = program.connect();
    eventually("it runs", || keyring.runs() == 1);
    assert_open(program.connect_to(1));
    assert!(proxy.heads().is_empty(), "{:?}", proxy.heads());
    keyring.folder.file("go", "");
    assert_open(waiting);
    assert_eq!(keyring.runs(), 1);
}

#[test]
fn it_gets_no_socket_and_no_variable_of_the_program() {
    let proxy = Peer::echoing();
    let script = "env >\"$folder/env\"; ls /proc/self/fd >\"$folder/fds\"; echo x";
    let keyring = Keyring::printing(script);
    let program = keyring.through(proxy.address()).after("exec 7</dev/null");
    let program = program
        .env("LISTEN_FDS", "5")
        .env("LISTEN_PID", "1")
        .env("PTUNNEL_SERVE_PASSWORD", "x")
        .env("OF_THE_KEYRING", "1");
    let program = program.to("example.org:22").start();
    assert_open(program.connect());
    let env = fs::read_to_string(keyring.folder.at("env")).unwrap();
    assert!(env.contains("OF_THE_KEYRING=1\n"), "{}", env);
    assert!(
        !env.contains("LISTEN_") && !env.contains("PTUNNEL_"),
        "{}",
        env
    );
    let fds = fs::read_to_string(keyring.folder.at("fds")).unwrap();
    // The last one is that of the folder.
    assert_eq!(fds, "0\n1\n2\n3\n");
}

#[track_caller]
fn assert_fails(finished: &Finished, code: i32, words: &[&str]) {
    finished.expect_code(code);
    let said = &finished.stderr;
    assert!(words.iter().all(|word| said.contains(word)), "{}", said);
    assert!(!said.contains("hunter2"), "{}", said);
}

#[test]
fn a_failure_names_the_program_and_its_reason_but_not_its_output() {
    let squid = Squid::start(Some(("joe", "right")));
    let fail = |command: &str| {
        let program = Ptunnel::through(squid.address()).args(&["-U", "joe", "-W", "a.example:22"]);
        program.args(&["--password-command", command]).run()
    };
    let no_password = "there is no password, because its command failed";
    for (command, words) in &[
        (
            "/nonexistent/pass x",
            &["'/nonexistent/pass': No such file"][..],
        ),
        (
            "sh -c 'echo hunter2; echo locked >&2; exit 7'",
            &["'sh': it ended with exit status 7 (locked);"],
        ),
        ("true", &["'true': the first line of its output is empty"]),
        (
            "printf 'hunter2\\tx'",
            &["'printf': the first line of its output isn't"],
        ),
    ] {
        let finished = fail(command);
        assert_fails(&finished, 4, words);
        assert_fails(
            &finished,
            4,
            &["cannot get the proxy password", no_password],
        );
    }
    assert_fails(&fail("pass | head"), 2, &["'|' needs a shell"]);
    assert_fails(
        &fail("pass 'x"),
        2,
        &["--password-command: ", "no counterpart"],
    );
}

#[test]
fn a_socks_proxy_gets_it_too() {
    let (server, socks) = (echo(), Microsocks::start(Some(("joe", "right"))));
    let keyring = Keyring::new("right");
    let program = keyring.through(format!("socks5h://{}", socks.address()));
    let program = program.to(server.address()).start();
    assert_open(program.connect());
    let failing = Keyring::printing("exit 1");
    let program = failing.through(format!("socks5h://{}", socks.address()));
    let finished = program.args(&["-W", &server.address().to_string()]).run();
    assert_fails(
        &finished,
        4,
        &["exit status 1", "printed more than 255 bytes"],
    );
}

#[test]
fn a_check_does_not_run_it_and_a_test_does() {
    let (server, squid) = (echo(), Squid::start(Some(("joe", "right"))));
    let keyring = Keyring::new("right");
    let program = || {
        keyring
            .through(squid.address())
            .tunnel(&format!("1:{}", server.address()))
    };
    let checked = program().arg("--check-config").run();
    let expected = format!(
        "as joe with the password of '{}' (not run)",
        keyring.command
    );
    assert!(checked.text().contains(&expected), "{}", checked.text());
    assert_eq!(keyring.runs(), 0);
    program().arg("--test").run().expect_code(0);
    assert_eq!(keyring.runs(), 1);
}

#[test]
fn a_reload_forgets_the_password() {
    let proxy = Peer::echoing();
    let keyring = Keyring::new("x");
    let text = format!(
        "proxy = '{}'\nuser = 'joe'\ntunnels = ['0:example.org:22']\npassword-command = \"{}\"\n",
        proxy.address(),
        keyring.command
    );
    let mut site = Site::start_as(Ptunnel::new(), &text, 1);
    assert_open(site.program().connect());
    assert_open(site.program().connect());
    assert_eq!(keyring.runs(), 1);
    site.reload(&text);
    assert_open(site.program().connect());
    assert_eq!(keyring.runs(), 2);
}

/// A program without commands gives up the right to start any.
#[test]
fn a_reload_that_adds_the_first_command_asks_for_a_restart() {
    let proxy = Peer::echoing();
    let text = format!(
        "proxy = '{}'\ntunnels = ['0:example.org:22']\n",
        proxy.address()
    );
    let mut site = Site::start_as(Ptunnel::new(), &text, 1);
    site.reload(&format!(
        "{}user = 'joe'\npassword-command = 'true'\n",
        text
    ));
    assert_open(site.program().connect());
    site.program()
        .says(&["'true': Operation not permitted", "restart it"]);
}

#[test]
fn listeners_take_their_passwords_from_commands() {
    let keyring = Keyring::new("right");
    let program = |command: &str| {
        let program = Ptunnel::new().args(&["--serve-user", "joe"]).serving();
        program.args(&["--serve-password-command", command])
    };
    let running = program(&keyring.command).start();
    let server = echo();
    let request_to = |listener: SocketAddr, login: &str| {
        let mut client = Connection::open(listener);
        let login = format!("Proxy-Authorization: Basic {}\r\n", login);
        client.send(format!(
            "CONNECT {} HTTP/1.1\r\n{}\r\n",
            server.address(),
            login
        ));
        String::from_utf8(client.read_head()).unwrap()
    };
    let checks_password = |listener| {
        let [right, wrong] = ["am9lOnJpZ2h0", "am9lOndyb25n"];
        assert!(request_to(listener, right).contains(" 200 "), "joe:right");
        assert!(request_to(listener, wrong).contains(" 407 "), "joe:wrong");
    };
    checks_password(running.proxy());
    assert_eq!(keyring.runs(), 1);
    let words = ["--serve-password-command 'false': it ended with exit status 1"];
    assert_fails(&program("false").run(), 2, &words);
    let checked = program("false").arg("--check-config").run();
    checked.expect_code(0);
    assert!(checked
        .text()
        .contains("--check-config doesn't run the command"));

    let program = Ptunnel::new().args(&["-D", "0", "--no-proxy", "*", "--dynamic-user", "joe"]);
    let program = program.args(&["--dynamic-password-command", &keyring.command]);
    let running = program.more_lines(1).start();
    checks_password(running.address());
    assert_eq!(keyring.runs(), 2);
}

/// Regression: at the start, before ptunnel confines itself, `sudo` worked in such a command, and at the
/// first reload no more.
#[test]
fn a_command_for_a_listener_gains_no_privileges() {
    let command = "sh -c 'grep -q NoNewPrivs:.1 /proc/self/status'";
    let outcome = |unconfined: &[&str]| {
        let program = Ptunnel::new().args(&["-D", "0", "--no-proxy", "*", "--dynamic-user", "joe"]);
        let program = program.args(&["--dynamic-password-command", command]);
        program.args(unconfined).run()
    };
    let confined = "'sh': the first line of its output is empty";
    assert_fails(&outcome(&[]), 2, &[confined]);
    let unconfined = "'sh': it ended with exit status 1";
    assert_fails(&outcome(&["--unconfined"]), 2, &[unconfined]);
}
