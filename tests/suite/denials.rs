//! Rejections of the embedded proxy: of which requests, with which status, and why.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use crate::serve::{echo, open, request};
use support::parts::{output, Nginx, SMALL};
use support::{closed_address, eventually, Blackhole, Connection, Ptunnel, Running};

/// Returns the whole reply to these bytes.
fn answer(program: &Running, bytes: impl AsRef<[u8]>) -> String {
    let mut client = Connection::open(program.proxy());
    let _ = client.try_send(bytes);
    String::from_utf8(client.rest_or_reset()).expect("text")
}

/// Checks that the reply has this status, a reason with this word, and an end.
#[track_caller]
fn assert_denied(answer: &str, status: u16, word: &str) {
    let start = format!("HTTP/1.1 {} ", status);
    assert!(
        answer.starts_with(&start),
        "{:?} instead of {}",
        answer,
        status
    );
    let at = answer
        .find("\r\n\r\n")
        .unwrap_or_else(|| panic!("no head: {:?}", answer));
    let (head, body) = answer.split_at(at + 4);
    let length = format!("Content-Length: {}\r\n", body.len());
    assert!(head.contains(&length), "{:?}", answer);
    assert!(head.contains("Connection: close\r\n"), "{:?}", answer);
    assert!(body.contains(word), "{:?} is not in {:?}", word, answer);
}

#[test]
fn malformed_requests_get_400() {
    let program = Ptunnel::new().serving().start();
    for bytes in &[
        "nonsense\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{0}\u{a5}\u{1}\r\n\r\n",
        "CONNECT\r\n\r\n",
        "CONNECT example.org:22 HTTP/3.7\r\n\r\n",
        "CONNECT example.org:22 HTTP/1.1\r\nno colon\r\n\r\n",
        "CONNECT example.org:22 HTTP/1.1\r\nX: a\rb\r\n\r\n",
    ] {
        assert_denied(&answer(&program, bytes), 400, "");
    }
    for target in &[
        "example.org",
        "example.org:",
        ":22",
        "example.org:0",
        "example.org:99999",
        "/",
        "*",
        "http://example.org/",
        "-oProxyCommand=id:22",
        "a;b:22",
        "[::1]",
        "::1:22",
        "[fe80::1%lo]:22",
    ] {
        assert_denied(&answer(&program, request(target)), 400, "");
    }
}

#[test]
fn control_characters_are_neither_returned_nor_logged() {
    let program = Ptunnel::new().serving().start();
    let text = answer(&program, "CONNECT a\u{1b}[31m:22 HTTP/1.1\r\n\r\n");
    assert!(text.starts_with("HTTP/1.1 400 "), "{:?}", text);
    program.says(&["400"]);
    assert!(!text.contains('\u{1b}'), "{:?}", text);
    assert!(
        !program.stderr().contains('\u{1b}'),
        "{:?}",
        program.stderr()
    );
}

#[test]
fn other_methods_get_405_with_allow_connect() {
    let program = Ptunnel::new().serving().start();
    for method in &["GET", "POST", "connect", "OPTIONS"] {
        let text = answer(
            &program,
            format!("{} http://example.org/ HTTP/1.1\r\n\r\n", method),
        );
        assert_denied(&text, 405, "CONNECT");
        assert!(text.contains("Allow: CONNECT\r\n"), "{}", text);
    }
}

#[test]
fn a_client_that_still_sends_can_read_the_rejection() {
    let program = Ptunnel::new().serving().start();
    let mut bytes = b"POST http://example.org/ HTTP/1.1\r\nContent-Length: 200000\r\n\r\n".to_vec();
    bytes.extend_from_slice(&[b'x'; 200_000]);
    for _ in 0..20 {
        assert_denied(&answer(&program, &bytes), 405, "CONNECT");
    }
}

#[test]
fn a_destination_that_cannot_be_reached_gets_502_with_the_reason() {
    let program = Ptunnel::new().serving().start();
    let dead = closed_address();
    assert_denied(&answer(&program, request(dead)), 502, "refused");
    assert_denied(
        &answer(&program, request("nowhere.invalid:22")),
        502,
        "nowhere.invalid:22",
    );
    program.says(&["502", &dead.to_string()]);
}

#[test]
fn a_destination_that_does_not_answer_gets_504() {
    let hole = Blackhole::start();
    let program = Ptunnel::new().serving().args(&["-w", "0.4"]).start();
    assert_denied(&answer(&program, request(hole.address())), 504, "0.4s");
}

#[test]
fn credentials_are_required_and_checked() {
    let origin = echo();
    let program = Ptunnel::new()
        .serving()
        .args(&["--serve-user", "joe"])
        .env("PTUNNEL_SERVE_PASSWORD", "hunter2")
        .start();
    let with = |field: &str| format!("CONNECT {} HTTP/1.1\r\n{}\r\n", origin.address(), field);
    for field in &[
        "",
        "Proxy-Authorization: \r\n",
        "Proxy-Authorization: Basic\r\n",
        "Proxy-Authorization: Basic !!!\r\n",
        "Proxy-Authorization: Basic am9lOmh1bnRlcjE=\r\n", // joe:hunter1
        "Proxy-Authorization: Basic am9lOmh1bnRlcg==\r\n", // joe:hunter
        "Proxy-Authorization: Basic am9lOmh1bnRlcjIy\r\n", // joe:hunter22
        "Proxy-Authorization: Basic am9lOg==\r\n",         // joe:
        "Proxy-Authorization: Bearer am9lOmh1bnRlcjI=\r\n",
        "Authorization: Basic am9lOmh1bnRlcjI=\r\n",
    ] {
        let text = answer(&program, with(field));
        assert_denied(&text, 407, "");
        assert!(
            text.contains("Proxy-Authenticate: Basic realm="),
            "{}",
            text
        );
    }
    assert_eq!(origin.accepted(), 0);
    for scheme in &["Basic", "basic", "BASIC"] {
        let mut client = Connection::open(program.proxy());
        client.send(with(&format!(
            "Proxy-Authorization: {} am9lOmh1bnRlcjI=\r\n",
            scheme
        )));
        assert!(
            client.read_head().starts_with(b"HTTP/1.1 200 "),
            "{}",
            scheme
        );
    }
    let told = program.stderr();
    assert!(
        !told.contains("hunter") && !told.contains("am9l"),
        "{}",
        told
    );
}

#[test]
fn curl_authenticates() {
    let nginx = Nginx::start();
    let program = Ptunnel::new()
        .serving()
        .args(&["--serve-user", "joe:p:w d"])
        .start();
    program.says(&["--serve-user"]);
    let curl = |user: &str| {
        let (proxy, url) = (
            program.proxy().to_string(),
            format!("http://{}/small", nginx.address()),
        );
        output(
            "curl",
            &[
                "-sS",
                "--max-time",
                "60",
                "-p",
                "-x",
                &proxy,
                "--proxy-user",
                user,
                &url,
            ],
        )
    };
    assert_eq!(curl("joe:p:w d").stdout, SMALL.as_bytes());
    let denied = curl("joe:wrong");
    assert!(!denied.status.success());
    assert!(
        String::from_utf8_lossy(&denied.stderr).contains("407"),
        "{:?}",
        denied
    );
}

#[test]
fn only_listed_destinations_are_allowed() {
    let origin = echo();
    let port = origin.port();
    let allow = |patterns: &[&str]| {
        let program = Ptunnel::new().serving().args(&["-w", "5"]);
        patterns
            .iter()
            .fold(program, |all, p| all.args(&["--serve-allow", p]))
            .start()
    };
    let exact = format!("127.0.0.1:{}", port);
    for patterns in &[
        &["127.0.0.1"][..],
        &[&exact],
        &["127.0.0.0/8"],
        &["a.example", "*"],
    ] {
        let program = allow(patterns);
        drop(open(&program, origin.address()));
    }
    let other = format!("127.0.0.1:{}", port - 1);
    for patterns in &[&["127.0.0.2"][..], &[&other], &["10.0.0.0/8", "a.example"]] {
        let program = allow(patterns);
        assert_denied(&answer(&program, request(origin.address())), 403, &exact);
        // Another form of the same address must not bypass the list.
        let mapped = format!("[::ffff:127.0.0.1]:{}", port);
        assert_denied(&answer(&program, request(mapped)), 403, "");
    }
    let program = allow(&["invalid"]);
    assert_denied(
        &answer(&program, request("nowhere.invalid:1")),
        502,
        "nowhere.invalid:1",
    );
    assert_denied(
        &answer(&program, request("invalid.example:1")),
        403,
        "invalid.example:1",
    );
}

#[test]
fn a_too_long_or_endless_head_is_refused() {
    let program = Ptunnel::new().serving().start();
    for piece in &[
        "X-Filler: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n",
        "y",
        "\r\n",
    ] {
        let mut client = Connection::open(program.proxy());
        if *piece != "\r\n" {
            client.send("CONNECT example.org:22 HTTP/1.1\r\nX: ");
        }
        let mut writer = client.handle();
        let piece = piece.repeat(4096);
        let writing = thread::spawn(move || while writer.write_all(piece.as_bytes()).is_ok() {});
        let text = String::from_utf8(client.rest_or_reset()).unwrap();
        // A client that doesn't read can be reset before it has read its reply.
        assert!(
            text.is_empty() || text.starts_with("HTTP/1.1 400 "),
            "{:?}",
            text
        );
        writing.join().unwrap();
        program.says(&["400"]);
    }
    drop(open(&program, echo().address()));
}

#[test]
fn a_head_of_a_mebibyte_gets_400() {
    let program = Ptunnel::new().serving().start();
    let mut head = String::from("CONNECT example.org:22 HTTP/1.1\r\n");
    while head.len() < 200_000 {
        head.push_str("X-Filler: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n");
    }
    assert_denied(&answer(&program, head + "\r\n"), 400, "");
}

#[test]
fn a_client_that_never_finishes_its_request_is_cut() {
    let program = Ptunnel::new()
        .serving()
        .args(&["--handshake-timeout", "0.5"])
        .start();
    let start = Instant::now();
    let mut silent = Connection::open(program.proxy());
    let mut slow = Connection::open(program.proxy());
    eventually("the drip is cut", || slow.try_send("X").is_err());
    silent.rest_or_reset();
    assert!(
        start.elapsed() >= Duration::from_millis(490),
        "{:?}",
        start.elapsed()
    );
}
