//! Credentials: where they come from, which proxy gets them, and where they must never appear.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::thread;

use support::program::{start_on_terminal, NOBODY};
use support::{closed_address, eventually, sys, Peer, Ptunnel, Running, TempDir};

/// Returns the value of a Basic credential. A separate encoder, so that both must be right.
fn basic(text: &str) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::from("Basic ");
    for group in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let index = word >> (18 - 6 * digit) & 63;
            let is_padding = digit > group.len();
            out.push(if is_padding {
                '='
            } else {
                DIGITS[index as usize] as char
            });
        }
    }
    out
}

/// Returns the credential in the request for a client's tunnel.
fn presented(program: &Running, proxy: &Peer) -> Option<String> {
    let mut client = program.connect();
    client.send("x");
    client.expect("x");
    let head = proxy.heads().pop().unwrap();
    let name = "Proxy-Authorization: ";
    let mut lines = head.lines().filter_map(|line| line.strip_prefix(name));
    let value = lines.next().map(str::to_string);
    assert_eq!(lines.next(), None, "{}", head);
    value
}

/// Returns the credential that the program sends with these arguments and variables. The program
/// logs at the highest verbosity, and its log must not contain the secret.
#[track_caller]
fn credential(secret: &str, complete: impl FnOnce(Ptunnel, &Peer) -> Ptunnel) -> Option<String> {
    let proxy = Peer::echoing();
    let program = complete(Ptunnel::new(), &proxy)
        .to("example.org:22")
        .arg("-vvv")
        .start();
    let value = presented(&program, &proxy);
    program.says(&["example.org:22", "bytes"]);
    assert_hidden(&program.stderr(), secret);
    value
}

#[track_caller]
fn assert_hidden(text: &str, secret: &str) {
    let encoded = basic(&format!("joe:{}", secret));
    assert!(!text.contains(secret), "{}", text);
    assert!(!text.contains(&encoded["Basic ".len()..]), "{}", text);
}

#[test]
fn without_a_user_no_credential_is_sent() {
    let found = credential("hunter2", |p, proxy| {
        p.proxy(proxy.address()).env("PTUNNEL_PASSWORD", "hunter2")
    });
    assert_eq!(found, None);
}

#[test]
fn user_and_password_on_the_command_line_work_with_a_warning() {
    for args in &[&["-U", "joe:hunter2"][..], &["-U", "joe", "-P", "hunter2"]] {
        let proxy = Peer::echoing();
        let program = Ptunnel::through(proxy.address())
            .to("example.org:22")
            .args(args)
            .start();
        assert_eq!(presented(&program, &proxy), Some(basic("joe:hunter2")));
        program.says(&["warning", "password"]);
        let told = program.stderr();
        assert_eq!(told.lines().count(), 1, "{}", told);
        assert_hidden(&told, "hunter2");
    }
}

#[test]
fn the_password_can_be_in_the_environment() {
    let found = credential("hunter2", |p, proxy| {
        p.proxy(proxy.address())
            .args(&["--user", "joe"])
            .env("PTUNNEL_PASSWORD", "hunter2")
    });
    assert_eq!(found, Some(basic("joe:hunter2")));
}

#[test]
fn the_password_can_be_in_a_private_file() {
    let folder = TempDir::new();
    for content in &["hunter2", "hunter2\n", "hunter2\r\n"] {
        let file = folder.file_with_mode("password", 0o600, content);
        let found = credential("hunter2", |p, proxy| {
            p.proxy(proxy.address())
                .args(&["-U", "joe", "--password-file", &file])
        });
        assert_eq!(found, Some(basic("joe:hunter2")), "{:?}", content);
    }
}

#[test]
fn a_password_file_that_others_can_read_is_refused() {
    let folder = TempDir::new();
    for mode in &[0o644, 0o640, 0o604] {
        let file = folder.file_with_mode("password", *mode, "hunter2\n");
        let finished = Ptunnel::through("proxy.example:1")
            .to("example.org:22")
            .args(&["-U", "joe", "--password-file", &file])
            .run();
        finished.expect_code(2);
        assert!(finished.stderr.contains(&file), "{}", finished.stderr);
        assert!(finished.stderr.contains("600"), "{}", finished.stderr);
        assert_hidden(&finished.stderr, "hunter2");
    }
}

/// A password file from systemd's LoadCredential= or a Kubernetes Secret: owned by root, readable
/// by the service's group. Regression: such a file was refused.
#[test]
fn a_password_file_of_root_can_be_readable_by_the_group() {
    if !sys::is_root() {
        return; // and can't change a file's owner
    }
    let folder = TempDir::new();
    let check = |mode, option| {
        let file = folder.file_with_mode("password", mode, "hunter2\n");
        sys::give(&file, 0, NOBODY);
        let finished = Ptunnel::through("joe@proxy.example:1")
            .to("example.org:22")
            .args(&["--check-config", option, &file])
            .by_nobody()
            .run();
        (finished.code(), finished.text() + &finished.stderr)
    };
    let (code, said) = check(0o440, "--password-file");
    assert_eq!(code, 0, "{}", said);
    let (code, said) = check(0o444, "--password-file");
    assert_eq!(code, 2, "{}", said);
    assert!(said.contains("chmod o= "), "{}", said);
    assert_hidden(&said, "hunter2");
}

#[test]
fn credentials_can_be_in_the_proxys_url() {
    let cases = [
        ("joe:hunter2", "joe:hunter2"),
        ("joe%40north:hun%3Ater2%25", "joe@north:hun:ter2%"),
        ("j%C3%B6:p%C3%A4ss%20w%2Ford", "j\u{f6}:p\u{e4}ss w/ord"),
        ("joe:", "joe:"),
    ];
    for (info, plain) in &cases {
        let proxy = Peer::echoing();
        let program = Ptunnel::through(format!("http://{}@{}", info, proxy.address()))
            .to("example.org:22")
            .start();
        assert_eq!(presented(&program, &proxy), Some(basic(plain)), "{}", info);
        assert!(
            !program.listening()[0].line.contains('@'),
            "{}",
            program.listening()[0].line
        );
    }
    let found = credential("hunter2", |p, proxy| {
        p.env(
            "https_proxy",
            format!("http://joe:hunter2@{}/", proxy.address()),
        )
    });
    assert_eq!(found, Some(basic("joe:hunter2")));
}

/// Regression: the other proxy got the password of `--user`.
#[test]
fn a_complete_login_in_a_url_stays_whole() {
    let folder = TempDir::new();
    let file = folder.file_with_mode("password", 0o400, "corp-password");
    for args in &[
        &["--password-file", &file[..]][..],
        &["--password-command", "printf corp-password"],
        &["-P", "corp-password"],
        &[],
    ] {
        let corp = Peer::replying("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
        let other = Peer::echoing();
        let url = format!("http://joe:hunter2@{}", other.address());
        let program = Ptunnel::through(corp.address()).proxy(url);
        let program = program.args(&["-U", "corp", "--failover-on", "503"]);
        let program = match args.is_empty() {
            true => program.env("PTUNNEL_PASSWORD", "corp-password"),
            false => program.args(args),
        };
        let program = program.to("example.org:22").start();
        assert_eq!(presented(&program, &other), Some(basic("joe:hunter2")));
        let corp = corp.head();
        assert!(corp.contains(&basic("corp:corp-password")), "{}", corp);
    }
    let found = credential("hunter2", |p, proxy| {
        let url = format!("http://joe:hunter2@{}", proxy.address());
        p.env("https_proxy", url).env("PTUNNEL_PASSWORD", "another")
    });
    assert_eq!(found, Some(basic("joe:hunter2")));
}

#[test]
fn a_password_in_a_file_precedes_the_environment() {
    let folder = TempDir::new();
    let file = folder.file_with_mode("password", 0o400, "hunter2");
    let found = credential("hunter2", |p, proxy| {
        p.proxy(proxy.address())
            .args(&["-U", "joe", "--password-file", &file])
            .env("PTUNNEL_PASSWORD", "another")
    });
    assert_eq!(found, Some(basic("joe:hunter2")));
}

/// corkscrew and proxytunnel have buffers of a fixed size.
#[test]
fn long_and_unusual_passwords_arrive_unchanged() {
    let long = "a:b%c d'\"$`\\\u{e9}\u{20ac}".repeat(150);
    let found = credential(&long, |p, proxy| {
        p.proxy(proxy.address())
            .args(&["-U", "joe"])
            .env("PTUNNEL_PASSWORD", &long)
    });
    assert_eq!(found, Some(basic(&format!("joe:{}", long))));
}

#[test]
fn each_proxy_gets_only_its_own_credentials() {
    let first = Peer::proxy(drop);
    let second = Peer::proxy(drop);
    let last = Peer::echoing();
    let program = Ptunnel::through(format!("http://ann:apple@{}", first.address()))
        .proxy(format!("http://bob:banana@{}", second.address()))
        .proxy(last.address())
        .to("example.org:22")
        .start();
    assert_eq!(presented(&program, &last), None);
    assert!(
        first.head().contains(&basic("ann:apple")),
        "{}",
        first.head()
    );
    assert!(
        second.head().contains(&basic("bob:banana")),
        "{}",
        second.head()
    );
}

/// A direct connection reaches the destination, which must not get the proxies' credentials.
#[test]
fn a_direct_connection_carries_no_credentials() {
    let origin = Peer::start(|mut connection| {
        connection.expect("hello");
        connection.echo();
    });
    let program = Ptunnel::through(format!("http://joe:hunter2@{}", closed_address()))
        .to(origin.address())
        .arg("--direct-fallback")
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.finish_sending();
    client.expect_end();
}

/// Collects the text that a user sees on a terminal.
fn watch(mut terminal: File) -> Arc<Mutex<String>> {
    let seen = Arc::new(Mutex::new(String::new()));
    let screen = seen.clone();
    thread::spawn(move || {
        let mut buffer = [0; 1024];
        // The read fails once the other side is closed, which is the end of a terminal.
        while let Ok(count) = terminal.read(&mut buffer) {
            if count == 0 {
                return;
            }
            screen
                .lock()
                .unwrap()
                .push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    });
    seen
}

#[test]
fn the_password_prompt_does_not_echo() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address()).args(&["-U", "joe", "0:example.org:22"]);
    let (mut program, mut person) = start_on_terminal(program);
    let screen = watch(person.try_clone().unwrap());
    let shown = || screen.lock().unwrap().clone();
    let address = proxy.address().to_string();
    eventually("a question about the user and the proxy", || {
        shown().contains("joe") && shown().contains(&address)
    });
    eventually("the terminal stops to show what is typed", || {
        !sys::echoes(&person)
    });
    person.write_all(b"hunter2\n").unwrap();
    program.read_lines(1);
    assert_eq!(presented(&program, &proxy), Some(basic("joe:hunter2")));
    assert!(!shown().contains("hunter2"), "{}", shown());
    assert_hidden(&program.stderr(), "hunter2");
}

#[test]
fn a_missing_password_without_a_terminal_is_a_usage_error() {
    // A separate session has no terminal for the prompt.
    let finished = Ptunnel::through("proxy.example:1")
        .to("example.org:22")
        .args(&["-U", "joe"])
        .in_a_session_of_its_own()
        .run();
    finished.expect_code(2);
    assert!(
        finished.stderr.contains("PTUNNEL_PASSWORD"),
        "{}",
        finished.stderr
    );
}

const CHALLENGES: &str = "HTTP/1.1 407 Proxy Authentication Required\r\n\
    Proxy-Authenticate: Negotiate\r\n\
    proxy-authenticate: NTLM, basic realm=\"a, Digest b\"\r\n\
    Content-Length: 0\r\n\r\n";

#[test]
fn a_407_is_logged_with_the_proxy_and_its_schemes() {
    for args in &[&[][..], &["-U", "joe"]] {
        let proxy = Peer::replying(CHALLENGES);
        let program = Ptunnel::through(proxy.address())
            .to("example.org:22")
            .args(args)
            .env("PTUNNEL_PASSWORD", "hunter2")
            .start();
        program.connect().expect_nothing();
        let address = proxy.address().to_string();
        let line = program.says(&[&address, "407", "Negotiate", "NTLM", "basic"]);
        assert!(!line.contains("Digest"), "{}", line);
        assert_eq!(program.stderr().lines().count(), 1, "{}", program.stderr());
        assert_hidden(&program.stderr(), "hunter2");
    }
}

#[test]
fn a_407_ends_stdio_mode_with_exit_code_4() {
    let proxy = Peer::replying(CHALLENGES);
    let finished = Ptunnel::through(format!("http://joe:hunter2@{}", proxy.address()))
        .args(&["-W", "example.org:22", "-vvv"])
        .run();
    finished.expect_code(4);
    assert!(finished.stderr.contains("Negotiate"), "{}", finished.stderr);
    assert_hidden(&finished.stderr, "hunter2");
}

/// proxytunnel and socat show it in their verbose output.
#[test]
fn no_failure_shows_a_secret() {
    let replies = [
        "HTTP/1.1 403 Forbidden\r\n\r\n",
        "nonsense\r\n\r\n",
        "",
        "HTTP/1.1 200",
    ];
    for reply in &replies {
        let proxy = Peer::replying(*reply);
        let program = Ptunnel::through(format!("http://joe:hunter2@{}", proxy.address()));
        let finished = program.args(&["-W", "example.org:22", "-vvv"]).run();
        assert_ne!(finished.code(), 0);
        assert_hidden(&finished.stderr, "hunter2");
    }
    let wrong = [
        "http://joe:hunter2@proxy.example:0",
        "http://joe:hunter2@proxy.example:3128/path",
        "http://joe:hunter2@[::1",
        "http://joe:hunter2@",
        "ftp://joe:hunter2@proxy.example",
        "http://joe:hunter2@proxy example:1",
        "joe:hunter2@proxy.example",
        "http://j%00e:hunter2@proxy.example:1",
        "http://joe:hunter2%0a@proxy.example:1",
        "http://joe:hunter2%ff@proxy.example:1",
        "http:/joe:hunter2@proxy.example:1",
        "http//joe:hunter2@proxy.example:1",
        "http://joe:hunter2#@proxy.example:x",
    ];
    for url in &wrong {
        let by_option = Ptunnel::through(url).to("example.org:22").run();
        let by_variable = Ptunnel::new()
            .env("https_proxy", *url)
            .to("example.org:22")
            .run();
        for finished in &[by_option, by_variable] {
            finished.expect_code(2);
            assert_hidden(&finished.stderr, "hunter2");
        }
    }
}
