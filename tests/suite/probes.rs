//! Proxies that are down: the clients that wait for one, the paths of the others, the probes that find
//! it up again; and destinations that only seem to be a proxy's fault.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::pac;
use crate::route::{origin, proxy};
use crate::status::{evaluated, eventually_is};
use support::parts::{Apache, Squid, Tinyproxy};
use support::socks::Microsocks;
use support::sys::{SIGHUP, SIGTERM};
use support::tls::{Authority, Stunnel};
use support::wait::steadily;
use support::{closed_address, eventually, Blackhole, Connection};
use support::{Peer, Ptunnel, Running, TempDir};

#[track_caller]
fn greeting(program: &Running) -> String {
    pac::greeting(program, 0)
}

/// Checks that the first client waits for two seconds, and that the others don't wait.
#[track_caller]
fn delays_one(program: &Running, name: &str) {
    let start = Instant::now();
    assert_eq!(greeting(program), name);
    assert!(start.elapsed() > Duration::from_millis(1900));
    let start = Instant::now();
    for _ in 0..3 {
        assert_eq!(greeting(program), name);
    }
    assert!(start.elapsed() < Duration::from_millis(1900));
}

/// Regression: each client waited for the connect timeout.
#[test]
fn a_proxy_whose_packets_are_dropped_delays_one_client_that_may_connect_directly() {
    let (hole, origin) = (Blackhole::start(), origin("own"));
    let program = Ptunnel::through(hole.address())
        .to(origin.address())
        .args(&["--direct-fallback", "-w", "2", "--threads", "2"])
        .start();
    delays_one(&program, "own");
    // README promises a warning each time.
    let directly = format!("connecting to {} directly", origin.address());
    eventually("a warning for each client", || {
        pac::count_of(&program, &directly) == 4
    });
    let reason = format!(
        "through {0}: cannot connect to proxy {0}: it was unreachable for another client; {1}",
        hole.address(),
        directly
    );
    assert_eq!(pac::count_of(&program, &reason), 3, "{}", program.stderr());
}

#[test]
fn the_same_proxy_of_a_pac_file_delays_one_client() {
    let (hole, origin) = (Blackhole::start(), origin("own"));
    let folder = TempDir::new();
    let body = format!("return 'PROXY {}; DIRECT';", hole.address());
    let file = folder.file("corp.pac", pac::saying(&body));
    let program = Ptunnel::new()
        .args(&["--pac", &file, "-w", "2"])
        .to(origin.address())
        .start();
    delays_one(&program, "own");
}

/// The others know by then that the proxy can't be reached.
#[test]
fn clients_that_wait_at_the_same_time_go_on_with_the_first_one() {
    let (hole, second, origin) = (Blackhole::start(), proxy("two"), origin("own"));
    let through = || Ptunnel::through(hole.address()).args(&["-w", "4"]);
    let listed = through().proxy(second.address()).to("example.org:22");
    let fallback = through().arg("--direct-fallback").to(origin.address());
    for (program, name) in vec![(listed, "two"), (fallback, "own")] {
        let program = program.start();
        let mut first = program.connect();
        let waits = Duration::from_millis(2500);
        steadily("waiting", waits, || first.is_quiet());
        let start = Instant::now();
        assert_eq!(greeting(&program), name);
        assert!(
            start.elapsed() < Duration::from_secs(3),
            "{:?}",
            start.elapsed()
        );
        first.expect(name);
    }
}

/// There is nothing else to try, so the others need not fail with the first one.
#[test]
fn clients_without_another_path_wait_for_themselves() {
    let hole = Blackhole::start();
    let program = Ptunnel::through(hole.address())
        .proxy(closed_address())
        .args(&["-w", "3"])
        .to("example.org:22")
        .start();
    program.connect().expect_nothing();
    let first = program.connect();
    steadily("waiting", Duration::from_millis(1500), || first.is_quiet());
    let start = Instant::now();
    program.connect().expect_nothing();
    assert!(start.elapsed() > Duration::from_millis(2900));
}

/// Regression: only a client found out, and waited if the proxy was still down.
#[test]
fn a_proxy_that_can_be_reached_again_is_used_without_a_client_that_tries_it() {
    let (hole, origin) = (Blackhole::start(), origin("own"));
    let program = Ptunnel::through(format!("http://joe:hunter2@{}", hole.address()))
        .to(origin.address())
        .args(&["--direct-fallback", "-w", "1", "-v"])
        .watched()
        .start();
    let start = Instant::now();
    assert_eq!(greeting(&program), "own");
    eventually_is(&program, "ptunnel_proxy_down", &[], 1.0);
    eventually_is(&program, "ptunnel_proxy_avoided", &[], 1.0);
    let proxy = Peer::proxy_from(hole.wake(), |mut connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\none");
        connection.echo();
    });
    eventually_is(&program, "ptunnel_proxy_down", &[], 0.0);
    assert!(start.elapsed() > Duration::from_secs(30));
    let probe = format!("OPTIONS * HTTP/1.1\r\nHost: {}\r\n", proxy.address());
    assert!(proxy.head().starts_with(&probe), "{}", proxy.head());
    assert!(!proxy.head().contains("Authorization"));
    program.says(&[&format!("proxy {} answers again", proxy.address())]);
    assert_eq!(greeting(&program), "one");
    assert_eq!(proxy.accepted(), 2);
}

/// A program whose proxies are in a file; a reload probes those that are down at once.
struct Reloaded {
    program: Running,
    text: String,
    folder: TempDir,
}

impl Reloaded {
    fn start(proxies: &[&str], more: &str) -> Reloaded {
        let folder = TempDir::new();
        let text = format!(
            "proxy = {:?}\nstatus = 0\nhandshake-timeout = 1\ntunnels = ['0:example.org:22']\n{}",
            proxies, more
        );
        let file = folder.file_with_mode("ptunnel.toml", 0o600, &text);
        let program = Ptunnel::new().args(&["--config", &file]).more_lines(2);
        Reloaded {
            program: program.start(),
            text,
            folder,
        }
    }

    /// Reloads, and waits until that is done.
    fn reload(&self) {
        let done = "a reload doesn't change threads"; // its last line
        let text = format!("threads = 2\n{}", self.text);
        self.folder.file_with_mode("ptunnel.toml", 0o600, text);
        let before = pac::count_of(&self.program, done);
        self.program.signal(SIGHUP);
        eventually("a reload", || pac::count_of(&self.program, done) > before);
    }

    fn is_down(&self, down: bool) {
        let label = &["place=\"1\""];
        let value = if down { 1.0 } else { 0.0 };
        eventually_is(&self.program, "ptunnel_proxy_down", label, value);
    }
}

/// Closes each connection until it is opened, and carries it to an address from then on.
fn gate(target: SocketAddr) -> (Peer, Arc<AtomicBool>) {
    let is_open = Arc::new(AtomicBool::new(false));
    let asked = is_open.clone();
    let peer = Peer::start(move |connection| {
        if asked.load(Ordering::SeqCst) {
            connection.join(Connection::open(target));
        }
    });
    (peer, is_open)
}

#[test]
fn proxies_of_every_kind_answer_a_probe() {
    let authority = Authority::new();
    let identity = authority.issue("proxy", "DNS:localhost");
    let squid = Squid::start(Some(("joe", "hunter2")));
    let (tinyproxy, apache) = (Tinyproxy::start(None), Apache::start(&identity));
    let stunnel = Stunnel::start(&identity, squid.address());
    let microsocks = Microsocks::start(Some(("joe", "hunter2")));
    let own = Ptunnel::new().serving().start();
    let balanced = Ptunnel::new()
        .serving()
        .args(&["--accept-proxy-protocol", "127.0.0.1"])
        .args(&["--serve-user", "joe:hunter2"])
        .start();
    let cacert = format!("proxy-cacert = '{}'\n", authority.certificate());
    let send = "send-proxy-protocol-to-proxy = 'v2'\n";
    for (scheme, target, more) in &[
        ("http://joe:hunter2@127.0.0.1", squid.address(), ""),
        ("http://127.0.0.1", tinyproxy.address(), ""),
        ("https://localhost", apache.address(), &cacert[..]),
        ("https://localhost", stunnel.address(), &cacert[..]),
        ("socks5h://joe:hunter2@127.0.0.1", microsocks.address(), ""),
        ("http://127.0.0.1", own.proxy(), ""),
        ("http://127.0.0.1", balanced.proxy(), send),
    ] {
        let (peer, is_open) = gate(*target);
        let url = format!("{}:{}", scheme, peer.port());
        let reloaded = Reloaded::start(&[&url], more);
        reloaded.program.connect().expect_nothing();
        reloaded.is_down(true);
        let accepted = peer.accepted();
        is_open.store(true, Ordering::SeqCst);
        reloaded.reload();
        reloaded.is_down(false);
        assert_eq!(peer.accepted(), accepted + 1, "{}", url);
    }
}

/// SOCKS4 has no message without a destination.
#[test]
fn a_socks4_proxy_is_up_again_when_it_accepts_a_connection() {
    let hole = Blackhole::start();
    let url = format!("socks4a://{}", hole.address());
    let reloaded = Reloaded::start(&[&url], "connect-timeout = 1\n");
    reloaded.program.connect().expect_nothing();
    reloaded.is_down(true);
    let peer = Peer::accept_from(hole.wake(), |mut connection| connection.drain());
    reloaded.reload();
    reloaded.is_down(false);
    eventually("the probe's connection", || peer.accepted() == 1);
}

/// A connection alone doesn't prove that it answers. No client waits for it again.
#[test]
fn a_proxy_that_accepts_connections_and_is_silent_stays_down() {
    let silent = Peer::proxy(|mut connection| connection.drain());
    let second = proxy("two");
    let proxies = [silent.address().to_string(), second.address().to_string()];
    let more = "direct-fallback = true\n";
    let reloaded = Reloaded::start(&[&proxies[0], &proxies[1]], more);
    assert_eq!(greeting(&reloaded.program), "two");
    for count in 2..4 {
        reloaded.reload();
        eventually("a probe", || silent.heads().len() == count);
        assert!(silent.heads()[count - 1].starts_with("OPTIONS "));
        reloaded.is_down(true);
        let start = Instant::now();
        assert_eq!(greeting(&reloaded.program), "two");
        assert!(start.elapsed() < Duration::from_millis(900));
    }
}

/// It may still open tunnels. One client finds out, and the others use another proxy meanwhile.
#[test]
fn a_proxy_that_closes_the_connection_of_a_probe_is_left_to_a_client() {
    let odd = Peer::proxy(|mut connection| {
        if connection.number >= 2 {
            connection.send("HTTP/1.1 200 OK\r\n\r\none");
            connection.echo();
        }
    });
    let second = proxy("two");
    let proxies = [odd.address().to_string(), second.address().to_string()];
    let reloaded = Reloaded::start(&[&proxies[0], &proxies[1]], "");
    assert_eq!(greeting(&reloaded.program), "two");
    assert_eq!(greeting(&reloaded.program), "two");
    assert_eq!(odd.accepted(), 1);
    reloaded.reload();
    eventually_is(&reloaded.program, "ptunnel_proxy_avoided", &[], 0.0);
    reloaded.is_down(true);
    assert_eq!(greeting(&reloaded.program), "one");
    reloaded.is_down(false);
}

/// Open tunnels have 33 seconds to end, and the first probe would be after 30.
#[test]
fn nothing_is_probed_after_the_last_listener_is_closed() {
    let (first, second) = (Peer::proxy(drop), proxy("two"));
    let program = Ptunnel::through(first.address())
        .proxy(second.address())
        .args(&["--drain-timeout", "33"])
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.expect("two");
    program.signal(SIGTERM);
    let finished = program.finish();
    assert!(finished.stderr.contains("33s"), "{}", finished.stderr);
    assert_eq!(first.accepted(), 1);
}

/// Starts a squid, and a program that opens a tunnel through it, from where a destination can't be
/// reached.
struct Filtered {
    hole: Blackhole,
    squid: Squid,
    second: Peer,
}

impl Filtered {
    fn new() -> Filtered {
        Filtered {
            hole: Blackhole::start(),
            squid: Squid::start(None),
            second: proxy("two"),
        }
    }

    /// Returns the program with two tunnels: to a destination that answers, and to the other one.
    fn program(&self, origin: &Peer) -> Ptunnel {
        Ptunnel::through(self.squid.address())
            .proxy(self.second.address())
            .to(origin.address())
            .to(self.hole.address())
            .args(&["--no-proxy", "", "--handshake-timeout", "2"])
            .watched()
    }

    /// The error of the proxy that waits for the destination.
    fn error(&self) -> String {
        format!(
            "no reply from proxy {} within 2s: it replies to others, so {} is probably \
             filtered or slow",
            self.squid.address(),
            self.hole.address()
        )
    }
}

/// Regression: squid was down because it waited for one destination, all tunnels moved to the second
/// proxy, which was asked for the same destination, and was down then, too.
#[test]
fn a_destination_that_squid_waits_for_is_not_squids_fault() {
    let (filtered, origin) = (Filtered::new(), origin("own"));
    let program = filtered.program(&origin).start();
    for _ in 0..2 {
        assert_eq!(greeting(&program), "own");
        program.connect_to(1).expect_nothing();
    }
    program.says(&[&filtered.error()]);
    assert_eq!(greeting(&program), "own");
    assert_eq!(filtered.second.accepted(), 0);
    let states = "[(p['state'], p['failures']) for p in s['proxies']]";
    let expected = "[('in use', 0), ('standby', 0)]";
    assert_eq!(evaluated(&program, states), expected);
    assert!(!program.stderr().contains("trying the next proxy"));
}

/// Regression: only opened tunnels counted as replies.
#[test]
fn a_refusal_shows_that_squid_works_as_well() {
    let filtered = Filtered::new();
    let closed = closed_address();
    let program = Ptunnel::through(filtered.squid.address())
        .proxy(filtered.second.address())
        .to(closed)
        .to(filtered.hole.address())
        .args(&["--no-proxy", "", "--handshake-timeout", "2"])
        .watched()
        .start();
    program.connect().expect_nothing();
    program.says(&["refused", &closed.to_string()]);
    program.connect_to(1).expect_nothing();
    program.says(&[&filtered.error()]);
    assert_eq!(filtered.second.accepted(), 0);
    eventually_is(&program, "ptunnel_proxy_down", &[], 0.0);
}

/// The option is for such a destination: a proxy that waits no longer than ptunnel sends 504.
#[test]
fn failover_on_504_tries_the_next_proxy_for_such_a_destination() {
    let (filtered, origin) = (Filtered::new(), origin("own"));
    let program = filtered.program(&origin).args(&["--failover-on", "504"]);
    let program = program.start();
    assert_eq!(greeting(&program), "own");
    program.connect_to(1).expect("two");
    program.says(&[&filtered.error(), "trying the next proxy"]);
    assert_eq!(greeting(&program), "own");
    eventually_is(&program, "ptunnel_proxy_down", &[], 0.0);
}

/// Nothing shows that squid works, so it counts as failed until a probe shows that it does.
#[test]
fn proxies_that_failed_for_one_destination_are_up_again_after_a_probe() {
    let (filtered, origin) = (Filtered::new(), origin("own"));
    let second = Squid::start(None);
    let program = Ptunnel::through(filtered.squid.address())
        .proxy(second.address())
        .to(filtered.hole.address())
        .to(origin.address())
        .args(&["--no-proxy", "", "--handshake-timeout", "1"])
        .watched()
        .start();
    program.connect().expect_nothing();
    eventually_is(&program, "ptunnel_proxy_down", &[], 2.0);
    eventually_is(&program, "ptunnel_proxy_down", &[], 0.0);
    assert_eq!(pac::greeting(&program, 1), "own");
    eventually_is(&program, "ptunnel_proxy_in_use", &["place=\"1\""], 1.0);
}

/// Regression: it counted as a failure of the first one, which was avoided for half a minute.
#[test]
fn a_via_proxy_that_is_silent_is_not_the_first_ones_fault() {
    let silent = Peer::proxy(|mut connection| connection.drain());
    let relays = [
        Ptunnel::new().serving().start(),
        Ptunnel::new().serving().start(),
    ];
    let program = Ptunnel::through(relays[0].proxy())
        .proxy(relays[1].proxy())
        .args(&["--via", &silent.address().to_string()])
        .args(&["--handshake-timeout", "1"])
        .to("example.org:22")
        .watched()
        .start();
    program.connect().expect_nothing();
    assert_eq!(silent.accepted(), 2);
    eventually_is(&program, "ptunnel_proxy_failures_total", &[], 0.0);
    assert!(!program.stderr().contains("new tunnels go"));
}

#[test]
fn a_test_names_the_destination_before_the_port() {
    let (filtered, origin) = (Filtered::new(), origin("own"));
    let advice = |program: Ptunnel| {
        let finished = program.arg("--test").run();
        finished.expect_code(1);
        finished.text()
    };
    let alone = Ptunnel::through(filtered.squid.address())
        .to(filtered.hole.address())
        .args(&["--no-proxy", "", "--handshake-timeout", "1"]);
    let text = advice(alone);
    let at = |words: &str| {
        text.find(words)
            .unwrap_or_else(|| panic!("{}: {}", words, text))
    };
    let likely = at("try: check the destination's name and port");
    assert!(likely < at("check the port of the proxy"), "{}", text);
    // After another tunnel, the test knows.
    let text = advice(filtered.program(&origin));
    assert!(text.contains(&filtered.error()), "{}", text);
    assert!(!text.contains("try: "), "{}", text);
}
