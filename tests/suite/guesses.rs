//! Clients that guess passwords: their limit, and the others.

use std::net::SocketAddr;

use crate::dynamic::listening;
use crate::serve::echo;
use crate::support::{Connection, Ptunnel, TempDir};
use crate::users::{asking_as, file, line, line_with, reply_from};

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
