//! `--allow-from`: which clients can connect, tested with the machine's own addresses.

use std::net::SocketAddr;

use crate::serve::{echo, request};
use support::parts::{described, output};
use support::{Connection, Peer, Ptunnel, Running};

/// Connects to the first tunnel from this address.
fn client_from(ip: &str, program: &Running) -> Connection {
    Connection::open_from(ip.parse().unwrap(), program.address())
}

#[track_caller]
fn assert_served(mut client: Connection) {
    client.send("ping");
    client.expect("ping");
}

fn lines(program: &Running, word: &str) -> usize {
    let told = program.stderr();
    told.lines().filter(|line| line.contains(word)).count()
}

#[test]
fn listed_addresses_are_accepted_and_others_are_closed() {
    let proxy = Peer::echoing();
    for args in &[
        &["--allow-from", "127.0.0.2,127.0.1.0/24"][..],
        &["--allow-from", "127.0.0.2", "--allow-from", "127.0.1.0/24"],
        &["--allow-from=127.0.0.2, 127.0.1.0/24", "--threads", "2"],
    ] {
        let program = Ptunnel::through(proxy.address())
            .to("a.example:1")
            .args(args)
            .start();
        let before = proxy.accepted();
        for ip in &["127.0.0.1", "127.0.0.3", "127.0.2.1"] {
            client_from(ip, &program).expect_nothing();
            program.says(&["warning", ip, "--allow-from"]);
        }
        assert_eq!(proxy.accepted(), before, "nobody was to be asked");
        for ip in &["127.0.0.2", "127.0.1.0", "127.0.1.255"] {
            assert_served(client_from(ip, &program));
        }
    }
}

#[test]
fn a_rejected_address_is_logged_once() {
    let program = Ptunnel::through("proxy.example:1")
        .to("a.example:1")
        .args(&["--allow-from", "127.0.0.2"])
        .start();
    for _ in 0..5 {
        client_from("127.0.0.4", &program).expect_nothing();
    }
    client_from("127.0.0.5", &program).expect_nothing();
    program.says(&["127.0.0.5", "turned away"]);
    assert_eq!(lines(&program, "127.0.0.4"), 1, "{}", program.stderr());
}

/// A listener of both families reports IPv4 clients with IPv4-mapped IPv6 addresses.
#[test]
fn an_ipv4_client_is_matched_as_ipv4_on_any_listener() {
    let proxy = Peer::echoing();
    let begin = |list: &str| {
        let program = Ptunnel::through(proxy.address()).tunnel("*:0:a.example:1");
        program.args(&["--allow-from", list]).start()
    };
    let client = |program: &Running, from: &str| {
        let from = from.parse().unwrap();
        Connection::open_from(from, SocketAddr::new(from, program.address().port()))
    };
    for list in &["127.0.0.1", "::ffff:127.0.0.1", "::ffff:127.0.0.0/104"] {
        let program = begin(list);
        assert_served(client(&program, "127.0.0.1"));
        client(&program, "::1").expect_nothing();
        program.says(&["[::1]", "turned away"]);
    }
    let program = begin("::/0");
    assert_served(client(&program, "::1"));
    client(&program, "127.0.0.1").expect_nothing();
    program.says(&["warning: 127.0.0.1:", "turned away"]);
}

#[test]
fn a_rejected_client_uses_no_permit() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .to("a.example:1")
        .args(&["--allow-from", "127.0.0.2", "--max-connections", "1"])
        .start();
    for _ in 0..40 {
        client_from("127.0.0.1", &program).expect_nothing();
    }
    for _ in 0..3 {
        assert_served(client_from("127.0.0.2", &program));
    }
}

#[test]
fn the_embedded_proxy_can_serve_a_listed_network() {
    let origin = echo();
    let program = Ptunnel::new()
        .serving_on("0.0.0.0:0")
        .args(&["--allow-from", "127.0.0.2"])
        .args(&["--serve-allow", "127.0.0.1"])
        .start();
    let at = SocketAddr::new("127.0.0.1".parse().unwrap(), program.proxy().port());
    let mut client = Connection::open_from("127.0.0.2".parse().unwrap(), at);
    client.send(request(origin.address()));
    assert!(client.read_head().starts_with(b"HTTP/1.1 200 "));
    Connection::open(at).expect_nothing();
    program.says(&["127.0.0.1", "turned away"]);
}

#[test]
fn curl_is_accepted_by_its_address() {
    let origin = Peer::start(|mut connection| {
        connection.read_head();
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    });
    let program = Ptunnel::new()
        .args(&["--direct-fallback", "--allow-from", "127.0.0.8/29"])
        .to(origin.address())
        .start();
    let url = format!("http://{}/", program.address());
    let curl = |from: &str| {
        output(
            "curl",
            &["-sS", "--max-time", "60", "--interface", from, &url],
        )
    };
    let served = curl("127.0.0.9");
    assert_eq!(served.stdout, b"hello", "{}", described(&served));
    assert!(!curl("127.0.0.16").status.success());
    program.says(&["127.0.0.16", "turned away"]);
}

#[test]
fn an_invalid_address_is_a_usage_error() {
    for text in &[
        "",
        "example.org",
        "10.0.0.0/33",
        "127.0.0.1:80",
        "10.0.0.1,",
    ] {
        let finished = Ptunnel::through("proxy.example:1")
            .arg("1:a.example:1")
            .args(&["--allow-from", text])
            .run();
        finished.expect_code(2);
        let shown = format!("'{}'", text.trim_start_matches("10.0.0.1,"));
        for word in &[&shown[..], "10.0.0.0/8"] {
            assert!(finished.stderr.contains(word), "{}", finished.stderr);
        }
    }
}

#[test]
fn check_config_shows_the_accepted_addresses() {
    let finished = Ptunnel::through("proxy.example:1")
        .arg("1:a.example:1")
        .args(&["--allow-from", "10.0.0.0/8,::1", "--check-config"])
        .run();
    finished.expect_code(0);
    let told = finished.text();
    let line = "would accept clients from 10.0.0.0/8, ::1/128 only";
    assert!(told.lines().any(|l| l == line), "{}", told);
}
