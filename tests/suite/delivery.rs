//! Received data is delivered, however its connection ends: without TLS's close_notify, by a reset,
//! or where splice(2) doesn't work.

use std::io::ErrorKind;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::ends::{Ends, Gate};
use crate::support::parts::{Apache, Squid};
use crate::support::program::Refused;
use crate::support::tls::{Authority, PythonTls};
use crate::support::{eventually, sys, Connection, Pattern, Peer, Ptunnel};

const MIB: u64 = 1 << 20;

/// The names under which the servers of these tests are reached.
const RIGHT: &str = "DNS:localhost,IP:127.0.0.1";

/// A client that takes its time: what was sent meanwhile lies in the program's send queue.
fn connect_slowly(program: &crate::support::Running) -> Connection {
    let client = program.connect();
    thread::sleep(Duration::from_secs(1));
    client
}

/// Reads so much of the pattern, and the reset behind it.
#[track_caller]
fn read_until_reset(client: &mut Connection, seed: u64, count: u64) {
    Pattern::new(seed).read(client, count);
    let mut byte = [0; 1];
    match client.read(&mut byte) {
        Err(ref e) if e.kind() == ErrorKind::ConnectionReset => {}
        other => panic!("{:?} instead of a reset", other),
    }
}

/// How often the program has warned of such an end.
fn warnings(stderr: &str) -> usize {
    let lines = stderr.lines();
    lines.filter(|line| line.contains("close_notify")).count()
}

/// Apache, Traffic Server and mitmproxy end TLS so.
#[test]
fn an_https_proxy_without_close_notify_ends_its_tunnels_in_order() {
    let authority = Authority::new();
    let identity = authority.issue("proxy", RIGHT);
    let proxy = PythonTls::proxy(&identity, &Pattern::new(1).take(4 * MIB as usize));
    let program = Ptunnel::through(format!("https://{}", proxy.address()))
        .args(&["--proxy-cacert", &authority.certificate()])
        .to("example.org:22")
        .start();
    for _ in 0..3 {
        Pattern::new(1).read_all(&mut connect_slowly(&program), 4 * MIB);
    }
    let told = program.stderr();
    assert_eq!(warnings(&told), 1, "{}", told);
    let expected = format!("warning: proxy {}: closed", proxy.address());
    assert!(told.starts_with(&expected), "{}", told);
}

#[test]
fn apache_in_tls_delivers_all() {
    let authority = Authority::new();
    let apache = Apache::start(&authority.issue("proxy", RIGHT));
    let origin = Peer::start(|mut connection| {
        Pattern::new(3).write(&mut connection, 16 * MIB).unwrap();
    });
    let program = Ptunnel::through(format!("https://{}", apache.address()))
        .args(&["--proxy-cacert", &authority.certificate(), "-v"])
        .to(origin.address())
        .start();
    Pattern::new(3).read_all(&mut connect_slowly(&program), 16 * MIB);
    program.says(&["16777216 down", "closed by both sides"]);
    assert_eq!(warnings(&program.stderr()), 1, "{}", program.stderr());
}

/// Nothing but TLS's own end tells a whole answer of a destination from one that was cut.
#[test]
fn a_tls_destination_without_close_notify_is_a_reset_behind_all_that_came() {
    let authority = Authority::new();
    let squid = Squid::start(None);
    let content = Pattern::new(4).take(4 * MIB as usize);
    let origin = PythonTls::origin(&authority.issue("origin", RIGHT), &content);
    let program = || {
        Ptunnel::through(squid.address())
            .args(&["--cacert", &authority.certificate(), "-v"])
            .to(format!("tls://{}", origin.address()))
    };
    let strict = program().start();
    read_until_reset(&mut connect_slowly(&strict), 4, 4 * MIB);
    strict.says(&["cut: upstream: the connection ended without TLS close_notify"]);

    let lenient = program().arg("--ignore-unexpected-eof").start();
    Pattern::new(4).read_all(&mut connect_slowly(&lenient), 4 * MIB);
    lenient.says(&["4194304 down", "closed by both sides"]);
}

/// Writes the pattern for as long as something is taken; returns how much was.
fn fill(connection: &mut Connection, seed: u64) -> u64 {
    let pattern = Pattern::new(seed);
    let (mut sent, mut last) = (0, Instant::now());
    connection.stream().set_nonblocking(true).expect("a mode");
    while last.elapsed() < Duration::from_millis(400) {
        match connection.write(&pattern.piece(sent, 65_536)) {
            Ok(count) => {
                sent += count as u64;
                last = Instant::now();
                assert!(sent < 256 * MIB, "there is no back-pressure");
            }
            Err(ref e) if e.kind() == ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(e) => panic!("after {} bytes: {}", sent, e),
        }
    }
    connection.stream().set_nonblocking(false).expect("a mode");
    sent
}

/// The bytes that the peer hasn't received, once the program has moved all that it can move. A
/// reader that doesn't wait for a busy machine reads more than is needed, and little is held then.
fn settled_queue(stream: &TcpStream) -> usize {
    let mut before = sys::unacknowledged(stream);
    loop {
        thread::sleep(Duration::from_millis(10));
        let now = sys::unacknowledged(stream);
        if now == before || now == 0 {
            return now;
        }
        before = now;
    }
}

/// Everything that the program can hold of one direction is full when the sender resets it: its
/// receive queue, what it owns or its pipe, and its send queue.
fn a_reset_takes_nothing_away(setting: &str, of_client: bool) {
    let gate = Gate::narrow();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["--splice", setting, "-v"])
        .start();
    let Ends { client, server } = gate.join(&program);
    sys::set_receive_buffer(client.stream(), 16 * 1024);
    let (mut from, mut to) = if of_client {
        (client, server)
    } else {
        (server, client)
    };
    // Little of it waits in front of the program.
    sys::set_send_buffer(from.stream(), 128 * 1024);
    let sent = fill(&mut from, 5);
    // Until all has reached the program: what it hasn't, a reset destroys on the way.
    let (mut read, pattern) = (0, Pattern::new(5));
    let mut buffer = [0; 16 * 1024];
    while settled_queue(from.stream()) > 0 {
        let count = to.read(&mut buffer).expect("more");
        pattern.check(read, &buffer[..count]);
        read += count as u64;
    }
    assert!(sent - read > MIB / 2, "only {} bytes are held", sent - read);
    from.reset();
    thread::sleep(Duration::from_secs(1));
    while read < sent {
        let count = match to.read(&mut buffer) {
            Ok(count) if count > 0 => count,
            other => panic!("{:?} after {} of {} bytes", other, read, sent),
        };
        pattern.check(read, &buffer[..count]);
        read += count as u64;
    }
    to.expect_reset();
    program.says(&["cut: ", "reset by peer"]);
}

#[test]
fn a_reset_of_the_destination_takes_nothing_away() {
    for setting in &["auto", "never", "always"] {
        a_reset_takes_nothing_away(setting, false);
    }
}

#[test]
fn a_reset_of_the_client_takes_nothing_away() {
    for setting in &["auto", "never", "always"] {
        a_reset_takes_nothing_away(setting, true);
    }
}

/// A server that answers before it has read all: closing is a reset then, met by a write.
#[test]
fn an_answer_arrives_although_the_server_left_without_reading_all() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .start();
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    client.send("?");
    server.expect("?");
    sys::set_receive_buffer(client.stream(), 16 * 1024);
    server.send(Pattern::new(6).take(MIB as usize));
    eventually("all has reached the program", || {
        sys::unacknowledged(server.stream()) == 0
    });
    client.send("more, which nobody reads");
    eventually("the server has something to read", || {
        sys::readable(server.stream()) > 0
    });
    drop(server);
    for _ in 0..20 {
        // The first is answered by a reset, one after that fails.
        let _ = client.try_send("and more");
        thread::sleep(Duration::from_millis(20));
    }
    read_until_reset(&mut client, 6, MIB);
}

#[test]
fn a_client_that_does_not_read_holds_a_dead_tunnel_no_longer_than_the_linger_timeout() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["--linger-timeout", "1", "-v"])
        .start();
    let Ends { client, mut server } = gate.join(&program);
    sys::set_receive_buffer(client.stream(), 16 * 1024);
    fill(&mut server, 7);
    let start = Instant::now();
    server.reset();
    program.says(&["cut: upstream: Connection reset by peer"]);
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(950), "{:?}", took);
}

/// A sandbox may deny splice(2), and the kernel may have no memory for it.
#[test]
fn where_splicing_fails_it_copies_without_a_loss() {
    for errno in &[libc::EINVAL, libc::ENOMEM, libc::EPERM, libc::ENOSYS] {
        for refused in &[Refused::FillingPipes, Refused::DrainingPipes] {
            let gate = Gate::open();
            let program = Ptunnel::through(gate.address())
                .to("example.org:22")
                .args(&["--splice", "always"])
                .refusing_splice(*refused, *errno)
                .start();
            let Ends {
                mut client,
                mut server,
            } = gate.join(&program);
            let mut writer = client.handle();
            let writing = thread::spawn(move || {
                Pattern::new(8).write(&mut writer, 4 * MIB).unwrap();
                writer.finish_sending();
            });
            Pattern::new(8).read_all(&mut server, 4 * MIB);
            writing.join().unwrap();
            server.send("the answer");
            server.finish_sending();
            assert_eq!(client.rest(), b"the answer", "{:?} {}", refused, errno);
        }
    }
}
