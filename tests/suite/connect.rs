//! The request to a proxy, byte by byte (RFC 9110 §9.3.6, RFC 9112).

use std::time::{Duration, Instant};

use support::ends::Gate;
use support::{eventually, steadily, Peer, Ptunnel};

/// Returns the head of the request for this destination.
fn request_for(destination: &str, args: &[&str]) -> String {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .to(destination)
        .args(args)
        .start();
    let mut client = program.connect();
    client.send("ping");
    client.expect("ping");
    proxy.head()
}

#[test]
fn the_request_is_in_authority_form_with_the_same_host() {
    assert_eq!(
        request_for("example.org:22", &[]),
        "CONNECT example.org:22 HTTP/1.1\r\nHost: example.org:22\r\n\r\n"
    );
}

#[test]
fn the_request_always_names_the_port() {
    assert_eq!(
        request_for("example.org:443", &[]),
        "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n"
    );
}

#[test]
fn ipv6_literals_are_in_brackets() {
    assert_eq!(
        request_for("[2001:db8::1]:22", &[]),
        "CONNECT [2001:db8::1]:22 HTTP/1.1\r\nHost: [2001:db8::1]:22\r\n\r\n"
    );
}

#[test]
fn the_proxy_resolves_the_destinations_name() {
    // `.invalid` never resolves (RFC 6761 §6.4): looking up its address would have failed.
    assert_eq!(
        request_for("nowhere.invalid:1", &[]),
        "CONNECT nowhere.invalid:1 HTTP/1.1\r\nHost: nowhere.invalid:1\r\n\r\n"
    );
}

#[test]
fn added_headers_keep_their_order() {
    let args = [
        "-H",
        "X-Site: north",
        "--header",
        "Proxy-Connection: keep-alive",
        "-H",
        "X-2:b",
    ];
    assert_eq!(
        request_for("example.org:22", &args),
        "CONNECT example.org:22 HTTP/1.1\r\nHost: example.org:22\r\n\
         X-Site: north\r\nProxy-Connection: keep-alive\r\nX-2: b\r\n\r\n"
    );
}

#[test]
fn the_longest_dns_name_is_accepted() {
    let label = "a".repeat(63);
    let name = format!("{l}.{l}.{l}.{}", "b".repeat(61), l = label);
    assert_eq!(
        request_for(&format!("{}:65535", name), &[]),
        format!(
            "CONNECT {n}:65535 HTTP/1.1\r\nHost: {n}:65535\r\n\r\n",
            n = name
        )
    );
}

/// RFC 9931: a client that guesses the reply could be made to send requests on behalf of an
/// attacker.
#[test]
fn no_client_byte_is_sent_before_the_reply() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("too early");
    let mut proxy = gate.accept();
    proxy.read_head();
    let quiet = || proxy.is_quiet();
    steadily(
        "nothing behind the request",
        Duration::from_millis(300),
        quiet,
    );
    proxy.send("HTTP/1.1 200 OK\r\n");
    let quiet = || proxy.is_quiet();
    steadily(
        "nothing before the blank line",
        Duration::from_millis(200),
        quiet,
    );
    proxy.send("\r\n");
    proxy.expect("too early");
}

#[test]
fn no_client_byte_is_sent_to_a_refusing_proxy() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("secret");
    let mut proxy = gate.accept();
    proxy.read_head();
    proxy.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
    proxy.expect_nothing();
}

#[test]
fn no_client_byte_is_sent_after_an_interim_reply() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("too early");
    let mut proxy = gate.accept();
    proxy.read_head();
    proxy.send("HTTP/1.1 100 Continue\r\n\r\n");
    proxy.wait_until_read();
    let quiet = || proxy.is_quiet();
    steadily("nothing after a 100", Duration::from_millis(200), quiet);
    proxy.send("HTTP/1.1 200 OK\r\n\r\n");
    proxy.expect("too early");
}

#[test]
fn each_client_opens_one_connection_when_it_connects() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .start();
    steadily(
        "no connection without a client",
        Duration::from_millis(200),
        || proxy.accepted() == 0,
    );
    for count in 1..4 {
        let mut client = program.connect();
        client.send("x");
        client.expect("x");
        assert_eq!(proxy.accepted(), count);
    }
}

/// A proxy that accepts the connection and never replies.
#[test]
fn a_silent_proxy_ends_with_the_handshake_timeout() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["--handshake-timeout", "0.4"])
        .start();
    let start = Instant::now();
    let mut client = program.connect();
    let mut proxy = gate.accept();
    proxy.read_head();
    client.expect_nothing();
    assert!(
        start.elapsed() >= Duration::from_millis(390),
        "{:?}",
        start.elapsed()
    );
    program.says(&[&gate.address().to_string(), "0.4"]);
    proxy.expect_nothing();
}

/// Single bytes are no progress: the limit holds for the whole reply.
#[test]
fn a_slow_reply_ends_with_the_handshake_timeout() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["--handshake-timeout", "0.5"])
        .start();
    let mut client = program.connect();
    let mut proxy = gate.accept();
    proxy.read_head();
    proxy.send("HTTP/1.1 200 OK\r\nX: ");
    eventually("the program hangs up", || proxy.try_send("x").is_err());
    client.expect_nothing();
    program.says(&[&gate.address().to_string(), "0.5"]);
}

#[test]
fn a_client_that_leaves_before_the_reply_closes_the_proxy_connection() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .start();
    let client = program.connect();
    let mut proxy = gate.accept();
    proxy.read_head();
    client.reset();
    let _ = proxy.try_send("HTTP/1.1 200 OK\r\n\r\n");
    proxy.expect_nothing();
}

/// Regression: it held a permit and two descriptors until the proxy had replied or the limit was
/// over.
#[test]
fn a_client_that_resets_ends_the_opening() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["-v", "--handshake-timeout", "600"])
        .args(&["--max-connections", "1"])
        .start();
    let mut client = program.connect();
    let from = client.local().to_string();
    client.send("too early");
    let mut proxy = gate.accept();
    proxy.read_head();
    client.reset();
    proxy.expect_nothing();
    program.says(&["info", &from, "example.org:22", "cut: client", "reset"]);
    gate.join(&program).check();
}

/// `printf 'GET …' | nc`: an end is not a reset.
#[test]
fn a_client_that_half_closes_still_gets_its_tunnel() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("question");
    client.finish_sending();
    let mut proxy = gate.accept();
    proxy.read_head();
    let quiet = || proxy.is_quiet();
    steadily("no end", Duration::from_millis(1200), quiet);
    proxy.send("HTTP/1.1 200 OK\r\n\r\n");
    proxy.expect("question");
    proxy.expect_end();
    proxy.send("answer");
    client.expect("answer");
}
