//! The path of a tunnel: the list of proxies, their failures, direct connections, NO_PROXY.

use std::time::{Duration, Instant};

use support::parts::Squid;
use support::{closed_address, eventually, Blackhole, Peer, Ptunnel, Running};

/// A destination that sends its name and then echoes.
pub fn origin(name: &'static str) -> Peer {
    Peer::start(move |mut connection| {
        connection.send(name);
        connection.echo();
    })
}

/// A proxy that grants each tunnel, sends its name and then echoes.
pub fn proxy(name: &'static str) -> Peer {
    Peer::granting(move |mut connection| {
        connection.send(name);
        connection.echo();
    })
}

/// Returns the name in the greeting of a new client.
#[track_caller]
fn greeting(program: &Running) -> String {
    String::from_utf8(program.connect().receive(3)).unwrap()
}

/// Returns the number of lines on stderr with all of these words.
fn count_of(program: &Running, words: &[&str]) -> usize {
    let has_all = |line: &&str| words.iter().all(|word| line.contains(word));
    program.stderr().lines().filter(has_all).count()
}

#[test]
fn the_first_proxy_is_used_as_long_as_it_works() {
    let (first, second) = (proxy("one"), proxy("two"));
    let program = Ptunnel::through(first.address())
        .proxy(second.address())
        .to("example.org:22")
        .start();
    for _ in 0..3 {
        assert_eq!(greeting(&program), "one");
    }
    assert_eq!((first.accepted(), second.accepted()), (3, 0));
}

#[test]
fn the_next_proxy_is_used_if_the_first_is_unreachable() {
    let (dead, second) = (closed_address(), proxy("two"));
    let program = Ptunnel::through(dead)
        .proxy("nowhere.invalid:3128")
        .proxy(second.address())
        .to("example.org:22")
        .start();
    assert_eq!(greeting(&program), "two");
    program.says(&[&dead.to_string()]);
    program.says(&["nowhere.invalid:3128"]);
}

#[test]
fn the_next_proxy_is_used_after_a_broken_or_malformed_reply() {
    let first = Peer::replying("what?\r\n\r\n");
    let gone = Peer::proxy(drop);
    let last = proxy("two");
    let program = Ptunnel::through(first.address())
        .proxy(gone.address())
        .proxy(last.address())
        .to("example.org:22")
        .start();
    assert_eq!(greeting(&program), "two");
    assert_eq!((first.accepted(), gone.accepted()), (1, 1));
}

#[test]
fn no_other_proxy_is_tried_after_a_refusal() {
    let first = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let second = proxy("two");
    let program = Ptunnel::through(first.address())
        .proxy(second.address())
        .to("example.org:22")
        .start();
    program.connect().expect_nothing();
    program.says(&[&first.address().to_string(), "403 Forbidden"]);
    assert_eq!(second.accepted(), 0);
}

#[test]
fn a_silent_proxy_delays_only_one_client() {
    let (hole, second) = (Blackhole::start(), proxy("two"));
    let program = Ptunnel::through(hole.address())
        .proxy(second.address())
        .to("example.org:22")
        .args(&["-w", "2"])
        .start();
    let start = Instant::now();
    assert_eq!(greeting(&program), "two");
    let first = start.elapsed();
    assert!(first >= Duration::from_millis(1900), "{:?}", first);
    program.says(&[&hole.address().to_string(), "2s"]);
    let start = Instant::now();
    assert_eq!(greeting(&program), "two");
    assert!(
        start.elapsed() < Duration::from_millis(1900),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_failed_proxy_is_probed_after_30_seconds_and_then_first_again() {
    let first = Peer::proxy(|mut connection| {
        if connection.number > 0 {
            connection.send("HTTP/1.1 200 OK\r\n\r\none");
            connection.echo();
        }
    });
    let second = proxy("two");
    let program = Ptunnel::through(first.address())
        .proxy(second.address())
        .to("example.org:22")
        .start();
    let start = Instant::now();
    assert_eq!(greeting(&program), "two");
    eventually("the first proxy is used again", || {
        greeting(&program) == "one"
    });
    assert!(
        start.elapsed() >= Duration::from_millis(29_900),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(first.accepted(), 3, "the probe between two clients");
    assert_eq!(greeting(&program), "one");
    let (first, second) = (first.address().to_string(), second.address().to_string());
    program.says(&["new tunnels go through", &first, "again"]);
    assert_eq!(count_of(&program, &["new tunnels", &second, "for now"]), 1);
    assert_eq!(count_of(&program, &["new tunnels"]), 2);
}

/// All threads use what one of them learned, and it is logged once.
#[test]
fn a_takeover_applies_to_all_threads_and_is_logged_once() {
    let (hole, second) = (Blackhole::start(), proxy("two"));
    let program = Ptunnel::through(hole.address())
        .proxy(second.address())
        .to("example.org:22")
        .args(&["-w", "1", "--threads", "3"])
        .start();
    assert_eq!(greeting(&program), "two");
    let start = Instant::now();
    for _ in 0..12 {
        assert_eq!(greeting(&program), "two");
    }
    assert!(start.elapsed() < Duration::from_millis(900));
    let line = format!("new tunnels go through {} for now", second.address());
    program.says(&[&line]);
    assert_eq!(count_of(&program, &["new tunnels"]), 1);
    assert_eq!(count_of(&program, &["trying the next proxy"]), 1);
}

#[test]
fn the_only_proxy_is_tried_again_at_once() {
    let only = Peer::proxy(|mut connection| {
        if connection.number > 0 {
            connection.send("HTTP/1.1 200 OK\r\n\r\none");
            connection.echo();
        }
    });
    let program = Ptunnel::through(only.address())
        .to("example.org:22")
        .start();
    program.connect().expect_nothing();
    assert_eq!(greeting(&program), "one");
}

#[test]
fn if_no_proxy_answers_the_client_is_closed_and_the_reason_is_logged() {
    let (one, two) = (closed_address(), closed_address());
    let origin = origin("own");
    let program = Ptunnel::through(one)
        .proxy(two)
        .to(origin.address())
        .start();
    program.connect().expect_nothing();
    program.says(&[&one.to_string()]);
    program.says(&[&two.to_string()]);
    assert_eq!(origin.accepted(), 0, "connected directly unasked");
}

/// The 2019 ptunnel connected directly without a warning.
#[test]
fn the_direct_fallback_warns_each_time() {
    let (dead, origin) = (closed_address(), origin("own"));
    let program = Ptunnel::through(dead)
        .to(origin.address())
        .arg("--direct-fallback")
        .start();
    for count in 1..4 {
        assert_eq!(greeting(&program), "own");
        let words = [&origin.address().to_string()[..], "directly"];
        eventually("a warning for this client", || {
            count_of(&program, &words) == count
        });
    }
}

#[test]
fn the_direct_fallback_applies_after_the_connect_timeout() {
    let (hole, origin) = (Blackhole::start(), origin("own"));
    let program = Ptunnel::through(hole.address())
        .to(origin.address())
        .args(&["--direct-fallback", "--connect-timeout", "0.5"])
        .start();
    assert_eq!(greeting(&program), "own");
}

#[test]
fn the_direct_fallback_never_applies_after_a_refusal() {
    for reply in &[
        "HTTP/1.1 403 Forbidden\r\n\r\n",
        "HTTP/1.1 407 Who?\r\n\r\n",
    ] {
        let (proxy, origin) = (Peer::replying(*reply), origin("own"));
        let program = Ptunnel::through(proxy.address())
            .to(origin.address())
            .arg("--direct-fallback")
            .start();
        program.connect().expect_nothing();
        assert_eq!(origin.accepted(), 0, "{:?}", reply);
    }
}

/// The proxy was reached; its answer can't be guessed.
#[test]
fn the_direct_fallback_never_applies_once_a_proxy_was_reached() {
    for reply in &["", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\n"] {
        let (proxy, origin) = (Peer::replying(*reply), origin("own"));
        let program = Ptunnel::through(proxy.address())
            .proxy(closed_address())
            .to(origin.address())
            .arg("--direct-fallback")
            .start();
        for _ in 0..2 {
            program.connect().expect_nothing();
        }
        assert_eq!(origin.accepted(), 0, "{:?}", reply);
    }
}

/// Returns two proxies: the first sends this reply, the second grants the tunnel and sends its
/// name.
fn refusing_first(reply: &str) -> (Peer, Peer) {
    let reply = format!("HTTP/1.1 {}\r\n\r\n", reply);
    (Peer::replying(reply), proxy("two"))
}

/// Regression: a proxy without a working uplink replies 503, and every refusal was final.
#[test]
fn the_next_proxy_is_tried_after_a_refusal_that_the_user_names() {
    for reply in &["502 Bad Gateway", "503 No way", "504 Late"] {
        let (first, second) = refusing_first(reply);
        let program = Ptunnel::through(first.address())
            .proxy(second.address())
            .to("example.org:22")
            .args(&["--failover-on", "502,503,504"])
            .start();
        for count in 1..3 {
            assert_eq!(greeting(&program), "two");
            // The first proxy isn't avoided: the status may be about this destination alone.
            assert_eq!((first.accepted(), second.accepted()), (count, count));
            let words = [reply, "trying the next proxy"];
            eventually("a warning for this client", || {
                count_of(&program, &words) == count
            });
        }
        assert_eq!(count_of(&program, &["new tunnels"]), 0);
    }
}

#[test]
fn every_other_refusal_is_final() {
    let cases = [
        ("503 No way", None),
        ("503 No way", Some("502,504")),
        ("500 Error", Some("502,503,504")),
        ("403 Forbidden", Some("502,503,504")),
        ("407 Who?", Some("502,503,504")),
    ];
    for (reply, statuses) in &cases {
        let (first, second) = refusing_first(reply);
        let mut program = Ptunnel::through(first.address()).proxy(second.address());
        if let Some(statuses) = statuses {
            program = program.args(&["--failover-on", statuses]);
        }
        let program = program.to("example.org:22").start();
        program.connect().expect_nothing();
        program.says(&["refused example.org:22", reply]);
        assert_eq!(second.accepted(), 0, "{} with {:?}", reply, statuses);
    }
}

#[test]
fn a_refusal_that_the_user_names_never_leads_to_a_direct_connection() {
    let (first, second) = (
        Peer::replying("HTTP/1.1 503 One\r\n\r\n"),
        Peer::replying("HTTP/1.1 503 Two\r\n\r\n"),
    );
    let origin = origin("own");
    let finished = Ptunnel::through(first.address())
        .proxy(second.address())
        .args(&["--failover-on", "503", "--direct-fallback"])
        .args(&["-W", &origin.address().to_string()])
        .run();
    finished.expect_code(3);
    assert!(finished.stderr.contains("503 Two"), "{}", finished.stderr);
    assert_eq!((second.accepted(), origin.accepted()), (1, 0));
}

/// The next first proxy would lead to the same second proxy.
#[test]
fn a_refusal_by_a_via_proxy_is_final() {
    let behind = Peer::replying("HTTP/1.1 503 Behind\r\n\r\n");
    let relay = Ptunnel::new().serving().start();
    let other = proxy("two");
    let finished = Ptunnel::through(relay.proxy())
        .proxy(other.address())
        .args(&["--via", &behind.address().to_string()])
        .args(&["--failover-on", "503", "-W", "example.org:22"])
        .run();
    finished.expect_code(3);
    assert!(
        finished.stderr.contains("503 Behind"),
        "{}",
        finished.stderr
    );
    assert_eq!(other.accepted(), 0);
}

#[test]
fn a_destination_that_squid_cannot_reach_is_tried_through_the_next_proxy() {
    let (squid, second) = (Squid::start(None), proxy("two"));
    let program = Ptunnel::through(squid.address())
        .proxy(second.address())
        .to(closed_address())
        .args(&["--no-proxy", "", "--failover-on", "503"])
        .start();
    assert_eq!(greeting(&program), "two");
}

#[test]
fn a_test_tries_the_next_proxy_too() {
    let (first, second) = refusing_first("503 No way");
    let finished = Ptunnel::through(first.address())
        .proxy(second.address())
        .to("example.org:22")
        .args(&["--failover-on", "503", "--test"])
        .run();
    finished.expect_code(0);
    let told = finished.text();
    assert!(
        told.contains("FAILED") && told.contains("503 No way"),
        "{}",
        told
    );
    assert_eq!(second.accepted(), 1);
}

#[test]
fn the_direct_fallback_works_without_a_proxy() {
    let origin = origin("own");
    let program = Ptunnel::new()
        .to(origin.address())
        .arg("--direct-fallback")
        .start();
    assert_eq!(greeting(&program), "own");
}

#[test]
fn no_proxy_destinations_are_reached_directly() {
    let (proxy, origin) = (proxy("one"), origin("own"));
    let program = Ptunnel::through(proxy.address())
        .to(origin.address())
        .to("example.org:22")
        .args(&["--no-proxy", "localhost,127.0.0.0/8"])
        .start();
    let lines: Vec<&str> = program.listening().iter().map(|l| &l.line[..]).collect();
    assert!(
        lines[0].ends_with(&format!(" for {} directly", origin.address())),
        "{:?}",
        lines
    );
    assert!(
        lines[1].ends_with(&format!(" for example.org:22 through {}", proxy.address())),
        "{:?}",
        lines
    );
    assert_eq!(greeting(&program), "own");
    assert_eq!(program.connect_to(1).receive(3), b"one");
    assert_eq!((proxy.accepted(), origin.accepted()), (1, 1));
    assert_eq!(program.stderr(), "");
}

#[test]
fn a_direct_destination_that_refuses_closes_the_client() {
    let dead = closed_address();
    let program = Ptunnel::new().to(dead).args(&["--no-proxy", "*"]).start();
    program.connect().expect_nothing();
    program.says(&[&dead.to_string()]);
}

/// Returns which of these destinations are reached directly, as the program prints it.
fn direct(program: Ptunnel, destinations: &[&str]) -> Vec<bool> {
    let program = destinations.iter().fold(program, |all, name| all.to(name));
    let program = program.start();
    let lines = program.listening().iter();
    lines.map(|l| l.line.ends_with(" directly")).collect()
}

#[test]
fn no_proxy_matches_as_curl_matches() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("*", &["a.example:1", "127.0.0.1:1", "[::1]:1"], &[]),
        ("", &[], &["a.example:1", "127.0.0.1:1", "localhost:1"]),
        (
            "example.com",
            &[
                "example.com:1",
                "www.example.com:1",
                "a.b.example.com:443",
                "EXAMPLE.com:1",
            ],
            &[
                "anexample.com:1",
                "example.com.evil.net:1",
                "example.org:1",
                "com:1",
            ],
        ),
        ("ample.com", &["ample.com:1"], &["example.com:1"]),
        (".example.com", &["www.example.com:1"], &["anexample.com:1"]),
        (
            " a.example , B.example",
            &["a.example:1", "b.example:1"],
            &["c.example:1"],
        ),
        ("a.example,,b.example,", &["b.example:1"], &["c.example:1"]),
        ("10.1.2.3", &["10.1.2.3:1"], &["10.1.2.30:1", "10.1.2.4:1"]),
        (
            "10.0.0.0/8",
            &["10.1.2.3:1", "10.255.0.1:1"],
            &["11.0.0.1:1", "ten.example:1"],
        ),
        (
            "192.168.16.0/20",
            &["192.168.31.255:1"],
            &["192.168.32.0:1"],
        ),
        ("::1", &["[::1]:1"], &["[::2]:1", "127.0.0.1:1"]),
        (
            "2001:db8::/32",
            &["[2001:db8:1::5]:1"],
            &["[2001:db9::1]:1"],
        ),
        (
            "[2001:db8::7]",
            &["[2001:db8:0:0:0:0:0:7]:1"],
            &["[2001:db8::8]:1"],
        ),
    ];
    for (list, reached_directly, proxied) in cases {
        let all: Vec<&str> = reached_directly.iter().chain(*proxied).copied().collect();
        let program = Ptunnel::through("proxy.example:3128").args(&["--no-proxy", list]);
        let found = direct(program, &all);
        for (name, found) in all.iter().zip(found) {
            assert_eq!(
                found,
                reached_directly.contains(name),
                "{} in {:?}",
                name,
                list
            );
        }
    }
}

#[test]
fn no_proxy_is_read_from_the_environment_unless_an_option_overrides_it() {
    let names = ["a.example:1", "b.example:1"];
    let through = || Ptunnel::through("proxy.example:3128");
    let cases = [
        (through().env("no_proxy", "a.example"), [true, false]),
        (through().env("NO_PROXY", "a.example"), [true, false]),
        (
            through().env("no_proxy", "<local>,a.example"),
            [true, false],
        ),
        (
            through()
                .env("no_proxy", "b.example")
                .env("NO_PROXY", "a.example"),
            [false, true],
        ),
        (
            through().env("no_proxy", "").env("NO_PROXY", "a.example"),
            [true, false],
        ),
        (
            through()
                .env("no_proxy", "a.example")
                .args(&["--no-proxy", "b.example"]),
            [false, true],
        ),
        (
            through().env("no_proxy", "*").args(&["--no-proxy", ""]),
            [false, false],
        ),
        (
            Ptunnel::new()
                .env("https_proxy", "proxy.example:1")
                .env("no_proxy", "b.example"),
            [false, true],
        ),
    ];
    for (case, (program, expected)) in Vec::from(cases).into_iter().enumerate() {
        assert_eq!(direct(program, &names), expected, "case {}", case);
    }
}

/// Returns the proxy of a tunnel, as the program prints it.
fn chosen(program: Ptunnel) -> String {
    let program = program.to("example.org:22").start();
    let line = &program.listening()[0].line;
    let at = line
        .find(" through ")
        .unwrap_or_else(|| panic!("{:?}", line));
    line[at + 9..].to_string()
}

#[test]
fn the_proxy_is_read_from_the_environment_as_in_curl() {
    let with = |vars: &[(&str, &str)]| {
        vars.iter().fold(Ptunnel::new(), |all, (name, value)| {
            all.env(name, value.to_string())
        })
    };
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[("https_proxy", "a.example:1")], "a.example:1"),
        (&[("HTTPS_PROXY", "a.example:1")], "a.example:1"),
        (&[("all_proxy", "a.example:1")], "a.example:1"),
        (&[("ALL_PROXY", "a.example:1")], "a.example:1"),
        (
            &[
                ("https_proxy", "a.example:1"),
                ("HTTPS_PROXY", "b.example:1"),
            ],
            "a.example:1",
        ),
        (
            &[("https_proxy", "a.example:1"), ("all_proxy", "b.example:1")],
            "a.example:1",
        ),
        (
            &[("HTTPS_PROXY", "a.example:1"), ("all_proxy", "b.example:1")],
            "a.example:1",
        ),
        (
            &[("https_proxy", ""), ("all_proxy", "b.example:1")],
            "b.example:1",
        ),
        (
            &[("http_proxy", "c.example:1"), ("all_proxy", "b.example:1")],
            "b.example:1",
        ),
        (&[("https_proxy", "http://a.example")], "a.example:80"),
        (
            &[("https_proxy", "http://a.example:3128/")],
            "a.example:3128",
        ),
        (
            &[("https_proxy", "http://joe:secret@a.example:3128")],
            "a.example:3128",
        ),
        (
            &[("https_proxy", "http://[2001:db8::1]:3128")],
            "[2001:db8::1]:3128",
        ),
    ];
    for (vars, expected) in cases {
        assert_eq!(chosen(with(vars)), *expected, "{:?}", vars);
    }
    assert_eq!(
        chosen(with(&[("https_proxy", "a.example:1")]).proxy("b.example:2")),
        "b.example:2"
    );
}
