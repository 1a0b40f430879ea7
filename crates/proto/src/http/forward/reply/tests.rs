use super::*;
use crate::http::forward::{Forward, RequestBoundary};

const CLOSE: &str = "Connection: close\r\n\r\n";

fn to(method: &str, version: &str) -> RequestBoundary {
    let head = format!("{} http://a/ HTTP/{}\r\n\r\n", method, version);
    Forward::rewrite(head.as_bytes()).unwrap().boundary
}

/// Returns the client's bytes for a server's bytes in pieces of this size, whether the reply ended
/// before the connection, and the error.
fn cut(boundary: RequestBoundary, bytes: &[u8], size: usize) -> (String, bool, Option<ReplyError>) {
    let mut reply = boundary.reply();
    let mut got = Vec::new();
    let mut has_ended = false;
    let mut pieces = bytes.chunks(size).chain(Some(&b""[..]));
    loop {
        let mut buffer = [0; 5];
        match reply.take(&mut buffer) {
            Ok(Some(0)) => break,
            Ok(Some(count)) => got.extend_from_slice(&buffer[..count]),
            Ok(None) => {
                let piece = pieces.next().expect("nothing is read behind the end");
                got.extend_from_slice(&piece[..reply.feed(piece)]);
                has_ended = reply.has_ended() && !piece.is_empty();
            }
            Err(fault) => return (String::from_utf8(got).unwrap(), false, Some(fault)),
        }
    }
    (String::from_utf8(got).unwrap(), has_ended, None)
}

/// As [`cut`], with pieces of each size.
#[track_caller]
fn passed(boundary: RequestBoundary, bytes: &str) -> (String, bool, Option<ReplyError>) {
    let whole = cut(boundary, bytes.as_bytes(), bytes.len().max(1));
    for size in 1..bytes.len() {
        assert_eq!(cut(boundary, bytes.as_bytes(), size), whole, "{}", size);
    }
    whole
}

#[track_caller]
fn get(reply: &str) -> (String, bool) {
    let (got, has_ended, fault) = passed(to("GET", "1.1"), reply);
    assert_eq!(fault, None, "{}", got);
    (got, has_ended)
}

/// Otherwise the client takes the next reply for that of another server.
#[test]
fn no_byte_after_the_reply_is_forwarded() {
    let next = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret";
    for (fields, body) in &[
        ("Content-Length: 5\r\n", "hello"),
        ("Content-Length: 0\r\n", ""),
        (
            "Transfer-Encoding: chunked\r\n",
            "5;a=b\r\nhello\r\n0\r\nA: b\r\n\r\n",
        ),
    ] {
        let reply = |added: &str| format!("HTTP/1.1 200 OK\r\n{}{}\r\n{}", fields, added, body);
        let expected = reply("Connection: close\r\n");
        assert_eq!(get(&reply("")), (expected.clone(), true));
        assert_eq!(get(&(reply("") + next)), (expected, true));
    }
    let without = |status: &str| format!("HTTP/1.1 {}\r\nContent-Length: 5\r\n", status);
    for status in &["204 No Content", "304 Not Modified"] {
        let reply = without(status) + "\r\n" + next;
        assert_eq!(get(&reply), (without(status) + CLOSE, true));
    }
    let reply = without("200 OK") + "\r\n" + next;
    let (got, has_ended, _) = passed(to("HEAD", "1.1"), &reply);
    assert_eq!((got, has_ended), (without("200 OK") + CLOSE, true));
}

#[test]
fn a_reply_without_framing_ends_with_its_connection() {
    let reply = "HTTP/1.0 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    let expected = format!("HTTP/1.0 200 OK\r\n{}{}", CLOSE, "HTTP/1.1 200 OK\r\n\r\n");
    assert_eq!(get(reply), (expected, false));
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe";
    assert!(get(half).0.ends_with("close\r\n\r\nhe") && !get(half).1);
}

#[test]
fn hop_by_hop_fields_are_removed() {
    let (got, _) = get(
        "\r\nHTTP/1.1 407 \nConnection: keep-alive, X-A,content-length\nX-a: 1\nKeep-Alive: 5\n\
         Proxy-Connection: keep-alive\nProxy-Authenticate: Basic realm=\"x\"\nUpgrade: h2c\n\
         X-B:\t1,\r\n 2\nSet-Cookie: a\nSet-Cookie: b\nVia: 1.1 c\nContent-Length: 0\n\n",
    );
    let expected = "HTTP/1.1 407 \r\nX-B:\t1,   2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\
                    Via: 1.1 c\r\nContent-Length: 0\r\n";
    assert_eq!(got, expected.to_string() + CLOSE);
}

#[test]
fn interim_replies_are_forwarded_to_http_1_1() {
    let interim = "HTTP/1.1 100 Continue\r\nX: y\r\n\r\n\
                   HTTP/1.1 103 Early Hints\r\nConnection: Z\r\nZ: y\r\n\r\n";
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
    let reply = format!("{}{}\r\n", interim, last);
    let hints = interim.replace("Connection: Z\r\nZ: y\r\n", "");
    assert_eq!(get(&reply), (hints + last + CLOSE, true));
    let (got, _, fault) = passed(to("GET", "1.0"), &reply);
    assert_eq!((got, fault), (last.to_string() + CLOSE, None));
    let endless = interim.repeat(5);
    let (got, _, fault) = passed(to("GET", "1.0"), &endless);
    assert_eq!(fault, Some(Malformed::TooManyInterim.into()));
    assert!(got.starts_with("HTTP/1.1 502 "), "{}", got);
}

#[test]
fn an_ambiguous_reply_is_replaced() {
    for (reply, words) in &[
        ("", "ended before"),
        ("HTTP/1.1 200 OK\r\nContent-Le", "ended before"),
        ("220 mail.example ESMTP\r\n", "not HTTP/1"),
        ("HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", "not HTTP/1"),
        ("HTTP/1.1 404 No\r\nX: a\0b\r\n\r\n", "not HTTP/1"),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "not HTTP/1"),
        ("HTTP/1.1 404 No\r\nHTTP/1.1 200 OK\r\n\r\n", "not HTTP/1"),
        (
            "HTTP/1.1 200 OK\r\n Content-Length: 9\r\n\r\n",
            "not HTTP/1",
        ),
        ("HTTP/2 200\r\n\r\n", "not HTTP/1"),
        ("HTTP/1.1 101 x\r\nUpgrade: x\r\n\r\n", "101"),
        (
            "HTTP/1.1 200 x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            "'5, 6'",
        ),
        ("HTTP/1.1 200 x\r\nContent-Length: +5\r\n\r\n", "'+5'"),
        (
            "HTTP/1.1 200 x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            "both",
        ),
        (
            "HTTP/1.1 200 x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "'gzip, chunked'",
        ),
        (
            "HTTP/1.0 200 x\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.0 can't have",
        ),
    ] {
        let (got, _, fault) = passed(to("GET", "1.1"), reply);
        assert!(fault.is_some(), "{:?}: {}", reply, got);
        assert!(got.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{}", got);
        assert!(got.contains(words) && !got.contains("Upgrade"), "{}", got);
    }
    let broken = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 5\r\nhello";
    let (got, _, fault) = cut(to("GET", "1.1"), broken.as_bytes(), 9);
    assert_eq!(fault, Some(ReplyError::Chunk));
    assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{}", got);
}

/// Regression: the client got a 502, though it needs nothing of such lines.
#[test]
fn fields_with_an_invalid_name_are_removed() {
    for (line, forwarded) in &[
        ("X-Blocked By: policy", ""),
        (": no name", ""),
        ("Content-Length\x01: 9", ""),
        ("Content Length: 9", ""),
        ("X: a\x01b", "X: a\x01b\r\n"),
        // RFC 9112 §5.1: for whom the name has a space, the body would end elsewhere.
        ("X-A \t :  b", "X-A:  b\r\n"),
        ("Content-Length : 2", "Content-Length: 2\r\n"),
    ] {
        let reply = format!("HTTP/1.1 200 OK\r\n{}\r\nX: y\r\n\r\nok", line);
        let (got, has_ended) = get(&reply);
        let expected = format!("HTTP/1.1 200 OK\r\n{}X: y\r\n{}ok", forwarded, CLOSE);
        assert_eq!(
            (got, has_ended),
            (expected, line.ends_with(": 2")),
            "{}",
            line
        );
    }
    for (line, forwarded) in &[
        ("HTTP/1.1  200 \t OK", "HTTP/1.1 200 OK"),
        ("HTTP/1.0 204", "HTTP/1.0 204 "),
        ("HTTP/1.1 600 x", "HTTP/1.1 600 x"),
        ("HTTP/1.1 099 x", "HTTP/1.1 099 x"),
    ] {
        let expected = format!("{}\r\n{}", forwarded, CLOSE);
        assert_eq!(get(&format!("{}\r\n\r\n", line)).0, expected);
    }
}

/// What states the end of the message stays strict.
#[test]
fn invalid_framing_is_not_made_valid() {
    for (fields, words) in &[
        (
            "Content-Length : 2\r\nTransfer-Encoding : chunked\r\n",
            "both",
        ),
        ("Content-Length : 2\r\nContent-Length: 3\r\n", "'2, 3'"),
        ("Content-Length: 2\x01\r\n", "one number: '…'"),
        ("Transfer-Encoding: \x0bchunked\r\n", "'chunked': '…'"),
        ("Transfer-Encoding: hunter2\r\n", "'chunked': '…'"),
    ] {
        let (got, _, fault) = passed(
            to("GET", "1.1"),
            &format!("HTTP/1.1 200 x\r\n{}\r\n", fields),
        );
        assert!(fault.is_some() && got.contains(words), "{}", got);
    }
    let many = format!("HTTP/1.1 200 x\r\n{}\r\n", "X: y\r\n".repeat(257));
    let fault = cut(to("GET", "1.1"), many.as_bytes(), 999).2;
    assert_eq!(fault, Some(Malformed::TooManyFields.into()));
}

#[test]
fn a_head_has_a_limit() {
    let head = |length| format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(length));
    let long = head(HEAD_LIMIT - 24) + "\r\n\r\n";
    let boundary = to("GET", "1.1");
    assert_eq!(cut(boundary, long.as_bytes(), 9_999).2, None);
    let (got, _, fault) = cut(boundary, head(2 * HEAD_LIMIT).as_bytes(), 9_999);
    assert_eq!(fault, Some(Malformed::TooLong(HEAD_LIMIT).into()));
    assert!(got.starts_with("HTTP/1.1 502 "), "{}", got);
}
