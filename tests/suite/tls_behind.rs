//! TLS to the destination: nginx, stunnel and openssl's own server behind real proxies, with a
//! client that doesn't support TLS.

use std::io::Read;
use std::net::SocketAddr;
use std::thread;

use crate::tls::{assert_said, both_ways, torn_after};
use support::parts::{curl, Nginx, Squid, SMALL};
use support::tls::{Authority, Identity, Reverser, Stunnel};
use support::{closed_address, eventually, Connection, Pattern, Peer, Ptunnel};

const MIB: u64 = 1 << 20;

/// The names in the certificates of these tests' destinations.
const RIGHT: &str = "DNS:localhost,IP:127.0.0.1";

/// Returns the URL of a destination with TLS.
fn tls(address: SocketAddr) -> String {
    format!("tls://{}", address)
}

/// Returns the program, with this authority trusted for its destinations.
fn through(proxy: SocketAddr, authority: &Authority) -> Ptunnel {
    Ptunnel::through(proxy).args(&["--cacert", &authority.certificate()])
}

/// Returns a server that sends everything back, until its client ends.
fn echo() -> Peer {
    Peer::start(|mut connection| connection.echo())
}

/// Fetches both files of the origin with curl, over plain HTTP.
#[track_caller]
fn fetch(program: Ptunnel, nginx: &Nginx) {
    let trust = nginx.certificate();
    let program = program.args(&["--cacert", &trust]).to(tls(nginx.tls()));
    let program = program.start();
    let get = |file: &str| {
        let url = format!("http://{}/{}", program.address(), file);
        curl(&["--noproxy", "*", &url])
    };
    assert_eq!(get("small"), SMALL.as_bytes());
    Nginx::big().check(0, &get("big"));
    assert_eq!(program.stderr(), "");
}

fn says_hello(client: &mut Connection) {
    client.send("hello");
    client.expect("hello");
}

#[test]
fn curl_without_tls_fetches_from_nginx_through_squid() {
    let (nginx, squid) = (Nginx::start(), Squid::start(None));
    fetch(Ptunnel::through(squid.address()), &nginx);
}

/// The handshake takes place without a proxy, too.
#[test]
fn tls_works_on_a_direct_connection() {
    let nginx = Nginx::start();
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address());
    fetch(program.args(&["--no-proxy", "127.0.0.1"]), &nginx);
    assert_eq!(proxy.accepted(), 0);

    let authority = Authority::new();
    let origin = echo();
    let stunnel = Stunnel::start(&authority.issue("origin", RIGHT), origin.address());
    let program = through(closed_address(), &authority)
        .arg("--direct-fallback")
        .to(tls(stunnel.address()))
        .start();
    says_hello(&mut program.connect());
    program.says(&["connecting to 127.0.0.1:", "directly"]);
}

/// The server ends the handshake for any other name.
#[test]
fn a_destination_can_have_another_name_in_tls() {
    let authority = Authority::new();
    let identity = authority.issue("origin", "DNS:origin.example");
    let (certificate, key) = (&identity.certificate, &identity.key);
    let options = [
        "-servername",
        "origin.example",
        "-servername_fatal",
        "-cert2",
    ];
    let options = [&options[..], &[certificate, "-key2", key]].concat();
    let server = Reverser::start_with(&identity, &options);
    let proxy = Squid::start(None);
    let program = || through(proxy.address(), &authority).to(tls(server.address()));
    let started = program().args(&["--sni", "origin.example"]).start();
    let mut client = started.connect();
    client.send("hello\n");
    client.expect("olleh\n");
    // It serves one client at a time.
    client.finish_sending();
    client.expect_end();
    let tested = program().args(&["--sni", "origin.example", "--test"]).run();
    assert_said(&tested.text(), &["certificate valid for origin.example\n"]);
    let tested = program().args(&["--sni", "other.example", "--test"]).run();
    tested.expect_code(1);
    assert_said(&tested.text(), &["unrecognized name"]);
    let refused = program().args(&["--sni", "192.0.2.1"]).run();
    refused.expect_code(2);
    assert_said(&refused.stderr, &["--sni: invalid name '192.0.2.1'"]);
}

#[test]
fn a_chain_and_the_destination_can_all_use_tls() {
    let (nginx, authority) = (Nginx::start(), Authority::new());
    let identity = authority.issue("proxy", RIGHT);
    let squid = Squid::start(None);
    let own = Ptunnel::new().serving().start();
    let first = Stunnel::start(&identity, squid.address());
    let second = Stunnel::start(&identity, own.proxy());
    let program = Ptunnel::through(format!("https://{}", first.address()))
        .args(&["--via", &format!("https://{}", second.address())])
        .args(&["--proxy-cacert", &authority.certificate()]);
    fetch(program, &nginx);
}

#[test]
fn carries_64_mib_both_ways_and_both_ends() {
    let authority = Authority::new();
    let origin = Peer::start(|connection| {
        let mut reader = connection.handle();
        let reading = thread::spawn(move || Pattern::new(1).read_all(&mut reader, 64 * MIB));
        let mut writer = connection;
        Pattern::new(2)
            .write(&mut writer, 64 * MIB)
            .expect("all is taken");
        // Only now: the client closes its end, and the servers in between close with it.
        reading.join().expect("all arrives");
        writer.finish_sending();
    });
    let stunnel = Stunnel::start(&authority.issue("origin", RIGHT), origin.address());
    let squid = Squid::start(None);
    let destination = tls(stunnel.address());
    let program = through(squid.address(), &authority)
        .to(&destination)
        .arg("-v")
        .start();
    both_ways(program.connect(), 64 * MIB);
    program.says(&[
        &format!(" to {} through ", destination),
        "67108864 bytes up, 67108864 down",
        "closed by both sides",
    ]);
}

#[test]
fn a_half_close_is_passed_on_in_either_direction() {
    let authority = Authority::new();
    let identity = authority.issue("origin", RIGHT);
    let squid = Squid::start(None);
    let listens = Peer::start(|mut connection| {
        assert_eq!(connection.rest(), b"all of it");
        connection.send("the answer");
        connection.finish_sending();
    });
    let stunnel = Stunnel::start(&identity, listens.address());
    let program = through(squid.address(), &authority)
        .to(tls(stunnel.address()))
        .start();
    let mut client = program.connect();
    client.send("all of it");
    client.finish_sending();
    assert_eq!(client.rest(), b"the answer");

    let speaks = Peer::start(|mut connection| {
        connection.send("said all");
        connection.finish_sending();
        assert_eq!(connection.rest(), b"heard all");
    });
    let stunnel = Stunnel::start(&identity, speaks.address());
    let program = through(squid.address(), &authority)
        .args(&["--no-proxy", "127.0.0.1", "-v"])
        .to(tls(stunnel.address()))
        .start();
    let mut client = program.connect();
    assert_eq!(client.rest(), b"said all");
    client.send("heard all");
    client.finish_sending();
    program.says(&["9 bytes up, 8 down", "closed by both sides"]);
}

#[test]
fn an_end_without_close_notify_is_a_reset() {
    let authority = Authority::new();
    let origin = Peer::start(|mut connection| {
        let _ = Pattern::new(4).write(&mut connection, MIB);
    });
    let stunnel = Stunnel::start(&authority.issue("origin", RIGHT), origin.address());
    let torn = torn_after(stunnel.address(), 100_000, false);
    let squid = Squid::start(None);
    let program = through(squid.address(), &authority)
        .to(tls(torn.address()))
        .arg("-v")
        .start();
    let mut all = Vec::new();
    let end = program.connect().read_to_end(&mut all);
    assert!(end.is_err(), "an orderly end after {} bytes", all.len());
    program.says(&["cut: upstream: the connection ended without TLS close_notify"]);
}

#[test]
fn stdio_mode_works_with_openssls_own_server() {
    let authority = Authority::new();
    let reverser = Reverser::start(&authority.issue("origin", RIGHT));
    let squid = Squid::start(None);
    let port = reverser.address().port().to_string();
    let destination = tls(reverser.address());
    let words: &[&[&str]] = &[&["-W", &destination], &["-W", "tls://localhost", &port]];
    for words in words {
        let program = through(squid.address(), &authority).args(words);
        let finished = program.run_with(b"hello\n");
        finished.expect_code(0);
        assert_eq!(finished.text(), "olleh\n");
        assert_eq!(finished.stderr, "");
    }
}

/// Checks the error when there is no TLS with the destination: one line, the exit code for the
/// network, and no word about the proxy, which didn't fail.
#[track_caller]
fn refused(program: Ptunnel, destination: SocketAddr, reason: &str) {
    let finished = program.args(&["-W", &tls(destination)]).run();
    finished.expect_code(1);
    let said = &finished.stderr;
    assert_eq!(said.lines().count(), 1, "{}", said);
    assert_said(said, &[&format!("{}", destination), reason]);
    assert!(!said.contains("proxy"), "{}", said);
}

#[test]
fn an_unverified_certificate_is_refused_with_the_reason() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (origin, squid) = (echo(), Squid::start(None));
    let cases: &[(Identity, &str)] = &[
        (
            authority.issue_expired("old", RIGHT),
            "the certificate expired 1 days ago",
        ),
        (
            authority.issue("elsewhere", "DNS:other.test"),
            "the certificate is for other.test, not for 127.0.0.1",
        ),
        (
            authority.self_signed("self", "/CN=x", RIGHT),
            "the certificate is self-signed; if it is the right one, trust it with --cacert",
        ),
        (
            other.issue("other", RIGHT),
            "the certificate is from an unknown CA, 'Authority of the test'; trust the CA with --cacert",
        ),
    ];
    for (identity, reason) in cases {
        let stunnel = Stunnel::start(identity, origin.address());
        let reason = format!(
            "TLS handshake with {} failed: {}",
            stunnel.address(),
            reason
        );
        let program = || through(squid.address(), &authority);
        refused(program(), stunnel.address(), &reason);
        let direct = program().args(&["--no-proxy", "*"]);
        refused(direct, stunnel.address(), &reason);
    }
    assert_eq!(origin.accepted(), 0, "not a byte was for it");
}

/// The name that is sent and verified is the destination's, whatever the address of the connection.
#[test]
fn a_name_is_verified_as_a_name() {
    let authority = Authority::new();
    let (origin, squid) = (echo(), Squid::start(None));
    let stunnel = Stunnel::start(&authority.issue("n", "DNS:localhost"), origin.address());
    let program = through(squid.address(), &authority)
        .to(format!("tls://localhost:{}", stunnel.address().port()))
        .start();
    says_hello(&mut program.connect());
    let reason = "the certificate is for localhost, not for 127.0.0.1";
    let program = through(squid.address(), &authority);
    refused(program, stunnel.address(), reason);
}

/// Destinations that fail during the handshake, each with the error.
fn faults() -> Vec<(Peer, &'static str)> {
    let hello = 5; // a part of the client's hello
    vec![
        (
            Peer::start(|mut connection| {
                connection.send("* OK IMAP4rev1\r\n");
                connection.drain();
            }),
            "the destination doesn't speak TLS on this port; remove tls://",
        ),
        (
            Peer::start(move |mut connection| {
                connection.receive(hello);
                connection.finish_sending();
                connection.drain();
            }),
            "the destination closed the connection; if it doesn't speak TLS on this port, ",
        ),
        (
            Peer::start(move |mut connection| {
                connection.receive(hello);
                connection.reset();
            }),
            "TLS handshake with",
        ),
        (
            Peer::start(|mut connection| connection.drain()),
            "no reply from",
        ),
    ]
}

#[test]
fn a_handshake_that_fails_is_the_destinations_failure() {
    let (authority, squid) = (Authority::new(), Squid::start(None));
    for (origin, reason) in &faults() {
        let program = through(squid.address(), &authority);
        let program = program.args(&["--handshake-timeout", "0.5"]);
        refused(program, origin.address(), reason);
    }
}

/// Regression: a proxy that had connected to a broken server was avoided for half a minute, and the
/// next one had to connect to it, too.
#[test]
fn a_failed_handshake_is_not_the_proxys_failure() {
    let (authority, squid) = (Authority::new(), Squid::start(None));
    let stranger = authority.issue("stranger", "DNS:other.test");
    let origin = echo();
    let stunnel = Stunnel::start(&stranger, origin.address());
    let mut destinations: Vec<(SocketAddr, &str)> = vec![(stunnel.address(), "is for other.test")];
    let faults = faults();
    destinations.extend(faults.iter().map(|(peer, why)| (peer.address(), *why)));
    for (destination, reason) in destinations {
        let second = Peer::echoing();
        let program = through(squid.address(), &authority)
            .proxy(second.address())
            .args(&["--direct-fallback", "--handshake-timeout", "0.5"])
            .to(tls(destination))
            .start();
        for times in 1..3 {
            program.connect().rest_or_reset();
            eventually("each client's end is told", || {
                let told = program.stderr();
                let lines = told.lines().filter(|line| line.contains(reason));
                lines.count() == times
            });
        }
        let told = program.stderr();
        assert!(
            !told.contains("trying") && !told.contains("directly"),
            "{}",
            told
        );
        assert_eq!(second.accepted(), 0, "{}", told);
    }
}

/// Regression: these bytes are the destination's, and part of TLS, and were lost or awaited again.
#[test]
fn bytes_after_the_proxys_reply_are_part_of_the_handshake() {
    let authority = Authority::new();
    let proxy = Peer::proxy(|mut connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-OpenSSH\r\n");
        connection.drain();
    });
    let program = through(proxy.address(), &authority).args(&["-W", "tls://mail.example:993"]);
    let finished = program.run();
    finished.expect_code(1);
    assert_said(
        &finished.stderr,
        &["TLS handshake with mail.example:993 failed: the destination doesn't speak TLS"],
    );
}

/// The last bytes of the handshake and the first of the server's message can arrive together.
#[test]
fn a_server_that_sends_first_is_received() {
    let authority = Authority::new();
    let identity = authority.issue("origin", RIGHT);
    for size in &[11, 3_000, 70_000] {
        let size = *size;
        let origin = Peer::start(move |mut connection| {
            connection.send(Pattern::new(3).take(size));
            connection.echo();
        });
        let stunnel = Stunnel::start(&identity, origin.address());
        let squid = Squid::start(None);
        let program = through(squid.address(), &authority)
            .to(tls(stunnel.address()))
            .start();
        let mut client = program.connect();
        Pattern::new(3).read(&mut client, size as u64);
        says_hello(&mut client);
    }
}

#[test]
fn a_requested_client_certificate_is_sent_or_reported() {
    let authority = Authority::new();
    let (origin, squid) = (echo(), Squid::start(None));
    let ours = authority.issue("us", "");
    let stunnel = Stunnel::asking(&authority.issue("s", RIGHT), origin.address(), &authority);
    let program = through(squid.address(), &authority)
        .args(&["--cert", &ours.certificate, "--key", &ours.key])
        .to(tls(stunnel.address()))
        .start();
    says_hello(&mut program.connect());
    assert_eq!(program.stderr(), "");

    // The proxy's client certificate must not be used for the destination.
    let proxys = ["--proxy-cert", &ours.certificate, "--proxy-key", &ours.key];
    let inner = Stunnel::start(&authority.issue("p", RIGHT), squid.address());
    let of_proxy = Ptunnel::through(format!("https://{}", inner.address()))
        .args(&["--proxy-cacert", &authority.certificate()])
        .args(&["--cacert", &authority.certificate()])
        .args(&proxys);
    let without = through(squid.address(), &authority);
    for program in vec![without, of_proxy] {
        let finished = program.args(&["-W", &tls(stunnel.address())]).run();
        finished.expect_code(1);
        assert_said(
            &finished.stderr,
            &["the destination requires a client certificate; set --cert\n"],
        );
    }
}

#[test]
fn an_insecure_connection_warns_each_time() {
    let authority = Authority::new();
    let (origin, squid) = (echo(), Squid::start(None));
    let identity = authority.self_signed("self", "/CN=x", "DNS:other.test");
    let stunnel = Stunnel::start(&identity, origin.address());
    let program = Ptunnel::through(squid.address())
        .arg("--insecure")
        .to(tls(stunnel.address()))
        .start();
    let warning = format!(
        "warning: {}: certificate not verified (--insecure), and it is not valid: the certificate",
        stunnel.address()
    );
    for times in 1..4 {
        says_hello(&mut program.connect());
        eventually("a warning each time", || {
            program.stderr().matches(&warning[..]).count() == times
        });
    }
}

#[test]
fn the_scheme_is_shown_everywhere() {
    let authority = Authority::new();
    let (origin, squid) = (echo(), Squid::start(None));
    let stunnel = Stunnel::start(&authority.issue("origin", RIGHT), origin.address());
    let destination = tls(stunnel.address());
    let way = format!("for {} through {}", destination, squid.address());
    let program = || through(squid.address(), &authority).to(&destination);
    let checked = program().arg("--check-config").run();
    checked.expect_code(0);
    let expected = format!("would listen on 127.0.0.1:0 {}\n", way);
    assert_eq!(checked.text(), expected);

    let program = program().watched().arg("-v").start();
    let line = format!("listening on {} {}", program.address(), way);
    assert_eq!(program.listening()[0].line, line);
    let mut client = program.connect();
    says_hello(&mut client);
    let state = || {
        let url = format!("http://{}/status.json", program.status());
        String::from_utf8(curl(&["--noproxy", "*", &url])).unwrap()
    };
    let shown = format!("\"destination\":\"{}\"", destination);
    eventually("the listener and its tunnel", || {
        state().replace(' ', "").matches(&shown[..]).count() == 2
    });
    let probe = format!("http://{}/healthz/probe", program.status());
    let probe = String::from_utf8(curl(&["--noproxy", "*", &probe])).unwrap();
    assert_said(&probe, &[&format!("ok: {} through", destination)]);
    drop(client);
    program.says(&[&format!(" to {} through ", destination)]);
}

#[test]
fn unusable_files_end_with_exit_code_2() {
    let authority = Authority::new();
    let ours = authority.issue("ours", "");
    for words in &[
        ["--cacert", "/no/file"],
        ["--cert", &ours.certificate],
        ["--cacert", &ours.key],
    ] {
        let program = Ptunnel::through("proxy.test:1").args(words);
        let finished = program.args(&["-W", "tls://mail.example:993"]).run();
        finished.expect_code(2);
        assert_said(&finished.stderr, &[words[1]]);
        assert!(!finished.stderr.contains("--proxy"), "{}", finished.stderr);
    }
}
