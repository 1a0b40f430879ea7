//! SOCKS4 and 4A as the outer proxy: OpenSSH, and scripted peers that check each byte against
//! curl's.

use std::net::SocketAddr;

use crate::names::{listener_on, with_hosts};
use crate::socks::fetch;
use support::parts::{curl, Nginx};
use support::socks::{Microsocks, SshSocks};
use support::{Connection, Peer, Ptunnel, TempDir};

const EXAMPLE: &[u8] = b"\x04\x01\x00\x16\x00\x00\x00\x01\x00example.org\x00";
const LOCALHOST: &[u8] = b"\x04\x01\x00\x16\x7f\x00\x00\x01\x00";
const GRANTED: &[u8] = b"\x00\x5a\x00\x00\x00\x00\x00\x00";

fn url(address: SocketAddr) -> String {
    format!("socks4a://{}", address)
}

/// A SOCKS4A proxy that checks that the request is for example.org:22, and leaves the reply to the
/// script.
pub fn proxy(script: impl Fn(Connection) + Send + Sync + 'static) -> Peer {
    asked_for(EXAMPLE, script)
}

fn asked_for(request: &'static [u8], script: impl Fn(Connection) + Send + Sync + 'static) -> Peer {
    Peer::start(move |mut connection| {
        connection.expect(request);
        script(connection);
    })
}

fn granting(mut connection: Connection) {
    connection.send(GRANTED);
    connection.echo();
}

#[test]
fn curl_fetches_from_nginx_through_openssh() {
    let (nginx, ssh) = (Nginx::start(), SshSocks::start());
    for scheme in &["socks4", "socks4a"] {
        for user in &["", "joe@"] {
            let url = format!("{}://{}{}", scheme, user, ssh.address());
            fetch(Ptunnel::through(&url), &nginx);
            fetch(Ptunnel::new().env("all_proxy", &url), &nginx);
        }
    }
    // It looks up names, and accepts the text of an address as one.
    let greets = |address| {
        Peer::accept_from(listener_on(address, 0), |mut connection| {
            connection.send("hello")
        })
    };
    let (four, six) = (greets("127.0.0.1"), greets("::1"));
    for destination in &[
        format!("localhost:{}", four.port()),
        six.address().to_string(),
    ] {
        let program = Ptunnel::through(url(ssh.address())).to(destination).start();
        program.connect().expect("hello");
    }
}

/// Byte by byte: the proxy can't distinguish the two clients.
#[test]
fn requests_equal_curls() {
    let cases: &[(&str, &str, &str, &[u8])] = &[
        (
            "--socks4a",
            "joe@",
            "example.org",
            b"\x04\x01\x00\x16\x00\x00\x00\x01joe\x00example.org\x00",
        ),
        ("--socks4a", "", "example.org", EXAMPLE),
        (
            "--socks4a",
            "",
            "[2001:db8::7]",
            b"\x04\x01\x00\x16\x00\x00\x00\x01\x002001:db8::7\x00",
        ),
        (
            "--socks4",
            "joe@",
            "127.0.0.1",
            b"\x04\x01\x00\x16\x7f\x00\x00\x01joe\x00",
        ),
        ("--socks4", "", "localhost", LOCALHOST),
    ];
    for (option, user, host, request) in cases {
        let peer = asked_for(request, |mut connection| {
            connection.send(GRANTED);
            connection.read_head();
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
            connection.drain();
        });
        let login = format!("{}{}", user, peer.address());
        let theirs = curl(&[option, &login, "-4", &format!("http://{}:22/", host)]);
        assert_eq!(theirs, b"hi");
        let scheme = option.trim_start_matches("--");
        let program = Ptunnel::through(format!("{}://{}", scheme, login));
        let program = program.to(format!("{}:22", host)).start();
        let url = format!("http://{}/", program.address());
        assert_eq!(curl(&["--noproxy", "*", &url]), b"hi");
    }
}

#[test]
fn the_user_is_sent_without_a_password() {
    let peer = asked_for(
        b"\x04\x01\x00\x16\x00\x00\x00\x01joe\x00example.org\x00",
        granting,
    );
    let mut program = Ptunnel::through(url(peer.address()))
        .args(&["-U", "joe"])
        .env("PTUNNEL_PASSWORD", "hunter2")
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    // No password is requested.
    program = Ptunnel::through(format!("socks4a://joe@{}", peer.address()))
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
}

/// Otherwise it would be ignored silently.
#[test]
fn a_password_in_the_url_is_refused_and_others_cause_a_warning() {
    for scheme in &["socks4", "socks4a"] {
        let url = format!("{}://joe:hunter2@proxy.example", scheme);
        let by_option = Ptunnel::through(&url).to("example.org:22").run();
        let by_environment = Ptunnel::new()
            .env("all_proxy", &url)
            .to("example.org:22")
            .run();
        for finished in &[by_option, by_environment] {
            finished.expect_code(2);
            let said = &finished.stderr;
            assert!(said.contains("SOCKS4 has no password"), "{}", said);
            assert!(!said.contains("hunter2"), "{}", said);
        }
    }
    let program = Ptunnel::through("socks4a://proxy.example")
        .args(&["-U", "joe:hunter2"])
        .to("example.org:22")
        .start();
    program.says(&["the password in --user has no effect: SOCKS4 has no password"]);
}

#[test]
fn a_refusal_has_advice() {
    let cases: &[(u8, i32, &str)] = &[
        (
            91,
            3,
            "request rejected or failed (SOCKS reply 91); if the proxy",
        ),
        (
            92,
            3,
            "the proxy can't reach identd on this machine (SOCKS reply 92); run identd",
        ),
        (
            93,
            4,
            "identd on this machine reports another user (SOCKS reply 93); set --user to the name",
        ),
        (89, 3, "unknown SOCKS reply 89"),
    ];
    for (code, exit_code, told) in cases {
        let reply = [0, *code, 0, 0, 0, 0, 0, 0];
        let peer = proxy(move |mut connection| {
            connection.send(reply);
            connection.finish_sending();
        });
        let finished = Ptunnel::through(url(peer.address()))
            .args(&["-W", "example.org:22"])
            .run();
        finished.expect_code(*exit_code);
        let told = format!(
            "ptunnel: to example.org:22 through {}: proxy {} refused example.org:22: {}",
            url(peer.address()),
            peer.address(),
            told
        );
        assert!(finished.stderr.starts_with(&told), "{}", finished.stderr);
    }
}

/// A refusal is final.
#[test]
fn no_other_proxy_is_tried_after_a_refusal() {
    let second = Peer::echoing();
    let first = proxy(|mut connection| {
        connection.send(b"\x00\x5b\x00\x00\x00\x00\x00\x00");
        connection.finish_sending();
    });
    let program = Ptunnel::through(url(first.address()))
        .proxy(second.address())
        .to("example.org:22")
        .start();
    program.connect().expect_nothing();
    program.says(&["request rejected or failed (SOCKS reply 91)"]);
    assert_eq!(second.accepted(), 0);
}

#[test]
fn socks4_resolves_names_locally_and_uses_only_ipv4() {
    let folder = TempDir::new();
    folder.file(
        "hosts",
        "::1 both.test\n127.0.0.1 both.test\n::1 six.test\n",
    );
    let first = asked_for(LOCALHOST, granting);
    let second = Peer::echoing();
    let program = Ptunnel::through(format!("socks4://{}", first.address()))
        .proxy(second.address())
        .to("both.test:22")
        .to("six.test:22")
        .to("[::1]:22");
    let program = with_hosts(program, &folder).start();
    // The proxy got no request for the other names, so it is neither bypassed nor avoided for the
    // next client.
    for (place, accepted) in &[(0, (1, 0)), (1, (1, 1)), (2, (1, 2)), (0, (2, 2))] {
        let mut client = program.connect_to(*place);
        client.send("hello");
        client.expect("hello");
        assert_eq!((first.accepted(), second.accepted()), *accepted);
    }
    let why = "no IPv4 address, which socks4:// requires; use socks4a:// or socks5h://";
    program.says(&["cannot resolve six.test:22: ", why, "trying the next proxy"]);
    program.says(&["cannot resolve [::1]:22: ", why, "trying the next proxy"]);

    let finished = Ptunnel::through(format!("socks4://{}", first.address()))
        .args(&["-W", "[::1]:22"])
        .run();
    finished.expect_code(1);
    assert_eq!(
        finished.stderr,
        format!(
            "ptunnel: to [::1]:22 through socks4://{}: cannot resolve [::1]:22: {}\n",
            first.address(),
            why
        )
    );
}

/// Regression: it was refused for lack of an IPv4 address, though it is one in another notation.
#[test]
fn an_ipv4_mapped_destination_is_requested_as_ipv4() {
    let ssh = SshSocks::start();
    let greeting = Peer::accept_from(listener_on("127.0.0.1", 0), |mut connection| {
        connection.send("hello")
    });
    let real = format!("[::ffff:127.0.0.1]:{}", greeting.port());
    for scheme in &["socks4", "socks4a"] {
        let program = Ptunnel::through(format!("{}://{}", scheme, ssh.address()));
        program.to(&real).start().connect().expect("hello");

        let scripted = asked_for(LOCALHOST, granting);
        let program = Ptunnel::through(format!("{}://{}", scheme, scripted.address()));
        let program = program.to("[::ffff:127.0.0.1]:22").start();
        let mut client = program.connect();
        client.send("hello");
        client.expect("hello");
    }
}

#[test]
fn a_reply_can_be_split_anywhere_and_later_bytes_are_kept() {
    let bytewise = proxy(|mut connection| {
        connection.send_bytewise([GRANTED, b"SSH-2.0-x\r\n"].concat());
        connection.echo();
    });
    let at_once = proxy(|mut connection| {
        connection.send([GRANTED, b"SSH-2.0-x\r\n"].concat());
        connection.echo();
    });
    for peer in &[bytewise, at_once] {
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
        (b"SSH-2.0-x\r\n", "not SOCKS4 (it begins with 83)"),
        (b"\x00", "closed the connection before it replied"),
        (b"", "closed the connection before it replied"),
    ];
    let (nginx, microsocks) = (Nginx::start(), Microsocks::start(None));
    let mut told = vec![
        (nginx.address(), "HTTP instead of SOCKS; use http://"),
        (
            microsocks.address(),
            "SOCKS5 instead of SOCKS4; use socks5h://",
        ),
    ];
    let peers: Vec<Peer> = cases
        .iter()
        .map(|(reply, _)| {
            proxy(move |mut connection| {
                connection.send(reply);
                connection.finish_sending();
                connection.drain();
            })
        })
        .collect();
    let scripted = peers.iter().zip(cases);
    told.extend(scripted.map(|(peer, (_, told))| (peer.address(), *told)));
    for (address, told) in told {
        let finished = Ptunnel::through(url(address))
            .args(&["-W", "example.org:22"])
            .run();
        finished.expect_code(1);
        assert!(finished.stderr.contains(told), "{}", finished.stderr);
    }
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
