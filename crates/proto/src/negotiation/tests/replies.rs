//! Replies with invalid, missing or endless lines, and replies that repeat the request.

use super::*;

/// Lines of a head that curl ignores, too.
fn odd_lines() -> Vec<String> {
    let lines = [
        "X-Blocked By: x",
        "X : y",
        "X\x7f: y",
        "X: a\x01b",
        ": x",
        "X: a\rb",
        "X: a\r",
    ];
    let mut lines: Vec<String> = lines.iter().map(|line| format!("{}\r\n", line)).collect();
    lines.push("X: y\r\n".repeat(300));
    lines
}

/// Feeds a reply in one piece, in two at each place, and byte by byte; returns the one result.
#[track_caller]
fn said_in_pieces(begun: impl Fn() -> Negotiation, reply: &str) -> String {
    let whole = said(&mut begun(), reply);
    for cut in 1..reply.len() {
        let mut exchange = begun();
        assert_eq!(said(&mut exchange, &reply[..cut]), "read", "{}", cut);
        assert_eq!(said(&mut exchange, &reply[cut..]), whole, "{}", cut);
    }
    let (mut exchange, mut last) = (begun(), String::new());
    for at in 0..reply.len() {
        last = said(&mut exchange, &reply[at..=at]);
    }
    assert_eq!(last, whole);
    whole
}

/// Regression: the refusal was an invalid reply, and the next proxy opened the tunnel.
#[test]
fn a_refusal_is_one_whatever_its_head_has() {
    let worse = [
        "no colon\r\n",
        " folded\r\n",
        "HTTP/1.1 200 OK\r\n",
        "X: a\0\r\n",
    ];
    let worse = worse.iter().map(|line| line.to_string());
    for line in odd_lines().into_iter().take(7).chain(worse) {
        for status in &[
            "403 No",
            " 403  No",
            "999 No",
            "600",
            "099",
            "101 Switching",
            "500 40",
            "500 2000 OK",
        ] {
            // A status without three digits counts as 500, and is shown as the reason.
            let sent = status.trim_start_matches("500 ");
            let reply = format!("HTTP/1.1 {}\r\n{}\r\n", sent, line);
            let text = said_in_pieces(|| begun(&joe(None)), &reply);
            let told = status.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(text, format!("refused: {}", told), "{:?}", reply);
        }
    }
    let many = format!("HTTP/1.1 403 No\r\n{}\r\n", odd_lines().concat());
    assert_eq!(said(&mut begun(&joe(None)), &many), "refused: 403 No");
}

#[test]
fn a_refusal_with_a_head_over_the_limit_is_one() {
    let long = "x".repeat(HEAD_LIMIT);
    for (start, text) in &[
        ("HTTP/1.1 403 No\r\nX: ", "refused: 403 No"),
        ("HTTP/1.1 403 ", "refused: 403"),
        (
            "HTTP/1.1 200 OK\r\nX: ",
            "malformed: the head has more than",
        ),
        ("HTTP/1.1 100 Wait\r\nX: ", "refused: 100 Wait"),
        ("HTTP/1.1 40", "malformed: not HTTP/1"),
    ] {
        for end in &["", "\r\n\r\n"] {
            let reply = [start, &long[..], end].concat();
            assert_says(said(&mut begun(&joe(None)), &reply), &[text]);
        }
    }
}

#[test]
fn a_refusal_whose_head_ends_early_is_one() {
    let reply = "HTTP/1.1 403 No\r\nX: y\r\nLocation: a\r\n\r\n";
    for end in 0..reply.len() {
        let mut exchange = begun(&joe(None));
        exchange.feed(&reply.as_bytes()[..end]).unwrap();
        let is_refused = match exchange.end() {
            Some(NegotiationStep::Refused(refusal)) => {
                assert_eq!(refusal.status(), 403);
                true
            }
            None => false,
            _ => panic!("{}", end),
        };
        assert_eq!(is_refused, end >= "HTTP/1.1 403".len(), "{}", end);
    }
    for other in &["", "HTTP/1.1 200 OK\r\nX: y\r\n", "HTTP/1.1 100 Wait\r\n"] {
        let mut exchange = begun(&joe(None));
        exchange.feed(other.as_bytes()).unwrap();
        assert!(exchange.end().is_none(), "{:?}", other);
    }
}

/// Regression: while its head or the body of its challenge stalled, the next proxy was asked, and that one
/// counted as down.
#[test]
fn a_refusal_stands_if_the_rest_of_its_head_or_body_is_not_awaited() {
    let begun_with = |auth: Option<AuthCache>| {
        let request = Request::connect(&"example.org:22".parse().unwrap());
        let standing = StandingRefusal::default();
        let mut exchange = Negotiation::new(request, auth).with_standing(standing.clone());
        exchange.begin();
        (exchange, standing)
    };
    let left = |auth: Option<AuthCache>, replies: &[&str]| {
        let (mut exchange, standing) = begun_with(auth);
        for reply in replies {
            said(&mut exchange, reply);
        }
        assert!(standing.take().is_none());
        drop(exchange);
        standing.take().map(|refusal| refusal.to_string())
    };
    let reply = "HTTP/1.1 403 No\r\nX: y\r\n";
    for end in 0..reply.len() {
        let refusal = left(None, &[&reply[..end]]);
        let is_whole = end >= "HTTP/1.1 403 No\r\n".len();
        let expected = if is_whole { "403 No" } else { "403" };
        let expected = Some(expected).filter(|_| end >= "HTTP/1.1 403".len());
        assert_eq!(refusal.as_deref(), expected, "{}", end);
    }
    for grant in &["HTTP/1.1 200 OK\r\nX", "HTTP/1.1 100 Wait\r\nX", GRANTED] {
        assert_eq!(left(None, &[grant]), None, "{}", grant);
    }
    let digest = challenge(DIGEST);
    let cut = &digest[..digest.len() - 1];
    for unread in &[cut, &cut[..cut.len() - 5]] {
        let refusal = left(Some(joe(None)), &[unread]);
        let expected = "407 Who (the rest of the reply is missing)";
        assert_eq!(refusal.as_deref(), Some(expected), "{}", unread);
        let refusal = left(Some(joe(None)), &[unread, &digest[unread.len()..]]);
        assert_eq!(refusal, None, "{}", unread);
    }
}

/// Regression: nine interim replies, or one with such a line, were an invalid reply, and the next proxy
/// was asked.
#[test]
fn an_interim_reply_that_is_not_skipped_is_a_refusal() {
    let interim = "HTTP/1.1 103 Hints\r\n\r\n";
    for end in &[GRANTED, "HTTP/1.1 403 No\r\n\r\n"] {
        let reply = interim.repeat(9) + end;
        assert_eq!(said(&mut begun(&joe(None)), &reply), "refused: 103 Hints");
        for line in &["no colon", " folded", "HTTP/1.1 403 No", "X: a\0"] {
            let reply = format!("HTTP/1.1 103 Hints\r\n{}\r\n\r\n{}", line, end);
            let text = said(&mut begun(&joe(None)), &reply);
            assert_eq!(text, "refused: 103 Hints", "{:?}", line);
        }
    }
    let refused = interim.repeat(8) + "HTTP/1.1 403 No\r\n\r\n";
    assert_eq!(said(&mut begun(&joe(None)), &refused), "refused: 403 No");
}

#[test]
fn a_grant_is_one_whatever_lines_its_head_has() {
    for line in odd_lines() {
        let reply = format!("HTTP/1.1  200  OK\r\n{}\r\nhello", line);
        assert_eq!(said(&mut begun(&joe(None)), &reply), "granted: hello");
    }
    let bare = "HTTP/1.1 200 O\rK\r\r\n\r\nhello";
    assert_eq!(said(&mut begun(&joe(None)), bare), "granted: hello");
    // curl opens no tunnel either: it could be a refusal, or the end of the head.
    for two in &[
        "HTTP/1.1 200 OK\r\nHTTP/1.1 403 No\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\rX: y\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\r\n\r\n",
        "\rHTTP/1.1 200 OK\r\n\r\n",
    ] {
        let text = said(&mut begun(&joe(None)), two);
        assert_says(text, &["malformed: not HTTP/1"]);
    }
}

#[test]
fn a_challenge_is_answered_whatever_lines_its_head_has() {
    for line in odd_lines() {
        for fields in &[DIGEST.to_string(), DIGEST.replace(':', " \t:")] {
            let reply = challenge(&[&line[..], fields, &line].concat());
            let mut exchange = begun(&joe(None));
            assert_says(said(&mut exchange, &reply), &["Digest "]);
            assert_eq!(said(&mut exchange, GRANTED), "granted: hello");
        }
    }
    let long = format!(
        "HTTP/1.1 407 Who\r\n{}X: {}",
        DIGEST,
        "x".repeat(HEAD_LIMIT)
    );
    assert_says(said(&mut begun(&joe(None)), &long), &["redial: Digest "]);
}

/// The challenge may have been in the part that is missing.
#[test]
fn a_407_without_its_end_says_nothing_about_the_password() {
    let joe = joe(None);
    let mut first = begun(&joe);
    first.feed(b"HTTP/1.1 407 Who\r\nX: y").unwrap();
    assert!(matches!(first.end(), Some(NegotiationStep::Refused(_))));
    drop(first);
    assert_says(credential(&exchange(&joe).begin()), &["Basic "]);
}

/// Returns a refusal with this request in its reason and in its body, in this form.
fn repeating(request: &[u8], form: impl Fn(&str) -> String) -> String {
    let request = form(&String::from_utf8_lossy(request));
    let line = request.replace("\r\n", "|");
    format!(
        "HTTP/1.1 403 {}\r\nLocation: /?{}\r\n\r\n{}",
        line, line, line
    )
}

/// Regression: only `Proxy-Authorization: ` in a page was recognized.
#[test]
fn a_refusal_shows_nothing_that_was_sent_in_confidence() {
    let ntlm = ntlm_challenge();
    let token = challenge(&format!("Proxy-Authenticate: {}", FROM_PROXY));
    let forms: [fn(&str) -> String; 3] = [
        |text| text.into(),
        |text| text.replace('\\', "\\\\").replace('"', "\\\""),
        |text| text.replace(' ', "%20").replace('=', "%3d"),
    ];
    for (schemes, challenges) in &[
        ("basic", vec![]),
        ("basic,digest", vec![challenge(DIGEST)]),
        ("ntlm", vec![challenge(NTLM), ntlm]),
        ("negotiate", vec![token]),
    ] {
        for form in &forms {
            let auth = match *schemes {
                "negotiate" => negotiating("negotiate", 30, 9),
                schemes => joe(Some(schemes)),
            };
            let request = Request::connect(&"example.org:22".parse().unwrap());
            let request = request.header("Cookie: id=cookie-1".parse().unwrap());
            let mut exchange = Negotiation::new(request, Some(auth));
            let mut requests = vec![exchange.begin()];
            for reply in challenges {
                match exchange.feed(reply.as_bytes()) {
                    Ok(NegotiationStep::Send(request)) => requests.push(request),
                    _ => panic!("{}", reply),
                }
            }
            let credentials: Vec<String> = requests.iter().map(|it| credential(it)).collect();
            // Also those of the requests before the last.
            let all = requests.concat();
            let text = said(&mut exchange, &repeating(&all, form));
            assert_says(text.clone(), &["refused: 403 ", "***"]);
            for credential in credentials.iter().filter(|it| !it.is_empty()) {
                let secret = credential.splitn(2, ' ').nth(1).unwrap();
                let shown = text.contains(&form(secret));
                assert!(!shown, "{} in {}", secret, text);
                let response = crate::auth::parameter(secret.as_bytes(), "response");
                let shown = response.map_or(false, |response| text.contains(&response));
                assert!(!shown, "{}", text);
            }
            assert!(
                !text.contains("cookie-1") && !text.contains("hunter2"),
                "{}",
                text
            );
        }
    }
}
