//! Replies of a plaintext server, and the rules that each of them must keep.
//!
//! The rules are TechEmpower's for its plaintext test. Those that one reply shows are [`broken`]'s; those that need
//! several are the rig's.

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::time::SystemTime;

use httparse::{Header, Response, Status};

use super::client::wrong;

/// The body of every right reply.
pub const BODY: &[u8] = b"Hello, World!";
/// A reply's head is shorter, or it is none.
const HEAD: usize = 4096;
/// The most fields of a reply.
const FIELDS: usize = 32;

/// A reply that came whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    pub code: u16,
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
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    let Some((head, length)) = head(bytes, &mut fields)? else {
        return Ok(None);
    };
    if head.version != Some(1) {
        return Err(Rule::Head);
    }
    let fields = head.headers.iter().map(|field| {
        let value = std::str::from_utf8(field.value);
        Ok((field.name, value.map_err(|_| Rule::Head)?))
    });
    let mut reply = Reply {
        code: head.code.ok_or(Rule::Head)?,
        fields: fields.collect::<Result<_, _>>()?,
        body: b"",
        length,
    };
    // Chunked bodies are allowed by TechEmpower and sent by none of the peers.
    let body: usize = reply
        .the("Content-Length")
        .and_then(|value| value.parse().ok())
        .ok_or(Rule::ContentLength)?;
    match bytes[length..].get(..body) {
        Some(bytes) => reply.body = bytes,
        None => return Ok(None),
    }
    reply.length += body;
    Ok(Some(reply))
}

/// Reads a proxy's answer to CONNECT and returns its length; none while it isn't whole.
///
/// # Errors
/// `InvalidData` for a refusal, with its code.
pub fn granted(bytes: &[u8]) -> io::Result<Option<usize>> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    match head(bytes, &mut fields).map_err(|rule| wrong(&rule.to_string()))? {
        None => Ok(None),
        Some((head, length)) if matches!(head.code, Some(200..300)) => Ok(Some(length)),
        Some((head, _)) => Err(wrong(&format!("a proxy says {}", head.code.unwrap_or(0)))),
    }
}

/// The head at the front of `bytes` and its length.
fn head<'h, 'b>(
    bytes: &'b [u8],
    fields: &'h mut [MaybeUninit<Header<'b>>; FIELDS],
) -> Result<Option<(Response<'h, 'b>, usize)>, Rule> {
    let mut head = Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let parsed = config.parse_response_with_uninit_headers(&mut head, bytes, fields);
    match parsed.map_err(|_| Rule::Head)? {
        // httparse skips lines that are empty.
        _ if bytes.first().is_some_and(|&first| first != b'H') => Err(Rule::Head),
        Status::Complete(length) => Ok(Some((head, length))),
        Status::Partial if bytes.len() >= HEAD => Err(Rule::Head),
        Status::Partial => Ok(None),
    }
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
        self.code == 200
    }

    /// Whether it announces the end of its connection.
    pub fn closes(&self) -> bool {
        self.the("Connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"))
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
        assert_eq!(parse(b"\r\n"), Err(Rule::Head));
        let endless = format!("HTTP/1.1 200 OK\r\nServer: {}", "M".repeat(HEAD));
        assert_eq!(parse(endless.as_bytes()), Err(Rule::Head));
    }

    #[test]
    fn a_charset_is_allowed() {
        let text = RIGHT.replace("text/plain", "Text/Plain;charset=UTF-8");
        let reply = parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!(broken(&reply, now()), None);
    }

    #[test]
    fn a_proxy_grants_in_either_version_and_a_refusal_is_an_error_with_its_code() {
        let grant = b"HTTP/1.0 200 Connection established\r\n\r\n";
        for end in 0..grant.len() {
            assert_eq!(granted(&grant[..end]).unwrap(), None, "{end}");
        }
        assert_eq!(granted(grant).unwrap(), Some(grant.len()));
        let e = granted(b"HTTP/1.1 503 Service Unavailable\r\n\r\n").unwrap_err();
        assert!(e.to_string().contains("503"), "{e}");
        assert!(granted(b"SSH-2.0-x\r\n\r\n").is_err());
    }
}
