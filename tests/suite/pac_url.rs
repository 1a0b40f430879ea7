//! `--pac URL`: a PAC file that is fetched, fetched again, and kept while it can't be fetched.

use std::fs;
use std::io::BufRead;
use std::net::{SocketAddr, TcpListener};

use crate::pac::{count_of, greeting, saying};
use crate::route::proxy;
use crate::status::{evaluated, eventually_is};
use support::parts::Nginx;
use support::temp::free_port;
use support::{closed_address, eventually, sys, Connection, Finished};
use support::{Peer, Ptunnel, TempDir};

/// Returns a script that names this proxy.
fn naming(proxy: &Peer) -> String {
    saying(&format!("return 'PROXY {}';", proxy.address()))
}

fn url(address: SocketAddr) -> String {
    format!("http://{}/proxy.pac", address)
}

fn fetching(url: &str) -> Ptunnel {
    Ptunnel::new().args(&["--pac", url]).to("a.example:1")
}

/// Replies to each request with this script.
fn serving(script: String) -> impl Fn(Connection) + Send + Sync {
    move |mut connection| {
        connection.read_head();
        connection.send(format!("HTTP/1.1 200 OK\r\n\r\n{}", script));
        connection.finish_sending();
        connection.drain();
    }
}

/// Starts a server with this script at the address of one that has ended.
fn server_at(address: SocketAddr, script: String) -> Peer {
    Peer::start_on(address, serving(script))
}

#[test]
fn nginx_serves_a_file_over_http_and_https() {
    let (nginx, one) = (Nginx::start(), proxy("one"));
    nginx.serve("proxy.pac", naming(&one));
    let secure = format!("https://localhost:{}/proxy.pac", nginx.tls().port());
    for url in &[url(nginx.address()), secure.clone()] {
        let program = fetching(url)
            .args(&["--proxy-cacert", &nginx.certificate()])
            // The fetch itself uses no proxy.
            .env("https_proxy", format!("http://{}", closed_address()))
            .env("http_proxy", format!("http://{}", closed_address()))
            .start();
        assert_eq!(greeting(&program, 0), "one");
        let line = &program.listening()[0].line;
        let end = format!("for a.example:1 by PAC file {}", url);
        assert!(line.ends_with(&end), "{}", line);
    }
    // The server is verified as an https:// proxy is.
    let program = Ptunnel::new().args(&["--pac", &secure, "-W", "a.example:1"]);
    let finished: Finished = program.run();
    finished.expect_code(1);
    for words in &["certificate is self-signed", "--proxy-cacert"] {
        assert!(finished.stderr.contains(words), "{}", finished.stderr);
    }
    let program = fetching(&secure).arg("--proxy-insecure").start();
    assert_eq!(greeting(&program, 0), "one");
    program.says(&["warning", "not verified (--proxy-insecure)"]);
}

/// Regression: such a reply was invalid.
#[test]
fn fields_of_a_reply_with_an_invalid_name_are_ignored() {
    let one = proxy("one");
    let script = naming(&one);
    let server = Peer::start(move |mut connection| {
        connection.read_head();
        let fields = format!("Two Words: x\r\nContent-Length : {}\r\n", script.len());
        connection.send(format!(
            "HTTP/1.1  200 OK\r\nX: a\x01\r\n{}\r\n{}",
            fields, script
        ));
        connection.drain();
    });
    let program = fetching(&url(server.address())).start();
    assert_eq!(greeting(&program, 0), "one");
}

#[test]
fn a_new_script_is_found_by_interval_and_nothing_else_changes() {
    let (nginx, one, two) = (Nginx::start(), proxy("one"), proxy("two"));
    nginx.serve("proxy.pac", naming(&one));
    let program = fetching(&url(nginx.address()))
        .args(&["--pac-interval", "0.1", "-v"])
        .watched()
        .start();
    let mut live = program.connect();
    live.expect("one");
    eventually_is(&program, "ptunnel_pac_fetch_failures_total", &[], 0.0);
    nginx.serve("proxy.pac", naming(&two));
    eventually("the new script counts", || greeting(&program, 0) == "two");
    live.send("ping");
    live.expect("ping");
    // The numbers of a proxy outlast the script that named it.
    let label = format!("{{proxy=\"{}\"", one.address());
    let answers = "next(p['answers'] for p in s['proxies'] if p['proxy'] == '";
    let answers = evaluated(&program, &format!("{}{}')", answers, one.address()));
    assert_eq!(answers, one.accepted().to_string());
    eventually_is(
        &program,
        "ptunnel_proxy_answers_total",
        &[&label],
        one.accepted() as f64,
    );
    // Only a new script is logged.
    assert_eq!(count_of(&program, "loaded"), 2, "{}", program.stderr());
    let told = evaluated(&program, "s['pac']['source'], s['pac']['error']");
    assert_eq!(told, format!("('{}', None)", url(nginx.address())));
    assert_eq!(evaluated(&program, "s['pac']['fetches'] > 2"), "True");
    assert_eq!(
        evaluated(&program, "0 <= s['time'] - s['pac']['fetched'] < 60"),
        "True"
    );
}

#[test]
fn sighup_fetches_again_and_a_new_url_must_work() {
    let (nginx, one, two) = (Nginx::start(), proxy("one"), proxy("two"));
    nginx.serve("proxy.pac", naming(&one));
    let folder = TempDir::new();
    let tunnels = format!("tunnels = [\"{}:a.example:1\"]\n", free_port());
    let text = |url: &str| format!("pac = \"{}\"\npac-interval = 0\n{}", url, tunnels);
    let file = folder.file("ptunnel.toml", text(&url(nginx.address())));
    let mut program = Ptunnel::new()
        .args(&["--config", &file])
        .more_lines(1)
        .start();
    let mut output = program.stdout();
    let mut reloaded = || {
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        assert!(line.starts_with("reloaded "), "{}", line);
    };
    assert_eq!(greeting(&program, 0), "one");
    nginx.serve("proxy.pac", naming(&two));
    assert_eq!(greeting(&program, 0), "one");
    program.signal(sys::SIGHUP);
    reloaded();
    // As soon as the reload is announced.
    assert_eq!(greeting(&program, 0), "two");

    let address = nginx.address();
    drop(nginx);
    program.signal(sys::SIGHUP);
    reloaded();
    program.says(&[
        "warning",
        "cannot load it",
        "the earlier script stays in force",
    ]);
    assert_eq!(greeting(&program, 0), "two");

    let other = url(closed_address());
    fs::write(&file, text(&other)).unwrap();
    program.signal(sys::SIGHUP);
    program.says(&["reload failed", &other, "cannot connect to"]);
    assert_eq!(greeting(&program, 0), "two");
    assert_eq!(count_of(&program, &other), 1, "{}", program.stderr());

    // The first URL is still fetched.
    let _server = server_at(address, naming(&one));
    eventually("the server is back", || greeting(&program, 0) == "one");
    program.says(&["warning", &url(address), "loaded; new clients use it"]);
}

#[test]
fn a_script_stays_in_force_while_a_newer_one_is_unusable() {
    let (nginx, one, two) = (Nginx::start(), proxy("one"), proxy("two"));
    let good = naming(&one);
    nginx.serve("proxy.pac", &good);
    let program = fetching(&url(nginx.address()))
        .args(&["--pac-interval", "0.05"])
        .watched()
        .start();
    assert_eq!(greeting(&program, 0), "one");
    let failed = |told: &[&str], times: usize| {
        program.says(told);
        assert_eq!(greeting(&program, 0), "one");
        // Further attempts fail in the same way, and aren't logged.
        let failures = "s['pac']['failures']";
        let before: u64 = evaluated(&program, failures).parse().unwrap();
        let enough = format!("{} > {}", failures, before + 1);
        eventually("it fails again", || evaluated(&program, &enough) == "True");
        assert_eq!(
            count_of(&program, "cannot load it"),
            times,
            "{}",
            program.stderr()
        );
    };
    let long = good.clone() + &" ".repeat(1 << 20);
    for (index, (content, words)) in vec![
        ("function FindProxyForURL( {", "line 1: SyntaxError"),
        ("var a;", "no function FindProxyForURL"),
        (&long[..], "more than 1048576 bytes"),
    ]
    .into_iter()
    .enumerate()
    {
        nginx.serve("proxy.pac", content);
        failed(&[words, "the earlier script stays in force"], index + 1);
        nginx.serve("proxy.pac", &good);
        let loaded = || count_of(&program, "loaded; new clients") == index + 1;
        eventually("it is good again", loaded);
    }
    let address = nginx.address();
    drop(nginx);
    failed(&["cannot connect to", &address.to_string()], 4);
    let told = evaluated(&program, "s['pac']['error']['text']");
    assert!(told.starts_with("cannot connect to"), "{}", told);
    let _server = server_at(address, naming(&two));
    eventually("the server is back", || greeting(&program, 0) == "two");
}

#[test]
fn other_replies_than_200_are_reported_with_a_fix() {
    let nginx = Nginx::start();
    let elsewhere = "HTTP/1.1 302 x\r\nLocation: http://b.example/p.pac?token\r\n\r\n";
    let elsewhere = Peer::replying(elsewhere);
    let asking = Peer::replying("HTTP/1.1 401 Unauthorized\r\n\r\n");
    let cut = Peer::replying("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nvar a");
    for (address, words) in &[
        (nginx.address(), "the server replied 404 Not Found"),
        (
            elsewhere.address(),
            "the server redirects to 'http://b.example/p.pac', which ptunnel doesn't follow",
        ),
        (asking.address(), "401 Unauthorized, so the URL must have"),
        (cut.address(), "before the end of the file"),
        (nginx.tls(), "the server replied 400 Bad Request"),
        (closed_address(), "cannot connect to"),
    ] {
        let finished: Finished = fetching(&url(*address)).arg("--check-config").run();
        finished.expect_code(2);
        let start = format!("--pac '{}': cannot load it: ", url(*address));
        assert!(finished.stderr.contains(&start), "{}", finished.stderr);
        assert!(finished.stderr.contains(words), "{}", finished.stderr);
        assert!(!finished.stderr.contains("token"), "{}", finished.stderr);
    }
    nginx.serve("proxy.pac", saying("return 'DIRECT'"));
    let checked = fetching(&url(nginx.address())).arg("--check-config").run();
    checked.expect_code(0);
    let end = format!(" for a.example:1 by PAC file {}\n", url(nginx.address()));
    assert!(checked.text().contains(&end), "{}", checked.text());
}

#[test]
fn a_start_without_the_server_is_repaired_by_the_server() {
    let address = SocketAddr::new("127.0.0.1".parse().unwrap(), free_port());
    let program = fetching(&url(address)).start();
    program.connect().expect_nothing();
    program.says(&[
        "warning",
        "cannot load it: cannot connect to",
        "clients that need it get no tunnel until it is loaded",
    ]);
    program.says(&[
        "error",
        "a.example:1",
        "it couldn't be loaded: cannot connect to",
    ]);
    let one = proxy("one");
    let _server = server_at(address, naming(&one));
    // An attempt a second.
    program.says(&["warning", "loaded; new clients use it"]);
    assert_eq!(greeting(&program, 0), "one");

    for task in &["--test", "-v"] {
        let url = url(closed_address());
        let program = Ptunnel::new().args(&["--pac", &url, task, "-W", "a.example:1"]);
        let finished: Finished = program.run();
        finished.expect_code(1);
        let told = finished.text() + &finished.stderr;
        assert!(
            told.contains("it couldn't be loaded: cannot connect to"),
            "{}",
            told
        );
    }
}

/// A client that connects at once isn't refused because the file is still on its way.
#[test]
fn the_first_client_waits_for_the_file() {
    let one = proxy("one");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let program = fetching(&url(server.local_addr().unwrap())).start();
    let mut client = program.connect();
    let _server = Peer::accept_from(server, serving(naming(&one)));
    client.expect("one");
    assert_eq!(program.stderr(), "");
}

#[test]
fn user_info_and_query_are_sent_and_never_shown() {
    let one = proxy("one");
    let body = naming(&one);
    let server = Peer::replying(format!("HTTP/1.1 200 OK\r\n\r\n{}", body));
    let at = format!("joe:hunter2@{}/p.pac?key=hunter2", server.address());
    let program = fetching(&format!("http://{}", at))
        .args(&["-vv", "--pac-interval", "3600"])
        .watched()
        .start();
    assert_eq!(greeting(&program, 0), "one");
    let head = server.head();
    assert!(
        head.starts_with("GET /p.pac?key=hunter2 HTTP/1.1\r\n"),
        "{}",
        head
    );
    assert!(
        head.contains("\r\nAuthorization: Basic am9lOmh1bnRlcjI=\r\n"),
        "{}",
        head
    );
    program.says(&[
        "warning",
        "password of --pac in the process list",
        "use --config",
    ]);
    let arguments = fs::read(format!("/proc/{}/cmdline", program.process().0)).unwrap();
    let arguments = String::from_utf8(arguments).unwrap();
    let shown = format!("http://***@{}/p.pac?***", server.address());
    assert_eq!(evaluated(&program, "s['pac']['source']"), shown);
    assert!(arguments.contains("joe:*******@"), "{}", arguments);
    assert!(arguments.contains("/p.pac?****"), "{}", arguments);
    assert!(!arguments.contains("hunter2"), "{}", arguments);
    let line = &program.listening()[0].line;
    assert!(line.contains(&shown), "{}", line);
    for told in &[program.stderr(), line.clone(), evaluated(&program, "s")] {
        assert!(!told.contains("hunter2"), "{}", told);
    }
    let wrong = fetching("http://joe:hunter2@a.example:x/p?hunter2").run();
    wrong.expect_code(2);
    assert!(!wrong.stderr.contains("hunter2"), "{}", wrong.stderr);
    assert!(
        wrong.stderr.contains("e.g. http://wpad.example"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn the_interval_is_only_for_a_url() {
    let folder = TempDir::new();
    let file = folder.file("corp.pac", saying("return 'DIRECT'"));
    let checked = |args: &[&str]| -> Finished {
        let program = Ptunnel::new().args(args);
        program
            .args(&["--pac-interval", "60", "--check-config", "1:a:1"])
            .run()
    };
    let local = checked(&["--pac", &file]);
    local.expect_code(0);
    let told = local.text();
    assert!(
        told.contains("--pac-interval has no effect: --pac isn't a URL"),
        "{}",
        told
    );
    let alone = checked(&["-p", "p.example:1"]);
    alone.expect_code(2);
    assert!(
        alone.stderr.contains("--pac-interval requires --pac"),
        "{}",
        alone.stderr
    );
    // A proxy on the command line replaces both in the file.
    let config = folder.file(
        "ptunnel.toml",
        format!("pac = \"{}\"\npac-interval = 60\n", file),
    );
    let typed = [
        "--config",
        &config,
        "-p",
        "p.example:1",
        "--check-config",
        "1:a:1",
    ];
    Ptunnel::new().args(&typed).run().expect_code(0);
}
