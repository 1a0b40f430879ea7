//! Limits on the memory and the time that a proxy can make the program use before its reply is
//! complete.

use std::io::Write;
use std::time::Duration;

use support::{Connection, Peer, Ptunnel};

/// Sends the beginning of a reply: `length` bytes of fields in lines of 1000, without an end.
fn send_fields(connection: &mut Connection, length: usize) -> std::io::Result<()> {
    connection.try_send("HTTP/1.1 200 OK\r\n")?;
    let line = format!("X-Filler: {}\r\n", "y".repeat(988));
    for _ in 0..length / line.len() {
        connection.try_send(&line)?;
    }
    Ok(())
}

/// Checks that the program ends with exit code 1 on this reply, and names the proxy.
#[track_caller]
/// The program ends with `code` and one line.
fn assert_too_much<S>(code: i32, script: S)
where
    S: Fn(&mut Connection) -> std::io::Result<()> + Send + Sync + 'static,
{
    let proxy = Peer::proxy(move |mut connection| {
        // The program closes the connection in the middle, as expected.
        let _ = script(&mut connection);
        connection.drain();
    });
    let program = Ptunnel::through(proxy.address()).args(&["-W", "example.org:22"]);
    let finished = program.run();
    finished.expect_code(code);
    assert!(finished.stdout.is_empty(), "{:?}", finished);
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    assert!(
        finished.stderr.contains(&proxy.address().to_string()),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_head_of_fifteen_kilobytes_is_accepted() {
    let proxy = Peer::proxy(|mut connection| {
        send_fields(&mut connection, 15_000).unwrap();
        connection.send("\r\n");
        connection.echo();
    });
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("ping");
    client.expect("ping");
}

/// stunnel, socat and curl each had this bound wrong once (CVE-2013-1762, CVE-2014-0019,
/// CVE-2023-38039).
#[test]
fn a_complete_head_above_the_limit_is_refused() {
    assert_too_much(1, |connection| {
        send_fields(connection, 70_000)?;
        connection.try_send("\r\n")
    });
}

#[test]
fn a_mebibyte_of_fields_is_refused() {
    assert_too_much(1, |connection| {
        send_fields(connection, 1 << 20)?;
        connection.try_send("\r\n")
    });
}

#[test]
fn one_line_of_a_mebibyte_is_refused() {
    assert_too_much(1, |connection| {
        connection.try_send("HTTP/1.1 200 OK\r\nX-Filler: ")?;
        connection.try_send("y".repeat(1 << 20))?;
        connection.try_send("\r\n\r\n")
    });
}

#[test]
fn an_endless_status_line_is_refused() {
    assert_too_much(1, |connection| {
        connection.try_send("HTTP/1.1 200 ")?;
        connection.try_send("y".repeat(1 << 20))
    });
}

#[test]
fn an_endless_head_is_refused() {
    assert_too_much(1, |connection| loop {
        send_fields(connection, 100_000)?;
    });
}

#[test]
fn endless_interim_replies_are_refused() {
    assert_too_much(3, |connection| loop {
        connection.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    });
}

#[test]
fn endless_blank_lines_are_refused() {
    assert_too_much(1, |connection| loop {
        connection.write_all(&b"\r\n".repeat(1000))?;
    });
}

#[test]
fn memory_stays_within_the_limit_during_a_long_reply() {
    let proxy = Peer::proxy(|mut connection| {
        let _ = send_fields(&mut connection, 64 << 20);
        connection.drain();
    });
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .start();
    program.connect().expect_nothing();
    let before = program.process().resident();
    let mut clients: Vec<Connection> = (0..20).map(|_| program.connect()).collect();
    for client in &mut clients {
        client.expect_nothing();
    }
    let grown = program.process().resident().saturating_sub(before);
    assert!(grown < 8 << 20, "grew by {} bytes", grown);
}

/// The public ptunnel reads the head with one system call per byte, in all its versions.
///
/// A head of 15,000 bytes costs a reader in chunks almost nothing; read byte by byte, these tunnels
/// cost more than a second on any machine.
#[test]
fn the_reply_is_read_in_chunks() {
    let proxy = Peer::proxy(|mut connection| {
        let mut head = String::from("HTTP/1.1 200 OK\r\n");
        for _ in 0..15 {
            head.push_str(&format!("X-Filler: {}\r\n", "y".repeat(988)));
        }
        connection.send(head + "\r\nready");
        connection.drain();
    });
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .start();
    let open = || {
        let mut client = program.connect();
        client.expect("ready");
    };
    open();
    let before = program.process().cpu();
    for _ in 0..200 {
        open();
    }
    let spent = program.process().cpu() - before;
    assert!(
        spent < Duration::from_millis(700),
        "{:?} of processor time",
        spent
    );
}
