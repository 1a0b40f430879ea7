//! Received data is delivered, however its connection ends: without TLS's close_notify, by a reset,
//! or where splice(2) doesn't work.

use std::io::ErrorKind;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use support::ends::{Ends, Gate};
use support::parts::{Apache, Squid};
use support::program::Refused;
use support::tls::{Authority, PythonTls};
use support::{eventually, sys, Connection, Pattern, Peer, Ptunnel};

const MIB: u64 = 1 << 20;

/// The names of the servers' certificates.
const RIGHT: &str = "DNS:localhost,IP:127.0.0.1";

/// Connects a client that reads late: the bytes sent meanwhile stay in the program's send queue.
fn connect_slowly(program: &support::Running) -> Connection {
    let client = program.connect();
    thread::sleep(Duration::from_secs(1));
    client
}

/// Reads `count` bytes of the pattern, and the reset after them.
#[track_caller]
fn read_until_reset(client: &mut Connection, seed: u64, count: u64) {
    Pattern::new(seed).read(client, count);
    let mut byte = [0; 1];
    match client.read(&mut byte) {
        Err(ref e) if e.kind() == ErrorKind::ConnectionReset => {}
        other => panic!("{:?} instead of a reset", other),
    }
}

/// Returns the number of warnings about such an end.
fn warnings(stderr: &str) -> usize {
    let lines = stderr.lines();
    lines.filter(|line| line.contains("close_notify")).count()
}

/// Apache, Traffic Server and mitmproxy end TLS this way.
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
fn all_bytes_arrive_from_apache_with_tls() {
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

/// Only the end of TLS distinguishes a destination's whole reply from a truncated one.
#[test]
fn a_tls_destination_without_close_notify_is_a_reset_after_all_bytes() {
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

/// Writes the pattern until no more bytes are accepted; returns their number.
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

/// Returns the number of bytes that the peer hasn't received, once the program has moved all that
/// it can move. If the reader didn't wait for a busy machine, it would read too much, and the
/// program would hold little.
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

/// All memory of one direction in the program is full when the sender resets it: its receive queue,
/// its own bytes or its pipe, and its send queue.
fn expect_delivery_before_a_reset(setting: &str, of_client: bool) {
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
    // Few bytes wait in front of the program.
    sys::set_send_buffer(from.stream(), 128 * 1024);
    let sent = fill(&mut from, 5);
    // Reads until all bytes have reached the program: a reset destroys the others.
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
fn no_byte_is_lost_after_a_reset_by_the_destination() {
    for setting in &["auto", "never", "always"] {
        expect_delivery_before_a_reset(setting, false);
    }
}

#[test]
fn no_byte_is_lost_after_a_reset_by_the_client() {
    for setting in &["auto", "never", "always"] {
        expect_delivery_before_a_reset(setting, true);
    }
}

/// A server that replies before it has read everything: its close is a reset, which a write meets.
#[test]
fn a_reply_arrives_though_the_server_closes_without_reading() {
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
        // The first write is answered by a reset, and a later one fails.
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

/// A sandbox can forbid splice(2), and the kernel can lack memory for it.
#[test]
fn bytes_are_copied_if_splice_fails() {
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
