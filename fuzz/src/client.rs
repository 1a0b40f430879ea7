//! What a client of `-D` sends up to its request, in SOCKS, with HTTP's CONNECT or with a request
//! for an `http://` URL, compared with a second decoder of each.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::{chunked, elements, field};
use ptunnel_core::inbound::{InboundHandshake, InboundProtocol};
use ptunnel_proto::values::{Host, HostPort};
use ptunnel_proto::{ConnectHead, RequestBoundary, Step, HEAD_LIMIT};

/// The longest greeting of SOCKS5, and the longest request.
const SOCKS_LIMIT: usize = 2 + 255 + 4 + 1 + 255 + 2;

/// The longest request of SOCKS4.
const SOCKS4_LIMIT: usize = 8 + 256 + 256;

/// What was made of a client's words: what it was sent meanwhile, and how it ended.
#[derive(Debug, PartialEq)]
struct Heard {
    sent: Vec<u8>,
    end: End,
}

#[derive(Debug, PartialEq)]
enum End {
    /// There is more to come.
    Unsaid,
    /// With the bytes behind the request.
    Asked(InboundProtocol, HostPort, Vec<u8>),
    /// The reply to it, and the text of the log.
    Rejection(Vec<u8>, String),
}

pub fn check(bytes: &[u8]) {
    let heard = hear(bytes, |left| left.len());
    let is_http = !matches!(bytes.first(), None | Some(4 | 5));
    for size in [|_: &[u8]| 1, |left: &[u8]| 1 + usize::from(left[0] % 32)] {
        let in_pieces = hear(bytes, size);
        if is_http
            && matches!(
                (&heard.end, &in_pieces.end),
                (End::Rejection(..), End::Unsaid)
            )
        {
            // A fault in a line is found as late as with the end of the head.
            let ended = hear(&[bytes, b"\n\n"].concat(), size);
            assert!(matches!(ended.end, End::Rejection(..)), "{ended:?}");
        } else {
            assert_eq!(in_pieces, heard);
        }
    }

    match &heard.end {
        End::Asked(_, destination, _) => crate::destination(destination),
        End::Rejection(_, why) => crate::shown(why),
        End::Unsaid => {}
    }
    match bytes.first() {
        None => assert_eq!(heard.end, End::Unsaid),
        Some(4) => heard_in_socks4(bytes, &heard),
        Some(5) => heard_in_socks(bytes, &heard),
        Some(_) => heard_in_http(bytes, &heard),
    }
}

/// Says these bytes to a new handshake, of which `size` are the next piece.
fn hear(bytes: &[u8], size: fn(&[u8]) -> usize) -> Heard {
    let mut handshake = InboundHandshake::default();
    let mut left = bytes;
    let mut sent = Vec::new();
    let mut step = Ok(Step::Read);
    let end = loop {
        step = match step {
            Ok(Step::Read) if left.is_empty() => break End::Unsaid,
            Ok(Step::Read) => {
                let (piece, behind) = left.split_at(size(left).min(left.len()));
                left = behind;
                handshake.feed(piece)
            }
            Ok(Step::Send(answer)) => {
                sent.extend(answer);
                handshake.feed(&[])
            }
            Ok(Step::Done(asked)) => {
                let rest = [&handshake.into_rest()[..], left].concat();
                break End::Asked(asked.protocol, asked.destination, rest);
            }
            Err(rejection) => break End::Rejection(rejection.reply, rejection.error.to_string()),
        };
    };
    Heard { sent, end }
}

/// The most that is kept of a client whose request doesn't end.
fn ends_within(limit: usize, bytes: &[u8]) {
    assert!(bytes.len() < limit, "it would wait for ever");
    let filled = [bytes, &vec![b'a'; limit - bytes.len()]].concat();
    let heard = hear(&filled, |_| 1024);
    assert_ne!(heard.end, End::Unsaid, "it would wait for ever");
}

fn heard_in_socks(bytes: &[u8], heard: &Heard) {
    match (&heard.end, socks(bytes)) {
        (End::Unsaid, Ok(None)) => ends_within(SOCKS_LIMIT, bytes),
        (End::Asked(InboundProtocol::Socks5, destination, rest), Ok(Some((expected, length)))) => {
            assert_eq!(heard.sent, [5, 0]);
            assert_eq!(*destination, expected);
            assert!(
                *rest == bytes[length..],
                "bytes behind the request are lost"
            );
        }
        (End::Rejection(reply, _), Err(0xff)) => {
            assert_eq!(heard.sent, b"");
            assert_eq!(*reply, [5, 0xff]);
        }
        (End::Rejection(reply, _), Err(code)) => {
            assert_eq!(heard.sent, [5, 0]);
            assert_eq!(*reply, [5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
        }
        (_, expected) => panic!("{heard:?} instead of {expected:?}"),
    }
}

/// A second decoder, after RFC 1928 §3 and §4: the destination and where the request ends, nothing
/// while either is incomplete, or the reply to the client.
fn socks(bytes: &[u8]) -> Result<Option<(HostPort, usize)>, u8> {
    let Some(methods) = counted(bytes, 1) else {
        return Ok(None);
    };
    if !methods.contains(&0) {
        return Err(0xff);
    }
    let request = 2 + methods.len();
    let at = |index: usize| bytes.get(request + index);
    if at(0).is_some_and(|version| *version != 5) {
        return Err(1);
    }
    if at(1).is_some_and(|command| *command != 1) {
        return Err(7);
    }
    let (start, address) = match at(3) {
        None => return Ok(None),
        Some(1) => (request + 4, bytes.get(request + 4..request + 8)),
        Some(3) => (request + 5, counted(bytes, request + 4)),
        Some(4) => (request + 4, bytes.get(request + 4..request + 20)),
        Some(_) => return Err(8),
    };
    let Some(address) = address else {
        return Ok(None);
    };
    let end = start + address.len() + 2;
    let Some(port) = bytes.get(end - 2..end) else {
        return Ok(None);
    };
    let host = match (at(3), address) {
        (Some(1), &[a, b, c, d]) => Host::Ip(Ipv4Addr::new(a, b, c, d).into()),
        (Some(4), _) => {
            let octets: [u8; 16] = address.try_into().expect("sixteen of them");
            Host::Ip(Ipv6Addr::from(octets).into())
        }
        _ => {
            let name = std::str::from_utf8(address).map_err(|_| 1)?;
            name.parse().map_err(|_| 1)?
        }
    };
    match u16::from_be_bytes([port[0], port[1]]) {
        0 => Err(1),
        port => Ok(Some((HostPort { host, port }, end))),
    }
}

/// The bytes behind the one at `index`, which is their number.
fn counted(bytes: &[u8], index: usize) -> Option<&[u8]> {
    let count = usize::from(*bytes.get(index)?);
    bytes.get(index + 1..index + 1 + count)
}

fn heard_in_socks4(bytes: &[u8], heard: &Heard) {
    assert_eq!(heard.sent, b"");
    match (&heard.end, socks4(bytes)) {
        (End::Unsaid, Ok(None)) => ends_within(SOCKS4_LIMIT, bytes),
        (End::Asked(InboundProtocol::Socks4, destination, rest), Ok(Some((expected, length)))) => {
            assert_eq!(*destination, expected);
            assert!(
                *rest == bytes[length..],
                "bytes behind the request are lost"
            );
        }
        (End::Rejection(reply, _), Err(())) => assert_eq!(*reply, [0, 91, 0, 0, 0, 0, 0, 0]),
        (_, expected) => panic!("{heard:?} instead of {expected:?}"),
    }
}

/// A second decoder, after the descriptions of SOCKS4 and 4A, field by field: the destination and
/// where the request ends, nothing while either is incomplete, or that it can't be served.
fn socks4(bytes: &[u8]) -> Result<Option<(HostPort, usize)>, ()> {
    if bytes.get(1).is_some_and(|command| *command != 1) {
        return Err(());
    }
    if bytes.len() < 8 {
        return Ok(None);
    }
    let mut texts = bytes[8..].split_inclusive(|byte| *byte == 0);
    // Of each no more than 255 bytes, and the one that ends it.
    let mut text = || match texts.next().unwrap_or_default() {
        [text @ .., 0] if text.len() < 256 => Ok(Some(text)),
        open if open.len() < 256 && !open.ends_with(b"\0") => Ok(None),
        _ => Err(()),
    };
    let Some(user) = text()? else {
        return Ok(None);
    };
    let mut end = 8 + user.len() + 1;
    let value = u32::from_be_bytes(bytes[4..8].try_into().expect("four of them"));
    let host = if (1..256).contains(&value) {
        let Some(name) = text()? else {
            return Ok(None);
        };
        end += name.len() + 1;
        let name = std::str::from_utf8(name).map_err(drop)?;
        name.parse().map_err(drop)?
    } else {
        Host::Ip(Ipv4Addr::from(value).into())
    };
    match u16::from_be_bytes([bytes[2], bytes[3]]) {
        0 => Err(()),
        port => Ok(Some((HostPort { host, port }, end))),
    }
}

fn heard_in_http(bytes: &[u8], heard: &Heard) {
    assert_eq!(heard.sent, b"");
    match &heard.end {
        End::Unsaid => ends_within(HEAD_LIMIT, bytes),
        End::Asked(InboundProtocol::Forward(boundary), destination, rest) => {
            forwarded(bytes, *boundary, destination, rest);
        }
        End::Asked(language, destination, rest) => {
            assert_eq!(*language, InboundProtocol::Http);
            let (expected, length) = connect(bytes);
            assert_eq!(*destination, expected);
            assert!(
                *rest == bytes[length..],
                "bytes behind the request are lost"
            );
        }
        End::Rejection(reply, why) => crate::rejected(why, reply, &[400]),
    }
}

/// A second reading of a head, without the parser that is tested: its first line that isn't blank, as words,
/// the lines behind it up to the next blank one, and where that ends.
fn head(bytes: &[u8]) -> ([&str; 3], Vec<&[u8]>, usize) {
    let mut length = 0;
    let mut lines = Vec::new();
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        length += line.len();
        let line = line.strip_suffix(b"\n").expect("a line");
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match (line.is_empty(), lines.is_empty()) {
            (false, _) => lines.push(line),
            (true, true) => {}
            (true, false) => break,
        }
    }
    let first = std::str::from_utf8(lines.remove(0)).expect("text");
    let words: Vec<&str> = first.split(' ').collect();
    let words: [&str; 3] = words.try_into().expect("three words");
    assert!(matches!(words[2], "HTTP/1.0" | "HTTP/1.1"), "{first:?}");
    (words, lines, length)
}

/// The destination of a request for a tunnel, and where it ends.
fn connect(bytes: &[u8]) -> (HostPort, usize) {
    let ([method, target, _], _, length) = head(bytes);
    assert_eq!(method, "CONNECT");
    (target.parse().expect("a destination"), length)
}

/// A line that is sent on, with one hop less where those are counted.
fn one_hop_less(method: &str, line: &[u8]) -> Vec<u8> {
    match field(line) {
        (name, value) if name == "max-forwards" && matches!(method, "OPTIONS" | "TRACE") => {
            let hops: u64 = value.trim_matches([' ', '\t']).parse().expect("a number");
            format!("Max-Forwards: {}", hops - 1).into_bytes()
        }
        _ => line.to_vec(),
    }
}

/// What a URL's authority, or a `Host`, leads to in plain HTTP.
fn led_to(authority: &str) -> HostPort {
    let without_port = || format!("{}:80", authority.strip_suffix(':').unwrap_or(authority));
    let destination = authority.parse().or_else(|_| without_port().parse());
    destination.expect("a host, and perhaps a port")
}

/// The destination gets one request that it reads as the client's, from a client that is a proxy, and
/// nothing that is behind it.
fn forwarded(bytes: &[u8], mut boundary: RequestBoundary, destination: &HostPort, sent: &[u8]) {
    let ([method, target, version], lines, length) = head(bytes);
    let ([sent_method, sent_target, sent_version], sent_lines, sent_length) = head(sent);
    assert_ne!(method, "CONNECT");
    assert_eq!((method, version), (sent_method, sent_version));
    assert!(
        sent[sent_length..] == bytes[length..],
        "bytes behind the head are lost"
    );

    let (scheme, url) = target.split_once("://").expect("a URL");
    assert!(scheme.eq_ignore_ascii_case("http"), "{target}");
    assert!(!url.contains('#'), "{target}");
    let (authority, path) = url.split_at(url.find(['/', '?']).unwrap_or(url.len()));
    assert!(!authority.contains('@'), "{target}");
    assert_eq!(*destination, led_to(authority));
    let expected = match path {
        "" if method == "OPTIONS" => "*".to_string(),
        path if path.starts_with('/') => path.to_string(),
        path => format!("/{path}"),
    };
    assert_eq!(sent_target, expected);

    let inbound = match ConnectHead::decode(sent, usize::MAX) {
        Ok(Some((inbound, length))) if length == sent_length => inbound,
        other => panic!("{other:?} of {:?}", String::from_utf8_lossy(sent)),
    };
    assert_eq!(led_to(&inbound.host.expect("a host")), *destination);
    assert!(inbound.authorization.is_none());

    // No field is lost but those for the next hop, none is added but ours.
    let fields: Vec<(String, String)> = lines.iter().map(|line| field(line)).collect();
    let options = elements(&fields, "connection");
    let stays = |name: &str| match name {
        "host" | "connection" | "proxy-connection" | "proxy-authorization" => false,
        "keep-alive" | "te" | "upgrade" => false,
        "content-length" | "transfer-encoding" => true,
        name => !options.iter().any(|option| option == name),
    };
    let kept = lines.iter().filter(|line| stays(&field(line).0));
    let kept: Vec<Vec<u8>> = kept.map(|line| one_hop_less(method, line)).collect();
    let kept = kept.iter().map(Vec::as_slice);
    let expected: Vec<&[u8]> = kept.chain([&b"Connection: close"[..]]).collect();
    assert_eq!(sent_lines[1..], expected);

    // As CGI names it, a field is one that states where the request ends, or none of them.
    for (name, _) in &fields {
        let variable = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let states_the_end = ["transfer-encoding", "content-length"].contains(&&variable[..]);
        assert!(!states_the_end || variable == *name, "{name}");
    }

    let end = match (
        &elements(&fields, "transfer-encoding")[..],
        &elements(&fields, "content-length")[..],
    ) {
        ([], []) => Ok(0),
        ([], [length]) => {
            assert!(length.bytes().all(|b| b.is_ascii_digit()), "{length}");
            Ok(length.parse::<u64>().expect("a length") as usize)
        }
        ([coding], []) => {
            assert_eq!((&coding[..], version), ("chunked", "HTTP/1.1"));
            chunked(&sent[sent_length..]).map(|(count, _)| count)
        }
        two => panic!("{two:?}"),
    };
    let of_it = end.map(|end| sent_length.saturating_add(end).min(sent.len()));
    let mut bytewise = boundary;
    assert_eq!(boundary.take(sent).ok(), of_it.ok());
    let each: Result<Vec<usize>, _> = sent.chunks(1).map(|byte| bytewise.take(byte)).collect();
    assert_eq!(each.ok().map(|each| each.iter().sum()), of_it.ok());
    if of_it.is_ok_and(|count| count < sent.len()) {
        assert_eq!(boundary.take(b"GET "), Ok(0));
    }
}
