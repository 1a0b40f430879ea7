//! `--test`: the steps that it reports with real proxies, and its advice for each failure.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use crate::names::{listener_on, with_hosts};
use support::parts::{described, output, Nginx, Squid, Sshd};
use support::socks::SshSocks;
use support::tls::{Authority, Stunnel};
use support::{closed_address, Blackhole, Finished, Peer, Ptunnel, TempDir};

const STEPS: &[&str] = &[
    "name",
    "connection",
    "TLS",
    "CONNECT",
    "authentication",
    "first byte",
];

/// The name of the same step with a SOCKS proxy.
const SOCKS5: &str = "SOCKS5";
const SOCKS4: &str = "SOCKS4";

fn test(program: Ptunnel) -> Finished {
    program.arg("--test").run()
}

/// Returns the reported steps: the name and the result of each.
fn steps(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
    let steps = lines.filter_map(|line| {
        let mut names = STEPS.iter().chain(&[SOCKS5, SOCKS4]);
        let name = names.find(|name| line.starts_with(**name))?;
        // A time separates the two.
        let at = line.find(" ms  ").expect(line);
        let time = line[name.len()..at].trim();
        time.parse::<f64>().expect(line);
        Some((*name, &line[at + 5..]))
    });
    steps.collect()
}

fn names<'a>(steps: &[(&'a str, &str)]) -> Vec<&'a str> {
    steps.iter().map(|(name, _)| *name).collect()
}

#[track_caller]
fn assert_step(text: &str, step: &str, said: &str) {
    let all = steps(text);
    let found = all
        .iter()
        .any(|(name, what)| *name == step && what.contains(said));
    assert!(found, "{:?} is not at {} in {}", said, step, text);
}

#[test]
fn tests_the_path_through_stunnel_and_squid_with_digest_to_a_server_that_greets() {
    let (authority, sshd) = (Authority::new(), Sshd::start());
    let squid = Squid::with_digest("joe", "hunter2", 9);
    let identity = authority.issue("proxy", "DNS:localhost,IP:127.0.0.1");
    let stunnel = Stunnel::start(&identity, squid.address());
    let url = format!("https://localhost:{}", stunnel.address().port());
    let program = Ptunnel::through(&url)
        .args(&["--proxy-cacert", &authority.certificate(), "-U", "joe"])
        .env("PTUNNEL_PASSWORD", "hunter2")
        .to(sshd.address());
    let finished = test(program);
    finished.expect_code(0);
    assert_eq!(finished.stderr, "");
    let text = finished.text();
    let begins = format!("testing {}\nthrough {}\n", sshd.address(), url);
    assert!(text.starts_with(&begins), "{}", text);
    assert_eq!(names(&steps(&text)), STEPS, "{}", text);
    assert_step(&text, "name", "localhost is 127.0.0.1");
    assert_step(&text, "connection", &stunnel.address().to_string());
    assert_step(&text, "TLS", "TLSv1.3, TLS_");
    assert_step(
        &text,
        "CONNECT",
        "the proxy requires authentication, ptunnel uses Digest",
    );
    assert_step(&text, "authentication", "granted, as joe (Digest)");
    assert_step(&text, "first byte", "\"SSH-2.0-");
    let last = text.lines().last().unwrap();
    let works = format!("works through {}, ", url);
    assert!(last.starts_with(&works) && last.ends_with(" ms in total"));
    assert!(!text.contains("hunter2"), "{}", text);
}

#[test]
fn tests_the_path_through_squid_with_basic_to_a_server_that_waits() {
    let (origin, squid) = (Nginx::start(), Squid::start(Some(("joe", "hunter2"))));
    let program = Ptunnel::through(format!("joe:hunter2@{}", squid.address()));
    let finished = test(program.args(&["-W", &origin.address().to_string()]));
    finished.expect_code(0);
    let text = finished.text();
    assert_step(
        &text,
        "authentication",
        "sent with the request, as joe (Basic)",
    );
    assert_step(&text, "first byte", "the destination waits for the client");
    let wrong = Ptunnel::through(format!("joe:wrong@{}", squid.address()));
    let finished = test(wrong.to(origin.address()));
    finished.expect_code(4);
    let text = finished.text();
    assert_step(&text, "CONNECT", "FAILED: proxy 127.0.0.1:");
    assert!(
        text.contains("try: in a Windows domain, the username is"),
        "{}",
        text
    );
}

#[test]
fn tests_the_path_through_ntlm_in_three_messages() {
    let (origin, squid) = (Nginx::start(), Squid::with_ntlm("hunter2"));
    let program = Ptunnel::through(format!("joe:hunter2@{}", squid.address()));
    let finished = test(program.to(origin.address()));
    finished.expect_code(0);
    let text = finished.text();
    assert_eq!(text.matches("ptunnel uses NTLM").count(), 2, "{}", text);
    assert_step(&text, "authentication", "granted, as joe (NTLM)");
}

#[test]
fn tests_the_path_through_openssh_in_socks4() {
    let (sshd, socks) = (Sshd::start(), SshSocks::start());
    let destination = format!("localhost:{}", sshd.address().port());
    let test_path = |url: &str| {
        let program = Ptunnel::through(format!("{}{}", url, socks.address()));
        let finished = test(program.arg("-4").to(&destination));
        finished.expect_code(0);
        finished.text()
    };
    let text = test_path("socks4a://joe@");
    let all = ["name", "connection", SOCKS4, "authentication", "first byte"];
    assert_eq!(names(&steps(&text)), all, "{}", text);
    assert_step(&text, "authentication", "as joe (SOCKS4 user ID)");
    assert_step(&text, "first byte", "\"SSH-2.0-");
    let text = test_path("socks4://");
    assert_step(&text, "name", "localhost is 127.0.0.1");
    assert_step(&text, "authentication", "not required");

    let program = Ptunnel::through(format!("socks4://{}", socks.address()));
    let finished = test(program.to("[::1]:22"));
    finished.expect_code(1);
    let text = finished.text();
    assert_step(&text, "name", "FAILED: cannot resolve [::1]:22: no IPv4");
    assert!(!text.contains("  try: "), "{}", text);
}

/// The step that fails ends the test, with its own exit code and advice.
#[test]
fn each_failure_has_its_step_its_exit_code_and_its_advice() {
    let rubbish = Peer::replying("SSH-2.0-OpenSSH\r\n\r\n");
    let ended = Peer::replying("");
    let forbids = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    // Text from the proxy's page must not be used for advice.
    let advises = "use http://, use socks5h://, --proxy-auth, check this machine's clock, identd";
    let chatters = Peer::replying(format!(
        "HTTP/1.1 403 {0}\r\n\r\n<title>{0}</title>",
        advises
    ));
    let far = Peer::replying("HTTP/1.1 503 Service Unavailable\r\n\r\n");
    let web = Peer::replying("HTTP/1.1 405 Method Not Allowed\r\n\r\n");
    let asks =
        Peer::replying("HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic realm=\"r\"\r\n\r\n");
    let portal = Peer::replying("HTTP/1.1 302 Found\r\nLocation: http://login.example/\r\n\r\n");
    let asks_for_login = Peer::replying("HTTP/1.1 511 Network Authentication Required\r\n\r\n");
    let kerberos = Peer::replying("HTTP/1.1 407 Who\r\nProxy-Authenticate: Negotiate\r\n\r\n");
    let grants = Peer::replying("HTTP/1.1 200 OK\r\n\r\n");
    let silent = Peer::start(|mut connection| connection.drain());
    let plain = Peer::start(|mut connection| {
        connection.receive(5); // enough of the hello to send a reply
        connection.send("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let strange = Peer::start(|mut connection| {
        connection.receive(3); // the greeting
        connection.send("SSH-2.0-OpenSSH\r\n");
    });
    let turns_away = Peer::start(|mut connection| drop(connection.receive(3)));
    let socks4 = |code: u8| {
        Peer::start(move |mut connection| {
            connection.receive(21); // the request
            connection.send([0, code, 0, 0, 0, 0, 0, 0]);
        })
    };
    let (rejects, without_identd) = (socks4(91), socks4(92));
    let hole = Blackhole::start();
    let authority = Authority::new();
    // Nor must a name in a certificate.
    let identity = authority.issue("proxy", "DNS:identd.example");
    let stunnel = Stunnel::start(&identity, web.address());
    let certificates = format!("`openssl s_client -connect {}` to see", stunnel.address());
    let certificate = authority.certificate();
    let trust = ["--proxy-cacert", &certificate[..]];
    let at = |address: SocketAddr| address.to_string();
    let cases: &[(String, &str, i32, &str, &str)] = &[
        (
            "nowhere.invalid:3128".into(),
            "name",
            1,
            "cannot resolve proxy nowhere.invalid:3128",
            "getent ahosts",
        ),
        (
            at(closed_address()),
            "connection",
            1,
            "Connection refused",
            "try: check the port: no program listens there",
        ),
        (
            at(hole.address()),
            "connection",
            1,
            "timed out after 0.4s",
            "firewall",
        ),
        (
            format!("https://{}", stunnel.address()),
            "TLS",
            1,
            "the certificate is for identd.example, not for 127.0.0.1",
            &certificates,
        ),
        (
            format!("https://{}", plain.address()),
            "TLS",
            1,
            "the proxy doesn't speak TLS on this port; use http://",
            "",
        ),
        (
            format!("socks5h://{}", turns_away.address()),
            SOCKS5,
            1,
            "closed the connection",
            "try: see the proxy's log: it may not serve this machine",
        ),
        (
            format!("socks5h://{}", strange.address()),
            SOCKS5,
            1,
            "an invalid reply",
            "no SOCKS proxy of this version",
        ),
        (
            format!("socks5h://{}", silent.address()),
            SOCKS5,
            1,
            "no reply from proxy",
            "a SOCKS proxy of this version",
        ),
        (
            format!("socks4a://{}", rejects.address()),
            SOCKS4,
            3,
            "SOCKS reply 91",
            "SOCKS4 reports no reason",
        ),
        (
            format!("socks4a://{}", without_identd.address()),
            SOCKS4,
            3,
            "run identd (RFC 1413)",
            "",
        ),
        (
            format!("socks4a://{}", strange.address()),
            SOCKS4,
            1,
            "an invalid reply",
            "no SOCKS proxy of this version",
        ),
        (
            format!("socks4a://{}", silent.address()),
            SOCKS4,
            1,
            "no reply from proxy",
            "a SOCKS proxy of this version",
        ),
        (
            at(rubbish.address()),
            "CONNECT",
            1,
            "an invalid reply",
            "no HTTP proxy",
        ),
        (
            at(ended.address()),
            "CONNECT",
            1,
            "closed the connection",
            "may require TLS",
        ),
        (
            at(silent.address()),
            "CONNECT",
            1,
            "no reply from proxy",
            "sends nothing",
        ),
        (
            format!("https://{}", silent.address()),
            "TLS",
            1,
            "no reply from proxy",
            "sends nothing",
        ),
        (
            at(forbids.address()),
            "CONNECT",
            3,
            "403 Forbidden",
            "ask the proxy's operator to allow CONNECT",
        ),
        (
            at(chatters.address()),
            "CONNECT",
            3,
            advises,
            "ask the proxy's operator to allow CONNECT",
        ),
        (
            at(far.address()),
            "CONNECT",
            3,
            "503",
            "from the proxy's network",
        ),
        (at(web.address()), "CONNECT", 3, "405", "a web server"),
        (
            at(portal.address()),
            "CONNECT",
            3,
            "302 Found: redirect to http://login.example/",
            "in a browser",
        ),
        (
            at(asks_for_login.address()),
            "CONNECT",
            3,
            "511",
            "login page",
        ),
        (at(asks.address()), "CONNECT", 4, "407", "-U USER"),
        (
            at(kerberos.address()),
            "CONNECT",
            4,
            "(offers Negotiate): the proxy requires Kerberos; to use a ticket, add --proxy-auth",
            "",
        ),
        (
            at(grants.address()),
            "first byte",
            1,
            "the connection ended before the first byte",
            "before they connect",
        ),
    ];
    for (proxy, step, code, said, advice) in cases {
        let is_secure = proxy.starts_with("https://");
        let program = Ptunnel::through(proxy)
            .args(&["-w", "0.4", "--handshake-timeout", "0.4"])
            .args(if is_secure { &trust } else { &[] })
            .to("example.org:22");
        let finished = test(program);
        let text = finished.text();
        assert_eq!(finished.code(), *code, "{}", text);
        assert_eq!(finished.stderr, "", "{}", text);
        let all = steps(&text);
        let (last, what) = all.last().expect("a step");
        assert_eq!(last, step, "{}", text);
        assert!(
            what.starts_with("FAILED: ") && what.contains(said),
            "{}",
            text
        );
        let tries = text.lines().find(|line| line.trim().starts_with("try: "));
        match tries {
            Some(tries) => assert!(
                !advice.is_empty() && tries.contains(advice),
                "{:?} is not in {}",
                advice,
                text
            ),
            None => assert_eq!(*advice, "", "{}", text),
        }
        assert!(text.ends_with("\ndoes not work\n"), "{}", text);
        let before = all[..all.len() - 1].iter();
        assert!(before.clone().all(|(_, what)| !what.contains("FAILED")));
    }
}

/// Regression: the command bypassed the first proxy, and could reach a firewall or another server.
#[test]
fn the_openssl_command_uses_the_failing_path() {
    let squid = Squid::start(None);
    let authority = Authority::new();
    let stunnel = Stunnel::start(
        &authority.issue("proxy", "DNS:inner.example"),
        squid.address(),
    );
    let secure = format!("https://{}", stunnel.address());
    let advised = |first: &str, behind: &[&str]| {
        let via = behind.iter().flat_map(|proxy| vec!["--via", proxy]);
        let program = Ptunnel::through(first).args(&via.collect::<Vec<&str>>());
        let trust = ["--proxy-cacert", &authority.certificate()];
        let text = test(program.args(&trust).to("a.example:1")).text();
        assert_step(&text, "TLS", "the certificate is for inner.example");
        text.find("`openssl").map(|begin| {
            let command = &text[begin + 1..];
            command[..command.find('`').expect(&text)].to_string()
        })
    };
    let plain = squid.address().to_string();
    let look = advised(&plain, &[&secure]).expect("an advice");
    let expected = format!("s_client -proxy {} -connect {}", plain, stunnel.address());
    assert!(look.contains(&expected), "{}", look);
    let words: Vec<&str> = look.split(' ').collect();
    let seen = described(&output(words[0], &words[1..]));
    assert!(seen.contains("BEGIN CERTIFICATE"), "{}", seen);
    // No command is given for paths that openssl's client doesn't support.
    assert_eq!(advised(&plain, &[&plain, &secure]), None);
    assert_eq!(advised(&format!("joe:x@{}", plain), &[&secure]), None);
}

#[test]
fn tests_tls_with_the_destination_too() {
    let (authority, squid) = (Authority::new(), Squid::start(None));
    let sshd = Sshd::start();
    let stunnel = Stunnel::start(&authority.issue("origin", "DNS:localhost"), sshd.address());
    let proxy = Stunnel::start(&authority.issue("proxy", "DNS:localhost"), squid.address());
    let port = stunnel.address().port();
    let secure_proxy = format!("https://localhost:{}", proxy.address().port());
    let test_path = |proxy: &str, destination: &str| {
        let program = Ptunnel::through(proxy)
            .args(&["--handshake-timeout", "0.5"])
            .args(&["--cacert", &authority.certificate()]);
        let program = if proxy.starts_with("https://") {
            program.args(&["--proxy-cacert", &authority.certificate()])
        } else {
            program
        };
        let finished = test(program.to(destination));
        (finished.code(), finished.text())
    };
    let destination = format!("tls://localhost:{}", port);
    let (code, text) = test_path(&secure_proxy, &destination);
    assert_eq!(code, 0, "{}", text);
    let all = [
        "name",
        "connection",
        "TLS",
        "CONNECT",
        "authentication",
        "TLS",
        "first byte",
    ];
    assert_eq!(names(&steps(&text)), all, "{}", text);
    assert_step(&text, "TLS", "certificate valid for localhost");
    assert_step(&text, "first byte", "\"SSH-2.0-");
    assert!(
        text.starts_with(&format!("testing {}\n", destination)),
        "{}",
        text
    );

    let plain = squid.address().to_string();
    let silent = Peer::start(|mut connection| connection.drain());
    let look = format!("-proxy {} -connect {}` to see", plain, stunnel.address());
    let cases: &[(String, &str, &str)] = &[
        (
            stunnel.address().to_string(),
            "the certificate is for localhost, not for 127.0.0.1",
            &look,
        ),
        (
            sshd.address().to_string(),
            "the destination doesn't speak TLS on this port; remove tls://",
            "",
        ),
        (
            silent.address().to_string(),
            "no reply from 127.0.0.1:",
            "check that the scheme fits the port",
        ),
    ];
    for (address, said, advice) in cases {
        let (code, text) = test_path(&plain, &format!("tls://{}", address));
        assert_eq!(code, 1, "{}", text);
        let all = steps(&text);
        let (last, what) = all.last().expect("a step");
        assert!(
            *last == "TLS" && what.starts_with("FAILED: ") && what.contains(said),
            "{}",
            text
        );
        let tries = text.lines().find(|line| line.trim().starts_with("try: "));
        assert_eq!(tries.is_some(), !advice.is_empty(), "{}", text);
        assert!(tries.unwrap_or_default().contains(advice), "{}", text);
    }
    // openssl's client supports one proxy, without TLS.
    let (_, text) = test_path(&secure_proxy, &format!("tls://{}", stunnel.address()));
    assert_step(&text, "TLS", "the certificate is for localhost");
    assert!(!text.contains("  try: "), "{}", text);
}

/// Regression: it was advised to try TLS, which was in use.
#[test]
fn a_proxy_that_rejects_the_client_certificate_has_its_advice() {
    let authority = Authority::new();
    let nginx = Nginx::asking(&authority);
    let ours = authority.self_signed("them", "/CN=them", "DNS:them.test");
    let other = ["--proxy-cert", &ours.certificate, "--proxy-key", &ours.key];
    let ended = Peer::replying("");
    let proxy = authority.issue("proxy", "DNS:localhost,IP:127.0.0.1");
    let stunnel = Stunnel::start(&proxy, ended.address());
    for (address, trust, args, said) in &[
        (nginx.tls(), nginx.certificate(), &[][..], "400 Bad Request"),
        (nginx.tls(), nginx.certificate(), &other, "400 Bad Request"),
        (
            stunnel.address(),
            authority.certificate(),
            &[],
            "closed the",
        ),
    ] {
        let program = Ptunnel::through(format!("https://{}", address));
        let program = program.args(&["--proxy-cacert", trust]).args(args);
        let text = test(program.to("example.org:22")).text();
        assert_step(&text, "CONNECT", said);
        let advice = "it may require a client certificate, or another one (--proxy-cert)";
        assert!(text.contains(advice), "{}", text);
    }
    // Another proxy can be one without TLS.
    let program = Ptunnel::through(format!("https://{}", stunnel.address()));
    let program = program.args(&["--proxy-insecure"]).proxy(ended.address());
    let text = test(program.to("example.org:22")).text();
    assert!(text.contains("it may require TLS (https://)"), "{}", text);
}

/// Regression: the output didn't show which CONNECT belonged to which proxy.
#[test]
fn each_proxy_of_a_chain_is_named_before_its_steps() {
    let (sshd, squid) = (Sshd::start(), Squid::start(None));
    let inner = Ptunnel::new().serving().args(&["--serve-user", "joe:x"]);
    let inner = inner.start();
    let via = |login: &str| {
        let program = Ptunnel::through(squid.address());
        let url = format!("{}@{}", login, inner.proxy());
        test(program.args(&["--via", &url]).to(sshd.address()))
    };
    let (first, second) = (
        format!("asking {} for {}", squid.address(), inner.proxy()),
        format!("asking {} for {}", inner.proxy(), sshd.address()),
    );
    let finished = via("joe:x");
    finished.expect_code(0);
    let text = finished.text();
    let told = story(&text);
    let way = format!("through {} via {}", squid.address(), inner.proxy());
    let all = [
        &way,
        "name",
        "connection",
        &first,
        "CONNECT",
        "authentication",
        &second,
        "CONNECT",
        "authentication",
        "first byte",
    ];
    assert_eq!(told[1..told.len() - 1], all, "{}", text);
    let refused = via("joe:wrong");
    refused.expect_code(4);
    let told = refused.text();
    assert_eq!(story(&told)[7..9], [&second, "CONNECT"]);

    // A proxy that requires another connection is reached again.
    let closing = Peer::closing_at_its_challenge();
    let program = Ptunnel::through(squid.address());
    let url = format!("joe:x@{}", closing.address());
    let finished = test(program.args(&["--via", &url]).to("a.example:1"));
    let text = finished.text();
    let mut asked = story(&text);
    asked.retain(|line| line.starts_with("asking "));
    let first = format!("asking {} for {}", squid.address(), closing.address());
    let second = format!("asking {} for a.example:1", closing.address());
    assert_eq!(asked, [&first, &second, &first, &second], "{}", text);
    assert_step(&text, "CONNECT", "uses Digest, on a new connection");
    assert_step(&text, "authentication", "granted, as joe (Digest)");

    let alone = test(Ptunnel::through(squid.address()).to(sshd.address())).text();
    assert!(!alone.contains("asking "), "{}", alone);
}

/// Returns the lines; those of steps only with their names.
fn story(text: &str) -> Vec<&str> {
    let line = |line| match steps(line).first() {
        Some((name, _)) => *name,
        None => line,
    };
    text.lines().map(line).collect()
}

/// A certificate that can't be verified, and one that isn't verified.
#[test]
fn the_tls_step_shows_the_verified_name() {
    let (authority, origin) = (Authority::new(), Sshd::start());
    let squid = Squid::start(None);
    let identity = authority.self_signed("own", "/CN=own", "DNS:localhost,IP:127.0.0.1");
    let stunnel = Stunnel::start(&identity, squid.address());
    let through = |args: &[&str]| {
        let program = Ptunnel::through(format!("https://{}", stunnel.address()));
        test(program.to(origin.address()).args(args))
    };
    let refused = through(&[]);
    refused.expect_code(1);
    assert_step(&refused.text(), "TLS", "the certificate is self-signed");
    let taken = through(&["--proxy-insecure"]);
    taken.expect_code(0);
    assert_step(
        &taken.text(),
        "TLS",
        "certificate not verified (--proxy-insecure)",
    );
    let trusted = through(&["--proxy-cacert", &identity.certificate]);
    trusted.expect_code(0);
    assert_step(&trusted.text(), "TLS", ", certificate valid for 127.0.0.1");
}

/// The proxy doesn't get the name, as with each tunnel of `socks5://`.
#[test]
fn a_name_is_resolved_locally_for_socks5() {
    let proxy = Peer::start(|mut connection| {
        connection.expect([5, 1, 0]);
        connection.send([5, 0]);
        connection.expect([5, 1, 0, 1, 127, 0, 0, 1, 0, 22]);
        connection.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        connection.send("hello\r\n");
    });
    let program = Ptunnel::through(format!("socks5://{}", proxy.address()));
    let finished = test(program.arg("-4").to("localhost:22"));
    finished.expect_code(0);
    let text = finished.text();
    assert_step(&text, "name", "localhost is 127.0.0.1");
    assert_step(&text, "first byte", "\"hello\"");
}

/// The resolver's first address can be dead.
#[test]
fn every_address_of_a_name_is_tried() {
    let folder = TempDir::new();
    folder.file("hosts", "127.0.0.2 a.test\n127.0.0.3 a.test\n");
    for alive in &["127.0.0.2", "127.0.0.3"] {
        let listener = listener_on(alive, 0);
        let greets = Peer::accept_from(listener, |mut connection| connection.send("hello\r\n"));
        let program = Ptunnel::new().args(&["--no-proxy", "*"]);
        let program = program.to(format!("a.test:{}", greets.port()));
        let finished = test(with_hosts(program, &folder));
        finished.expect_code(0);
        assert_step(
            &finished.text(),
            "connection",
            &greets.address().to_string(),
        );
    }
}

#[test]
fn shows_the_bytes_that_came_with_the_reply() {
    let proxy = Peer::replying("HTTP/1.1 200 OK\r\n\r\n* OK \x1b[2Jready\r\nmore");
    let finished = test(Ptunnel::through(proxy.address()).to("example.org:143"));
    finished.expect_code(0);
    let text = finished.text();
    assert_step(
        &text,
        "first byte",
        "\"* OK \\x1b[2Jready\", with the proxy's reply",
    );
    assert_step(&text, "authentication", "not required");
}

#[test]
fn the_next_proxy_is_tested_when_one_fails() {
    let grants = Peer::granting(|mut connection| {
        connection.send("hello\r\n");
        connection.drain();
    });
    let closed = closed_address();
    let program = Ptunnel::through(closed)
        .proxy(grants.address())
        .to("example.org:22");
    let finished = test(program);
    finished.expect_code(0);
    assert_eq!(finished.stderr, "");
    let text = finished.text();
    for part in &[
        format!("\nthrough {}\n", closed),
        format!("\nthrough {}\n", grants.address()),
        format!("\nworks through {}, ", grants.address()),
    ] {
        assert!(text.contains(part), "{:?} is not in {}", part, text);
    }
    assert_eq!(text.matches("FAILED").count(), 1, "{}", text);
    // A refusal by a proxy is final, and the proxy isn't bypassed.
    let forbids = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let program = Ptunnel::through(forbids.address())
        .proxy(grants.address())
        .arg("--direct-fallback")
        .to("example.org:22");
    test(program).expect_code(3);
    assert_eq!(grants.accepted(), 1);
}

#[test]
fn tests_the_direct_path_if_a_client_would_use_it() {
    let greets = Peer::start(|mut connection| connection.send("hello\r\n"));
    let plain = Ptunnel::through(closed_address()).args(&["--no-proxy", "127.0.0.1"]);
    let fallback = Ptunnel::through(closed_address()).arg("--direct-fallback");
    for program in vec![plain, fallback] {
        let finished = test(program.to(greets.address()));
        finished.expect_code(0);
        let text = finished.text();
        assert!(text.contains("\ndirectly\n  name"), "{}", text);
        assert!(text.contains("\nworks directly, "), "{}", text);
        assert_step(&text, "first byte", "\"hello\"");
    }
    let finished = test(
        Ptunnel::new()
            .args(&["--no-proxy", "*"])
            .to(closed_address()),
    );
    finished.expect_code(1);
    assert_step(
        &finished.text(),
        "connection",
        "FAILED: cannot connect to 127.0.0.1:",
    );
}

/// The exit code is that of the first failure; the other tunnels are tested, too.
#[test]
fn every_tunnel_of_a_file_is_tested_and_no_listener_is_opened() {
    let proxy = Peer::proxy(|mut connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\nhello\r\n");
        connection.drain();
    });
    let forbids = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let folder = TempDir::new();
    let file = |proxy: &Peer| {
        let text = format!(
            "proxy = '{}'\ntunnels = ['{}:a.example:1', '0:b.example:2']\n",
            proxy.address(),
            port
        );
        folder.file(&proxy.port().to_string(), text)
    };
    let finished = test(Ptunnel::new().args(&["--config", &file(&proxy)]));
    finished.expect_code(0);
    let text = finished.text();
    assert!(text.contains("testing a.example:1\n") && text.contains("testing b.example:2\n"));
    assert_eq!(text.matches("\nworks through ").count(), 2, "{}", text);
    let finished = test(Ptunnel::new().args(&["--config", &file(&forbids)]));
    finished.expect_code(3);
    assert_eq!(finished.text().matches("does not work").count(), 2);
    let choosy = Peer::start(|mut connection| {
        let head = String::from_utf8(connection.read_head()).unwrap();
        let is_right = head.starts_with("CONNECT b.example:2 ");
        let status = if is_right { "200 OK" } else { "403 No" };
        connection.send(format!("HTTP/1.1 {}\r\n\r\nhello\r\n", status));
        connection.drain();
    });
    let finished = test(Ptunnel::new().args(&["--config", &file(&choosy)]));
    finished.expect_code(3);
    let text = finished.text();
    assert_eq!(text.matches("\nworks through ").count(), 1, "{}", text);
}

#[test]
fn a_test_without_a_destination_is_a_usage_error() {
    let nowhere = test(Ptunnel::through("a:1").args(&["--serve-proxy", "0"]));
    nowhere.expect_code(2);
    assert!(
        nowhere
            .stderr
            .contains("--test needs a destination, and -D, --redirect and --serve-proxy have none"),
        "{}",
        nowhere.stderr
    );
    let open = || Ptunnel::through(closed_address()).args(&["-D", "0"]);
    let nowhere = test(open());
    nowhere.expect_code(2);
    let remedy = "add a tunnel or -W HOST:PORT";
    assert!(nowhere.stderr.contains(remedy), "{}", nowhere.stderr);
    test(open().args(&["-W", "b:2"])).expect_code(1);
    for other in &["--demo", "--check-config"] {
        let both = test(Ptunnel::through("a:1").to("b:2").arg(*other));
        both.expect_code(2);
        assert_eq!(both.text(), "");
    }
    let folder = TempDir::new();
    let file = folder.file("file", "test = true\n");
    let finished = Ptunnel::new().args(&["--config", &file]).run();
    finished.expect_code(2);
    assert!(
        finished.stderr.contains("is for the command line"),
        "{}",
        finished.stderr
    );
}

/// Regression: the warning was printed in the middle of a line, now and then.
#[test]
fn a_warning_comes_before_the_first_step() {
    for _ in 0..20 {
        let program = Ptunnel::through(format!("socks5h://{}", closed_address()));
        let program = program.args(&["-H", "X: y"]).to("b:2");
        let text = test(program.after("exec 2>&1")).text();
        let mut lines = text.lines();
        let first = lines.next().unwrap();
        assert!(
            first.starts_with("warning: --header has no effect: "),
            "{}",
            text
        );
        assert_eq!(lines.next(), Some("testing b:2"), "{}", text);
    }
}

#[test]
fn a_full_stdout_ends_the_test() {
    let finished = test(
        Ptunnel::through(closed_address())
            .to("b:2")
            .after("exec >/dev/full"),
    );
    finished.expect_code(1);
    assert!(
        finished.stderr.contains("cannot write to stdout"),
        "{}",
        finished.stderr
    );
}

/// A user at a terminal sees which step is running.
#[test]
fn a_terminal_shows_the_running_step() {
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut program = Ptunnel::through(proxy.local_addr().unwrap())
        .args(&["--test", "-W", "b.example:2"])
        .after("exec script -qec \"$*\" /dev/null")
        .start();
    let (mut out, mut said) = (program.stdout(), String::new());
    while !said.contains("CONNECT") {
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap();
        said.push(byte[0].into());
    }
    let (mut client, _) = proxy.accept().unwrap();
    client
        .write_all(b"HTTP/1.1 200 OK\r\n\r\nhello\r\n")
        .unwrap();
    out.read_to_string(&mut said).unwrap();
    assert!(said.contains("works through "), "{}", said);
}

/// No step is running that could show the error.
#[test]
fn a_lack_of_descriptors_is_named() {
    let finished = test(
        Ptunnel::through(closed_address())
            .to("127.0.0.1:1")
            .after("ulimit -n 5"),
    );
    finished.expect_code(1);
    let said = String::from_utf8_lossy(&finished.stdout);
    assert!(said.contains("FAILED: cannot start a "), "{}", said);
    assert!(said.contains("Too many open files"), "{}", said);
    assert!(said.ends_with("does not work\n"), "{}", said);
}
