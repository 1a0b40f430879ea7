//! A tunnel, its refusals and its end, with nothing installed but the program itself.
//!
//! This part of the tests also runs in the minimal system of the oldest toolchain: the peers are
//! scripted and in this process, and the proxy is scripted or the program's own.

use std::net::SocketAddr;
use std::thread;

use support::{closed_address, sys, Connection, Pattern, Peer, Ptunnel};

const MIB: u64 = 1 << 20;

#[test]
fn carries_a_message_through_a_scripted_proxy() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    client.finish_sending();
    client.expect_end();
    let expected = "CONNECT example.org:22 HTTP/1.1\r\nHost: example.org:22\r\n\r\n";
    assert_eq!(proxy.head(), expected);
}

#[test]
fn keeps_bytes_that_arrive_with_the_reply() {
    let proxy = Peer::proxy(|mut connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n");
        connection.echo();
    });
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.expect("SSH-2.0-x\r\n");
}

#[test]
fn a_reply_can_arrive_byte_by_byte() {
    let proxy = Peer::proxy(|mut connection| {
        connection.send_bytewise("HTTP/1.1 200 OK\r\nVia: 1.1 north\r\n\r\nSSH-2.0-x\r\n");
    });
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .start();
    program.connect().expect("SSH-2.0-x\r\n");
}

/// Through a tunnel and the embedded proxy of the same program, with each splice mode.
#[test]
fn carries_bulk_both_ways_and_both_ends_through_its_own_proxy() {
    for setting in &["auto", "always", "never"] {
        let origin = Peer::start(|connection| {
            let mut reader = connection.handle();
            let reading = thread::spawn(move || Pattern::new(1).read_all(&mut reader, 12 * MIB));
            let mut writer = connection;
            Pattern::new(2)
                .write(&mut writer, 12 * MIB)
                .expect("all is taken");
            // Only now: the client closes its end, and the program closes with it.
            reading.join().expect("all arrives");
            writer.finish_sending();
        });
        let proxy = Ptunnel::new()
            .serving()
            .args(&["--splice", setting])
            .start();
        let program = Ptunnel::through(proxy.proxy())
            .to(origin.address())
            .args(&["--splice", setting])
            .start();
        let mut client = program.connect();
        let mut writer = client.handle();
        let writing = thread::spawn(move || {
            Pattern::new(1)
                .write(&mut writer, 12 * MIB)
                .expect("all is taken");
            writer.finish_sending();
        });
        Pattern::new(2).read_all(&mut client, 12 * MIB);
        writing.join().unwrap();
        client.expect_end();
    }
}

#[test]
fn resets_are_passed_on() {
    let proxy = Peer::granting(|mut connection| {
        connection.expect("now");
        connection.reset();
    });
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("now");
    client.expect_reset();
}

#[test]
fn serves_on_several_threads_and_addresses() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .args(&["--threads", "2"])
        .to("a.example:1")
        .tunnel("*:0:b.example:2")
        .start();
    let everywhere = SocketAddr::new("127.0.0.1".parse().unwrap(), program.address_of(1).port());
    for _ in 0..10 {
        for address in &[program.address(), everywhere] {
            let mut client = Connection::open(*address);
            client.send("ping");
            client.expect("ping");
        }
    }
}

#[test]
fn stdio_mode_has_an_exit_code_for_each_failure() {
    let cases = [
        (0, "HTTP/1.1 200 OK\r\n\r\n"),
        (1, "HTTP/1.1 200 OK\r\n"),
        (1, "SSH-2.0-x\r\n\r\n"),
        (3, "HTTP/1.1 2000 OK\r\n\r\n"),
        (3, "HTTP/1.1 403 Forbidden\r\n\r\n"),
        (
            4,
            "HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic realm=x\r\n\r\n",
        ),
    ];
    for (code, reply) in &cases {
        let proxy = Peer::replying(*reply);
        let finished = Ptunnel::through(proxy.address())
            .args(&["-W", "example.org:22"])
            .run();
        finished.expect_code(*code);
    }
    let dead = closed_address();
    let finished = Ptunnel::through(dead).args(&["-W", "example.org:22"]).run();
    finished.expect_code(1);
    assert!(
        finished.stderr.contains(&dead.to_string()),
        "{}",
        finished.stderr
    );
}

#[test]
fn names_are_resolved() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(format!("localhost:{}", proxy.port()))
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
}

#[test]
fn usage_errors_end_with_exit_code_2() {
    for words in &[
        &["-p", "proxy.example", "1:a:1"][..],
        &["-p", "a:1", "1:a"],
        &["--wat"],
        &[],
    ] {
        let finished = Ptunnel::new().args(words).run();
        finished.expect_code(2);
        assert!(
            !finished.stderr.is_empty() && finished.stdout.is_empty(),
            "{:?}",
            finished
        );
    }
}

#[test]
fn a_transfer_finishes_after_a_signal() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("begin");
    client.expect("begin");
    program.signal(sys::SIGTERM);
    client.send("end");
    client.finish_sending();
    assert_eq!(client.rest(), b"end");
    program.finish().expect_code(0);
}

#[test]
fn the_demo_works() {
    Ptunnel::new().arg("--demo").run().expect_code(0);
}
