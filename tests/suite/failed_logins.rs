//! Clients that guess passwords: their limit, the lines about them, and the others.

use std::net::SocketAddr;

use crate::dynamic::listening;
use crate::serve::{echo, request};
use crate::status::evaluated;
use crate::users::{asking_as, file, line, line_with, reply_from};
use support::sys::SIGTERM;
use support::{eventually, Connection, Ptunnel, Running, TempDir};

const HERE: [u8; 4] = [127, 0, 0, 1];
const THERE: [u8; 4] = [127, 0, 0, 9];

/// Returns the status of the reply to the login of SOCKS5.
fn socks_login(ip: [u8; 4], to: SocketAddr, user: &str, password: &str) -> u8 {
    let mut client = Connection::open_from(ip.into(), to);
    let (name, word) = (user.len() as u8, password.len() as u8);
    let login = [
        &[5, 1, 2, 1, name],
        user.as_bytes(),
        &[word],
        password.as_bytes(),
    ];
    client.send(login.concat());
    client.expect([5, 2, 1]);
    client.receive(1)[0]
}

/// Regression: only the users of a file had a limit.
#[test]
fn all_listeners_and_protocols_have_one_limit() {
    let (origin, folder) = (echo(), TempDir::new());
    let users = file(
        &folder,
        &format!("{}{}", line("ann", "x"), line("bob", "x")),
    );
    for args in &[
        &["--dynamic-user", "ann:x", "--serve-user", "bob:x"][..],
        &["--users", &users],
    ] {
        let program = listening(Ptunnel::new().arg("--direct-fallback"));
        let program = program.arg("--no-proxy=*").serving().args(args).start();
        let (dynamic, embedded) = (program.address_of(0), program.proxy());
        let ask = |ip, to, login: &str| reply_from(ip, to, login, origin.address());
        for guess in 0..3 {
            assert_eq!(socks_login(HERE, dynamic, "ann", &guess.to_string()), 1);
            assert!(ask(HERE, dynamic, &format!("ann:{}", guess + 3)).contains(" 407 "));
            assert!(ask(HERE, embedded, &format!("bob:{}", guess)).contains(" 407 "));
        }
        // The same again is no guess, and no password is none.
        assert!(ask(HERE, embedded, "bob:0").contains(" 407 "));
        assert_eq!(socks_login(HERE, dynamic, "ann", "0"), 1);
        assert!(ask(HERE, embedded, "bob:x").contains(" 200 "));
        assert_eq!(socks_login(HERE, dynamic, "jim", "x"), 1);
        for to in &[dynamic, embedded] {
            for login in &["ann:x", "bob:x", "ann:0"] {
                let reply = ask(HERE, *to, login);
                assert_eq!(reply, "HTTP/1.1 429 Too Many Requests");
            }
        }
        assert_eq!(socks_login(HERE, dynamic, "ann", "x"), 1);
        assert!(ask(THERE, dynamic, "ann:x").contains(" 200 "));
        assert!(ask(THERE, embedded, "bob:x").contains(" 200 "));
        assert_eq!(socks_login(THERE, dynamic, "ann", "x"), 0);
        program.says(&["warning: 127.0.0.1: 10 wrong passwords within a minute"]);
    }
}

/// Returns a program that has denied a hundred connections of an address and one of another.
fn guessed_at(settings: &[&str]) -> Running {
    let program = Ptunnel::new().serving().args(&["--serve-user", "ann:x"]);
    let program = program.args(settings);
    let program = program.watched().start();
    let destination = echo().address();
    for guess in 0..100 {
        let login = format!("ann:{}", guess);
        let reply = reply_from(HERE, program.proxy(), &login, destination);
        let status = if guess < 10 { "407" } else { "429" };
        assert!(reply.contains(status), "{}", reply);
    }
    reply_from(THERE, program.proxy(), "ann:y", destination);
    program.says(&["127.0.0.9", "denied"]);
    program
}

/// Regression: each guess had a line.
#[test]
fn an_address_that_is_denied_does_not_fill_the_log() {
    let program = guessed_at(&[]);
    eventually("all are counted", || {
        evaluated(&program, "s['failed']") == "101"
    });
    program.signal(SIGTERM);
    let told = program.finish().stderr;
    let lines = |ip: &str| {
        let start = format!("warning: {}:", ip);
        let lines = told.lines().filter(|line| line.starts_with(&start));
        lines.filter(|line| line.contains(": denied: ")).count()
    };
    assert_eq!(lines("127.0.0.1"), 10, "{}", told);
    assert_eq!(lines("127.0.0.9"), 1, "{}", told);
    // What has no line is counted, to the end of the program.
    let start = "warning: 127.0.0.1: denied 90 more connections in ";
    let summaries = told.lines().filter(|line| line.starts_with(start));
    assert_eq!(summaries.count(), 1, "{}", told);
    assert_eq!(told.matches(" more connections ").count(), 1, "{}", told);
}

/// A request that isn't allowed is no guess.
#[test]
fn a_few_denials_have_a_line_each() {
    let program = Ptunnel::new().serving();
    let program = program.args(&["--serve-allow", "a.example"]).start();
    for _ in 0..25 {
        let mut client = Connection::open(program.proxy());
        client.send(request("b.example:1"));
        client.read_head();
    }
    program.signal(SIGTERM);
    let told = program.finish().stderr;
    assert_eq!(told.matches(": denied: 403 ").count(), 20, "{}", told);
    let summary = "warning: 127.0.0.1: denied 5 more connections in ";
    assert!(told.contains(summary), "{}", told);
}

#[test]
fn the_count_of_denials_has_its_fields() {
    let program = guessed_at(&["-v", "--log-format", "json"]);
    program.signal(SIGTERM);
    let told = program.finish().stderr;
    let line = told
        .lines()
        .find(|line| line.contains("80 more connections"));
    let line = line.unwrap_or_else(|| panic!("{}", told));
    for field in &[
        "\"client\":\"127.0.0.1\"",
        "\"denials\":80",
        "\"cause\":\"denied\"",
        "\"level\":\"warning\"",
    ] {
        assert!(line.contains(field), "{} in {}", field, line);
    }
}

/// crypt(3) takes about half a second here. Regression: the others got 503, and waited for all guesses.
#[test]
fn an_address_that_fills_the_queue_does_not_hold_up_others() {
    let (origin, folder) = (echo(), TempDir::new());
    let path = file(&folder, &line_with("ann", "x", "rounds=999999$saltsalt"));
    let program = listening(Ptunnel::new().arg("--direct-fallback"));
    let program = program.args(&["--no-proxy=*", "--users", &path]).start();
    let mut guessing = Vec::new();
    let reply = loop {
        let mut client = Connection::open_from(THERE.into(), program.address());
        let login = format!("ann:{}", guessing.len());
        client.send(asking_as(&login, origin.address()));
        if guessing.len() > 128 {
            break String::from_utf8(client.read_head()).unwrap();
        }
        guessing.push(client);
    };
    assert!(reply.starts_with("HTTP/1.1 503 "), "{}", reply);
    let reply = reply_from(HERE, program.address(), "ann:x", origin.address());
    assert!(reply.contains(" 200 "), "{}", reply);
    // It waited for the guess that was being checked, and for no other.
    let replied = guessing.iter().filter(|client| !client.is_quiet()).count();
    assert!(replied <= 4, "{} were ahead of it", replied);
}
