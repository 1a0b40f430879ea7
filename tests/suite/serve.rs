//! The embedded proxy: which requests it grants, and what it carries.

use std::net::SocketAddr;
use std::thread;

use support::parts::{run, Nginx, SMALL};
use support::temp::free_port;
use support::{Blackhole, Connection, Pattern, Peer, Ptunnel, Running};

const MIB: u64 = 1 << 20;

pub fn echo() -> Peer {
    Peer::start(|mut connection| connection.echo())
}

pub fn request(destination: impl std::fmt::Display) -> String {
    format!("CONNECT {d} HTTP/1.1\r\nHost: {d}\r\n\r\n", d = destination)
}

/// Returns a client of the embedded proxy with its tunnel granted.
#[track_caller]
pub fn open(program: &Running, destination: SocketAddr) -> Connection {
    granted(Connection::open(program.proxy()), destination)
}

/// Sends the client's request for a tunnel; returns the client once it is granted.
#[track_caller]
pub fn granted(mut client: Connection, destination: impl std::fmt::Display) -> Connection {
    client.send(request(destination));
    let head = String::from_utf8(client.read_head()).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{:?}", head);
    client
}

#[test]
fn it_prints_its_address() {
    let program = Ptunnel::new().serving().start();
    let line = &program.listening()[0].line;
    assert_eq!(*line, format!("serving proxy on {}", program.proxy()));
    assert_eq!(program.proxy().ip().to_string(), "127.0.0.1");
}

#[test]
fn a_lone_port_is_on_loopback() {
    let program = Ptunnel::new().serving_on("0").start();
    assert_eq!(program.proxy().ip().to_string(), "127.0.0.1");
}

#[test]
fn curl_reaches_an_origin_through_it() {
    let nginx = Nginx::start();
    let program = Ptunnel::new().serving().start();
    let curl = |url: &str, file: &str| {
        let proxy = format!("http://{}", program.proxy());
        let url = format!("{}/{}", url, file);
        let trust = nginx.certificate();
        run(
            "curl",
            &[
                "-sS",
                "--max-time",
                "60",
                "--proxytunnel",
                "-x",
                &proxy,
                "--cacert",
                &trust,
                &url,
            ],
        )
    };
    let plain = format!("http://{}", nginx.address());
    let tls = format!("https://localhost:{}", nginx.tls().port());
    for url in &[plain, tls] {
        assert_eq!(curl(url, "small"), SMALL.as_bytes());
        Nginx::big().check(0, &curl(url, "big"));
    }
}

#[test]
fn grants_and_carries_both_ways() {
    let origin = echo();
    let program = Ptunnel::new().serving().start();
    let mut client = open(&program, origin.address());
    let mut writer = client.handle();
    let writing = thread::spawn(move || {
        Pattern::new(1).write(&mut writer, 8 * MIB).unwrap();
        writer.finish_sending();
    });
    Pattern::new(1).read_all(&mut client, 8 * MIB);
    writing.join().unwrap();
}

#[test]
fn each_end_is_passed_on_while_the_other_direction_continues() {
    let program = Ptunnel::new().serving().start();
    let origin = Peer::start(|mut connection| {
        connection.send("that is all");
        connection.finish_sending();
        assert_eq!(connection.rest(), b"not quite");
    });
    let mut client = open(&program, origin.address());
    assert_eq!(client.rest(), b"that is all");
    client.send("not quite");
    client.finish_sending();
    let origin = Peer::start(|mut connection| {
        assert_eq!(connection.rest(), b"that is all");
        connection.send("not quite");
    });
    let mut client = open(&program, origin.address());
    client.send("that is all");
    client.finish_sending();
    assert_eq!(client.rest(), b"not quite");
}

#[test]
fn resets_are_passed_on() {
    let program = Ptunnel::new().serving().start();
    let origin = Peer::start(|mut connection| {
        connection.expect("now");
        connection.reset();
    });
    let mut client = open(&program, origin.address());
    client.send("now");
    client.expect_reset();
}

#[test]
fn bytes_after_the_request_reach_the_destination() {
    let origin = echo();
    let program = Ptunnel::new().serving().start();
    let mut client = Connection::open(program.proxy());
    client.send(request(origin.address()) + "early");
    let head = client.read_head();
    assert!(head.starts_with(b"HTTP/1.1 200 "));
    client.expect("early");
    client.send(" and late");
    client.finish_sending();
    assert_eq!(client.rest(), b" and late");
}

#[test]
fn a_request_can_arrive_byte_by_byte() {
    let origin = echo();
    let program = Ptunnel::new().serving().start();
    let mut client = Connection::open(program.proxy());
    client.send_bytewise(request(origin.address()) + "x");
    assert!(client.read_head().starts_with(b"HTTP/1.1 200 "));
    client.expect("x");
}

#[test]
fn http_1_0_and_other_fields_are_accepted() {
    let origin = echo();
    let program = Ptunnel::new().serving().start();
    for tail in &[
        "HTTP/1.0\r\n\r\n",
        "HTTP/1.1\r\nHost: elsewhere\r\nUser-Agent: x\r\n\r\n",
    ] {
        let mut client = Connection::open(program.proxy());
        client.send(format!("CONNECT {} {}", origin.address(), tail));
        assert!(client.read_head().starts_with(b"HTTP/1.1 200 "), "{}", tail);
    }
}

#[test]
fn binds_beyond_loopback_only_with_a_user_or_a_list() {
    for args in &[
        &["--serve-user", "joe:x"][..],
        &["--serve-allow", "127.0.0.1"],
    ] {
        let program = Ptunnel::new().serving_on("0.0.0.0:0").args(args).start();
        assert!(program.proxy().ip().is_unspecified());
    }
    let program = Ptunnel::new().serving_on("[::1]:0").start();
    assert_eq!(program.proxy().ip().to_string(), "::1");
    for address in &["0.0.0.0:0", "*:0"] {
        let finished = Ptunnel::new().args(&["--serve-proxy", address]).run();
        finished.expect_code(2);
    }
}

/// Other machines could otherwise use services of this machine, and read the keys of its cloud.
#[test]
fn other_machines_cannot_reach_this_machine_or_its_link() {
    let origin = echo();
    let port = origin.port();
    let start = |args: &[&str]| {
        let program = Ptunnel::new().serving_on("*:0").args(&["-w", "5"]);
        program.args(args).start()
    };
    let status = |program: &Running, target: &str| {
        let at = SocketAddr::from(([127, 0, 0, 1], program.proxy().port()));
        let mut client = Connection::open(at);
        client.send(format!(
            "CONNECT {} HTTP/1.1\r\nProxy-Authorization: Basic am9lOng=\r\n\r\n",
            target
        ));
        let head = String::from_utf8(client.read_head()).unwrap();
        head.split(' ').nth(1).unwrap().to_string()
    };
    let itself = [
        format!("127.0.0.1:{}", port),
        format!("localhost:{}", port),
        format!("0.0.0.0:{}", port),
        format!("[::ffff:127.0.0.1]:{}", port),
        "[::1]:1".into(),
        "169.254.169.254:80".into(),
        "[fe80::1]:80".into(),
    ];
    for args in &[
        &["--allow-from", "127.0.0.0/8,::1"][..],
        &["--serve-user", "joe:x"],
    ] {
        let program = start(args);
        for target in &itself {
            assert_eq!(status(&program, target), "403", "{}", target);
        }
        assert_eq!(origin.accepted(), 0);
        program.says(&["403", &itself[0], "--serve-allow"]);
    }
    for (allowed, reached) in &[
        ("127.0.0.1", &itself[0]),
        ("127.0.0.0/8", &itself[0]),
        ("localhost", &itself[1]),
        ("*", &itself[0]),
        ("*", &itself[1]),
    ] {
        let program = start(&["--serve-allow", allowed]);
        assert_eq!(status(&program, reached), "200", "{}", allowed);
    }
}

#[test]
fn clients_that_leave_early_do_not_affect_others() {
    let origin = echo();
    let program = Ptunnel::new().serving().start();
    let mut living = open(&program, origin.address());
    let whole = request(origin.address());
    for end in 0..whole.len() {
        let mut client = Connection::open(program.proxy());
        client.send(&whole[..end]);
        if end % 2 == 0 {
            client.reset();
        }
    }
    living.send("still here");
    living.expect("still here");
    drop(open(&program, origin.address()));
}

/// Regression: it held a permit and two descriptors until the connect timeout was over.
#[test]
fn a_client_that_resets_ends_the_dialling() {
    let (hole, origin) = (Blackhole::start(), echo());
    let program = Ptunnel::new()
        .serving()
        .args(&["-v", "--connect-timeout", "600"])
        .args(&["--max-connections", "1"])
        .start();
    let mut client = Connection::open(program.proxy());
    let from = client.local().to_string();
    client.send(request(hole.address()) + "too early");
    client.wait_until_read();
    client.reset();
    let to = hole.address().to_string();
    program.says(&["info", &from, &to, "cut: client", "reset"]);
    open(&program, origin.address());
}

/// A client that has sent everything waits for the reply.
#[test]
fn a_client_that_half_closes_is_still_connected() {
    let hole = Blackhole::start();
    let program = Ptunnel::new().serving().args(&["-w", "1"]).start();
    let mut client = Connection::open(program.proxy());
    client.send(request(hole.address()));
    client.finish_sending();
    assert!(client.read_head().starts_with(b"HTTP/1.1 504 "));
}

#[test]
fn a_tunnel_of_the_same_program_can_use_it() {
    let origin = echo();
    let port = free_port();
    let proxy = format!("127.0.0.1:{}", port);
    let program = Ptunnel::through(&proxy)
        .serving_on(&proxy)
        .to(origin.address())
        .start();
    let mut client = program.connect();
    client.send("round trip");
    client.finish_sending();
    assert_eq!(client.rest(), b"round trip");
}
