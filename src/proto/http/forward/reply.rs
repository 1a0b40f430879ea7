//! The reply to a request that was forwarded, on its way back to the client.

use std::error;
use std::fmt;
use std::io;
use std::mem;

use super::super::body::{Body, Endless};
use super::super::response::INTERIM_LIMIT;
use super::field::{end_to_end, split, values};
use crate::proto::{encode_response, with_bytes, Framing, FramingError, HeadReader, Malformed};
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
        let mut decoded = reader.extend(piece, with_bytes(Response::decode))?;
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
            decoded = reader.decode(with_bytes(Response::decode))?;
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
mod tests;
