//! Two requests on one connection of `-D`, for two servers, and everything that the first server
//! sends: the client gets one reply of these bytes, and the second request no answer.

use std::iter;

use crate::{chunked, elements, field};
use ptunnel_core::inbound::InboundHandshake;
use ptunnel_proto::{RequestBoundary, Step};

/// The second request.
const NEXT: &[u8] = b"GET http://b/ HTTP/1.1\r\nHost: b\r\n\r\n";

/// How much of a server's bytes comes at a time.
type Pieces = fn(usize) -> usize;

/// What a client got, and how that ended.
#[derive(Debug, PartialEq)]
struct Got {
    bytes: Vec<u8>,
    end: End,
}

#[derive(Debug, PartialEq)]
enum End {
    /// With the reply, whatever the server does.
    Reply,
    /// With the server's connection.
    Connection,
    /// It can't be read.
    Fault,
}

pub fn check(input: &[u8]) {
    let Some((first, said)) = input.split_first() else {
        return;
    };
    let is_head = first & 1 == 1;
    let is_modern = first & 2 == 0;
    let boundary = asked(is_head, is_modern);
    let got = hear(boundary, said, |left| left);
    for pieces in [|_| 1, |left| 1 + left % 7] as [Pieces; 2] {
        let cut = hear(boundary, said, pieces);
        if got.end == End::Fault || cut.end == End::Fault {
            // As much of a broken body comes through as was read before the fault was seen; and a fault
            // in a line is found as late as with the connection's end, under another name.
            assert_eq!(cut.end, got.end, "{cut:?} {got:?}");
            let (cut, got) = (forwarded(&cut.bytes), forwarded(&got.bytes));
            assert!(cut.starts_with(got), "{cut:?} {got:?}");
        } else {
            assert_eq!(cut, got);
        }
    }
    judge(said, &got, is_head, is_modern);
}

/// Lets the first of both requests through, and no byte of the second.
fn asked(is_head: bool, is_modern: bool) -> RequestBoundary {
    let method = if is_head { "HEAD" } else { "GET" };
    let version = if is_modern { "1.1" } else { "1.0" };
    let first = format!("{method} http://a/ HTTP/{version}\r\nHost: a\r\n\r\n");
    let mut handshake = InboundHandshake::default();
    let boundary = match handshake.feed(&[first.as_bytes(), NEXT].concat()) {
        Ok(Step::Done(asked)) => asked
            .protocol
            .request_boundary()
            .expect("a request to forward"),
        other => panic!("{other:?}"),
    };
    let rest = handshake.into_rest();
    let count = { boundary }.take(&rest).expect("no body");
    assert!(rest[count..] == *NEXT);
    boundary
}

/// Gives a client what it gets of these bytes of a server, and of the end behind them.
fn hear(boundary: RequestBoundary, said: &[u8], pieces: Pieces) -> Got {
    let mut reply = boundary.reply();
    let mut left = said;
    let mut bytes = Vec::new();
    let mut has_ended = false;
    loop {
        let mut buffer = [0; 64];
        match reply.take(&mut buffer) {
            Ok(Some(0)) => {
                let end = if has_ended {
                    End::Connection
                } else {
                    End::Reply
                };
                return Got { bytes, end };
            }
            Ok(Some(count)) => bytes.extend_from_slice(&buffer[..count]),
            Ok(None) => {
                assert!(!has_ended, "it waits behind the end");
                has_ended = left.is_empty();
                let (piece, behind) = left.split_at(pieces(left.len()).min(left.len()));
                left = behind;
                bytes.extend_from_slice(&piece[..reply.feed(piece)]);
            }
            Err(fault) => {
                crate::shown(&fault.to_string());
                let end = End::Fault;
                return Got { bytes, end };
            }
        }
    }
}

/// What is in front of a 502 of ptunnel's own.
fn forwarded(bytes: &[u8]) -> &[u8] {
    let bad_gateway = b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\nContent-Type: text/plain";
    let at = bytes
        .windows(bad_gateway.len())
        .rposition(|it| it == bad_gateway);
    &bytes[..at.unwrap_or(bytes.len())]
}

/// A head: its lines, and what is behind it.
fn head(bytes: &[u8]) -> Option<(Vec<Vec<u8>>, &[u8])> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut length = 0;
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        length += line.len();
        let text = line.strip_suffix(b"\n")?;
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match (text.first(), lines.last_mut()) {
            (None, None) => {}
            (None, Some(_)) => return Some((lines, &bytes[length..])),
            // A fold: its line end is blank.
            (Some(b' ' | b'\t'), Some(last)) => {
                let crlf = bytes[..length - line.len()].ends_with(b"\r\n");
                last.extend_from_slice(if crlf { b"  " } else { b" " });
                last.extend_from_slice(text);
            }
            _ => lines.push(text.to_vec()),
        }
    }
    None
}

/// The lines without those that aren't fields, and without white space before a colon.
fn cleaned(lines: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    let clean = |line: &Vec<u8>| {
        let colon = line.iter().position(|b| *b == b':')?;
        let is_text = |b: &u8| !b" \t".contains(b);
        let end = line[..colon].iter().rposition(is_text)?;
        let name = &line[..=end];
        let is_name = name.iter().all(is_token);
        is_name.then(|| [name, &line[colon..]].concat())
    };
    let fields = lines[1..].iter().filter_map(clean);
    iter::once(lines[0].clone()).chain(fields).collect()
}

/// The same without what is for the next hop.
fn for_the_client(lines: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let fields: Vec<_> = lines[1..].iter().map(|line| field(line)).collect();
    let options = elements(&fields, "connection");
    let stays = |line: &&Vec<u8>| match &field(line).0[..] {
        "connection" | "keep-alive" | "proxy-authenticate" | "proxy-authentication-info" => false,
        "proxy-connection" | "te" | "upgrade" => false,
        "content-length" | "transfer-encoding" => true,
        name => !options.iter().any(|option| option == name),
    };
    let kept = lines[1..].iter().filter(stays).cloned();
    let (minor, status, reason) = crate::status_line(&lines[0]);
    let minor = u8::from(minor != b'0');
    let first = [format!("HTTP/1.{minor} {status:03} ").into_bytes(), reason].concat();
    iter::once(first).chain(kept).collect()
}

fn status(lines: &[Vec<u8>]) -> u16 {
    crate::status_line(&lines[0]).1
}

fn is_interim(lines: &[Vec<u8>]) -> bool {
    (100..200).contains(&status(lines))
}

/// By a second reading, the client got one of the server's replies and nothing behind it.
fn judge(said: &[u8], got: &Got, is_head: bool, is_modern: bool) {
    let (mut said, mut bytes) = (said, &got.bytes[..]);
    loop {
        let Some((sent, body)) = head(bytes) else {
            panic!("{got:?} has no head");
        };
        if status(&sent) == 502 && got.end == End::Fault && body.starts_with(b"cannot forward") {
            assert!(body.ends_with(b"\n"));
            return;
        }
        let (mut lines, mut behind) = head(said).expect("a head");
        while !is_modern && is_interim(&lines) {
            (lines, behind) = head(behind).expect("a head");
        }
        let lines = cleaned(lines);
        let mut expected = for_the_client(&lines);
        if is_interim(&lines) {
            assert_eq!(sent, expected);
            (said, bytes) = (behind, body);
            continue;
        }
        expected.push(b"Connection: close".to_vec());
        assert_eq!(sent, expected);
        return judge_body(&lines, behind, body, &got.end, is_head);
    }
}

fn judge_body(lines: &[Vec<u8>], behind: &[u8], body: &[u8], end: &End, is_head: bool) {
    let fields: Vec<_> = lines[1..].iter().map(|line| field(line)).collect();
    let codings = elements(&fields, "transfer-encoding");
    let lengths = elements(&fields, "content-length");
    if is_head || matches!(status(lines), 204 | 304) {
        assert_eq!((body, end), (&b""[..], &End::Reply));
        return;
    }
    match (&codings[..], &lengths[..]) {
        ([], []) => assert_eq!((body, end), (behind, &End::Connection)),
        ([], [length]) => {
            let length: u64 = length.parse().expect("a length");
            let is_whole = length <= behind.len() as u64;
            let count = length.min(behind.len() as u64) as usize;
            assert_eq!(body, &behind[..count]);
            let expected = if is_whole {
                End::Reply
            } else {
                End::Connection
            };
            assert_eq!(*end, expected);
        }
        ([coding], []) => {
            assert!(coding == "chunked" && lines[0][7] != b'0');
            match chunked(behind) {
                Ok((count, is_whole)) => {
                    assert_eq!(body, &behind[..count]);
                    let expected = if is_whole {
                        End::Reply
                    } else {
                        End::Connection
                    };
                    assert_eq!(*end, expected);
                }
                Err(()) => assert!(*end == End::Fault && behind.starts_with(body)),
            }
        }
        two => panic!("{two:?}"),
    }
}
