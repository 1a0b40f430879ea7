//! Proxies behind the proxy: real ones in a row, TLS at any of them, and which of them an error
//! names.

use std::net::SocketAddr;

use crate::socks4;
use crate::tls::{both_ways, bulk_peer};
use support::parts::{curl, Nginx, Squid, Tinyproxy, SMALL};
use support::socks::{Microsocks, SshSocks};
use support::tls::{Authority, Stunnel};
use support::{closed_address, Connection, Finished, Peer, Ptunnel, Running, TempDir};

const MIB: u64 = 1 << 20;

const RIGHT: &str = "DNS:localhost,IP:127.0.0.1";

/// Fetches both files of the origin, over plain HTTP and over TLS.
#[track_caller]
fn fetch(program: Ptunnel, nginx: &Nginx) {
    let program = program.to(nginx.address()).to(nginx.tls()).start();
    let secure = format!("https://localhost:{}", program.address_of(1).port());
    for url in &[format!("http://{}", program.address()), secure] {
        let get = |file: &str| {
            let url = format!("{}/{}", url, file);
            curl(&["--noproxy", "*", "--cacert", &nginx.certificate(), &url])
        };
        assert_eq!(get("small"), SMALL.as_bytes());
        Nginx::big().check(0, &get("big"));
    }
    assert!(!program.stderr().contains("error"), "{}", program.stderr());
}

/// Starts the program as an embedded proxy.
fn embedded() -> Running {
    Ptunnel::new().serving().start()
}

/// Returns the program with a chain of `first` and `second`.
fn two(first: SocketAddr, second: SocketAddr) -> Ptunnel {
    Ptunnel::through(first).args(&["--via", &second.to_string()])
}

#[track_caller]
fn ends_with(program: Ptunnel, code: i32, told: &str) -> Finished {
    let finished = program.args(&["-W", "example.org:22"]).run();
    finished.expect_code(code);
    assert!(
        finished.stderr.contains(told),
        "{:?} isn't in {}",
        told,
        finished.stderr
    );
    finished
}

#[test]
fn curl_fetches_through_squid_and_tinyproxy_each_with_its_own_credentials() {
    let nginx = Nginx::start();
    let squid = Squid::start(Some(("joe", "hunter2")));
    let tinyproxy = Tinyproxy::start(Some(("ann", "secret")));
    let folder = TempDir::new();
    let netrc = "machine 127.0.0.1 login ann password secret\n";
    let netrc = folder.file_with_mode("netrc", 0o600, netrc);
    let program = Ptunnel::through(squid.address())
        .args(&["-U", "joe", "--proxy-netrc", &netrc])
        .env("PTUNNEL_PASSWORD", "hunter2")
        .args(&["--via", &format!("http://ann@{}", tinyproxy.address())]);
    fetch(program, &nginx);
}

#[test]
fn curl_fetches_through_three_kinds_of_proxies_in_any_order() {
    let (nginx, squid, own) = (Nginx::start(), Squid::start(None), embedded());
    let socks = Microsocks::start(None);
    let all = [
        squid.address().to_string(),
        own.proxy().to_string(),
        format!("socks5h://{}", socks.address()),
    ];
    for first in 0..3 {
        let at = |place: usize| &all[(first + place) % 3];
        let program = Ptunnel::through(at(0)).args(&["--via", at(1), "--via", at(2)]);
        fetch(program, &nginx);
    }
}

#[test]
fn curl_fetches_through_a_chain_with_socks4_at_either_end() {
    let (nginx, squid, ssh) = (Nginx::start(), Squid::start(None), SshSocks::start());
    for scheme in &["socks4", "socks4a"] {
        let url = format!("{}://joe@localhost:{}", scheme, ssh.address().port());
        let http = format!("localhost:{}", squid.address().port());
        for (first, second) in &[(&http, &url), (&url, &http)] {
            fetch(Ptunnel::through(first).args(&["--via", second]), &nginx);
        }
    }
}

#[test]
fn any_proxy_of_a_chain_can_use_tls() {
    let (nginx, authority) = (Nginx::start(), Authority::new());
    let identity = authority.issue("proxy", RIGHT);
    let (squid, own) = (Squid::start(None), embedded());
    let secure = [
        Stunnel::start(&identity, squid.address()),
        Stunnel::start(&identity, own.proxy()),
    ];
    let plain = [squid.address(), own.proxy()];
    for (first, second) in &[(false, true), (true, false), (true, true)] {
        let url = |place: usize, is_secure: bool| match is_secure {
            true => format!("https://localhost:{}", secure[place].address().port()),
            false => plain[place].to_string(),
        };
        let program = Ptunnel::through(url(0, *first)).args(&[
            "--via",
            &url(1, *second),
            "--proxy-cacert",
            &authority.certificate(),
        ]);
        fetch(program, &nginx);
    }
}

/// The bytes for the second proxy are encrypted twice on the connection to the first.
#[test]
fn tls_in_tls_carries_16_mib_both_ways_and_both_ends() {
    let (authority, own) = (Authority::new(), embedded());
    let identity = authority.issue("proxy", RIGHT);
    let peer = bulk_peer(16 * MIB);
    let outer = Stunnel::start(&identity, own.proxy());
    let inner = Stunnel::start(&identity, peer.address());
    let program = Ptunnel::through(format!("https://{}", outer.address()))
        .args(&["--via", &format!("https://{}", inner.address())])
        .args(&["--proxy-cacert", &authority.certificate(), "-vv"])
        .to("example.org:22")
        .start();
    both_ways(program.connect(), 16 * MIB);
    program.says(&[
        &format!(
            "through https://{} via https://{}",
            outer.address(),
            inner.address()
        ),
        "closed by both sides",
    ]);
    let told = program.stderr();
    assert_eq!(told.matches("speaks TLSv1.").count(), 2, "{}", told);
}

#[test]
fn a_half_close_passes_through_a_chain() {
    let own = embedded();
    let peer = Peer::granting(|mut connection| {
        assert_eq!(connection.rest(), b"all of it");
        connection.send("the answer");
        connection.finish_sending();
    });
    let program = two(own.proxy(), peer.address())
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("all of it");
    client.finish_sending();
    assert_eq!(client.rest(), b"the answer");
}

#[test]
fn each_proxy_gets_only_its_own_target_and_credentials() {
    let second = Peer::echoing();
    let first = relaying(second.address());
    let program = Ptunnel::through(format!("http://joe:hunter1@{}", first.address()))
        .args(&["--via", &format!("http://ann:hunter2@{}", second.address())])
        .args(&["-H", "X-Tag: 1"])
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    let (to_first, to_second) = (first.head(), second.head());
    let asked = format!("CONNECT {} HTTP/1.1\r\n", second.address());
    assert!(to_first.starts_with(&asked), "{}", to_first);
    assert!(to_first.contains("Basic am9lOmh1bnRlcjE="), "{}", to_first);
    let asked = "CONNECT example.org:22 HTTP/1.1\r\n";
    assert!(to_second.starts_with(asked), "{}", to_second);
    assert!(
        to_second.contains("Basic YW5uOmh1bnRlcjI="),
        "{}",
        to_second
    );
    for head in &[to_first, to_second] {
        assert_eq!(head.matches("Basic").count(), 1, "{}", head);
        assert!(head.contains("X-Tag: 1"), "{}", head);
    }
}

/// Returns a proxy that connects every tunnel to `target`.
fn relaying(target: SocketAddr) -> Peer {
    Peer::granting(move |connection| connection.join(Connection::open(target)))
}

/// The replies of both proxies and the destination's first bytes arrive in one segment. Each part
/// must reach its reader.
#[test]
fn bytes_after_a_reply_are_kept_at_each_hop() {
    let (first, second) = ("HTTP/1.1 200 One\r\n\r\n", "HTTP/1.1 200 Two\r\n\r\n");
    let cases = [
        [first, second, "SSH-2.0-x\r\n"].concat(),
        [first, second, &"x".repeat(5_000)].concat(),
        [first, "HTTP/1.1 103 Hints\r\n\r\n", second, "SSH-2.0-x\r\n"].concat(),
    ];
    for said in &cases {
        let banner = said[said.find("Two").unwrap() + 7..].to_string();
        let said = said.clone();
        let peer = Peer::proxy(move |mut connection| {
            connection.send(&said);
            let head = String::from_utf8(connection.read_head()).unwrap();
            assert!(head.starts_with("CONNECT example.org:22 "), "{}", head);
            connection.echo();
        });
        let program = two(peer.address(), "127.0.0.1:9".parse().unwrap())
            .to("example.org:22")
            .start();
        let mut client = program.connect();
        client.expect(&banner);
        client.send("hello");
        client.expect("hello");
    }
}

#[test]
fn the_refusing_proxy_is_named() {
    let first = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let second = Peer::replying("HTTP/1.1 503 Unavailable\r\n\r\n");
    let told = format!(
        "proxy {} refused {}: 403",
        first.address(),
        second.address()
    );
    ends_with(two(first.address(), second.address()), 3, &told);
    assert_eq!(second.accepted(), 0);

    let own = embedded();
    let told = format!("proxy {} refused example.org:22: 503", second.address());
    ends_with(two(own.proxy(), second.address()), 3, &told);

    let asking = "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"a\"\r\n\r\n";
    let asking = Peer::replying(asking);
    let told = format!("proxy {} refused example.org:22: 407", asking.address());
    ends_with(two(own.proxy(), asking.address()), 4, &told);
    let told = format!("proxy {} refused {}: 407", asking.address(), own.proxy());
    ends_with(two(asking.address(), own.proxy()), 4, &told);

    let dead = closed_address();
    let told = format!("proxy {} refused {}: 502", own.proxy(), dead);
    ends_with(two(own.proxy(), dead), 3, &told);
}

#[test]
fn the_failing_proxy_is_named() {
    let own = embedded();
    let silent = Peer::proxy(|mut connection| connection.drain());
    let program = two(own.proxy(), silent.address()).args(&["--handshake-timeout", "0.5"]);
    let told = format!("no reply from proxy {} within 0.5s", silent.address());
    ends_with(program, 1, &told);

    let told = format!("proxy {} closed the connection", silent.address());
    let gone = Peer::proxy(drop);
    let told = told.replace(&silent.address().to_string(), &gone.address().to_string());
    ends_with(two(own.proxy(), gone.address()), 1, &told);

    let rubbish = Peer::replying("what?\r\n\r\n");
    let told = format!("proxy {} sent an invalid reply", rubbish.address());
    ends_with(two(own.proxy(), rubbish.address()), 1, &told);

    let authority = Authority::new();
    let wrong = authority.issue("other", "DNS:other.test");
    let stunnel = Stunnel::start(&wrong, gone.address());
    let program = Ptunnel::through(own.proxy()).args(&[
        "--via",
        &format!("https://localhost:{}", stunnel.address().port()),
        "--proxy-cacert",
        &authority.certificate(),
    ]);
    let told = format!(
        "TLS handshake with proxy localhost:{} failed: the certificate is for other.test",
        stunnel.address().port()
    );
    ends_with(program, 1, &told);
}

/// The second proxy couldn't be reached through the first. That is no reason for a direct
/// connection.
#[test]
fn a_failure_after_the_first_proxy_causes_no_direct_connection() {
    let (own, gone) = (embedded(), Peer::proxy(drop));
    let origin = Peer::start(|mut connection| connection.echo());
    let program = two(own.proxy(), gone.address())
        .to(origin.address())
        .arg("--direct-fallback")
        .start();
    program.connect().expect_nothing();
    assert_eq!(origin.accepted(), 0);
}

/// The new connection passes through the first proxy, too.
#[test]
fn a_second_proxy_that_closes_after_its_challenge_is_reached_again() {
    let second = Peer::closing_at_its_challenge();
    let first = relaying(second.address());
    let program = Ptunnel::through(first.address())
        .args(&["--via", &format!("http://joe:hunter2@{}", second.address())])
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    assert_eq!((first.accepted(), second.accepted()), (2, 2));
}

#[test]
fn each_alternative_proxy_leads_to_the_same_chain() {
    let (dead, own, second) = (closed_address(), embedded(), Peer::echoing());
    let program = Ptunnel::through(dead)
        .proxy(own.proxy())
        .args(&["--via", &second.address().to_string()])
        .to("example.org:22")
        .start();
    let line = format!(
        "example.org:22 through {}, {}, each via {}",
        dead,
        own.proxy(),
        second.address()
    );
    assert!(program.listening()[0].line.ends_with(&line), "{}", line);
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    program.says(&[&dead.to_string(), "trying the next proxy"]);
}

#[test]
fn no_proxy_applies_only_to_the_destination() {
    let (own, second) = (embedded(), Peer::echoing());
    let origin = Peer::start(|mut connection| {
        connection.send("own");
        connection.echo();
    });
    let program = two(own.proxy(), second.address())
        .to("example.org:22")
        .to(format!("localhost:{}", origin.port()))
        .args(&["--no-proxy", "127.0.0.0/8,localhost"])
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    assert_eq!(second.accepted(), 1);
    program.connect_to(1).expect("own");
    assert_eq!(second.accepted(), 1);
}

#[test]
fn a_file_lists_the_chain_and_the_output_shows_it() {
    let folder = TempDir::new();
    let file = folder.file(
        "ptunnel.toml",
        "proxy = \"a.example:1\"\nvia = [\"ann:x@b.example:2\", \"socks5h://c.example\"]\n\
         tunnels = [\"8993:d.example:4\"]\n",
    );
    let finished = Ptunnel::new()
        .args(&["--config", &file, "--check-config"])
        .run();
    finished.expect_code(0);
    assert!(
        finished.text().ends_with(
            "would listen on 127.0.0.1:8993 for d.example:4 through a.example:1 \
             via b.example:2 as ann via socks5h://c.example:1080\n"
        ),
        "{}",
        finished.text()
    );
}

#[test]
fn a_chain_without_a_first_proxy_is_refused() {
    let finished = Ptunnel::new()
        .args(&["--via", "b.example:2", "--direct-fallback"])
        .to("example.org:22")
        .run();
    finished.expect_code(2);
    assert!(
        finished.stderr.contains("--via adds only further proxies"),
        "{}",
        finished.stderr
    );
}

#[test]
fn no_password_of_a_chain_is_shown() {
    let own = embedded();
    let wrong = Peer::replying("HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\n\r\n");
    let program = Ptunnel::through(own.proxy())
        .args(&["--via", &format!("http://ann:hunter2@{}", wrong.address())])
        .arg("-vvv");
    let finished = ends_with(program, 4, "sent with Basic");
    assert!(!finished.stderr.contains("hunter2"), "{}", finished.stderr);
}

/// Regression: the error named `--user`, which doesn't apply to these proxies.
#[test]
fn credentials_for_a_via_proxy_are_in_its_url() {
    let own = embedded();
    let asks = Peer::replying("HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\n\r\n");
    let alone = ends_with(
        Ptunnel::through(asks.address()),
        4,
        "(offers Basic): the proxy requires authentication; set --user and the password",
    );
    assert!(!alone.stderr.contains("--via"), "{}", alone.stderr);
    for (login, remedy, advice) in &[
        (
            "",
            "requires authentication; add the username to the --via URL",
            "try: set the username with --via http://USER@HOST:PORT",
        ),
        (
            "ann:x@",
            "check the username in the --via URL, and the password",
            "a wrong password may lock the account",
        ),
    ] {
        let via = format!("http://{}{}", login, asks.address());
        let program = || Ptunnel::through(own.proxy()).args(&["--via", &via]);
        let finished = ends_with(program(), 4, remedy);
        assert!(!finished.stderr.contains("--user"), "{}", finished.stderr);
        let tested = program().args(&["--test", "-W", "example.org:22"]).run();
        assert!(tested.text().contains(advice), "{}", tested.text());
    }
    let other = socks4::proxy(|mut connection| {
        connection.send(b"\x00\x5d\x00\x00\x00\x00\x00\x00");
        connection.finish_sending();
    });
    let via = format!("socks4a://{}", other.address());
    let program = Ptunnel::through(own.proxy()).args(&["--via", &via]);
    let remedy = "(SOCKS reply 93); set the username in the --via URL to the user that ptunnel";
    ends_with(program, 4, remedy);
}
