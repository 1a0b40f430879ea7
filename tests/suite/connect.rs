//! The request to a proxy, byte by byte (RFC 9110 §9.3.6, RFC 9112).

use std::time::{Duration, Instant};

use crate::ends::Gate;
use crate::support::{eventually, steadily, Peer, Ptunnel};

/// The head of the request for this destination.
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
fn asks_in_authority_form_and_names_the_same_host() {
    assert_eq!(
        request_for("example.org:22", &[]),
        "CONNECT example.org:22 HTTP/1.1\r\nHost: example.org:22\r\n\r\n"
    );
}

#[test]
fn names_the_port_even_where_a_browser_would_not() {
    assert_eq!(
        request_for("example.org:443", &[]),
        "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n"
    );
}

#[test]
fn puts_ipv6_literals_in_brackets() {
    assert_eq!(
        request_for("[2001:db8::1]:22", &[]),
        "CONNECT [2001:db8::1]:22 HTTP/1.1\r\nHost: [2001:db8::1]:22\r\n\r\n"
    );
}

#[test]
fn leaves_the_destinations_name_to_the_proxy() {
    // `.invalid` never resolves (RFC 6761 §6.4): asking for its address would have failed.
    assert_eq!(
        request_for("nowhere.invalid:1", &[]),
        "CONNECT nowhere.invalid:1 HTTP/1.1\r\nHost: nowhere.invalid:1\r\n\r\n"
    );
}

#[test]
fn adds_headers_that_were_asked_for_in_their_order() {
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
fn carries_the_longest_name_that_dns_knows() {
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

/// RFC 9931: a client that guesses the answer can be made to speak for somebody else.
#[test]
fn sends_nothing_of_the_clients_before_the_reply() {
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
fn sends_nothing_of_the_clients_to_a_proxy_that_refuses() {
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
fn sends_nothing_of_the_clients_after_an_interim_reply() {
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
fn opens_one_connection_a_client_and_only_once_it_comes() {
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

/// A proxy that takes the connection and never answers.
#[test]
fn gives_up_on_a_proxy_that_does_not_answer_in_time() {
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

/// A byte now and then is no progress: the limit holds for the whole reply.
#[test]
fn gives_up_on_a_proxy_that_answers_drop_by_drop() {
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
fn a_client_that_leaves_before_the_reply_takes_its_connection_along() {
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

/// It held a permit and two descriptors until the proxy had made up its mind, or the time was up.
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
fn a_client_that_has_said_all_waits_for_its_tunnel() {
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
