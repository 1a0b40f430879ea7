//! The targets, and properties of every input, which several of them share.
//!
//! A target that only looks for panics finds little in code without `unsafe`. So each one checks
//! what its parser promises, and panics itself when that doesn't hold.

#![forbid(unsafe_code)]

mod client;
mod config;
mod first_bytes;
mod forward;
mod no_proxy;
mod proxy;
mod reply;
mod request;
mod server_name;
mod tunnel;

use std::fmt::Debug;

use ptunnel_proto::values::HostPort;
use ptunnel_proto::{ConnectHead, HeadReader, Malformed, Request, Response, HEAD_LIMIT};

/// Checks the properties of one input.
pub type Target = fn(&[u8]);

/// Each has a folder of this name in `corpus/`.
pub const TARGETS: &[(&str, Target)] = &[
    ("client", client::check),
    ("config", |bytes| config::check(text(bytes))),
    ("first_bytes", first_bytes::check),
    ("forward", forward::check),
    ("no_proxy", |bytes| no_proxy::check(text(bytes))),
    ("proxy", |bytes| proxy::check(text(bytes))),
    ("reply", reply::check),
    ("request", request::check),
    ("server_name", server_name::check),
    ("tunnel", |bytes| tunnel::check(text(bytes))),
];

/// As far as it is text.
fn text(bytes: &[u8]) -> &str {
    bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

/// A limit that inputs of a fuzzer reach.
const NARROW: usize = 64;

/// Prefixes of a long input that are looked at: all of them would take the time of many inputs.
const CUTS: usize = 256;

/// The answer of a decoder that is given so many bytes at most.
pub type Answer<T> = Result<Option<(T, usize)>, Malformed>;

/// Checks how `decode` takes these bytes whole, cut anywhere, in pieces and under other limits;
/// returns the head and its length.
pub fn head<T>(bytes: &[u8], decode: fn(&[u8], usize) -> Answer<T>) -> Option<(T, usize)>
where
    T: Debug + PartialEq,
{
    let whole = decode(bytes, HEAD_LIMIT);
    prefixes_agree(bytes, decode, &whole);
    limits_hold(bytes, decode, &whole);
    pieces_agree(bytes, decode, &whole);
    match whole {
        Ok(Some((head, length))) => {
            let end = &bytes[..length];
            assert!(
                end.ends_with(b"\n\r\n") || end.ends_with(b"\n\n"),
                "no blank line"
            );
            Some((head, length))
        }
        _ => None,
    }
}

/// A prefix of a head is incomplete, never another answer; bytes behind it make no difference.
fn prefixes_agree<T>(bytes: &[u8], decode: fn(&[u8], usize) -> Answer<T>, whole: &Answer<T>)
where
    T: Debug + PartialEq,
{
    for end in (0..bytes.len()).step_by(1 + bytes.len() / CUTS) {
        let cut = decode(&bytes[..end], HEAD_LIMIT);
        match whole {
            Ok(Some((_, length))) if *length <= end => assert_eq!(cut, *whole, "{end}"),
            Ok(_) => assert_eq!(cut, Ok(None), "{end}"),
            // A fault is found when it is reached, and stays one.
            Err(_) => assert!(!matches!(cut, Ok(Some(_))), "{end}: {cut:?}"),
        }
    }
}

fn limits_hold<T>(bytes: &[u8], decode: fn(&[u8], usize) -> Answer<T>, whole: &Answer<T>)
where
    T: Debug + PartialEq,
{
    for limit in [1, NARROW, bytes.len(), bytes.len() + 1] {
        let limited = decode(bytes, limit);
        match &limited {
            Ok(Some((_, length))) => {
                assert!(*length <= limit, "{length} bytes where {limit} are allowed");
                assert_eq!(limited, *whole);
            }
            Ok(None) => {
                assert!(bytes.len() < limit, "it would wait for more");
                assert_eq!(limited, *whole);
            }
            Err(_) => match whole {
                Ok(Some((_, length))) => assert!(limit < *length),
                Ok(None) => assert!(limit <= bytes.len()),
                Err(_) => {}
            },
        }
    }
}

/// How a head is cut on its way makes no difference, nor does it eat what follows.
fn pieces_agree<T>(bytes: &[u8], decode: fn(&[u8], usize) -> Answer<T>, whole: &Answer<T>)
where
    T: Debug + PartialEq,
{
    let size = 1 + bytes.len() / CUTS;
    let mut reader = HeadReader::new(HEAD_LIMIT);
    let mut fed = 0;
    let mut read = Ok(None);
    for piece in bytes.chunks(size) {
        read = reader.extend(piece, decode);
        fed += piece.len();
        if !matches!(read, Ok(None)) {
            break;
        }
    }
    match (read, whole) {
        (Ok(Some(head)), Ok(Some((expected, length)))) => {
            assert_eq!(head, *expected);
            let rest = [&reader.into_rest()[..], &bytes[fed..]].concat();
            assert!(rest == bytes[*length..], "bytes behind the head were lost");
        }
        (Ok(None), Ok(None)) => {}
        // A fault in a line is found as late as with the end of the head.
        (Err(_), Err(_)) | (Ok(None), Err(_)) => {}
        (read, whole) => panic!("{read:?} in pieces, {whole:?} at once"),
    }
}

/// Checks that a message, all of it, may be shown on a terminal and in a log: one line that
/// reads in one direction.
pub fn shown(text: &str) {
    let is_obeyed =
        |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    assert!(!text.contains(is_obeyed), "{text:?} is not fit to be shown");
}

/// Checks a destination: its text reads back as the same, and a request for it contains that text
/// and nothing else.
pub fn destination(destination: &HostPort) {
    let text = destination.to_string();
    let is_safe = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b);
    assert!(
        text.bytes().all(is_safe) && !text.starts_with('-'),
        "{text:?}"
    );
    assert_ne!(destination.port, 0);
    assert_eq!(text.parse::<HostPort>().ok().as_ref(), Some(destination));
    assert_eq!(asked(&Request::connect(destination)).target, text);
}

/// What a proxy reads of ptunnel's request: one head, and nothing behind it.
pub fn asked(request: &Request) -> ConnectHead {
    let bytes = request.encode();
    match ConnectHead::decode(&bytes, usize::MAX) {
        Ok(Some((inbound, length))) if length == bytes.len() => {
            assert_eq!(inbound.method, "CONNECT");
            inbound
        }
        other => panic!("{other:?} of {:?}", String::from_utf8_lossy(&bytes)),
    }
}

/// Checks the reply to a rejected client: it is whole, has one of these statuses and one line of
/// text that can be shown, and nothing more.
pub fn rejected(why: &str, reply: &[u8], statuses: &[u16]) {
    shown(why);
    let (response, length) = match Response::decode(reply, HEAD_LIMIT) {
        Ok(Some((response, length))) => (response, length),
        other => panic!("{other:?}"),
    };
    assert!(
        statuses.contains(&response.status),
        "{why} instead of {statuses:?}"
    );
    let head = std::str::from_utf8(&reply[..length]).expect("text");
    let body = std::str::from_utf8(&reply[length..]).expect("text");
    assert!(
        head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())),
        "{head}"
    );
    shown(body.strip_suffix('\n').expect("a line"));
}

/// The name of a field, in lower case, and its value.
pub fn field(line: &[u8]) -> (String, String) {
    let line = String::from_utf8_lossy(line);
    let (name, value) = line.split_once(':').expect("a field");
    (name.to_ascii_lowercase(), value.to_ascii_lowercase())
}

/// The elements of all fields of this name.
pub fn elements(fields: &[(String, String)], name: &str) -> Vec<String> {
    let named = fields.iter().filter(|field| field.0 == name);
    let elements = named.flat_map(|field| field.1.split(','));
    elements
        .map(|element| element.trim_matches([' ', '\t']).to_string())
        .collect()
}

/// A second reading of a status line, without the parser that is tested: the minor version, the status and
/// the reason of the first line that isn't blank. Zeros before three digits count for nothing. Another
/// number is invalid, which is 500, and belongs to the reason.
pub fn status_line(head: &[u8]) -> (u8, u16, Vec<u8>) {
    let is_blank = |line: &&[u8]| line.iter().all(|b| *b == b'\r');
    let line = head.split(|b| *b == b'\n').find(|line| !is_blank(line));
    let spaced = |b: &u8| if b"\r\0".contains(b) { b' ' } else { *b };
    let line: Vec<u8> = line.expect("a status line").iter().map(spaced).collect();
    let rest = line.strip_prefix(b"HTTP/1.").expect("a version");
    let (minor, rest) = rest.split_first().expect("a minor version");
    assert!(minor.is_ascii_digit(), "{minor}");
    let text = trim(rest);
    let is_space = |b: &u8| b" \t".contains(b);
    let end = text.iter().position(is_space).unwrap_or(text.len());
    let (digits, reason) = text.split_at(end);
    let digits = std::str::from_utf8(digits).expect("digits");
    let number: String = digits.trim_start_matches('0').to_owned();
    assert!(digits.bytes().all(|b| b.is_ascii_digit()), "{digits:?}");
    if digits.len() < 3 || number.len() > 3 {
        return (*minor, 500, text.to_vec());
    }
    let status = digits[digits.len() - 3..].parse().expect("a number");
    (*minor, status, trim(reason).to_vec())
}

fn trim(text: &[u8]) -> &[u8] {
    let is_text = |b: &u8| !b" \t".contains(b);
    let start = text.iter().position(is_text).unwrap_or(text.len());
    let end = text.iter().rposition(is_text).map_or(start, |at| at + 1);
    &text[start..end]
}

/// A second reading, after RFC 9112 §7.1: how many of these bytes are of a body that begins with them, all
/// of them if it doesn't end there.
#[allow(clippy::result_unit_err)]
pub fn chunked(body: &[u8]) -> Result<(usize, bool), ()> {
    let all = Ok((body.len(), false));
    // CRLF, and no other control character before it but tabs.
    let line_end = |at: usize| {
        let is_control = |b: &u8| b.is_ascii_control() && *b != b'\t';
        let end = body[at..].iter().position(is_control);
        match end.map(|end| &body[at + end..]) {
            None | Some([b'\r']) => Ok(None),
            Some(&[b'\r', b'\n', ref behind @ ..]) => Ok(Some(body.len() - behind.len())),
            Some(_) => Err(()),
        }
    };
    let mut at = 0;
    loop {
        let digits = body[at..].iter().take_while(|b| b.is_ascii_hexdigit());
        let digits = std::str::from_utf8(&body[at..at + digits.count()]).expect("digits");
        at += digits.len();
        let size = match (body.get(at), u64::from_str_radix(digits, 16)) {
            (None, _) if digits.is_empty() => return all,
            (_, Err(_)) => return Err(()),
            (_, Ok(_)) if digits.len() > 16 => return Err(()),
            (Some(b';' | b'\r') | None, Ok(size)) => size,
            (Some(_), Ok(_)) => return Err(()),
        };
        let Some(end) = line_end(at)? else {
            return all;
        };
        at = end;
        if size == 0 {
            break;
        }
        if size > (body.len() - at) as u64 {
            return all;
        }
        at += size as usize;
        match body[at..] {
            [] | [b'\r'] => return all,
            [b'\r', b'\n', ..] => at += 2,
            _ => return Err(()),
        }
    }
    while let Some(end) = line_end(at)? {
        let is_blank = end - at == 2;
        at = end;
        if is_blank {
            return Ok((at, true));
        }
    }
    all
}
