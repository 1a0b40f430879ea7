//! The reply to a request that was forwarded, on its way back to the client.

use std::error;
use std::fmt;
use std::io;
use std::mem;

use super::super::body::{Body, Endless};
use super::super::response::INTERIM_LIMIT;
use super::field::{end_to_end, split, values};
use crate::proto::{encode_response, Framing, FramingError, HeadReader, Malformed};
use crate::proto::{Response, StatusClass};
use crate::text::escape::excerpt;

/// Bytes that the head of a server's reply can have: cookies and policies make it longer than that
/// of a proxy's. As squid has it.
const HEAD_LIMIT: usize = 64 * 1024;

/// Fields of a reply that are for the next hop alone (RFC 9110 §7.6.1, §11.7). To the client, what a
/// server says of proxy authentication would be a question of ptunnel's.
const HOP_BY_HOP: [&str; 7] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-connection",
    "te",
    "upgrade",
];

/// Lets one reply through, and nothing behind it.
///
/// The head is rewritten for the client: fields for the next hop are taken out, and
/// `Connection: close` is added, so that the client sends its next request on a new connection.
/// Interim replies (1xx) are forwarded, except to a client that speaks HTTP/1.0. A reply that can't
/// be read is replaced by a 502 as long as no byte of it has been forwarded.
///
/// ```text
///   Head ──▶ Framed ──────────▶ Ended, behind the last byte of the body
///    │ └───▶ Unframed ────────▶ Ended, when the connection has
///    └──────────────▶ Ended, where there is no body (HEAD, 204, 304)
/// ```
#[derive(Debug)]
pub struct Reply {
    /// The method of the request is HEAD.
    is_head: bool,
    /// The client speaks HTTP/1.1.
    is_modern: bool,
    /// Interim replies that were left out.
    interim: u8,
    state: State,
    /// What the client gets next, of which the first `read` bytes have been taken.
    front: Vec<u8>,
    read: usize,
}

#[derive(Debug)]
enum State {
    Head(HeadReader),
    Framed(Body),
    Unframed,
    Ended,
    Broken(ReplyError),
}

impl Reply {
    pub(super) fn new(is_head: bool, is_modern: bool) -> Reply {
        Reply {
            is_head,
            is_modern,
            interim: 0,
            state: State::Head(HeadReader::new(HEAD_LIMIT)),
            front: Vec::new(),
            read: 0,
        }
    }

    /// Adds what the server sent; nothing means that it has ended.
    ///
    /// Returns how many bytes of `piece`, from its first, are for the client as they are. If that is
    /// 0, [`take`](Reply::take) has what is for the client instead.
    pub fn feed(&mut self, piece: &[u8]) -> usize {
        match self.advance(piece) {
            Ok(count) => count,
            Err(fault) => {
                // Behind the head it is too late to tell the client.
                if fault != ReplyError::Chunk {
                    let text = fault.to_string();
                    let denial = encode_response(502, "Bad Gateway", "", &text);
                    self.front.extend(denial);
                }
                self.state = State::Broken(fault);
                0
            }
        }
    }

    fn advance(&mut self, piece: &[u8]) -> Result<usize, ReplyError> {
        match mem::replace(&mut self.state, State::Ended) {
            State::Head(_) if piece.is_empty() => Err(ReplyError::Missing),
            // The framing shows the client whether something is missing.
            State::Framed(_) | State::Unframed if piece.is_empty() => Ok(0),
            State::Head(reader) => self.feed_head(reader, piece).map(|()| 0),
            State::Framed(body) => self.feed_body(body, piece),
            State::Unframed => {
                self.state = State::Unframed;
                Ok(piece.len())
            }
            over => {
                self.state = over;
                Ok(0)
            }
        }
    }

    /// Takes what is for the client without another byte of the server: 0 is the end. `None` when
    /// that has to be waited for.
    ///
    /// # Errors
    ///
    /// When the reply can't be read, behind the 502 that says so.
    pub fn take(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, ReplyError> {
        let front = &self.front[self.read..];
        if !front.is_empty() {
            let count = front.len().min(buffer.len());
            buffer[..count].copy_from_slice(&front[..count]);
            self.read += count;
            if self.read == self.front.len() {
                self.front = Vec::new();
                self.read = 0;
            }
            return Ok(Some(count));
        }
        match &self.state {
            State::Head(_) | State::Framed(_) | State::Unframed => Ok(None),
            State::Ended => Ok(Some(0)),
            State::Broken(fault) => Err(fault.clone()),
        }
    }

    /// Whether [`take`](Reply::take) has something.
    pub fn is_ready(&self) -> bool {
        let is_over = matches!(self.state, State::Ended | State::Broken(_));
        is_over || !self.front.is_empty()
    }

    /// Whether all of the reply has come: what the server does from now on is of no interest.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    fn feed_head(&mut self, mut reader: HeadReader, piece: &[u8]) -> Result<(), ReplyError> {
        let mut decoded = reader.extend(piece, Response::decode_whole)?;
        while let Some((response, mut head)) = decoded {
            unfold(&mut head);
            if response.status_class()? != StatusClass::Interim {
                return self.begin(response.status, &head, &reader.into_rest());
            }
            if self.is_modern {
                self.front.extend(rewritten(&head, ""));
            } else if self.interim == INTERIM_LIMIT {
                return Err(Malformed::TooManyInterim.into());
            } else {
                self.interim += 1;
            }
            decoded = reader.decode(Response::decode_whole)?;
        }
        self.state = State::Head(reader);
        Ok(())
    }

    /// The final reply: its head, and what has come behind that.
    fn begin(&mut self, status: u16, head: &[u8], behind: &[u8]) -> Result<(), ReplyError> {
        let (first, fields) = split(head);
        let is_modern = first.starts_with(b"HTTP/1.1");
        let framing = Framing::stated(is_modern, |name| values(&fields, name))?;
        self.front.extend(rewritten(head, "Connection: close\r\n"));
        if self.is_head || matches!(status, 204 | 304) {
            return Ok(());
        }
        let count = match framing {
            Some(framing) => self.feed_body(Body::new(framing), behind)?,
            None => {
                self.state = State::Unframed;
                behind.len()
            }
        };
        self.front.extend_from_slice(&behind[..count]);
        Ok(())
    }

    /// How many bytes of `piece` are of the body.
    fn feed_body(&mut self, mut body: Body, piece: &[u8]) -> Result<usize, ReplyError> {
        let count = body.take(piece)?;
        if !body.has_ended() {
            self.state = State::Framed(body);
        }
        Ok(count)
    }
}

/// Makes one line of a folded field (RFC 9112 §5.2).
fn unfold(head: &mut [u8]) {
    for at in 1..head.len() {
        if head[at - 1] == b'\n' && matches!(head[at], b' ' | b'\t') {
            head[at - 1] = b' ';
            if at > 1 && head[at - 2] == b'\r' {
                head[at - 2] = b' ';
            }
        }
    }
}

/// A head as its client gets it, with `added` behind its fields.
fn rewritten(head: &[u8], added: &str) -> Vec<u8> {
    let (first, fields) = split(head);
    let mut head = [first, b"\r\n"].concat();
    for field in end_to_end(&fields, &HOP_BY_HOP) {
        head.extend_from_slice(field.line);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(added.as_bytes());
    head.extend_from_slice(b"\r\n");
    head
}

/// Why a server's reply can't be forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyError {
    /// Its head can't be read.
    Head(Malformed),
    /// Two readers could find its end in two places.
    Framing(FramingError),
    /// A chunk of its body can't be read.
    Chunk,
    /// The server has ended the connection without one.
    Missing,
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot forward the server's reply: ")?;
        match self {
            ReplyError::Head(fault) => f.write_str(&excerpt(&fault.to_string())),
            ReplyError::Framing(fault) => f.write_str(&excerpt(&fault.to_string())),
            ReplyError::Chunk => f.write_str("it has a chunk that can't be read"),
            ReplyError::Missing => f.write_str("the connection ended before its head was complete"),
        }
    }
}

impl error::Error for ReplyError {}

impl From<Malformed> for ReplyError {
    fn from(fault: Malformed) -> ReplyError {
        ReplyError::Head(fault)
    }
}

impl From<FramingError> for ReplyError {
    fn from(fault: FramingError) -> ReplyError {
        ReplyError::Framing(fault)
    }
}

impl From<Endless> for ReplyError {
    fn from(_: Endless) -> ReplyError {
        ReplyError::Chunk
    }
}

impl From<ReplyError> for io::Error {
    fn from(fault: ReplyError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::http::forward::{Forward, RequestBoundary};

    const CLOSE: &str = "Connection: close\r\n\r\n";

    fn to(method: &str, version: &str) -> RequestBoundary {
        let head = format!("{} http://a/ HTTP/{}\r\n\r\n", method, version);
        Forward::rewrite(head.as_bytes()).unwrap().boundary
    }

    /// What the client gets of these bytes of a server, cut into pieces of this size; the end of the
    /// reply, if it came before that of the connection; what was wrong.
    fn cut(
        boundary: RequestBoundary,
        bytes: &[u8],
        size: usize,
    ) -> (String, bool, Option<ReplyError>) {
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

    /// The same, however the bytes are cut.
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

    /// The next reply of that server was taken for the answer of another.
    #[test]
    fn nothing_behind_the_reply_is_for_the_client() {
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
    fn what_is_for_the_next_hop_stays_here() {
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
    fn interim_replies_are_for_clients_of_today() {
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
    fn a_reply_that_two_clients_could_read_differently_is_replaced() {
        for (reply, words) in &[
            ("", "ended before"),
            ("HTTP/1.1 200 OK\r\nContent-Le", "ended before"),
            ("220 mail.example ESMTP\r\n", "not HTTP/1"),
            ("HTTP/1.1  200 OK\r\n\r\n", "not HTTP/1"),
            ("HTTP/2 200\r\n\r\n", "not HTTP/1"),
            ("HTTP/1.1 101 x\r\nUpgrade: x\r\n\r\n", "101"),
            ("HTTP/1.1 600 x\r\n\r\n", "600"),
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
                "HTTP/1.0 has",
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
}
