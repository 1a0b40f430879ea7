//! TLS to the proxy: stunnel and nginx in front of squid and of scripted peers, with certificates
//! made for each test.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use support::parts::{curl, Nginx, Squid, SMALL};
use support::tls::{Authority, Identity, NginxStream, Reverser, Stunnel};
use support::{eventually, Connection, Finished, Pattern, Peer, Ptunnel, TempDir};

const MIB: u64 = 1 << 20;

/// The names in the certificates of these tests' proxies.
const RIGHT: &str = "DNS:localhost,IP:127.0.0.1";

/// Returns the program with a proxy that is reached over TLS, and the authority that it trusts.
fn through(address: SocketAddr, authority: &Authority) -> Ptunnel {
    Ptunnel::through(format!("https://{}", address))
        .args(&["--proxy-cacert", &authority.certificate()])
}

/// Checks that the tunnel can't be opened: with one line, which it returns, and the exit code for
/// the network.
#[track_caller]
fn refused(program: Ptunnel) -> String {
    let finished: Finished = program.args(&["-W", "example.org:22"]).run();
    finished.expect_code(1);
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    finished.stderr
}

#[track_caller]
pub(super) fn assert_said(text: &str, all: &[&str]) {
    for part in all {
        assert!(text.contains(part), "{:?} isn't in {}", part, text);
    }
}

/// Sends and checks `bytes` bytes in each direction at once. The ends are sent last, after
/// everything has arrived: once both of its sides have ended (POLLHUP), stunnel doesn't read the
/// rest from its server.
pub(super) fn both_ways(mut client: Connection, bytes: u64) {
    let mut writer = client.handle();
    let writing = thread::spawn(move || {
        Pattern::new(1)
            .write(&mut writer, bytes)
            .expect("all is taken");
    });
    Pattern::new(2).read(&mut client, bytes);
    writing.join().expect("all is sent");
    client.finish_sending();
    client.expect_end();
}

/// The peer of `both_ways`.
pub(super) fn bulk_peer(bytes: u64) -> Peer {
    Peer::granting(move |connection| {
        let mut reader = connection.handle();
        let reading = thread::spawn(move || Pattern::new(1).read_all(&mut reader, bytes));
        let mut writer = connection;
        Pattern::new(2)
            .write(&mut writer, bytes)
            .expect("all is taken");
        // Only now: the client closes its end, and the servers in between close with it.
        reading.join().expect("all arrives");
        writer.finish_sending();
    })
}

#[test]
fn carries_64_mib_both_ways_and_both_ends() {
    let authority = Authority::new();
    let peer = bulk_peer(64 * MIB);
    let stunnel = Stunnel::start(&authority.issue("proxy", RIGHT), peer.address());
    let program = through(stunnel.address(), &authority)
        .to("example.org:22")
        .arg("-v")
        .start();
    both_ways(program.connect(), 64 * MIB);
    program.says(&["67108864 bytes up, 67108864 down", "closed by both sides"]);
}

#[test]
fn curl_fetches_from_nginx_through_squid_behind_nginx() {
    let (authority, origin, squid) = (Authority::new(), Nginx::start(), Squid::start(None));
    let front = NginxStream::start(&authority.issue("proxy", RIGHT), squid.address());
    let program = through(front.address(), &authority)
        .to(origin.address())
        .to(origin.tls())
        .start();
    let trust = origin.certificate();
    let secure = format!("https://localhost:{}", program.address_of(1).port());
    for url in &[format!("http://{}", program.address()), secure] {
        let get = |file: &str| {
            let url = format!("{}/{}", url, file);
            curl(&["--noproxy", "*", "--cacert", &trust, &url])
        };
        assert_eq!(get("small"), SMALL.as_bytes());
        Nginx::big().check(0, &get("big"));
    }
    let told = program.stderr();
    assert!(told.lines().count() <= 1, "{}", told);
    assert!(told.is_empty() || told.contains("close_notify"), "{}", told);
}

/// A load balancer is reached by its address.
#[test]
fn a_proxy_can_have_another_name_in_tls() {
    let (authority, peer) = (Authority::new(), Peer::echoing());
    let identity = authority.issue("proxy", "DNS:proxy.example");
    let stunnel = Stunnel::start(&identity, peer.address());
    let program = || through(stunnel.address(), &authority);
    let said = refused(program());
    assert_said(&said, &["is for proxy.example, not for 127.0.0.1"]);
    let said = refused(program().args(&["--proxy-sni", "other.example"]));
    assert_said(&said, &["is for proxy.example, not for other.example"]);
    let program = program().args(&["--proxy-sni", "proxy.example"]);
    let program = program.to("example.org:22").start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    assert_eq!(program.stderr(), "");
}

#[test]
fn squid_behind_stunnel_accepts_credentials_that_are_not_shown() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let identity = authority.issue("proxy", RIGHT);
    for squid in &[
        Squid::start(Some(("joe", "hunter2"))),
        Squid::with_digest("joe", "hunter2", 3),
    ] {
        let stunnel = Stunnel::start(&identity, squid.address());
        let program = Ptunnel::through(format!("https://joe:hunter2@{}", stunnel.address()))
            .args(&["--proxy-cacert", &authority.certificate(), "-vvv"])
            .to(origin.address())
            .start();
        let url = format!("http://{}/small", program.address());
        assert_eq!(curl(&["--noproxy", "*", &url]), SMALL.as_bytes());
        program.says(&["speaks TLSv1."]);
        let told = program.says(&["through https://127.0.0.1:", "bytes"]);
        assert!(!program.stderr().contains("hunter2"), "{}", told);
    }
}

/// Its second connection uses TLS, too.
#[test]
fn a_proxy_that_closes_after_its_challenge_is_reached_again_with_tls() {
    let authority = Authority::new();
    let peer = Peer::closing_at_its_challenge();
    let stunnel = Stunnel::start(&authority.issue("proxy", RIGHT), peer.address());
    let program = through(stunnel.address(), &authority)
        .args(&["-U", "joe", "-vv"])
        .env("PTUNNEL_PASSWORD", "hunter2")
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    assert_eq!(peer.accepted(), 2);
    program.says(&["example.org:22: open"]);
    let told = program.stderr();
    assert_eq!(told.matches("speaks TLSv1.").count(), 2, "{}", told);
}

#[test]
fn the_proxy_can_be_in_the_environment() {
    let authority = Authority::new();
    let peer = Peer::echoing();
    let stunnel = Stunnel::start(&authority.issue("proxy", RIGHT), peer.address());
    let url = format!("https://localhost:{}", stunnel.address().port());
    for name in &["https_proxy", "ALL_PROXY"] {
        let program = Ptunnel::new()
            .env(name, &url)
            .args(&["--proxy-cacert", &authority.certificate()])
            .to("example.org:22")
            .start();
        let mut client = program.connect();
        client.send("hello");
        client.expect("hello");
    }
    // Without the option the system's CAs are trusted, in OpenSSL's default paths.
    let program = Ptunnel::through(&url)
        .env("SSL_CERT_FILE", authority.certificate())
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
}

/// The reply and the bytes after it in the same record: less than one read of the negotiation
/// takes, and more. No event reports bytes that OpenSSL has decrypted already.
#[test]
fn bytes_in_the_replys_tls_record_are_kept() {
    let authority = Authority::new();
    for size in &[11, 1_900, 3_000, 15_000] {
        let size = *size;
        let peer = Peer::proxy(move |mut connection| {
            let mut reply = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
            reply.extend_from_slice(&Pattern::new(3).take(size));
            connection.send(reply);
            connection.echo();
        });
        let stunnel = Stunnel::start(&authority.issue("proxy", RIGHT), peer.address());
        let program = through(stunnel.address(), &authority)
            .to("example.org:22")
            .start();
        let mut client = program.connect();
        Pattern::new(3).read(&mut client, size as u64);
        client.send("on");
        client.expect("on");
    }
}

/// One reply per request: a byte that waits for an event that never arrives would stop it.
#[test]
fn small_messages_of_all_sizes_are_exchanged() {
    let authority = Authority::new();
    let peer = Peer::echoing();
    let stunnel = Stunnel::start(&authority.issue("proxy", RIGHT), peer.address());
    let program = through(stunnel.address(), &authority)
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    for size in (1..400).chain(
        [16_383, 16_384, 16_385, 32_768, 32_769, 70_000]
            .iter()
            .copied(),
    ) {
        let message = Pattern::new(size as u64).take(size);
        client.send(&message);
        client.expect(&message);
    }
}

#[test]
fn a_half_close_is_passed_on_and_the_reply_arrives() {
    let authority = Authority::new();
    let peer = Peer::granting(|mut connection| {
        let asked = connection.rest();
        assert_eq!(asked, b"all of it");
        connection.send("the answer");
        connection.finish_sending();
    });
    let stunnel = Stunnel::start(&authority.issue("proxy", RIGHT), peer.address());
    let program = through(stunnel.address(), &authority)
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("all of it");
    client.finish_sending();
    assert_eq!(client.rest(), b"the answer");
}

#[test]
fn a_half_close_by_the_destination_leaves_the_upload_open() {
    let authority = Authority::new();
    let peer = Peer::granting(|mut connection| {
        connection.send("said all");
        connection.finish_sending();
        assert_eq!(connection.rest(), b"heard all");
    });
    let stunnel = Stunnel::start(&authority.issue("proxy", RIGHT), peer.address());
    let program = through(stunnel.address(), &authority)
        .to("example.org:22")
        .arg("-v")
        .start();
    let mut client = program.connect();
    assert_eq!(client.rest(), b"said all");
    client.send("heard all");
    client.finish_sending();
    program.says(&["9 bytes up, 8 down", "closed by both sides"]);
}

/// A relay in front of `address` that ends the connection to its client after `count` bytes from
/// `address`: by FIN alone, or by a reset.
pub(super) fn torn_after(address: SocketAddr, count: usize, by_reset: bool) -> Peer {
    Peer::start(move |connection| {
        let mut behind = TcpStream::connect(address).expect("a connection");
        let (mut up, mut to) = (connection.handle(), behind.try_clone().unwrap());
        let upload = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n) = up.read(&mut buffer) {
                if n == 0 || to.write_all(&buffer[..n]).is_err() {
                    break;
                }
            }
        });
        let mut seen = 0;
        let mut buffer = [0; 4096];
        let mut connection = connection;
        while seen < count {
            match behind.read(&mut buffer) {
                Ok(n) if n > 0 => {
                    seen += n;
                    let _ = connection.try_send(&buffer[..n]);
                }
                _ => break,
            }
        }
        let _ = behind.shutdown(Shutdown::Both);
        if by_reset {
            let _ = connection.stream().shutdown(Shutdown::Read);
            upload.join().unwrap();
            connection.reset();
        } else {
            connection.finish_sending();
            upload.join().unwrap();
        }
    })
}

/// The end of a tunnel through the proxy is as the end of the connection: a reset, or an orderly
/// end. TLS with the proxy gives no other information.
#[test]
fn an_end_without_close_notify_is_an_end_and_a_reset_is_a_reset() {
    let authority = Authority::new();
    let peer = Peer::granting(|mut connection| {
        let _ = Pattern::new(4).write(&mut connection, MIB);
    });
    let stunnel = Stunnel::start(&authority.issue("proxy", RIGHT), peer.address());
    for (by_reset, told) in &[
        (false, "closed a connection without TLS close_notify"),
        (true, "cut: upstream: Connection reset by peer"),
    ] {
        let torn = torn_after(stunnel.address(), 100_000, *by_reset);
        let program = through(torn.address(), &authority)
            .to("example.org:22")
            .arg("-v")
            .start();
        let mut client = program.connect();
        let mut all = Vec::new();
        let end = client.read_to_end(&mut all);
        assert_eq!(end.is_err(), *by_reset, "{} bytes", all.len());
        program.says(&[told]);
    }
}

#[test]
fn the_certificate_must_match_the_given_name() {
    let authority = Authority::new();
    let peer = Peer::echoing();
    let cases: &[(&str, &str, &str)] = &[
        ("DNS:localhost", "localhost", ""),
        ("DNS:localhost", "LOCALHOST", ""),
        (
            "DNS:localhost",
            "127.0.0.1",
            "is for localhost, not for 127.0.0.1",
        ),
        ("IP:127.0.0.1", "127.0.0.1", ""),
        (
            "IP:127.0.0.1",
            "localhost",
            "is for 127.0.0.1, not for localhost",
        ),
        (
            "DNS:a.test,DNS:b.test,IP:::1,DNS:c.test,DNS:d.test",
            "localhost",
            "is for a.test, b.test, ::1 and 2 more, not for localhost",
        ),
        (
            "",
            "localhost",
            "is for no host (no name in its subjectAltName), not for localhost",
        ),
    ];
    for (index, (names, host, complaint)) in cases.iter().enumerate() {
        let identity = authority.issue(&index.to_string(), names);
        let stunnel = Stunnel::start(&identity, peer.address());
        let program = Ptunnel::through(format!("https://{}:{}", host, stunnel.address().port()))
            .args(&["--proxy-cacert", &authority.certificate()]);
        if complaint.is_empty() {
            let program = program.to("example.org:22").start();
            let mut client = program.connect();
            client.send("hello");
            client.expect("hello");
        } else {
            assert_said(&refused(program), &["TLS handshake with proxy", complaint]);
        }
    }
}

#[test]
fn a_certificate_that_can_not_be_verified_is_refused_with_the_reason() {
    let (authority, other) = (Authority::new(), Authority::new());
    let peer = Peer::echoing();
    let cases: &[(Identity, &str)] = &[
        (
            authority.issue_expired("old", RIGHT),
            "the certificate expired 1 days ago",
        ),
        (
            authority.self_signed("self", "/CN=x", RIGHT),
            "the certificate is self-signed",
        ),
        (
            other.issue("other", RIGHT),
            "from an unknown CA, 'Authority of the test'; trust the CA with --proxy-cacert",
        ),
    ];
    for (identity, complaint) in cases {
        let stunnel = Stunnel::start(identity, peer.address());
        let said = refused(through(stunnel.address(), &authority));
        assert_said(
            &said,
            &[
                "TLS handshake with proxy",
                &stunnel.address().to_string(),
                complaint,
            ],
        );
    }
    assert_eq!(peer.accepted(), 0, "nobody was asked for a tunnel");
}

#[test]
fn a_given_self_signed_certificate_is_trusted() {
    let authority = Authority::new();
    let peer = Peer::echoing();
    for identity in &[
        authority.self_signed("self", "/CN=x", RIGHT),
        // A certificate of a CA can be trusted directly, too, without that CA.
        authority.issue("leaf", RIGHT),
    ] {
        let stunnel = Stunnel::start(identity, peer.address());
        let program = Ptunnel::through(format!("https://{}", stunnel.address()))
            .args(&["--proxy-cacert", &identity.certificate])
            .to("example.org:22")
            .start();
        let mut client = program.connect();
        client.send("hello");
        client.expect("hello");
    }
}

#[test]
fn an_insecure_connection_warns_each_time() {
    let authority = Authority::new();
    let peer = Peer::echoing();
    let identity = authority.self_signed("self", "/CN=x", "DNS:other.test");
    let stunnel = Stunnel::start(&identity, peer.address());
    let program = Ptunnel::through(format!("https://{}", stunnel.address()))
        .arg("--proxy-insecure")
        .to("example.org:22")
        .start();
    for times in 1..4 {
        let mut client = program.connect();
        client.send("hello");
        client.expect("hello");
        eventually("a warning each time", || {
            let told = program.stderr();
            let warnings = told.lines().filter(|line| {
                line.starts_with("warning: proxy 127.0.0.1:")
                    && line.contains("certificate not verified (--proxy-insecure), and it is not")
            });
            warnings.count() == times
        });
    }
    // Each fault of the certificate, once.
    let told = program.stderr();
    let first = told.lines().next().unwrap_or_default();
    let faults =
        "not valid: the certificate is self-signed; if it is the right one, trust it with \
                  --proxy-cacert; the certificate is for other.test, not for 127.0.0.1";
    assert!(first.ends_with(faults), "{}", first);
    let right = Stunnel::start(&authority.issue("right", RIGHT), peer.address());
    let program = through(right.address(), &authority)
        .arg("--proxy-insecure")
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    program.says(&["--proxy-insecure", "although it is valid"]);
}

#[test]
fn a_requested_client_certificate_is_sent_or_reported() {
    let authority = Authority::new();
    let peer = Peer::echoing();
    let right = authority.issue("us", "");
    let wrong = authority.self_signed("them", "/CN=them", "DNS:them.test");
    let proxy = authority.issue("proxy", RIGHT);
    let stunnel = Stunnel::asking(&proxy, peer.address(), &authority);
    let folder = TempDir::new();
    let both = [&right.certificate, &right.key]
        .iter()
        .fold(Vec::new(), |mut all, path| {
            all.extend(std::fs::read(path).unwrap());
            all
        });
    let both = folder.file_with_mode("both.pem", 0o600, both);
    let words: &[&[&str]] = &[
        &[
            "--proxy-cert",
            &right.certificate,
            "--proxy-key",
            &right.key,
        ],
        &["--proxy-cert", &both],
    ];
    for words in words {
        let program = through(stunnel.address(), &authority)
            .args(words)
            .to("example.org:22")
            .start();
        let mut client = program.connect();
        client.send("hello");
        client.expect("hello");
        assert_eq!(program.stderr(), "");
    }
    let said = refused(through(stunnel.address(), &authority));
    assert_said(
        &said,
        &["the proxy requires a client certificate; set --proxy-cert"],
    );
    let words = &[
        "--proxy-cert",
        &wrong.certificate,
        "--proxy-key",
        &wrong.key,
    ];
    let said = refused(through(stunnel.address(), &authority).args(words));
    assert_said(
        &said,
        &["rejected the client certificate: unknown ca; check --proxy-cert"],
    );
}

#[test]
fn older_tls_than_1_2_is_refused_and_1_2_is_not() {
    let authority = Authority::new();
    let peer = Peer::echoing();
    let identity = authority.issue("proxy", RIGHT);
    let only = |version: &str| {
        let options = format!("sslVersion = {}\nciphers = ALL:@SECLEVEL=0\n", version);
        Stunnel::start_with(&identity, peer.address(), &options)
    };
    let old = only("TLSv1.1");
    let said = refused(through(old.address(), &authority));
    assert_said(&said, &["no common version of TLS"]);
    let new = only("TLSv1.2");
    let program = through(new.address(), &authority)
        .to("example.org:22")
        .arg("-vv")
        .start();
    both_ways_small(&mut program.connect());
    program.says(&["speaks TLSv1.2"]);
}

fn both_ways_small(client: &mut Connection) {
    client.send("hello");
    client.expect("hello");
    client.finish_sending();
    client.expect_end();
}

#[test]
fn a_proxy_without_tls_is_recognized() {
    let authority = Authority::new();
    let plain = Peer::start(|mut connection| {
        let _ = connection.try_send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        connection.finish_sending();
        connection.drain();
    });
    let said = refused(through(plain.address(), &authority));
    assert_said(
        &said,
        &["the proxy doesn't speak TLS on this port; use http://"],
    );
    let closing = Peer::start(|mut connection| {
        connection.receive(5);
    });
    let said = refused(through(closing.address(), &authority));
    assert_said(&said, &["TLS handshake with proxy"]);
    // And the other way round.
    let alerting = Peer::start(|mut connection| {
        let _ = connection.try_send([21, 3, 1, 0, 2, 2, 40]);
        connection.drain();
    });
    let said = refused(Ptunnel::through(alerting.address()));
    assert_said(
        &said,
        &["sent an invalid reply: TLS instead of HTTP; use https://"],
    );
}

#[test]
fn a_handshake_that_hangs_ends_with_the_handshake_timeout() {
    let authority = Authority::new();
    let silent = Peer::start(|mut connection| connection.drain());
    let start = Instant::now();
    let program = through(silent.address(), &authority).args(&["--handshake-timeout", "0.5"]);
    assert_said(&refused(program), &["no reply from proxy", "within 0.5s"]);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn the_next_proxy_is_tried_and_a_reached_one_is_not_bypassed() {
    let authority = Authority::new();
    let peer = Peer::echoing();
    let (wrong, right) = (
        authority.issue("wrong", "DNS:x"),
        authority.issue("right", RIGHT),
    );
    let wrong = Stunnel::start(&wrong, peer.address());
    let right = Stunnel::start(&right, peer.address());
    let program = through(wrong.address(), &authority)
        .proxy(format!("https://{}", right.address()))
        .to("example.org:22")
        .start();
    both_ways_small(&mut program.connect());
    program.says(&["the certificate is for x", "trying the next proxy"]);

    let origin = Peer::echoing();
    let destination = origin.address().to_string();
    let finished = through(wrong.address(), &authority)
        .args(&["--direct-fallback", "-W", &destination])
        .run();
    finished.expect_code(1);
    assert_eq!(origin.accepted(), 0);
}

#[test]
fn unusable_files_end_with_exit_code_2() {
    let authority = Authority::new();
    let folder = TempDir::new();
    let (ours, other) = (authority.issue("ours", ""), authority.issue("other", ""));
    let rubbish = folder.file("rubbish", "-----BEGIN hunter2");
    let encrypted = folder.at("encrypted");
    let words = [
        "pkey",
        "-aes128",
        "-passout",
        "pass:hunter2",
        "-in",
        &ours.key,
        "-out",
        &encrypted,
    ];
    support::parts::run("openssl", &words);
    let cert = &ours.certificate[..];
    let cases: &[(&[&str], &str)] = &[
        (
            &["--proxy-cacert", &rubbish],
            "the file has no certificate in PEM format; convert one in DER",
        ),
        (
            &["--proxy-cacert", "/no/file"],
            "(os error 2); check the path",
        ),
        (
            &["--proxy-cert", &rubbish],
            "the file has no certificate in PEM format; convert one in DER",
        ),
        (
            &["--proxy-cert", cert],
            "the file has no private key in PEM format; name the one that has it, e.g. --proxy-key",
        ),
        (
            &["--proxy-cert", cert, "--proxy-key", &rubbish],
            "the file has no private key in PEM format",
        ),
        (
            &["--proxy-cert", cert, "--proxy-key", &other.key],
            "the key doesn't match the certificate",
        ),
        (
            &["--proxy-cert", cert, "--proxy-key", &encrypted],
            "the key is encrypted; remove its passphrase with openssl pkey -in",
        ),
    ];
    for (words, told) in cases {
        let finished = Ptunnel::through("https://proxy.test")
            .args(words)
            .args(&["-W", "example.org:22"])
            .run();
        finished.expect_code(2);
        let (option, file) = (words[words.len() - 2], words[words.len() - 1]);
        assert_said(
            &finished.stderr,
            &[&format!("{} '{}': ", option, file), told],
        );
        assert!(!finished.stderr.contains("hunter2"), "{}", finished.stderr);
    }
}

#[test]
fn a_key_that_others_can_read_causes_a_warning() {
    let authority = Authority::new();
    let ours = authority.issue("ours", "");
    let folder = TempDir::new();
    let key = folder.file_with_mode("key", 0o644, std::fs::read(&ours.key).unwrap());
    let program = Ptunnel::through("https://proxy.test")
        .args(&["--proxy-cert", &ours.certificate, "--proxy-key", &key])
        .to("example.org:22")
        .start();
    program.says(&["warning", "other users can read the key", &key]);
}

/// An HTTP/2 frame with empty settings, with which servers begin.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Regression: such a proxy was reported as having closed the connection, or as silent.
#[test]
fn a_proxy_that_speaks_only_http2_is_recognized() {
    let authority = Authority::new();
    let identity = authority.issue("proxy", RIGHT);
    let strict = Reverser::start_with(&identity, &["-alpn", "h2"]);
    let said = refused(through(strict.address(), &authority));
    assert_said(&said, &["TLS handshake with proxy", "only HTTP/2"]);
    // A server that ignores ALPN, and one without TLS.
    let plain = Peer::start(|mut connection| {
        let _ = connection.try_send(SETTINGS);
        connection.drain();
    });
    let lenient = Stunnel::start(&identity, plain.address());
    for program in vec![
        through(lenient.address(), &authority),
        Ptunnel::through(plain.address()),
    ] {
        let said = refused(program);
        assert_said(&said, &["sent an invalid reply: HTTP/2, and"]);
    }
}

#[test]
fn a_proxy_that_also_speaks_http2_gets_http1() {
    let authority = Authority::new();
    let identity = authority.issue("proxy", RIGHT);
    let both = Reverser::start_with(&identity, &["-alpn", "h2,http/1.1"]);
    // It reverses the lines of the request, which is no valid reply, but TLS works.
    let said = refused(through(both.address(), &authority));
    assert_said(&said, &["sent an invalid reply: not HTTP/1"]);
}
