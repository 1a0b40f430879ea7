//! `-D`: clients that name their destination, in SOCKS and with HTTP CONNECT.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::process::{Command, Stdio};
use std::thread;

use crate::serve::{echo, granted, request};
use support::ends::Gate;
use support::parts::{command, curl, described, output};
use support::parts::{Nginx, Squid, Sshd, SMALL};
use support::temp::free_port;
use support::{closed_address, Blackhole, Connection, Pattern, Peer, Ptunnel};
use support::{Running, TempDir};

const MIB: u64 = 1 << 20;

/// SOCKS5's greeting without authentication, and the reply to it.
const GREETING: &[u8] = &[5, 1, 0];
const GREETED: &[u8] = &[5, 0];

/// SOCKS5's reply when the destination is connected.
const CONNECTED: &[u8] = &[5, 0, 0, 1, 0, 0, 0, 0, 0, 0];

/// SOCKS4's reply when the destination is connected.
const CONNECTED_4: &[u8] = &[0, 90, 0, 0, 0, 0, 0, 0];
const REJECTED_4: &[u8] = &[0, 91, 0, 0, 0, 0, 0, 0];

pub fn listening(program: Ptunnel) -> Ptunnel {
    program.args(&["-D", "0"]).more_lines(1)
}

/// Returns SOCKS5's request for a name, or for an address.
fn asking(host: &str, port: u16) -> Vec<u8> {
    let address = match host.parse() {
        Ok(IpAddr::V4(ip)) => [&[1][..], &ip.octets()].concat(),
        Ok(IpAddr::V6(ip)) => [&[4][..], &ip.octets()].concat(),
        Err(_) => [&[3, host.len() as u8], host.as_bytes()].concat(),
    };
    [&[5, 1, 0], &address[..], &port.to_be_bytes()].concat()
}

/// Returns the request of SOCKS4 for an IPv4 address, of 4A for any other host.
fn asking_4(host: &str, port: u16) -> Vec<u8> {
    let (ip, name) = match host.parse() {
        Ok(IpAddr::V4(ip)) => (ip.octets(), String::new()),
        _ => ([0, 0, 0, 1], format!("{}\0", host)),
    };
    [
        &[4, 1][..],
        &port.to_be_bytes(),
        &ip,
        b"joe\0",
        name.as_bytes(),
    ]
    .concat()
}

/// Returns a client that has sent its greeting and its request; the reply to the request is still
/// unread.
#[track_caller]
fn asked(program: &Running, host: &str, port: u16) -> Connection {
    let mut client = program.connect();
    client.send(GREETING);
    client.expect(GREETED);
    client.send(asking(host, port));
    client
}

/// Returns a client with its destination connected.
#[track_caller]
fn open(program: &Running, at: SocketAddr) -> Connection {
    let mut client = asked(program, &at.ip().to_string(), at.port());
    client.expect(CONNECTED);
    client
}

/// Returns a client with its destination connected, through HTTP.
#[track_caller]
fn open_http(program: &Running, destination: &str) -> Connection {
    granted(program.connect(), destination)
}

#[test]
fn the_listening_line_names_the_address_and_the_proxies() {
    let port = free_port().to_string();
    for (args, words) in &[
        (
            &["-p", "a.example:1", "-p", "b.example:2"][..],
            "through a.example:1, b.example:2",
        ),
        (&["-p", "a.example:1", "--no-proxy", "*"], "directly"),
        (&["--direct-fallback"], "directly"),
    ] {
        let program = Ptunnel::new().args(args).args(&["-D", &port]);
        let program = program.more_lines(1).start();
        let line = format!(
            "listening on 127.0.0.1:{} for SOCKS and HTTP {}",
            port, words
        );
        assert_eq!(program.listening()[0].line, line);
    }
}

#[test]
fn each_client_gets_its_own_destination_through_the_proxy() {
    let proxy = Peer::echoing();
    let program = listening(Ptunnel::through(proxy.address())).start();
    let last_head = || proxy.heads().pop().unwrap();
    for (host, shown) in &[
        ("a.example", "a.example:22"),
        ("192.0.2.1", "192.0.2.1:22"),
        ("2001:db8::1", "[2001:db8::1]:22"),
    ] {
        let mut client = asked(&program, host, 22);
        client.expect(CONNECTED);
        client.send("ping");
        client.expect("ping");
        assert!(last_head().starts_with(&format!("CONNECT {} HTTP/1.1\r\n", shown)));
        let mut client = program.connect();
        client.send(asking_4(host, 22));
        client.expect(CONNECTED_4);
        client.send("ping");
        client.expect("ping");
        assert!(last_head().starts_with(&format!("CONNECT {} HTTP/1.1\r\n", shown)));
        let mut client = open_http(&program, shown);
        client.send("ping");
        client.expect("ping");
        assert!(last_head().starts_with(&format!("CONNECT {} HTTP/1.1\r\n", shown)));
    }
}

#[test]
fn several_dynamic_listeners_work_beside_tunnels() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .args(&["-D", "0", "--dynamic", "[::1]:0", "--threads", "2"])
        .to("a.example:1")
        .more_lines(2)
        .start();
    let ips: Vec<String> = (0..3)
        .map(|place| program.address_of(place).ip().to_string())
        .collect();
    assert_eq!(ips, ["127.0.0.1", "127.0.0.1", "::1"]);
    for place in 1..3 {
        let mut client = program.connect_to(place);
        client.send(request("b.example:2") + "x");
        assert!(client.read_head().starts_with(b"HTTP/1.1 200 "));
        client.expect("x");
    }
    let mut client = program.connect();
    client.send("ping");
    client.expect("ping");
}

#[test]
fn no_proxy_applies_to_each_destination() {
    let (proxy, origin) = (Peer::echoing(), echo());
    let program = Ptunnel::through(proxy.address()).args(&["--no-proxy", "127.0.0.0/8"]);
    let program = listening(program.arg("-v")).start();
    for http in &[false, true] {
        let mut client = match http {
            true => open_http(&program, &origin.address().to_string()),
            false => open(&program, origin.address()),
        };
        client.send("direct");
        client.expect("direct");
        assert_eq!(proxy.accepted(), 0);
        client.finish_sending();
        client.expect_end();
    }
    program.says(&[
        "info",
        &origin.address().to_string(),
        "directly: 6 bytes up",
    ]);
    let mut client = asked(&program, "a.example", 22);
    client.expect(CONNECTED);
    assert_eq!(proxy.accepted(), 1);
}

#[test]
fn early_bytes_are_kept() {
    let gate = Gate::open();
    let program = listening(Ptunnel::through(gate.address())).start();
    let all = [GREETING, &asking("a.example", 22), b"early"].concat();
    let mut client = program.connect();
    client.send(&all);
    let mut server = gate.accept();
    server.read_head();
    server.send("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n");
    client.expect(GREETED);
    client.expect(CONNECTED);
    client.expect("SSH-2.0-x\r\n");
    server.expect("early");
    client.send(" and late");
    server.expect(" and late");

    for host in &["192.0.2.7", "a.example"] {
        let mut client = program.connect();
        client.send([&asking_4(host, 22), &b"\0early"[..]].concat());
        let mut server = gate.accept();
        server.read_head();
        server.send("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n");
        client.expect(CONNECTED_4);
        client.expect("SSH-2.0-x\r\n");
        server.expect("\0early");
    }

    let mut client = program.connect();
    client.send(request("a.example:22") + "early");
    let mut server = gate.accept();
    server.read_head();
    server.send("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n");
    assert!(client.read_head().starts_with(b"HTTP/1.1 200 "));
    client.expect("SSH-2.0-x\r\n");
    server.expect("early");
}

#[test]
fn a_request_can_arrive_byte_by_byte() {
    let proxy = Peer::echoing();
    // A busy machine needs time until each byte has been read.
    let program = Ptunnel::through(proxy.address()).args(&["--handshake-timeout", "600"]);
    let program = listening(program).start();
    let mut client = program.connect();
    client.send_bytewise(GREETING);
    client.expect(GREETED);
    client.send_bytewise(asking("a.example", 22));
    client.expect(CONNECTED);
    client.send_bytewise("x");
    client.expect("x");
    let mut client = program.connect();
    client.send_bytewise([&asking_4("a.example", 22), &b"x"[..]].concat());
    client.expect(CONNECTED_4);
    client.expect("x");
    let mut client = program.connect();
    client.send_bytewise(request("a.example:22") + "x");
    assert!(client.read_head().starts_with(b"HTTP/1.1 200 "));
    client.expect("x");
}

#[test]
fn carries_bulk_and_ends_as_a_tunnel_does() {
    let origin = echo();
    for setting in &["auto", "never", "always"] {
        let program = Ptunnel::new().args(&["--direct-fallback", "--splice", setting]);
        let program = listening(program).start();
        let mut client = open(&program, origin.address());
        let mut writer = client.handle();
        let writing = thread::spawn(move || {
            Pattern::new(1).write(&mut writer, 8 * MIB).unwrap();
            writer.finish_sending();
        });
        Pattern::new(1).read_all(&mut client, 8 * MIB);
        writing.join().unwrap();
    }
    let origin = Peer::start(|mut connection| {
        connection.expect("now");
        connection.reset();
    });
    let program = listening(Ptunnel::new().arg("--direct-fallback")).start();
    let mut client = open(&program, origin.address());
    client.send("now");
    client.expect_reset();
}

/// Checks the replies of SOCKS and HTTP to a failure, and the log.
#[track_caller]
fn assert_fails(program: &Running, at: SocketAddr, socks: u8, http: &str, told: &[&str]) {
    let mut client = asked(program, &at.ip().to_string(), at.port());
    let from = client.local().to_string();
    client.expect([5, socks, 0, 1, 0, 0, 0, 0, 0, 0]);
    client.finish_sending();
    client.expect_end();
    let words = [&["warning", &from[..]], told].concat();
    program.says(&words);
    let mut client = program.connect();
    client.send(asking_4(&at.ip().to_string(), at.port()));
    client.expect(REJECTED_4);
    client.finish_sending();
    client.expect_end();
    let mut client = program.connect();
    client.send(request(at));
    let head = String::from_utf8(client.read_head()).unwrap();
    assert!(head.starts_with(&format!("HTTP/1.1 {} ", http)), "{}", head);
}

#[test]
fn an_unreachable_destination_has_a_reply_with_a_reason() {
    let (closed, hole) = (closed_address(), Blackhole::start());
    let direct = Ptunnel::new().args(&["--direct-fallback", "-w", "1"]);
    let program = listening(direct).start();
    assert_fails(
        &program,
        closed,
        5,
        "502",
        &["refused", &closed.to_string()],
    );
    assert_fails(&program, hole.address(), 6, "504", &["timed out after 1s"]);
    let mut client = asked(&program, "nowhere.invalid", 1);
    client.expect([5, 4]);
    for (status, socks, http) in &[
        ("403 Forbidden", 2, "403"),
        ("407 Who", 1, "502"),
        ("502 Bad Gateway", 4, "502"),
        ("503 Busy", 4, "503"),
        ("504 Late", 6, "504"),
    ] {
        let reply = format!("HTTP/1.1 {}\r\nContent-Length: 0\r\n\r\n", status);
        let proxy = Peer::replying(reply);
        let program = listening(Ptunnel::through(proxy.address())).start();
        let told = ["refused", &status[..3]];
        assert_fails(&program, closed, *socks, http, &told);
    }
    let dead = closed_address();
    let program = listening(Ptunnel::through(dead)).start();
    assert_fails(&program, closed, 1, "502", &["proxy", &dead.to_string()]);
}

#[test]
fn unsupported_requests_are_rejected_in_their_protocol() {
    let program = listening(Ptunnel::through("proxy.example:1")).start();
    let endless_user = [&[4, 1, 0, 80, 192, 0, 2, 7][..], &[b'x'; 256]].concat();
    let endless_name = [&[4, 1, 0, 80, 0, 0, 0, 1, 0][..], &[b'x'; 256]].concat();
    for (request, reply, word) in &[
        (&[4, 2, 0, 80, 192, 0, 2, 7, 0][..], REJECTED_4, "BIND"),
        (
            &[4, 3, 0, 80, 192, 0, 2, 7, 0],
            REJECTED_4,
            "unknown SOCKS4 command 3",
        ),
        (&asking_4("192.0.2.7", 0), REJECTED_4, "port"),
        (&asking_4("a.example", 0), REJECTED_4, "port"),
        (&asking_4("", 80), REJECTED_4, "missing"),
        (&asking_4("a ", 80), REJECTED_4, "'a '"),
        (&endless_user, REJECTED_4, "user ID has more than 255"),
        (&endless_name, REJECTED_4, "name in the SOCKS4 request"),
        (&[5, 1, 2], &[5, 0xff], "authentication"),
        (&[5, 0], &[5, 0xff], "authentication"),
        (
            &[5, 1, 0, 5, 2, 0, 1, 127, 0, 0, 1, 0, 80],
            &[5, 0, 5, 7],
            "BIND",
        ),
        (
            &[5, 1, 0, 5, 3, 0, 1, 127, 0, 0, 1, 0, 80],
            &[5, 0, 5, 7],
            "UDP",
        ),
        (&[5, 1, 0, 5, 1, 0, 7, 0], &[5, 0, 5, 8], "type 7"),
        (
            &[5, 1, 0, 5, 1, 0, 3, 2, b'a', b' ', 0, 80],
            &[5, 0, 5, 1],
            "'a '",
        ),
        (
            &[5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 0],
            &[5, 0, 5, 1],
            "port",
        ),
        (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 ", "http_proxy"),
        (b"CONNECT a HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 ", "port"),
        (b"\x16\x03\x01\n\n", b"HTTP/1.1 400 ", "not HTTP/1"),
    ] {
        let mut client = program.connect();
        let from = client.local().to_string();
        client.send(request);
        client.expect(reply);
        client.finish_sending();
        client.rest();
        program.says(&["warning", &from, "denied", word]);
    }
}

#[test]
fn a_silent_client_is_closed_after_the_handshake_timeout() {
    let program = Ptunnel::through("proxy.example:1").args(&["--handshake-timeout", "0.3"]);
    let program = listening(program).start();
    let mut older = asking_4("a.example", 22);
    older.pop();
    for said in &[&b""[..], GREETING, b"CONNECT a:1 HTTP/1.1\r\n", &older] {
        let mut client = program.connect();
        let from = client.local().to_string();
        client.send(said);
        client.rest_or_reset();
        program.says(&[&from, "no request within the handshake timeout"]);
    }
}

#[test]
fn clients_that_leave_early_do_not_affect_others() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address()).args(&["--max-connections", "2"]);
    let program = listening(program).start();
    let mut living = asked(&program, "a.example", 1);
    living.expect(CONNECTED);
    let all = [GREETING, &asking("a.example", 22)].concat();
    for end in 0..all.len() {
        let mut client = program.connect();
        client.send(&all[..end]);
        if end % 2 == 0 {
            client.reset();
        }
    }
    living.send("still here");
    living.expect("still here");
    asked(&program, "a.example", 1).expect(CONNECTED);
}

#[test]
fn a_client_that_resets_ends_the_opening() {
    let (hole, origin) = (Blackhole::start(), echo());
    let program = Ptunnel::through(hole.address()).args(&["-v", "-w", "600"]);
    let program = program.args(&["--no-proxy", "127.0.0.1", "--max-connections", "1"]);
    let program = listening(program).start();
    let client = asked(&program, "a.example", 22);
    let from = client.local().to_string();
    client.wait_until_read();
    client.reset();
    program.says(&["info", &from, "a.example:22", "cut: client", "reset"]);
    open(&program, origin.address());
}

#[test]
fn beyond_loopback_only_listed_clients_are_accepted() {
    for address in &["0.0.0.0:0", "*:0", ":0", "[::]:0"] {
        let finished = Ptunnel::through("proxy.example:1")
            .args(&["-D", address])
            .run();
        finished.expect_code(2);
        for words in &["an open proxy", "--allow-from", "--dynamic-user"] {
            assert!(finished.stderr.contains(words), "{}", finished.stderr);
        }
    }
    let finished = Ptunnel::through("proxy.example:1")
        .args(&["-D", "0", "--listen", "0.0.0.0"])
        .run();
    finished.expect_code(2);
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .args(&["-D", "*:0", "--allow-from", "127.0.0.2"])
        .more_lines(1)
        .start();
    let at = SocketAddr::new("127.0.0.1".parse().unwrap(), program.address().port());
    let mut client = Connection::open_from("127.0.0.2".parse().unwrap(), at);
    client.send(GREETING);
    client.expect(GREETED);
    let mut other = Connection::open(at);
    other.expect_nothing();
    program.says(&["127.0.0.1", "turned away"]);
}

/// If other machines can connect, destinations on this machine can't be reached directly. A proxy
/// decides for itself.
#[test]
fn other_machines_cannot_reach_this_machine_or_its_link() {
    let (proxy, origin, dead) = (Peer::echoing(), echo(), closed_address());
    let (at, port) = (origin.address().to_string(), origin.port());
    let named = format!("localhost:{}", port);
    let dead = dead.to_string();
    let ways: [&[&str]; 4] = [
        &["--no-proxy", "*"],
        &["--no-proxy", "*", "-4"],
        &["--direct-fallback"],
        &["--direct-fallback", "-p", &dead],
    ];
    for way in &ways {
        let program = Ptunnel::new()
            .args(&["-D", "*:0", "--allow-from", "127.0.0.1"])
            .args(way)
            .more_lines(1)
            .start();
        let client = || Connection::open(([127, 0, 0, 1], program.address().port()).into());
        for host in &["127.0.0.1", "localhost"] {
            let mut client = client();
            client.send(asking_4(host, port));
            client.expect(REJECTED_4);
        }
        for target in &[&at, &named, "0.0.0.0:1", "169.254.169.254:80"] {
            let mut client = client();
            client.send(request(target));
            let head = String::from_utf8(client.read_head()).unwrap();
            assert!(head.starts_with("HTTP/1.1 403 "), "{} {}", target, head);
        }
        let mut client = client();
        client.send([GREETING, &asking("127.0.0.1", port)].concat());
        client.expect(GREETED);
        client.expect([5, 2]);
        program.says(&["warning", &at, "blocked: this machine or its link"]);
    }
    assert_eq!(origin.accepted(), 0);
    let program = Ptunnel::through(proxy.address())
        .args(&["-D", "*:0", "--allow-from", "127.0.0.1"])
        .more_lines(1)
        .start();
    granted(
        Connection::open(([127, 0, 0, 1], program.address().port()).into()),
        &at,
    );
    assert!(proxy.head().starts_with(&format!("CONNECT {} ", at)));
}

/// Returns a `-D` listener that serves only joe.
pub fn of_joe(program: Ptunnel) -> Ptunnel {
    let program = listening(program).args(&["--dynamic-user", "joe"]);
    program.env("PTUNNEL_DYNAMIC_PASSWORD", "p:w \u{e4}d")
}

/// Another user than joe, wrong passwords, and clients without credentials.
#[test]
fn wrong_credentials_are_rejected() {
    let proxy = Peer::echoing();
    let program = of_joe(Ptunnel::through(proxy.address())).start();
    let denied = |said: &[&[u8]], reply: &[u8], word: &str| {
        let mut client = program.connect();
        let from = client.local().to_string();
        client.send(said.concat());
        client.expect(reply);
        client.finish_sending();
        client.rest();
        program.says(&["warning", &from, "denied", word]);
    };
    denied(&[&[5, 1, 0]], &[5, 0xff], "no username and password");
    let wrong = [5, 2, 1, 1];
    for login in &[
        "\x01\x03joe\x07p:w \u{e4}e",
        "\x01\x03joe\x00",
        "\x01\x03jim\x07p:w \u{e4}d",
        "\x01\x05joe:p\x05w \u{e4}d",
    ] {
        denied(
            &[&[5, 2, 0, 2], login.as_bytes()],
            &wrong,
            "the SOCKS5 login is wrong",
        );
    }
    denied(&[&[5, 1, 2, 5, 1, 0, 1]], &wrong, "version 5");
    for field in &[
        "",
        "Proxy-Authorization: Basic am9lOnA6dyDDpGU=\r\n",
        "Proxy-Authorization: Basic amltOnA6dyDDpGQ=\r\n",
        "Authorization: Basic am9lOnA6dyDDpGQ=\r\n",
    ] {
        let request = format!("CONNECT a.example:22 HTTP/1.1\r\n{}\r\n", field);
        denied(
            &[request.as_bytes()],
            b"HTTP/1.1 407 ",
            "a username and a password",
        );
    }
    // A user id is no password, whatever it contains.
    for user in &["joe", "joe:p:w \u{e4}d", "p:w \u{e4}d", ""] {
        let request = [&[4, 1, 0, 80, 192, 0, 2, 7], user.as_bytes(), b"\0"].concat();
        denied(&[&request], REJECTED_4, "SOCKS4 has no password");
    }
    denied(&[&[4]], REJECTED_4, "SOCKS4 has no password");
    assert_eq!(proxy.accepted(), 0);
    let told = program.stderr();
    for secret in &["p:w", "am9l", "amlt"] {
        assert!(!told.contains(secret), "{}", told);
    }
}

#[test]
fn the_right_user_is_served_and_early_bytes_are_kept() {
    let gate = Gate::open();
    let program = of_joe(Ptunnel::through(gate.address())).start();
    let login = "\x01\x03joe\x07p:w \u{e4}d".as_bytes();
    let all = [&[5, 2, 0, 2], login, &asking("a.example", 22), b"early"].concat();
    let field = "Proxy-Authorization: basic am9lOnA6dyDDpGQ=\r\n";
    let http = format!("CONNECT a.example:22 HTTP/1.1\r\n{}\r\nearly", field);
    let answers: &[(&[u8], &[u8])] = &[
        (&all, &[&[5, 2, 1, 0], CONNECTED].concat()),
        (http.as_bytes(), b"HTTP/1.1 200 "),
    ];
    for (said, answer) in answers {
        let mut client = program.connect();
        client.send(said);
        let mut server = gate.accept();
        let asked = String::from_utf8(server.read_head()).unwrap();
        // The client's credentials for this listener must not reach the proxy.
        assert!(!asked.contains("Authorization"), "{}", asked);
        server.send("HTTP/1.1 200 OK\r\n\r\n");
        server.expect("early");
        client.expect(answer);
    }
}

#[test]
fn with_a_user_it_can_listen_beyond_loopback() {
    let program = Ptunnel::through("proxy.example:1").args(&["-D", "*:0"]);
    let program = program.args(&["--dynamic-user", "joe:x"]).more_lines(1);
    let program = program.start();
    let port = program.address().port();
    let mut client = Connection::open(([127, 0, 0, 1], port).into());
    client.send([5, 1, 0]);
    client.expect([5, 0xff]);
    // The warning names a better place for the password.
    program.says(&["--dynamic-user", "PTUNNEL_DYNAMIC_PASSWORD"]);
}

#[test]
fn wrong_addresses_are_refused() {
    for address in &["", "x", "localhost", "70000", "1:2:3", "::1:1080"] {
        let finished = Ptunnel::through("proxy.example:1")
            .args(&["-D", address])
            .run();
        finished.expect_code(2);
        let shown = format!("'{}'", address);
        assert!(finished.stderr.contains(&shown), "{}", finished.stderr);
    }
    let both = Ptunnel::through("proxy.example:1").args(&["-D", "0", "-W", "a.example:1"]);
    both.run().expect_code(2);
    let without = Ptunnel::new().args(&["-D", "0", "--no-proxy", "127.0.0.1"]);
    let finished = without.run();
    finished.expect_code(2);
    assert!(finished.stderr.contains("no proxy"), "{}", finished.stderr);
}

#[test]
fn works_in_a_file_and_in_check_config() {
    let folder = TempDir::new();
    let text = "proxy = 'a.example:1'\ndynamic = [1080, '[::1]:1081']\n\
                dynamic-user = 'joe:x'\n";
    let file = folder.file_with_mode("ptunnel.toml", 0o600, text);
    let check = |args: &[&str]| {
        let program = Ptunnel::new().args(&["--config", &file, "--check-config"]);
        let finished = program.args(args).run();
        finished.expect_code(0);
        finished.text()
    };
    assert_eq!(
        check(&[]),
        "would listen on 127.0.0.1:1080 for SOCKS5 and HTTP by joe through a.example:1\n\
         would listen on [::1]:1081 for SOCKS5 and HTTP by joe through a.example:1\n"
    );
    assert_eq!(
        check(&["-D", "9", "--no-proxy", "*"]),
        "would listen on 127.0.0.1:9 for SOCKS5 and HTTP by joe directly\n"
    );
    assert_eq!(
        check(&["-W", "b.example:2"]),
        "would connect stdin and stdout to b.example:2 through a.example:1\n"
    );
}

#[test]
fn curl_fetches_from_nginx_through_squid_in_each_protocol() {
    let (nginx, squid) = (Nginx::start(), Squid::start(None));
    let program = listening(Ptunnel::through(squid.address()).arg("-v")).start();
    let at = program.address().to_string();
    let user_at = format!("joe@{}", at);
    let http = format!("http://{}", at);
    let trust = nginx.certificate();
    let plain = format!("http://localhost:{}", nginx.address().port());
    let tls = format!("https://localhost:{}", nginx.tls().port());
    let by_address = format!("http://{}", nginx.address());
    for (way, url) in &[
        (&["--socks5-hostname", &at][..], &plain),
        (&["--socks5-hostname", &at], &tls),
        (&["--socks5", &at], &by_address),
        (&["--socks4a", &at], &plain),
        (&["--socks4a", &user_at], &tls),
        (&["--socks4", &at], &by_address),
        (&["--socks4", &user_at], &by_address),
        (&["-x", &http, "--proxytunnel"], &plain),
        (&["-x", &http], &tls),
    ] {
        let get = |file: &str| {
            let url = format!("{}/{}", url, file);
            let last = ["--noproxy", "", "--cacert", &trust, &url];
            curl(&[way, &last[..]].concat())
        };
        assert_eq!(get("small"), SMALL.as_bytes());
        Nginx::big().check(0, &get("big"));
    }
    program.says(&["info", "to localhost:", "through ", "closed by both sides"]);
}

/// Besides curl, the clients that support SOCKS4: ncat, and ptunnel, which sends names as 4A does.
#[test]
fn ncat_and_ptunnel_itself_use_socks4() {
    let nginx = Nginx::start();
    let program = listening(Ptunnel::new().arg("--direct-fallback")).start();
    let at = program.address().to_string();
    let (ip, port) = (nginx.address().ip().to_string(), nginx.address().port());
    let request = format!("GET /small HTTP/1.0\r\nHost: {}\r\n\r\n", nginx.address());
    for login in &[&[][..], &["--proxy-auth", "joe"]] {
        let mut ncat = command("ncat");
        ncat.args(&["--proxy", &at, "--proxy-type", "socks4"]);
        ncat.args(*login).args(&[&ip, &port.to_string()]);
        assert!(answered(ncat, request.as_bytes()).ends_with(SMALL));
    }
    for (url, host) in &[
        ("socks4://", "localhost"),
        ("socks4://joe@", &ip),
        ("socks4a://", "localhost"),
        ("socks4a://joe@", &ip),
    ] {
        let client = Ptunnel::through(format!("{}{}", url, at));
        let client = client.args(&["-W", &format!("{}:{}", host, port)]);
        let finished = client.run_with(request.as_bytes());
        finished.expect_code(0);
        assert!(finished.text().ends_with(SMALL), "{}", finished.text());
    }
    let closed = closed_address().to_string();
    let client = Ptunnel::through(format!("socks4://{}", at)).args(&["-W", &closed]);
    let finished = client.run();
    finished.expect_code(3);
    assert!(
        finished.stderr.contains("SOCKS reply 91"),
        "{}",
        finished.stderr
    );
}

#[test]
fn ssh_connects_through_netcat_in_each_protocol() {
    let sshd = Sshd::start();
    let squid = Squid::start(None);
    let program = listening(Ptunnel::through(squid.address())).start();
    for language in &["4", "5", "connect"] {
        let netcat = format!("nc.openbsd -X {} -x {} %h %p", language, program.address());
        let mut ssh = command("ssh");
        ssh.args(sshd.client_options(&netcat))
            .args(&["127.0.0.1", "echo through; exit 7"])
            .stdin(Stdio::null());
        let output = ssh.output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{}", described(&output));
        assert_eq!(output.stdout, b"through\n");
    }
}

/// Real clients that authenticate, each in its own protocol.
#[test]
fn curl_ncat_and_ptunnel_itself_authenticate() {
    let nginx = Nginx::start();
    let program = of_joe(Ptunnel::new().arg("--direct-fallback")).start();
    let at = program.address().to_string();
    let http = format!("http://{}", at);
    let url = format!("http://{}/small", nginx.address());
    let fetch = |way: &[&str], user: &str| {
        let get = [
            "-sS",
            "--max-time",
            "60",
            "--noproxy",
            "",
            "--proxy-user",
            user,
            &url,
        ];
        output("curl", &[way, &get].concat())
    };
    for way in &[
        &["--socks5-hostname", &at][..],
        &["--socks5", &at],
        &["-p", "-x", &http],
        &["-p", "--proxy-anyauth", "-x", &http],
    ] {
        let got = fetch(way, "joe:p:w \u{e4}d");
        assert_eq!(got.stdout, SMALL.as_bytes(), "{}", described(&got));
        let denied = fetch(way, "joe:wrong");
        assert!(!denied.status.success(), "{}", described(&denied));
    }
    let request = format!("GET /small HTTP/1.0\r\nHost: {}\r\n\r\n", nginx.address());
    let (ip, port) = (nginx.address().ip().to_string(), nginx.address().port());
    for language in &["socks5", "http"] {
        let with = |user: &str| {
            let mut ncat = command("ncat");
            ncat.args(&[
                "--proxy",
                &at,
                "--proxy-type",
                language,
                "--proxy-auth",
                user,
            ]);
            ncat.args(&[&ip, &port.to_string()]);
            answered(ncat, request.as_bytes())
        };
        assert!(with("joe:p:w \u{e4}d").ends_with(SMALL), "{}", language);
        assert_eq!(with("joe:wrong"), "", "{}", language);
    }
    for scheme in &["socks5", "socks5h", "http"] {
        let with = |password: &str| {
            let url = format!("{}://joe:{}@{}", scheme, password, at);
            let client = Ptunnel::through(url).args(&["-W", &nginx.address().to_string()]);
            client.run_with(request.as_bytes())
        };
        let finished = with("p%3Aw%20%C3%A4d");
        finished.expect_code(0);
        assert!(finished.text().ends_with(SMALL), "{}", finished.text());
        with("wrong").expect_code(4);
    }
    // SOCKS4 has no password, and the user alone isn't enough.
    for way in &[&["--socks4", &at][..], &["--socks4a", &at]] {
        for user in &["joe", "joe:p:w \u{e4}d"] {
            let denied = fetch(way, user);
            assert!(!denied.status.success(), "{}", described(&denied));
            assert_eq!(denied.stdout, b"");
        }
    }
    let mut ncat = command("ncat");
    ncat.args(&["--proxy", &at, "--proxy-type", "socks4"]);
    ncat.args(&["--proxy-auth", "joe", &ip, &port.to_string()]);
    assert_eq!(answered(ncat, request.as_bytes()), "");
    let client = Ptunnel::through(format!("socks4a://joe@{}", at));
    let client = client.args(&["-W", &nginx.address().to_string()]);
    client.run_with(request.as_bytes()).expect_code(3);
    program.says(&["denied", "SOCKS4 has no password"]);
}

/// Returns the output of a client that reads `said`.
pub fn answered(mut client: Command, said: &[u8]) -> String {
    let client = client
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut client = client.spawn().unwrap();
    // It may have been rejected, and have exited.
    let _ = client.stdin.as_mut().unwrap().write_all(said);
    let output = client.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Regression: the client got an error about an invalid token, or waited for the handshake timeout,
/// depending on whether its handshake contained a line end.
#[test]
fn a_client_that_speaks_tls_gets_advice() {
    let program = Ptunnel::through(closed_address()).serving();
    let program = listening(program).start();
    for address in &[program.address(), program.proxy()] {
        let proxy = format!("https://{}", address);
        let said = output(
            "curl",
            &["-sSm", "10", "-x", &proxy, "https://example.org/"],
        );
        assert!(!said.status.success(), "{}", described(&said));
        let mut client = Connection::open(*address);
        client.send(b"\x16\x03\x01\x00\x20\x01\x00\x00\x1c\x03\x03");
        let reply = String::from_utf8(client.rest_or_reset()).unwrap();
        assert!(reply.starts_with("HTTP/1.1 400 "), "{}", reply);
        assert!(reply.contains("use http://"), "{}", reply);
        let from = client.local().to_string();
        program.says(&[&from, "not HTTP/1 but TLS"]);
    }
}
