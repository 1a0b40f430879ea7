//! What a proxy can make the program hold and do while it waits for the reply.

use std::io::Write;
use std::time::Duration;

use crate::support::{Connection, Peer, Ptunnel};

/// Starts a reply that has `length` bytes of fields in lines of 1000, and no end yet.
fn send_fields(connection: &mut Connection, length: usize) -> std::io::Result<()> {
    connection.try_send("HTTP/1.1 200 OK\r\n")?;
    let line = format!("X-Filler: {}\r\n", "y".repeat(988));
    for _ in 0..length / line.len() {
        connection.try_send(&line)?;
    }
    Ok(())
}

/// The program must end with 1 on this reply, and say with whom.
#[track_caller]
fn assert_too_much<S>(script: S)
where
    S: Fn(&mut Connection) -> std::io::Result<()> + Send + Sync + 'static,
{
    let proxy = Peer::proxy(move |mut connection| {
        // It hangs up in the middle: that's the point.
        let _ = script(&mut connection);
        connection.drain();
    });
    let program = Ptunnel::through(proxy.address()).args(&["-W", "example.org:22"]);
    let finished = program.run();
    finished.expect_code(1);
    assert!(finished.stdout.is_empty(), "{:?}", finished);
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    assert!(
        finished.stderr.contains(&proxy.address().to_string()),
        "{}",
        finished.stderr
    );
}

#[test]
fn takes_a_head_of_fifteen_kilobytes() {
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
fn refuses_a_head_above_its_bound_even_when_it_ends() {
    assert_too_much(|connection| {
        send_fields(connection, 70_000)?;
        connection.try_send("\r\n")
    });
}

#[test]
fn refuses_a_mebibyte_of_header() {
    assert_too_much(|connection| {
        send_fields(connection, 1 << 20)?;
        connection.try_send("\r\n")
    });
}

#[test]
fn refuses_one_line_of_a_mebibyte() {
    assert_too_much(|connection| {
        connection.try_send("HTTP/1.1 200 OK\r\nX-Filler: ")?;
        connection.try_send("y".repeat(1 << 20))?;
        connection.try_send("\r\n\r\n")
    });
}

#[test]
fn refuses_a_status_line_without_an_end() {
    assert_too_much(|connection| {
        connection.try_send("HTTP/1.1 200 ")?;
        connection.try_send("y".repeat(1 << 20))
    });
}

#[test]
fn refuses_a_head_without_an_end() {
    assert_too_much(|connection| loop {
        send_fields(connection, 100_000)?;
    });
}

#[test]
fn refuses_interim_replies_without_an_end() {
    assert_too_much(|connection| loop {
        connection.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    });
}

#[test]
fn refuses_blank_lines_without_an_end() {
    assert_too_much(|connection| loop {
        connection.write_all(&b"\r\n".repeat(1000))?;
    });
}

#[test]
fn holds_no_more_than_its_bound_while_the_reply_goes_on() {
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

/// The public ptunnel reads the head with one system call a byte, in all its versions.
///
/// A head of 15,000 bytes costs a reader in chunks next to nothing; read bytewise, these
/// tunnels cost more than a second on any machine.
#[test]
fn reads_the_reply_in_chunks() {
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
