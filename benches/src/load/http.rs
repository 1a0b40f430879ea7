//! Replies of a plaintext server, and the rules that each of them must keep.
//!
//! The rules are TechEmpower's for its plaintext test. Those that one reply shows are [`broken`]'s; those that need
//! several are the rig's.

use std::fmt;
use std::time::SystemTime;

/// The body of every right reply.
pub const BODY: &[u8] = b"Hello, World!";
/// A reply's head is shorter, or it is none.
const HEAD: usize = 4096;

/// A reply that came whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    pub status: &'a str,
    pub fields: Vec<(&'a str, &'a str)>,
    pub body: &'a [u8],
    /// Bytes of head and body.
    pub length: usize,
}

/// What a server may do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Head,
    Status,
    Server,
    Date,
    ContentType,
    ContentLength,
    Body,
    Encoding,
    Advances,
    Pipelined,
    Pieces,
    Routed,
    Length,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Head => "a reply begins with a well-formed head",
            Rule::Status => "the status is 200",
            Rule::Server => "there is one Server field, and it says something",
            Rule::Date => "there is one Date field, and it holds the time of now",
            Rule::ContentType => "Content-Type is text/plain",
            Rule::ContentLength => "Content-Length tells the length of the body",
            Rule::Body => "the body is Hello, World! and nothing else",
            Rule::Encoding => "the body is not compressed",
            Rule::Advances => "Date advances with the clock",
            Rule::Pipelined => "pipelined requests are answered, each once",
            Rule::Pieces => "a request that comes in pieces is answered",
            Rule::Routed => "another path is not greeted",
            Rule::Length => "a reply has as many bytes as those of the other Rust peers",
        })
    }
}

/// Reads the reply at the front of `bytes`; none while it isn't whole.
pub fn parse(bytes: &[u8]) -> Result<Option<Reply<'_>>, Rule> {
    let window = &bytes[..bytes.len().min(HEAD)];
    let Some(end) = window.windows(4).position(|w| w == b"\r\n\r\n") else {
        return match bytes.len() {
            n if n >= HEAD => Err(Rule::Head),
            _ => Ok(None),
        };
    };
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| Rule::Head)?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 "));
    let fields: Option<Vec<(&str, &str)>> = lines
        .map(|line| {
            line.split_once(':')
                .map(|(name, value)| (name, value.trim()))
        })
        .collect();
    let mut reply = Reply {
        status: status.ok_or(Rule::Head)?,
        fields: fields.ok_or(Rule::Head)?,
        body: b"",
        length: end + 4,
    };
    // Chunked bodies are allowed by TechEmpower and sent by none of the peers.
    let body: usize = reply
        .the("Content-Length")
        .and_then(|value| value.parse().ok())
        .ok_or(Rule::ContentLength)?;
    match bytes[reply.length..].get(..body) {
        Some(bytes) => reply.body = bytes,
        None => return Ok(None),
    }
    reply.length += body;
    Ok(Some(reply))
}

impl<'a> Reply<'a> {
    /// The value of a field that is there once.
    pub fn the(&self, name: &str) -> Option<&'a str> {
        let mut values = self
            .fields
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|&(_, value)| value);
        let value = values.next()?;
        values.next().is_none().then_some(value)
    }

    pub fn date(&self) -> Option<SystemTime> {
        httpdate::parse_http_date(self.the("Date")?).ok()
    }

    pub fn is_ok(&self) -> bool {
        self.status.split(' ').next() == Some("200")
    }
}

/// How far a date may be from the clock: it is kept for a second, and a process may wait.
const FAR: u64 = 5;

/// The first rule that a reply breaks by itself.
pub fn broken(reply: &Reply<'_>, now: SystemTime) -> Option<Rule> {
    let is_now = |date: SystemTime| {
        let distance = now
            .duration_since(date)
            .or_else(|_| date.duration_since(now));
        distance.is_ok_and(|d| d.as_secs() <= FAR)
    };
    let is_text = |value: &str| {
        let (kind, parameter) = value.split_once(';').unwrap_or((value, "charset=utf-8"));
        kind.trim().eq_ignore_ascii_case("text/plain")
            && parameter
                .trim()
                .to_ascii_lowercase()
                .starts_with("charset=")
    };
    let kept = [
        (Rule::Status, reply.is_ok()),
        (
            Rule::Server,
            reply.the("Server").is_some_and(|v| !v.is_empty()),
        ),
        (Rule::Date, reply.date().is_some_and(is_now)),
        (
            Rule::ContentType,
            reply.the("Content-Type").is_some_and(is_text),
        ),
        (Rule::Encoding, reply.the("Content-Encoding").is_none()),
        (Rule::Body, reply.body == BODY),
    ];
    kept.iter().find(|(_, kept)| !kept).map(|&(rule, _)| rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    const RIGHT: &str = "HTTP/1.1 200 OK\r\nserver: M\r\nDate: Tue, 29 Feb 2000 12:34:56 GMT\r\n\
                         Content-Length: 13\r\nContent-Type: text/plain\r\n\r\nHello, World!";

    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(951_827_697)
    }

    #[test]
    fn every_prefix_is_partial_and_the_next_reply_stays() {
        for end in 0..RIGHT.len() {
            assert_eq!(parse(&RIGHT.as_bytes()[..end]), Ok(None), "{end}");
        }
        let two = RIGHT.repeat(2);
        let reply = parse(two.as_bytes()).unwrap().unwrap();
        assert_eq!((reply.length, reply.body), (RIGHT.len(), BODY));
        assert_eq!(broken(&reply, now()), None);
    }

    #[test]
    fn each_rule_is_seen_to_be_broken() {
        for (from, to, rule) in [
            ("200 OK", "404 Not Found", Rule::Status),
            ("server: M\r\n", "", Rule::Server),
            ("server: M", "server:", Rule::Server),
            ("Date:", "Dated:", Rule::Date),
            ("Tue, 29", "Wed, 28", Rule::Date),
            ("12:34:56", "12:34:51", Rule::Date),
            ("text/plain", "text/html", Rule::ContentType),
            ("text/plain", "text/plain; q=1", Rule::ContentType),
            (
                "server: M",
                "server: M\r\nContent-Encoding: gzip",
                Rule::Encoding,
            ),
            ("Hello, World!", "Hello, world!", Rule::Body),
            ("Length: 13", "Length: 12", Rule::Body),
        ] {
            let text = RIGHT.replace(from, to);
            assert_ne!(text, RIGHT);
            let reply = parse(text.as_bytes()).unwrap().unwrap();
            assert_eq!(broken(&reply, now()), Some(rule), "{to}");
        }
    }

    #[test]
    fn what_allows_no_reply_at_all_is_a_broken_rule_too() {
        for (from, to, rule) in [
            ("HTTP/1.1", "HTTP/1.0", Rule::Head),
            ("server: M", "server", Rule::Head),
            (
                "Content-Length: 13",
                "Content-Length: x",
                Rule::ContentLength,
            ),
            ("Content-Length: 13\r\n", "", Rule::ContentLength),
            ("server: M", "Content-Length: 13", Rule::ContentLength),
        ] {
            let text = RIGHT.replace(from, to);
            assert_eq!(parse(text.as_bytes()), Err(rule), "{to}");
        }
        assert_eq!(parse(&[b'x'; HEAD]), Err(Rule::Head));
    }

    #[test]
    fn a_charset_is_allowed() {
        let text = RIGHT.replace("text/plain", "Text/Plain;charset=UTF-8");
        let reply = parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(broken(&reply, now()), None);
    }
}
