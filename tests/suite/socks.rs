//! SOCKS5 as the outer proxy: microsocks, OpenSSH, and scripted peers that check each byte.

use std::net::SocketAddr;

use support::parts::{curl, Nginx, Squid, Tinyproxy, SMALL};
use support::socks::{Microsocks, SshSocks};
use support::{closed_address, Connection, Peer, Ptunnel};

/// The messages, byte by byte, with a proxy that requires no authentication.
const GREETING: &[u8] = b"\x05\x01\x00";
const NOBODY: &[u8] = b"\x05\x00";
const EXAMPLE: &[u8] = b"\x05\x01\x00\x03\x0bexample.org\x00\x16";
const GRANTED: &[u8] = b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00";

fn url(address: SocketAddr) -> String {
    format!("socks5h://{}", address)
}

/// A SOCKS5 proxy that requires no authentication, checks that the request is for example.org:22,
/// and leaves the reply to the script.
fn proxy(script: impl Fn(Connection) + Send + Sync + 'static) -> Peer {
    Peer::start(move |mut connection| {
        connection.expect(GREETING);
        connection.send(NOBODY);
        connection.expect(EXAMPLE);
        script(connection);
    })
}

/// Fetches both files of the origin.
#[track_caller]
pub fn fetch(program: Ptunnel, nginx: &Nginx) {
    let program = program.to(nginx.address()).start();
    let get = |file: &str| {
        let url = format!("http://{}/{}", program.address(), file);
        curl(&["--noproxy", "*", &url])
    };
    assert_eq!(get("small"), SMALL.as_bytes());
    Nginx::big().check(0, &get("big"));
    assert_eq!(program.stderr(), "");
}

#[test]
fn curl_fetches_from_nginx_through_microsocks_and_openssh() {
    let (nginx, ssh) = (Nginx::start(), SshSocks::start());
    let microsocks = Microsocks::start(None);
    for address in &[microsocks.address(), ssh.address()] {
        for scheme in &["socks5", "socks5h"] {
            fetch(
                Ptunnel::through(format!("{}://{}", scheme, address)),
                &nginx,
            );
        }
    }
}

/// Regression: an HTTP proxy waits for the end of a line, and the user waited for the handshake
/// timeout without a message.
#[test]
fn an_http_proxy_configured_as_socks_causes_a_warning() {
    let (squid, tinyproxy) = (Squid::start(None), Tinyproxy::start(None));
    for address in &[squid.address(), tinyproxy.address()] {
        for scheme in &["socks5h", "socks4a"] {
            let program = Ptunnel::through(format!("{}://{}", scheme, address));
            let finished = program
                .args(&["--handshake-timeout", "0.5", "-W", "example.org:22"])
                .run();
            finished.expect_code(1);
            let told = &finished.stderr;
            assert!(told.contains("within 0.5s: HTTP proxies don't"), "{}", told);
            assert!(told.ends_with("use http://\n"), "{}", told);
        }
    }
    let program = Ptunnel::through(url(squid.address()))
        .to("example.org:22")
        .start();
    let client = program.connect();
    let address = squid.address().to_string();
    program.says(&["warning", &address, "for 3s", "use http://"]);
    assert!(client.is_quiet());
}

/// The destination can be the reason for the delay.
#[test]
fn a_socks_proxy_that_has_replied_causes_no_warning() {
    let silent = proxy(|mut connection| connection.drain());
    let program = Ptunnel::through(url(silent.address()));
    let finished = program
        .args(&["--handshake-timeout", "4", "-W", "example.org:22"])
        .run();
    finished.expect_code(1);
    let told = &finished.stderr;
    let end = "within 4s; run it with --test to see what to try\n";
    assert!(told.ends_with(end), "{}", told);
    assert_eq!(told.lines().count(), 1, "{}", told);
}

#[test]
fn gnomes_socks_url_in_the_environment_works_with_microsocks() {
    let (nginx, proxy) = (Nginx::start(), Microsocks::start(None));
    let all_proxy = format!("socks://{}/", proxy.address());
    fetch(Ptunnel::new().env("all_proxy", all_proxy), &nginx);
}

#[test]
fn microsocks_accepts_credentials() {
    let nginx = Nginx::start();
    let proxy = Microsocks::start(Some(("joe", "p:w d%")));
    let program = Ptunnel::through(url(proxy.address()))
        .args(&["-U", "joe"])
        .env("PTUNNEL_PASSWORD", "p:w d%");
    fetch(program, &nginx);
    let named = format!("socks5h://joe:p%3Aw%20d%25@{}", proxy.address());
    for name in &["all_proxy", "https_proxy"] {
        fetch(Ptunnel::new().env(name, &named), &nginx);
    }
}

#[test]
fn wrong_or_missing_credentials_end_with_exit_code_4() {
    let proxy = Microsocks::start(Some(("joe", "hunter2")));
    for (user, remedy) in &[
        ("", "the proxy requires authentication; set --user"),
        ("joe:hunter1@", "check --user and the password"),
    ] {
        let url = format!("socks5h://{}{}", user, proxy.address());
        let finished = Ptunnel::through(url)
            .args(&["-W", "example.org:22", "-vvv"])
            .run();
        finished.expect_code(4);
        let said = format!("proxy {} refused example.org:22: ", proxy.address());
        let line = finished.stderr.lines().last().unwrap();
        assert!(line.contains(&said) && line.contains(remedy), "{}", line);
        assert!(!finished.stderr.contains("hunter1"), "{}", finished.stderr);
    }
}

#[test]
fn a_refusal_has_its_reason_and_exit_code_3() {
    let proxy = Microsocks::start(None);
    let dead = closed_address();
    let finished = Ptunnel::through(url(proxy.address()))
        .args(&["-W", &dead.to_string()])
        .run();
    finished.expect_code(3);
    assert_eq!(
        finished.stderr,
        format!(
            "ptunnel: to {} through {}: proxy {} refused {}: connection refused (SOCKS reply 5)\n",
            dead,
            url(proxy.address()),
            proxy.address(),
            dead
        )
    );
}

/// A refusal is final in this protocol, too.
#[test]
fn no_other_proxy_is_tried_after_a_refusal() {
    let second = Peer::echoing();
    let first = proxy(|mut connection| {
        connection.send(b"\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00");
        connection.finish_sending();
    });
    let program = Ptunnel::through(url(first.address()))
        .proxy(second.address())
        .to("example.org:22")
        .start();
    program.connect().expect_nothing();
    program.says(&["connection not allowed by ruleset (SOCKS reply 2)"]);
    assert_eq!(second.accepted(), 0);
}

#[test]
fn socks5_resolves_names_locally_and_socks5h_at_the_proxy() {
    let cases: &[(&str, &[u8])] = &[
        ("socks5", b"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x16"),
        ("socks5h", b"\x05\x01\x00\x03\x09localhost\x00\x16"),
    ];
    for (scheme, request) in cases {
        let request = request.to_vec();
        let peer = Peer::start(move |mut connection| {
            connection.expect(GREETING);
            connection.send(NOBODY);
            connection.expect(&request);
            connection.send(GRANTED);
            connection.echo();
        });
        let program = Ptunnel::through(format!("{}://{}", scheme, peer.address()))
            .to("localhost:22")
            .arg("-4")
            .start();
        let mut client = program.connect();
        client.send("hello");
        client.expect("hello");
    }
    // The proxy gets no request for an unresolved name.
    let peer = Peer::start(drop);
    let finished = Ptunnel::through(format!("socks5://{}", peer.address()))
        .args(&["-W", "nowhere.invalid:22"])
        .run();
    finished.expect_code(1);
    let told = "cannot resolve nowhere.invalid:22";
    assert!(finished.stderr.contains(told), "{}", finished.stderr);
    assert_eq!(peer.accepted(), 0);
}

/// The proxy got no request, so it is neither bypassed nor avoided for the next client.
#[test]
fn an_unknown_name_does_not_count_against_the_proxy() {
    let first = Peer::start(|mut connection| {
        connection.expect(GREETING);
        connection.send(NOBODY);
        connection.expect(b"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x16");
        connection.send(GRANTED);
        connection.echo();
    });
    let second = Peer::echoing();
    let through_first = || Ptunnel::through(format!("socks5://{}", first.address())).arg("-4");
    let program = through_first()
        .proxy(second.address())
        .to("nowhere.invalid:22")
        .to("localhost:22")
        .start();
    for (place, accepted) in &[(0, (0, 1)), (1, (1, 1))] {
        let mut client = program.connect_to(*place);
        client.send("hello");
        client.expect("hello");
        assert_eq!((first.accepted(), second.accepted()), *accepted);
    }
    program.says(&["cannot resolve nowhere.invalid:22", "trying the next proxy"]);

    let finished = through_first()
        .args(&["--direct-fallback", "-W", "nowhere.invalid:22"])
        .run();
    finished.expect_code(1);
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
}

#[test]
fn replies_can_be_split_anywhere_and_later_bytes_are_kept() {
    let bytewise = Peer::start(|mut connection| {
        connection.expect(GREETING);
        connection.send_bytewise(NOBODY);
        connection.expect(EXAMPLE);
        connection.send_bytewise([GRANTED, b"SSH-2.0-x\r\n"].concat());
        connection.echo();
    });
    let at_once = proxy(|mut connection| {
        connection.send([GRANTED, b"SSH-2.0-x\r\n"].concat());
        connection.echo();
    });
    // The address at the end of the reply can be a name.
    let named = proxy(|mut connection| {
        connection.send(b"\x05\x00\x00\x03\x03abc\x00\x50SSH-2.0-x\r\n");
        connection.echo();
    });
    for peer in &[bytewise, at_once, named] {
        let program = Ptunnel::through(url(peer.address()))
            .to("example.org:22")
            .start();
        let mut client = program.connect();
        client.expect("SSH-2.0-x\r\n");
        client.send("hello");
        client.expect("hello");
        client.finish_sending();
        client.expect_end();
    }
}

#[test]
fn other_protocols_are_reported() {
    let cases: &[(&[u8], &str)] = &[
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "sent an invalid reply: HTTP instead of SOCKS; use http://",
        ),
        (
            b"\x00\x5b\0\0\0\0\0\0",
            "SOCKS4 instead of SOCKS5; use socks4a://",
        ),
        (b"SSH-2.0-x\r\n", "not SOCKS5 (it begins with 83)"),
        (b"", "closed the connection before it replied"),
    ];
    for (reply, told) in cases {
        let peer = Peer::start(move |mut connection| {
            connection.expect(GREETING);
            connection.send(reply);
            connection.finish_sending();
            connection.drain();
        });
        let finished = Ptunnel::through(url(peer.address()))
            .args(&["-W", "example.org:22"])
            .run();
        finished.expect_code(1);
        assert!(finished.stderr.contains(told), "{}", finished.stderr);
    }
}

/// Regression: it was an invalid reply, and the next proxy opened the tunnel.
#[test]
fn a_method_that_was_not_offered_is_a_refusal() {
    let refusing = Peer::start(|mut connection| {
        connection.expect(GREETING);
        connection.send(b"\x05\x02");
        connection.drain();
    });
    let next = Microsocks::start(None);
    let finished = Ptunnel::through(url(refusing.address()))
        .args(&["-p", &url(next.address()), "-W", "example.org:22"])
        .run();
    finished.expect_code(4);
    let told = "refused example.org:22: the proxy requires authentication; set --user";
    assert!(finished.stderr.contains(told), "{}", finished.stderr);
}

#[test]
fn an_incomplete_reply_ends_with_the_handshake_timeout() {
    let peer = proxy(|mut connection| {
        connection.send(&GRANTED[..4]);
        connection.drain();
    });
    let finished = Ptunnel::through(url(peer.address()))
        .args(&["-W", "example.org:22", "--handshake-timeout", "0.5"])
        .run();
    finished.expect_code(1);
    let told = format!("no reply from proxy {} within 0.5s", peer.address());
    assert!(finished.stderr.contains(&told), "{}", finished.stderr);
}

#[test]
fn options_for_http_proxies_cause_a_warning() {
    let peer = Microsocks::start(None);
    let program = Ptunnel::through(url(peer.address()))
        .args(&["-H", "X-Tag: 1", "--proxy-auth", "digest"])
        .to("example.org:22")
        .start();
    program.says(&["--header has no effect"]);
    program.says(&["--proxy-auth has no effect"]);
}
