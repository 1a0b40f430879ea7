//! Proxies that require authentication: what they get in reply, on which connection, and the error
//! when they refuse it.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use support::parts::Squid;
use support::socks::Microsocks;
use support::sys::{SIGHUP, SIGTERM};
use support::{eventually, Connection, Peer, Ptunnel, TempDir};

const DIGEST: &str = "Proxy-Authenticate: Digest realm=\"r\", nonce=\"one\", qop=\"auth\"\r\n";
const GRANTED: &str = "HTTP/1.1 200 OK\r\n\r\n";
const CHUNKED: &str =
    "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nwho\r\n1\r\n?\r\n0\r\nT: u\r\n\r\n";

/// NTLM's second message, in its oldest form.
const NTLM_CHALLENGE: &str = "Proxy-Authenticate: NTLM \
    TlRMTVNTUAACAAAAAAAAADAAAAAFAgAAASNFZ4mrze8AAAAAAAAAAAAAAAAwAAAA\r\n";

fn challenge(fields: &str, rest: &str) -> String {
    format!("HTTP/1.1 407 Who are you\r\n{}{}", fields, rest)
}

/// Returns a challenge on a connection that stays open.
fn kept(fields: &str) -> String {
    challenge(fields, "Content-Length: 4\r\n\r\nwho?")
}

/// A proxy that sends these replies in turn, on any connection. A 200 opens a tunnel to an echo.
struct Scripted {
    peer: Peer,
    /// The connection's number and the credential of each request.
    asked: Arc<Mutex<Vec<(usize, String)>>>,
}

impl Scripted {
    /// Starts the proxy; with `keeps`, its connections stay open after a challenge.
    fn start(keeps: bool, replies: Vec<String>) -> Scripted {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        let peer = Peer::start(move |mut connection: Connection| loop {
            let head = String::from_utf8(connection.read_head()).unwrap();
            if head.is_empty() {
                return;
            }
            let mut seen = seen.lock().unwrap();
            seen.push((connection.number, credential(&head)));
            let reply = replies[(seen.len() - 1) % replies.len()].clone();
            drop(seen);
            if reply.contains(" 200 ") {
                connection.send(reply);
                return connection.echo();
            }
            connection.send_apart(reply.as_bytes().chunks(40));
            if !keeps {
                connection.finish_sending();
                return connection.drain();
            }
        });
        Scripted { peer, asked }
    }

    /// Returns the program with credentials for this proxy, at the highest verbosity.
    fn through(&self) -> Ptunnel {
        Ptunnel::through(self.peer.address())
            .args(&["-U", "NORTH\\joe", "-vvv"])
            .env("PTUNNEL_PASSWORD", "hunter2")
    }

    /// Opens `tunnels` tunnels, one after the other, and returns the requests for them.
    #[track_caller]
    fn open(&self, program: Ptunnel, tunnels: usize) -> Vec<(usize, String)> {
        let program = program.to("example.org:22").start();
        for _ in 0..tunnels {
            let mut client = program.connect();
            client.send("hello");
            client.expect("hello");
        }
        assert!(
            !program.stderr().contains("hunter2"),
            "{}",
            program.stderr()
        );
        self.asked.lock().unwrap().clone()
    }
}

fn credential(head: &str) -> String {
    let name = "Proxy-Authorization: ";
    let mut values = head.lines().filter_map(|line| line.strip_prefix(name));
    let value = values.next().unwrap_or_default().to_string();
    assert_eq!(values.next(), None, "{}", head);
    value
}

#[track_caller]
fn assert_has(asked: &(usize, String), connection: usize, words: &[&str]) {
    assert_eq!(asked.0, connection, "{:?}", asked);
    for word in words {
        assert!(asked.1.contains(word), "{:?} in {:?}", word, asked);
    }
}

#[test]
fn a_challenge_is_answered_on_its_connection() {
    for body in &[
        "Content-Length: 4\r\n\r\nwho?",
        "Content-Length: 0\r\n\r\n",
        CHUNKED,
    ] {
        let proxy = Scripted::start(true, vec![challenge(DIGEST, body), GRANTED.into()]);
        let asked = proxy.open(proxy.through(), 1);
        assert_eq!(asked.len(), 2, "{:?}", asked);
        assert_has(&asked[0], 0, &["Basic "]);
        let words = [
            "Digest ",
            "username=\"NORTH\\\\joe\"",
            "uri=\"example.org:22\"",
            "nc=00000001",
        ];
        assert_has(&asked[1], 0, &words);
    }
}

/// Regression: a challenge beside such lines was no reply.
#[test]
fn a_challenge_is_answered_whatever_lines_its_head_has() {
    for line in &["X-Blocked By: x\r\n", "no colon\r\n", "X: a\x01\r\n"] {
        let fields = [line, &DIGEST.replace("Authenticate:", "Authenticate :")[..]].concat();
        let challenge = kept(&fields).replace("1.1 407", "1.1  407");
        let proxy = Scripted::start(true, vec![challenge, GRANTED.into()]);
        let asked = proxy.open(proxy.through(), 1);
        assert_eq!(asked.len(), 2, "{:?}", asked);
        assert_has(&asked[1], 0, &["Digest ", "nc=00000001"]);
    }
}

#[test]
fn a_proxy_that_closes_after_a_challenge_gets_a_new_connection() {
    for rest in &[
        "Connection: close\r\nContent-Length: 4\r\n\r\nwho?",
        // The reply doesn't announce the close.
        "Content-Length: 4\r\n\r\nwho?",
        "\r\nwho?",
    ] {
        let proxy = Scripted::start(false, vec![challenge(DIGEST, rest), GRANTED.into()]);
        let asked = proxy.open(proxy.through(), 1);
        assert_eq!(asked.len(), 2, "{:?}", asked);
        assert_has(&asked[1], 1, &["Digest "]);
    }
}

#[test]
fn the_password_is_sent_only_in_allowed_schemes() {
    let proxy = Scripted::start(true, vec![kept(DIGEST), GRANTED.into()]);
    let asked = proxy.open(proxy.through().args(&["--proxy-auth", "digest,ntlm"]), 1);
    assert_eq!(asked[0], (0, String::new()));
    assert_has(&asked[1], 0, &["Digest "]);

    let proxy = Scripted::start(true, vec![kept("Proxy-Authenticate: Basic\r\n")]);
    let program = proxy.through().args(&["--proxy-auth", "digest"]);
    let finished = program.args(&["-W", "example.org:22"]).run();
    finished.expect_code(4);
    let told = &finished.stderr;
    assert!(
        told.contains("(offers Basic): --proxy-auth allows none"),
        "{}",
        told
    );
    assert_eq!(*proxy.asked.lock().unwrap(), [(0, String::new())]);
}

#[test]
fn the_scheme_is_remembered_for_all_tunnels() {
    let stale = DIGEST.replace("\"one\"", "\"two\", stale=true");
    let replies = vec![
        kept(DIGEST),
        GRANTED.into(),
        GRANTED.into(),
        kept(&stale),
        GRANTED.into(),
        GRANTED.into(),
    ];
    let proxy = Scripted::start(true, replies);
    let asked = proxy.open(proxy.through().args(&["--threads", "2"]), 4);
    assert_eq!(asked.len(), 6, "{:?}", asked);
    assert_has(&asked[1], 0, &["\"one\"", "nc=00000001"]);
    assert_has(&asked[2], 1, &["\"one\"", "nc=00000002"]);
    assert_has(&asked[3], 2, &["\"one\"", "nc=00000003"]);
    assert_has(&asked[4], 2, &["\"two\"", "nc=00000001"]);
    assert_has(&asked[5], 3, &["\"two\"", "nc=00000002"]);
}

#[test]
fn ntlm_uses_one_connection() {
    let ask = kept("Proxy-Authenticate: Negotiate, NTLM\r\n");
    let proxy = Scripted::start(
        true,
        vec![
            ask,
            kept(NTLM_CHALLENGE),
            GRANTED.into(),
            kept(NTLM_CHALLENGE),
            GRANTED.into(),
        ],
    );
    let asked = proxy.open(proxy.through(), 2);
    assert_eq!(asked.len(), 5, "{:?}", asked);
    assert_has(&asked[1], 0, &["NTLM TlRMTVNTUAABAAAA"]);
    assert_has(&asked[2], 0, &["NTLM TlRMTVNTUAADAAAA"]);
    assert_has(&asked[3], 1, &["NTLM TlRMTVNTUAABAAAA"]);
    assert_has(&asked[4], 1, &["NTLM TlRMTVNTUAADAAAA"]);
}

#[test]
fn ntlm_on_a_closing_connection_is_reported() {
    let close = "Connection: close\r\nContent-Length: 0\r\n\r\n";
    let proxy = Scripted::start(false, vec![challenge(NTLM_CHALLENGE, close)]);
    let program = proxy.through().args(&["--proxy-auth", "ntlm"]);
    let finished = program.args(&["-W", "example.org:22"]).run();
    finished.expect_code(4);
    let told = &finished.stderr;
    assert!(
        told.contains("closes the connection, but NTLM and Kerberos need it open"),
        "{}",
        told
    );
}

#[test]
fn a_wrong_password_is_tried_once() {
    let both = format!("{}Proxy-Authenticate: Basic\r\n", DIGEST);
    for (schemes, tried) in &[
        ("basic", "Basic"),
        ("digest", "Digest"),
        ("basic,digest", "Digest"),
    ] {
        let proxy = Scripted::start(true, vec![kept(&both)]);
        let program = proxy.through().args(&["--proxy-auth", schemes]);
        let finished = program.args(&["-W", "example.org:22"]).run();
        finished.expect_code(4);
        let words = format!(
            "(offers Digest, Basic): the proxy rejected the username or the password, sent with \
             {}; check --user",
            tried
        );
        assert!(finished.stderr.contains(&words), "{}", finished.stderr);
        assert!(!finished.stderr.contains("hunter2"), "{}", finished.stderr);
        let asked = proxy.asked.lock().unwrap().clone();
        let answers = asked.iter().filter(|(_, value)| !value.is_empty());
        assert_eq!(answers.count(), 1, "{:?}", asked);
    }
}

/// Returns the number of requests that contained credentials.
fn credentials(asked: &[(usize, String)]) -> usize {
    asked.iter().filter(|(_, value)| !value.is_empty()).count()
}

/// Regression: each client sent the password once more, until the account was locked.
#[test]
fn a_refused_password_is_withheld_from_all_clients_until_a_reload() {
    let digest = format!("{}{}", DIGEST, "Proxy-Authenticate: Basic\r\n");
    for (schemes, fields) in &[("basic", &digest), ("digest", &digest)] {
        let proxy = Scripted::start(true, vec![kept(fields)]);
        let folder = TempDir::new();
        let text = format!(
            "tunnels = [\"0:example.org:22\"]\nproxy = \"{}\"\nuser = \"joe\"\n\
             proxy-auth = \"{}\"\nthreads = 2\n",
            proxy.peer.address(),
            schemes
        );
        let file = folder.file_with_mode("ptunnel.toml", 0o600, text);
        let program = Ptunnel::new()
            .args(&["--config", &file])
            .env("PTUNNEL_PASSWORD", "hunter2")
            .more_lines(1)
            .start();
        let count = || credentials(&proxy.asked.lock().unwrap());
        for round in 1..3 {
            for _ in 0..8 {
                program.connect().expect_nothing();
            }
            assert_eq!(count(), round, "{:?}", proxy.asked.lock().unwrap());
            // Regression: "reload (SIGHUP)" was the advice without --config, too, where that ends it.
            let words = [
                "refused example.org:22",
                "the proxy rejected the password before",
                "to send it now, restart ptunnel, or with --config reload it (SIGHUP)",
            ];
            let told = program.says(&words);
            assert!(told.contains("check --user and the password"), "{}", told);
            program.signal(SIGHUP);
            eventually("the reload", || {
                program.connect().expect_nothing();
                count() == round + 1
            });
        }
    }
}

/// A browser opens twenty connections at once, and some accounts are locked at the fifth wrong
/// password.
#[test]
fn only_one_of_several_concurrent_clients_sends_the_password() {
    let both = format!("{}{}", DIGEST, "Proxy-Authenticate: Basic\r\n");
    for schemes in &["basic", "digest"] {
        let proxy = Scripted::start(true, vec![kept(&both)]);
        let program = proxy.through().args(&["--proxy-auth", schemes]);
        let program = program.to("example.org:22").start();
        let clients: Vec<Connection> = (0..20).map(|_| program.connect()).collect();
        for mut client in clients {
            client.expect_nothing();
        }
        let asked = proxy.asked.lock().unwrap().clone();
        assert_eq!(credentials(&asked), 1, "{:?}", asked);
    }
}

/// The first client's destination can take long: the others wait for it for at most a second.
#[test]
fn a_slow_client_delays_the_others_briefly() {
    let proxy = Peer::proxy(|mut connection| match connection.number {
        0 => connection.drain(),
        _ => {
            connection.send(GRANTED);
            connection.echo();
        }
    });
    let program = Ptunnel::through(format!("http://joe:hunter2@{}", proxy.address()))
        .args(&["--handshake-timeout", "600"])
        .to("example.org:22")
        .start();
    let first = program.connect();
    eventually("the first is asked for", || proxy.heads().len() == 1);
    let mut clients: Vec<Connection> = (0..5).map(|_| program.connect()).collect();
    for client in &mut clients {
        client.send("hello");
        client.expect("hello");
    }
    assert!(first.is_quiet());
}

#[test]
fn a_password_refused_by_squid_is_withheld() {
    let squid = Squid::start(Some(("joe", "right")));
    let program = as_joe(&squid, "wrong").to("example.org:22").start();
    program.connect().expect_nothing();
    program.says(&["refused example.org:22: 407", "sent with Basic"]);
    program.connect().expect_nothing();
    program.says(&[
        "refused example.org:22: 407",
        "rejected the password before",
    ]);
}

#[test]
fn a_password_refused_by_a_socks_proxy_is_withheld() {
    let proxy = Microsocks::start(Some(("joe", "right")));
    let program = Ptunnel::through(format!("socks5h://joe:wrong@{}", proxy.address()))
        .to("example.org:22")
        .start();
    program.connect().expect_nothing();
    program.says(&["the proxy rejected the username or the password"]);
    program.connect().expect_nothing();
    program.says(&["rejected the password before", "check --user"]);
}

/// px and tinyproxy reply so to a wrong password.
#[test]
fn a_401_is_reported_with_its_possible_cause() {
    let reply = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
    for (user, words) in &[
        (Some("joe:hunter2"), "sent with Basic; check --user and the"),
        (
            None,
            "for a wrong password): the proxy requires authentication; set --user",
        ),
    ] {
        let proxy = Peer::replying(reply);
        let mut program = Ptunnel::through(proxy.address());
        if let Some(user) = user {
            program = program.args(&["-U", user]);
        }
        let finished = program.args(&["-W", "example.org:22"]).run();
        finished.expect_code(3);
        let told = &finished.stderr;
        assert!(
            told.contains("401 Unauthorized (a web server's status, which "),
            "{}",
            told
        );
        assert!(told.contains(words), "{}", told);
    }
}

/// smokescreen denies destinations so. Regression: the advice was to set a password, and the reason was dropped.
#[test]
fn a_407_without_a_challenge_is_a_refusal_with_its_reason() {
    let proxy = Peer::replying(
        "HTTP/1.1 407 Request rejected by proxy\r\nContent-Length: 16\r\n\r\ndenied by rule 7",
    );
    for user in &["joe:hunter2@", ""] {
        let program = Ptunnel::through(format!("http://{}{}", user, proxy.address()));
        let finished = program.args(&["-W", "x.test:1"]).run();
        finished.expect_code(3);
        let words = "refused x.test:1: 407 Request rejected by proxy (denied by rule 7)\n";
        assert!(finished.stderr.ends_with(words), "{}", finished.stderr);
    }
}

/// Regression: the error reported a wrong password, and not that the proxy may refuse Basic.
#[test]
fn refused_basic_leads_to_advice_about_a_stronger_scheme() {
    for (offer, scheme) in &[(DIGEST, "digest"), (NTLM_CHALLENGE, "ntlm")] {
        let fields = format!("{}Proxy-Authenticate: Basic\r\n", offer);
        let proxy = Scripted::start(true, vec![kept(&fields)]);
        let finished = proxy.through().args(&["-W", "example.org:22"]).run();
        finished.expect_code(4);
        let words = format!("add --proxy-auth {}\n", scheme);
        assert!(finished.stderr.ends_with(&words), "{}", finished.stderr);
    }
}

/// Regression: the proxy got a third answer, and all answers had the same count.
#[test]
fn a_stale_nonce_that_is_repeated_gets_two_answers() {
    let stale = DIGEST.replace("\"one\"", "\"one\", stale=true");
    let proxy = Scripted::start(true, vec![kept(DIGEST), kept(&stale), kept(&stale)]);
    let program = proxy.through().args(&["--proxy-auth", "digest"]);
    let finished = program.args(&["-W", "example.org:22"]).run();
    finished.expect_code(4);
    let told = &finished.stderr;
    assert!(
        told.contains("rejected each Digest response as stale"),
        "{}",
        told
    );
    let asked = proxy.asked.lock().unwrap().clone();
    assert_eq!(credentials(&asked), 2, "{:?}", asked);
    assert_has(&asked[1], 0, &["\"one\"", "nc=00000001"]);
    assert_has(&asked[2], 0, &["\"one\"", "nc=00000002"]);
}

/// Regression: the same answer was sent again, which a proxy that counts treats as a replay.
#[test]
fn a_nonce_reused_on_a_new_connection_is_counted() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    // Closes its first connection when the answer arrives.
    let proxy = Peer::start(move |mut connection: Connection| {
        let number = connection.number;
        let next = |connection: &mut Connection| {
            let head = String::from_utf8(connection.read_head()).unwrap();
            seen.lock().unwrap().push((number, credential(&head)));
        };
        next(&mut connection);
        if number == 0 {
            connection.send(kept(DIGEST));
            next(&mut connection);
        } else {
            connection.send(GRANTED);
            connection.echo();
        }
    });
    let program = Ptunnel::through(format!("http://joe:hunter2@{}", proxy.address()))
        .args(&["--proxy-auth", "digest"])
        .to("example.org:22")
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 3, "{:?}", asked);
    assert_has(&asked[1], 0, &["\"one\"", "nc=00000001"]);
    assert_has(&asked[2], 1, &["\"one\"", "nc=00000002"]);
}

#[test]
fn an_incomplete_challenge_is_a_refusal_after_the_handshake_timeout() {
    let proxy = Scripted::start(
        true,
        vec![challenge(DIGEST, "Content-Length: 9\r\n\r\nwho?")],
    );
    let program = proxy.through().args(&["--handshake-timeout", "0.5"]);
    let finished = program.args(&["-W", "example.org:22"]).run();
    finished.expect_code(3);
    let told = "407 Who are you (the rest of the reply is missing)";
    assert!(finished.stderr.contains(told), "{}", finished.stderr);
}

/// The proxy was reached and hadn't refused, so it remains the only path.
#[test]
fn a_proxy_that_disappears_after_its_challenge_is_not_bypassed() {
    let origin = Peer::start(drop);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let proxy = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        drop(listener);
        let mut connection = Connection::new(stream, 0);
        connection.read_head();
        connection.send(challenge(DIGEST, "Connection: close\r\n\r\n"));
    });
    let program = Ptunnel::through(format!("http://joe:hunter2@{}", address));
    let destination = origin.address().to_string();
    let program = program.args(&["--direct-fallback", "-W", &destination]);
    let finished = program.run();
    proxy.join().unwrap();
    finished.expect_code(1);
    let told = &finished.stderr;
    assert!(told.contains("lost the connection to proxy"), "{}", told);
    assert_eq!(origin.accepted(), 0);
}

/// Opens a tunnel to an echo through a real proxy, `times` times one after the other.
#[track_caller]
fn echo_through(program: Ptunnel, times: usize) {
    let origin = Peer::start(|mut connection| connection.echo());
    let program = program.to(origin.address()).start();
    for _ in 0..times {
        let mut client = program.connect();
        client.send("hello");
        client.expect("hello");
        client.finish_sending();
        client.expect_end();
    }
    assert_eq!(program.stderr(), "");
}

fn as_joe(squid: &Squid, password: &str) -> Ptunnel {
    Ptunnel::through(squid.address())
        .args(&["-U", "joe"])
        .env("PTUNNEL_PASSWORD", password)
}

/// Three of its nonces expire during the test.
#[test]
fn squid_accepts_digest() {
    let squid = Squid::with_digest("joe", "p w%d", 3);
    echo_through(as_joe(&squid, "p w%d"), 10);
    echo_through(as_joe(&squid, "p w%d").args(&["--proxy-auth", "digest"]), 2);
}

#[test]
fn squid_refuses_a_wrong_digest() {
    let squid = Squid::with_digest("joe", "right", 50);
    let finished = as_joe(&squid, "wrong")
        .args(&["-W", "example.org:22"])
        .run();
    finished.expect_code(4);
    let told = &finished.stderr;
    assert!(
        told.contains("(offers Digest): ") && told.contains("sent with Digest"),
        "{}",
        told
    );
}

/// Regression: the error blamed the password in Basic, which had been sent ahead.
#[test]
fn a_scheme_that_squid_does_not_offer_is_not_reported_as_refused() {
    let squid = Squid::with_digest("joe", "right", 50);
    let program = as_joe(&squid, "right").args(&["--proxy-auth", "basic"]);
    let finished = program.args(&["-W", "example.org:22"]).run();
    finished.expect_code(4);
    let words = "(offers Digest): --proxy-auth allows none of these schemes";
    assert!(finished.stderr.contains(words), "{}", finished.stderr);
}

#[test]
fn squid_accepts_ntlm() {
    let squid = Squid::with_ntlm("hunter2");
    for user in &["joe", "NORTH\\joe", "Jo\u{eb}l@north.example"] {
        let program = Ptunnel::through(squid.address()).args(&["-U", user]);
        echo_through(program.env("PTUNNEL_PASSWORD", "hunter2"), 3);
    }
}

#[test]
fn squid_refuses_a_wrong_ntlm() {
    let squid = Squid::with_ntlm("right");
    let finished = as_joe(&squid, "wrong")
        .args(&["-W", "example.org:22"])
        .run();
    finished.expect_code(4);
    let told = &finished.stderr;
    assert!(
        told.contains("(offers NTLM): ") && told.contains("sent with NTLM"),
        "{}",
        told
    );
}

#[test]
fn user_and_password_can_be_in_a_netrc_file() {
    let folder = TempDir::new();
    let text = "# ours\nmachine 127.0.0.1\n  login joe\n  password \"hunter 2\"\n";
    for (mode, warned) in &[(0o600, false), (0o644, true)] {
        let file = folder.file_with_mode("netrc", *mode, text);
        let proxy = Peer::echoing();
        let program = Ptunnel::through(proxy.address())
            .args(&["--proxy-netrc", &file])
            .to("example.org:22")
            .start();
        let mut client = program.connect();
        client.send("x");
        client.expect("x");
        // joe:hunter 2
        assert_eq!(credential(&proxy.head()), "Basic am9lOmh1bnRlciAy");
        drop(client);
        program.signal(SIGTERM);
        let told = program.finish().stderr;
        assert_eq!(told.contains("chmod 600"), *warned, "{}", told);
        assert!(!told.contains("hunter"), "{}", told);
    }
}

#[test]
fn an_error_in_a_netrc_file_has_its_line() {
    let folder = TempDir::new();
    let wrong = folder.file("netrc", "machine a login joe\n\npassword\n");
    let lost = folder.at("nothing");
    for (file, why) in &[
        (
            &wrong,
            "line 3: 'password' has no value; e.g. machine proxy.example login joe",
        ),
        (
            &lost,
            "No such file or directory (os error 2); check the path",
        ),
    ] {
        let program = Ptunnel::through("proxy.example:1").to("example.org:22");
        let finished = program.args(&["--proxy-netrc", file]).run();
        finished.expect_code(2);
        let told = &finished.stderr;
        assert!(
            told.contains(file.as_str()) && told.contains(why),
            "{}",
            told
        );
    }
}
