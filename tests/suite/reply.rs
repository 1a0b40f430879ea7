//! How a proxy's reply is judged: what grants a tunnel, what doesn't, and which bytes are kept.

use std::net::SocketAddr;
use std::sync::Arc;

use support::{sys, Connection, Finished, Pattern, Peer, Ptunnel, Running};

/// Returns a proxy that runs the script with each connection, and the program in front of it.
fn program_before<S>(script: S) -> (Peer, Running)
where
    S: Fn(Connection) + Send + Sync + 'static,
{
    let proxy = Peer::proxy(script);
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .start();
    (proxy, program)
}

/// Checks that each of these replies opens a tunnel, to an echo.
#[track_caller]
fn assert_granted<R: AsRef<[u8]>>(replies: &[R]) {
    let all: Arc<Vec<Vec<u8>>> = Arc::new(replies.iter().map(|r| r.as_ref().to_vec()).collect());
    let given = all.clone();
    let (_proxy, program) = program_before(move |mut connection| {
        connection.send(&given[connection.number]);
        connection.echo();
    });
    for reply in all.iter() {
        let mut client = program.connect();
        client.send("ping");
        let mut answer = [0; 4];
        let got = std::io::Read::read_exact(&mut client, &mut answer).map(|()| answer);
        let shown = String::from_utf8_lossy(&reply[..reply.len().min(200)]).into_owned();
        assert_eq!(
            got.ok().as_ref(),
            Some(b"ping"),
            "{:?}\n{}",
            shown,
            program.stderr()
        );
    }
}

/// Returns the result of stdio mode when the proxy sends this reply and its end.
fn stdio_after(reply: impl Into<Vec<u8>>) -> (Finished, SocketAddr) {
    let proxy = Peer::replying(reply);
    let program = Ptunnel::through(proxy.address()).args(&["-W", "example.org:22"]);
    let finished = program.run_with(b"never sent");
    assert_eq!(proxy.accepted(), 1, "{}", finished.stderr);
    (finished, proxy.address())
}

/// Checks that each of these replies ends stdio mode with this code, and with one line that
/// contains the proxy and this word. No byte of the reply is output.
#[track_caller]
fn assert_ended(code: i32, cases: &[(&str, &str)]) {
    for (reply, word) in cases {
        let (finished, proxy) = stdio_after(*reply);
        let told = &finished.stderr;
        assert_eq!(finished.code(), code, "{:?}\n{}", reply, told);
        assert!(
            finished.stdout.is_empty(),
            "{:?}\n{:?}",
            reply,
            finished.stdout
        );
        assert_eq!(told.lines().count(), 1, "{:?}\n{}", reply, told);
        assert!(told.contains(&proxy.to_string()), "{:?}\n{}", reply, told);
        assert!(told.contains(word), "{:?}\n{}", reply, told);
    }
}

#[test]
fn every_2xx_is_a_tunnel() {
    assert_granted(&[
        "HTTP/1.1 200 Connection established\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\n",
        "HTTP/1.1 201 Created\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 205 Reset Content\r\n\r\n",
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/2\r\n\r\n",
        "HTTP/1.1 299 Whatever\r\n\r\n",
    ]);
}

/// RFC 9110 §9.3.6: a client must ignore both in a 2xx to CONNECT.
#[test]
fn lengths_and_codings_in_a_2xx_mean_nothing() {
    assert_granted(&[
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: ,;=\r\nContent-Length: \r\n\r\n",
        "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
    ]);
}

#[test]
fn deviations_that_the_rfcs_allow_are_accepted() {
    assert_granted(&[
        // no reason, with and without the space before it (RFC 9112 §4)
        "HTTP/1.1 200\r\n\r\n",
        "HTTP/1.1 200 \r\n\r\n",
        // a lone LF ends a line (RFC 9112 §2.2)
        "HTTP/1.1 200 OK\n\n",
        "HTTP/1.1 200 OK\nVia: 1.1 north\n\n",
        "HTTP/1.1 200 OK\r\nVia: 1.1 north\n\r\n",
        "HTTP/1.1 200 OK\nVia: 1.1 north\r\n\n",
        // a folded line (RFC 9112 §5.2)
        "HTTP/1.1 200 OK\r\nVia: 1.1 north,\r\n 1.1 south\r\n\r\n",
        "HTTP/1.1 200 OK\r\nVia: 1.1 north,\r\n\t1.1 south\r\nX: y\r\n\r\n",
        // values beyond ASCII, and empty ones
        "HTTP/1.1 200 Verbunden \u{fc}ber Norden\r\nX: \u{e4}\r\nY:\r\n\r\n",
        // white space of any length in the status line (RFC 9112 §4)
        "HTTP/1.1  200   OK\r\n\r\n",
        "HTTP/1.1\t200\r\n\r\n",
    ]);
}

/// Regression: proxies that send such lines were of no use, though curl gets a tunnel from them.
#[test]
fn invalid_fields_in_a_2xx_are_ignored() {
    let grants = odd_lines().map(|line| format!("HTTP/1.1 200 OK\r\n{}\r\n", line));
    assert_granted(&grants.collect::<Vec<_>>());
}

/// Where curl takes the other line for the status or opens no tunnel, ptunnel opens none either.
#[test]
fn a_2xx_that_two_programs_read_differently_opens_no_tunnel() {
    let with = |line: &str| format!("HTTP/1.1 200 OK\r\n{}\r\n\r\n", line);
    for line in &[
        "no colon",
        "HTTP/1.1 403 Forbidden",
        " X: y",
        " ",
        "X: a\0b",
    ] {
        assert_ended(1, &[(&with(line), "not HTTP/1")]);
    }
}

/// Fields with an invalid name or value, or too many.
fn odd_lines() -> impl Iterator<Item = String> {
    let lines = [
        "X-Blocked By: policy",
        "X-Blocked-By : policy",
        ": no name",
        "X: a\x01b",
        "X\x7f: y",
    ];
    let lines: Vec<String> = lines.iter().map(|line| format!("{}\r\n", line)).collect();
    lines.into_iter().chain(Some("X: y\r\n".repeat(300)))
}

#[test]
fn skips_interim_replies() {
    assert_granted(&[
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 100\r\n\r\nHTTP/1.1 102 Busy\r\n\r\nHTTP/1.1 199 Hm\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ]);
}

#[test]
fn interim_replies_alone_are_an_error() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\n";
    assert_ended(1, &[(&interim.repeat(8), "")]);
}

#[test]
fn every_status_but_2xx_is_a_refusal_with_its_reason() {
    assert_ended(
        3,
        &[
            (
                "HTTP/1.1 300 Multiple Choices\r\n\r\n",
                "300 Multiple Choices",
            ),
            (
                "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
                "400 Bad Request",
            ),
            (
                "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
                "403 Forbidden",
            ),
            ("HTTP/1.0 404 Not Found\r\n\r\n", "404 Not Found"),
            ("HTTP/1.1 471 Odd\r\n\r\n", "471 Odd"),
            ("HTTP/1.1 500 Oh no\r\n\r\n", "500 Oh no"),
            ("HTTP/1.1 502 Bad Gateway\r\n\r\n", "502 Bad Gateway"),
            ("HTTP/1.1 504\r\n\r\n", "504"),
            ("HTTP/1.1 599 Last\r\n\r\n", "599 Last"),
            ("HTTP/1.1 403 Forbidden\nX: y\n\n", "example.org:22"),
            ("HTTP/1.1 407 Who?\r\n\r\nno", "407 Who? (no)"),
        ],
    );
}

/// Regression: a refusal that could not be decoded was no answer, and the next proxy was asked.
#[test]
fn a_refusal_is_final_whatever_its_head_has() {
    let next = Peer::proxy(|mut connection| connection.echo());
    let long = format!("X: {}\r\n", "x".repeat(20_000));
    let worse = ["no colon", " X: y", "HTTP/1.1 200 OK", "\rX: y", "X: a\0b"];
    let worse = worse.iter().map(|line| format!("{}\r\n", line));
    let lines = odd_lines().chain(worse).chain(Some(long));
    let with = |line: String| format!("HTTP/1.1 403 Forbidden\r\n{}\r\n", line);
    let mut replies: Vec<String> = lines.map(with).collect();
    let others = [
        "HTTP/1.1  403  Forbidden\r\n\r\n",
        "HTTP/1.1 403 Forbidden\r\nX: y\r\n",
        "HTTP/1.1 403",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        // An invalid status is one of 5xx to a client (RFC 9110 §15).
        "HTTP/1.1 099 Low\r\n\r\n",
        "HTTP/1.1 600\r\n\r\n",
        "HTTP/1.1 999 Blocked\r\n\r\n",
        "HTTP/1.1 40 Short\r\n\r\n",
        "HTTP/1.1 2000 Long\r\n\r\n",
        // Interim replies after which the final one can't be found.
        "HTTP/1.1 103 Hints\r\nno colon\r\n\r\nHTTP/1.1 403 No\r\n\r\n",
        "HTTP/1.1 103 Hints\r\nHTTP/1.1 403 No\r\n\r\n",
    ];
    replies.extend(others.iter().map(|reply| reply.to_string()));
    replies.push("HTTP/1.1 100 Wait\r\n\r\n".repeat(9) + "HTTP/1.1 403 No\r\n\r\n");
    for reply in replies {
        let status: String = reply.split_whitespace().skip(1).take(1).collect();
        // One without three digits counts as 500.
        let invalid = if status.len() == 3 { "" } else { "500 " };
        let shown = reply[..reply.len().min(200)].to_string();
        for is_reset in &[false, true] {
            let (reply, is_reset) = (reply.clone(), *is_reset);
            let refusing = Peer::proxy(move |mut connection| {
                let _ = connection.try_send(&reply);
                if is_reset {
                    connection.wait_until_read();
                    connection.reset();
                }
            });
            let program = Ptunnel::through(refusing.address()).proxy(next.address());
            let finished = program.args(&["-W", "example.org:22"]).run();
            assert_eq!(finished.code(), 3, "{:?}\n{}", shown, finished.stderr);
            let told = format!("refused example.org:22: {}{}", invalid, status);
            assert!(finished.stderr.contains(&told), "{}", finished.stderr);
        }
    }
    assert_eq!(next.accepted(), 0);
}

/// Regression: it was no reply in time, the next proxy was asked, and this one counted as down.
#[test]
fn a_refusal_whose_head_or_challenge_stalls_is_final() {
    const REPLIES: [(&str, &str); 4] = [
        ("HTTP/1.1 403 Forbidden\r\nX: y\r\n", "403 Forbidden"),
        ("HTTP/1.1 404 Not Found\r\n", "404 Not Found"),
        ("HTTP/1.1 503", "503"),
        (
            "HTTP/1.1 407 Who\r\nProxy-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n\
             Content-Length: 4\r\n\r\nbod",
            "407 Who (the rest of the reply is missing)",
        ),
    ];
    let next = Peer::proxy(|mut connection| connection.echo());
    let stalling = Peer::proxy(|mut connection| {
        connection.send(REPLIES[connection.number].0);
        connection.expect_end();
    });
    let program = Ptunnel::through(format!("http://joe:hunter2@{}", stalling.address()))
        .args(&["--handshake-timeout", "2", "--proxy-auth", "digest"])
        .proxy(next.address())
        .to("example.org:22")
        .start();
    for (count, (_, status)) in REPLIES.iter().enumerate() {
        program.connect().expect_nothing();
        program.says(&[&format!("refused example.org:22: {}", status)]);
        assert_eq!(stalling.accepted(), count + 1);
    }
    assert_eq!(next.accepted(), 0);
}

#[test]
fn a_407_ends_with_exit_code_4() {
    let challenge = "Proxy-Authenticate: Basic realm=\"north\"\r\n";
    let reply = format!(
        "HTTP/1.1 407 Proxy Authentication Required\r\n{}\r\n",
        challenge
    );
    assert_ended(4, &[(&reply, "407")]);
}

#[test]
fn never_follows_a_redirection() {
    let elsewhere = Peer::echoing();
    let reply = format!(
        "HTTP/1.1 302 Found\r\nLocation: http://{}/\r\n\r\n",
        elsewhere.address()
    );
    let told = format!("302 Found: redirect to http://{}/", elsewhere.address());
    assert_ended(3, &[(&reply, &told)]);
    assert_eq!(elsewhere.accepted(), 0);
}

#[test]
fn an_excerpt_of_the_refusals_body_is_shown() {
    let reply = "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 24\r\n\r\n\
                 port 22 is for admins on";
    assert_ended(3, &[(reply, "port 22 is for admins on")]);
}

#[test]
fn a_refusals_long_body_is_neither_awaited_nor_shown() {
    let body = "0123456789".repeat(100_000);
    let reply = format!(
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 9000000\r\n\r\n{}",
        body
    );
    let (finished, _) = stdio_after(reply);
    finished.expect_code(3);
    assert!(
        finished.stderr.len() < 2000,
        "{} bytes",
        finished.stderr.len()
    );
}

#[test]
fn a_malformed_reply_is_neither_a_tunnel_nor_a_refusal() {
    assert_ended(
        1,
        &[
            ("HTTP/1.1 2e2 OK\r\n\r\n", ""),
            ("HTTP/1.1 -200 OK\r\n\r\n", ""),
            ("HTTP/9.1 200 OK\r\n\r\n", ""),
            ("HTTP 200 OK\r\n\r\n", ""),
            ("ICY 200 OK\r\n\r\n", ""),
            ("SSH-2.0-OpenSSH_9.9\r\n\r\n", ""),
            ("\0\0\0\0\r\n\r\n", ""),
        ],
    );
}

#[test]
fn an_upgrade_is_an_error() {
    let (finished, proxy) = stdio_after("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhm");
    finished.expect_code(3);
    assert!(finished.stdout.is_empty(), "{:?}", finished);
    assert!(
        finished.stderr.contains(&proxy.to_string()),
        "{:?}",
        finished
    );
}

/// RFC 9112 §2.2: a bare CR is a space, as for curl. At the start of a line it ends the head for curl.
#[test]
fn a_bare_cr_ends_no_line() {
    assert_granted(&[
        "HTTP/1.1 200 OK\r\r\n\r\n",
        "HTTP/1.1 200 OK\rX: y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: y\rZ: z\r\n\r\n",
    ]);
    assert_ended(
        1,
        &[
            ("HTTP/1.1 200 OK\r\n\rX: y\r\n\r\n", "not HTTP/1"),
            ("\rHTTP/1.1 200 OK\r\n\r\n", "not HTTP/1"),
        ],
    );
}

#[test]
fn an_end_before_the_blank_line_is_a_failure() {
    let whole = "HTTP/1.1 200 OK\r\nVia: 1.1 north\r\n\r\n";
    // Without its last byte a reply has no blank line yet.
    let cases: Vec<&str> = (0..whole.len()).map(|end| &whole[..end]).collect();
    let given: Vec<String> = cases.iter().map(|text| text.to_string()).collect();
    let (proxy, program) = program_before(move |mut connection| {
        connection.send(&given[connection.number]);
        connection.finish_sending();
        connection.expect_nothing();
    });
    for (count, _) in cases.iter().enumerate() {
        program.connect().expect_nothing();
        assert_eq!(proxy.accepted(), count + 1);
    }
}

#[test]
fn a_reset_at_any_point_of_the_reply_closes_the_client() {
    let whole = "HTTP/1.1 200 OK\r\nVia: 1.1 north\r\n\r\n";
    // The last of these was granted before the reset.
    let (proxy, program) = program_before(move |mut connection| {
        connection.send(&whole[..connection.number]);
        connection.wait_until_read();
        connection.reset();
    });
    for count in 0..=whole.len() {
        program.connect().expect_nothing();
        assert_eq!(proxy.accepted(), count + 1);
    }
}

#[test]
fn a_reset_instead_of_a_reply_is_reported() {
    let proxy = Peer::proxy(|connection| connection.reset());
    let program = Ptunnel::through(proxy.address()).args(&["-W", "example.org:22"]);
    let finished = program.run();
    finished.expect_code(1);
    assert!(
        finished.stderr.contains(&proxy.address().to_string()),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_proxy_that_closes_before_it_reads_the_request_is_reported() {
    for reset in &[true, false] {
        let reset = *reset;
        let proxy = Peer::start(move |connection| {
            if reset {
                connection.reset();
            }
        });
        let program = Ptunnel::through(proxy.address()).args(&["-W", "example.org:22"]);
        let finished = program.run();
        finished.expect_code(1);
        assert!(
            finished.stderr.contains(&proxy.address().to_string()),
            "{}",
            finished.stderr
        );
    }
}

#[test]
fn a_reply_can_arrive_byte_by_byte() {
    let (_proxy, program) = program_before(|mut connection| {
        connection.send_bytewise("HTTP/1.1 200 OK\r\nVia: 1.1 north\r\n\r\nSSH-2.0-x\r\n");
        connection.echo();
    });
    let mut client = program.connect();
    client.expect("SSH-2.0-x\r\n");
    client.send("hello");
    client.expect("hello");
}

/// corkscrew and gost treated the first read as the whole reply, and lost its other bytes.
#[test]
fn keeps_bytes_that_arrive_with_the_reply() {
    let (_proxy, program) = program_before(|mut connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\n220 mail.example.org ESMTP\r\n");
        connection.echo();
    });
    let mut client = program.connect();
    client.expect("220 mail.example.org ESMTP\r\n");
    client.send("EHLO\r\n");
    client.expect("EHLO\r\n");
}

#[test]
fn the_banner_is_kept_wherever_the_reply_is_split() {
    let whole = "HTTP/1.1 100 Hm\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\nSSH-2.0-x\r\n";
    let (_proxy, program) = program_before(move |mut connection| {
        let (head, tail) = whole.split_at(connection.number);
        connection.send_apart(&[head, tail]);
        connection.finish_sending();
        connection.drain();
    });
    for _ in 0..=whole.len() {
        let mut client = program.connect();
        client.finish_sending();
        assert_eq!(String::from_utf8(client.rest()).unwrap(), "SSH-2.0-x\r\n");
    }
}

#[test]
fn a_long_banner_and_the_bytes_after_it_are_kept() {
    const LENGTH: u64 = 3 << 20;
    let (_proxy, program) = program_before(|mut connection| {
        let mut all = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        Pattern::new(1).write(&mut all, LENGTH).unwrap();
        connection.send(&all);
        connection.finish_sending();
        connection.drain();
    });
    let mut client = program.connect();
    client.finish_sending();
    Pattern::new(1).read_all(&mut client, LENGTH);
}

/// Regression: bytes that didn't fit into the read of the reply stayed in the socket, until the
/// destination sent more or ended.
#[test]
fn a_banner_of_any_length_arrives_without_further_bytes() {
    for length in &[1_900, 2_029, 2_030, 3_000, 5_000, 60_000] {
        let length = *length;
        let (_proxy, program) = program_before(move |mut connection| {
            let mut all = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
            Pattern::new(1).write(&mut all, length).unwrap();
            connection.send(&all);
            connection.drain();
        });
        Pattern::new(1).read(&mut program.connect(), length);
    }
}

/// Bytes after the head are the destination's, even if they are a head or blank lines.
#[test]
fn the_banner_is_not_parsed_as_a_reply() {
    let banners = [
        "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "\r\n\r\n\r\n",
        "\n",
        "\0\x01\x02\r\r\n",
    ];
    let (_proxy, program) = program_before(move |mut connection| {
        let reply = format!("HTTP/1.1 200 OK\r\n\r\n{}", banners[connection.number]);
        connection.send(reply);
        connection.finish_sending();
        connection.drain();
    });
    for banner in &banners {
        let mut client = program.connect();
        client.finish_sending();
        assert_eq!(client.rest(), banner.as_bytes());
    }
}

/// Head, banner and end in one segment: one event for all three.
#[test]
fn the_banner_is_kept_when_the_end_arrives_with_it() {
    let (_proxy, program) = program_before(|mut connection| {
        sys::set_cork(connection.stream(), true);
        connection.send("HTTP/1.1 200 OK\r\n\r\nbye\r\n");
        connection.finish_sending();
        connection.drain();
    });
    for _ in 0..20 {
        let mut client = program.connect();
        assert_eq!(client.rest(), b"bye\r\n");
        client.finish_sending();
    }
}
