//! The client's end: passed on at once, or held back from an upstream that would close both
//! directions.

use std::time::{Duration, Instant};

use support::ends::{Ends, Gate};
use support::parts::{Nginx, Squid, Tinyproxy};
use support::{steadily, Finished, Ptunnel, Running, TempDir};

/// A word in the report about such a tunnel.
const ADVICE: &str = "--half-close-delay";

fn start(gate: &Gate, args: &[&str]) -> Running {
    Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(args)
        .start()
}

/// Returns a tunnel of stdin and stdout.
fn piped(gate: &Gate, args: &[&str]) -> Ptunnel {
    Ptunnel::through(gate.address())
        .args(&["-W", "example.org:22"])
        .args(args)
}

/// Regression: squid and tinyproxy end both directions when one side half-closes, so a pipe through
/// them printed nothing and ended with exit code 0.
#[test]
fn a_pipe_through_squid_and_tinyproxy_prints_the_reply() {
    let nginx = Nginx::start();
    let (squid, tinyproxy) = (Squid::start(None), Tinyproxy::start(None));
    for proxy in &[squid.address(), tinyproxy.address()] {
        for _ in 0..3 {
            let finished = Ptunnel::through(proxy)
                .args(&["-W", &nginx.address().to_string()])
                .run_with(b"GET /small HTTP/1.0\r\n\r\n");
            finished.expect_code(0);
            assert_eq!(finished.stderr, "");
            let reply = finished.text();
            assert!(reply.starts_with("HTTP/1.1 200 "), "{:?}", reply);
        }
    }
}

/// Netcat through a listener, which needs the option.
#[test]
fn a_client_with_a_held_end_gets_its_reply_through_squid() {
    let (nginx, squid) = (Nginx::start(), Squid::start(None));
    let program = Ptunnel::through(squid.address())
        .to(nginx.address())
        .args(&["--half-close-delay", "20"])
        .start();
    let mut client = program.connect();
    client.send("GET /small HTTP/1.0\r\n\r\n");
    client.finish_sending();
    let reply = client.rest();
    assert!(reply.starts_with(b"HTTP/1.1 200 "), "{:?}", reply);
    assert!(!program.stderr().contains(ADVICE), "{}", program.stderr());
}

/// Plays a proxy that grants a tunnel, reads everything, and ends both directions at the client's
/// end.
fn ends_both_ways(gate: &Gate) {
    let mut server = gate.grant();
    assert_eq!(server.rest(), b"request");
}

#[track_caller]
fn assert_advised(finished: &Finished, count: usize) {
    let lines = finished.stderr.lines();
    let advised = lines.filter(|line| line.contains(ADVICE)).count();
    assert_eq!(advised, count, "{}", finished.stderr);
}

#[test]
fn an_end_that_loses_the_reply_is_reported() {
    for log in &[&[][..], &["--log-format", "json"]] {
        let gate = Gate::open();
        let program = piped(&gate, &["--half-close-delay", "0"]).args(log);
        let serving = std::thread::spawn(move || ends_both_ways(&gate));
        let finished = program.run_with(b"request");
        serving.join().unwrap();
        finished.expect_code(0);
        assert!(finished.stdout.is_empty());
        assert_advised(&finished, 1);
        for word in &["stdio", "example.org:22", "through 127.0.0.1:"] {
            assert!(finished.stderr.contains(word), "{}", finished.stderr);
        }
    }
    let gate = Gate::open();
    let program = start(&gate, &[]);
    let mut client = program.connect();
    client.send("request");
    client.finish_sending();
    ends_both_ways(&gate);
    client.expect_end();
    let line = program.says(&["example.org:22", ADVICE]);
    assert!(line.starts_with("warning: 127.0.0.1:"), "{}", line);
}

#[test]
fn ends_that_lose_nothing_are_not_reported() {
    let gate = Gate::open();
    let program = start(&gate, &["-v"]);
    // The client has got its reply and ends first; the client ends first and gets its reply; the
    // server ends first; nothing was ever sent.
    let mut ends = gate.join(&program);
    ends.check();
    ends.client.finish_sending();
    ends.server.expect_end();
    drop(ends.server);
    ends.client.expect_end();
    let mut ends = gate.join(&program);
    ends.client.send("request");
    ends.client.finish_sending();
    assert_eq!(ends.server.rest(), b"request");
    ends.server.send("reply");
    drop(ends.server);
    assert_eq!(ends.client.rest(), b"reply");
    let mut ends = gate.join(&program);
    ends.client.send("?");
    ends.server.expect("?");
    ends.server.finish_sending();
    ends.client.expect_end();
    ends.client.finish_sending();
    ends.server.expect_end();
    let mut ends = gate.join(&program);
    ends.client.finish_sending();
    ends.server.expect_end();
    drop(ends.server);
    ends.client.expect_end();
    let closed = || program.stderr().matches("closed by both sides").count() == 4;
    support::eventually("four lines about ends", closed);
    assert!(!program.stderr().contains(ADVICE), "{}", program.stderr());
}

#[test]
fn an_end_is_held_back_until_the_upstream_has_been_silent_for_the_time() {
    let folder = TempDir::new();
    let file = folder.file("ptunnel.toml", "half-close-delay = 1\n");
    for args in &[&["--half-close-delay", "1"][..], &["--config", &file]] {
        let gate = Gate::open();
        let program = start(&gate, args);
        let Ends {
            mut client,
            mut server,
        } = gate.join(&program);
        client.send("request");
        client.finish_sending();
        server.expect("request");
        steadily("no end yet", Duration::from_millis(500), || {
            server.is_quiet()
        });
        let last = Instant::now();
        server.send("slow ");
        server.expect_end();
        let took = last.elapsed();
        assert!(took >= Duration::from_millis(950), "{:?}", took);
        server.send("reply");
        drop(server);
        assert_eq!(client.rest(), b"slow reply");
    }
}

#[test]
fn a_held_end_can_wait_for_the_upstreams_end() {
    let gate = Gate::open();
    let program = start(&gate, &["--half-close-delay", "never"]);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    client.send("request");
    client.finish_sending();
    server.expect("request");
    steadily("no end", Duration::from_millis(700), || server.is_quiet());
    server.send("reply");
    server.finish_sending();
    assert_eq!(client.rest(), b"reply");
    server.expect_end();

    // The linger timeout ends a server that doesn't end.
    let program = start(
        &gate,
        &["--half-close-delay", "never", "--linger-timeout", "0.5"],
    );
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    client.finish_sending();
    server.expect_reset();
    client.expect_nothing();
}

#[test]
fn a_client_that_is_reset_while_its_end_is_held_back_resets_the_upstream() {
    let gate = Gate::open();
    let program = start(&gate, &["--half-close-delay", "never"]);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    client.send("request");
    client.finish_sending();
    server.expect("request");
    steadily("no end", Duration::from_millis(200), || server.is_quiet());
    client.reset();
    server.expect_reset();
}

#[test]
fn the_end_of_stdin_is_held_back_by_default() {
    let gate = Gate::open();
    let mut program = piped(&gate, &[]).spawn();
    std::io::Write::write_all(&mut program.stdin(), b"request").unwrap();
    let mut server = gate.grant();
    server.expect("request");
    steadily("no end", Duration::from_secs(1), || server.is_quiet());
    server.send("reply");
    server.finish_sending();
    server.expect_end();
    let finished = program.finish();
    finished.expect_code(0);
    assert_eq!(finished.text(), "reply");
    assert_eq!(finished.stderr, "");
}
