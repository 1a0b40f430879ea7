//! The reply to a forwarded request, as the client gets it.

use std::mem;

use super::super::body::Body;
use super::super::field::{check_lines, has_bare_cr, split, unfolded};
use super::super::response::INTERIM_LIMIT;
use super::ReplyError;
use crate::{encode_response, with_bytes, Framing, HeadReader, Malformed};
use crate::{Response, StatusClass, FIELD_LIMIT};

/// Maximum size of the head of a server's reply, in bytes, as in squid: cookies and policies make it
/// longer than a proxy's.
const HEAD_LIMIT: usize = 64 * 1024;

/// Hop-by-hop fields of a reply (RFC 9110 §7.6.1, §11.7). The client would take a server's proxy
/// authentication for a challenge by ptunnel.
const HOP_BY_HOP: [&str; 7] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-connection",
    "te",
    "upgrade",
];

/// Lets one reply through, and no bytes after it.
///
/// The head is rewritten for the client: hop-by-hop fields are removed, as are fields with an invalid
/// name and white space before colons (RFC 9112 §5.1), and `Connection: close` is added, so that the
/// client sends its next request on a new connection. Interim replies (1xx) are forwarded, except to a
/// client that speaks HTTP/1.0 (RFC 9110 §15.2). An invalid reply is replaced by a 502 unless its head
/// has been forwarded.
///
/// ```text
///   Head ──▶ Framed ──────────▶ Ended, after the last byte of the body
///    │ └───▶ Unframed ────────▶ Ended, with the connection
///    └──────────────▶ Ended, without a body (HEAD, 204, 304: RFC 9112 §6.3)
/// ```
#[derive(Debug)]
pub struct Reply {
    /// The method of the request is HEAD.
    is_head: bool,
    /// The client speaks HTTP/1.1.
    is_modern: bool,
    /// Number of interim replies that weren't forwarded.
    interim: u8,
    state: State,
    /// The bytes that the client gets next; the first `read` of them have been taken.
    front: Vec<u8>,
    read: usize,
}

#[derive(Debug)]
enum State {
    Head(HeadReader),
    Framed(Body),
    Unframed,
    Ended,
    Invalid(ReplyError),
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

    /// Adds bytes from the server; an empty piece means the end of its connection.
    ///
    /// Returns how many bytes of `piece`, from its first, are forwarded unchanged. If that is 0,
    /// [`take`](Reply::take) returns what to forward instead.
    pub fn feed(&mut self, piece: &[u8]) -> usize {
        match self.advance(piece) {
            Ok(count) => count,
            Err(fault) => {
                // After the head it is too late for a 502.
                if fault != ReplyError::Chunk {
                    let text = fault.to_string();
                    self.front.extend(encode_response(502, "", &text));
                }
                self.state = State::Invalid(fault);
                0
            }
        }
    }

    fn advance(&mut self, piece: &[u8]) -> Result<usize, ReplyError> {
        match mem::replace(&mut self.state, State::Ended) {
            State::Head(_) if piece.is_empty() => Err(ReplyError::Missing),
            // The client knows from the framing whether bytes are missing.
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

    /// Moves bytes for the client into `buffer` and returns their number, which is 0 at the end of the
    /// reply; `None` if more bytes from the server are needed.
    ///
    /// # Errors
    ///
    /// [`ReplyError`] if the reply is invalid, after the bytes of the 502 that replaces it.
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
            State::Invalid(fault) => Err(fault.clone()),
        }
    }

    /// Returns whether [`take`](Reply::take) returns anything but `None`.
    pub fn is_ready(&self) -> bool {
        let is_over = matches!(self.state, State::Ended | State::Invalid(_));
        is_over || !self.front.is_empty()
    }

    /// Returns whether the reply is complete. Later bytes from the server are ignored.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    fn feed_head(&mut self, mut reader: HeadReader, piece: &[u8]) -> Result<(), ReplyError> {
        let mut decoded = reader.extend(piece, with_bytes(Response::decode))?;
        while let Some((response, head)) = decoded {
            check(&response, &head)?;
            let head = unfolded(&head);
            if response.status_class() != StatusClass::Interim {
                return self.begin(&response, &head, &reader.into_rest());
            }
            if self.is_modern {
                self.front.extend(rewritten(&response, &head, ""));
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

    /// Begins the final reply, with the bytes that followed its head.
    fn begin(&mut self, response: &Response, head: &[u8], rest: &[u8]) -> Result<(), ReplyError> {
        let (_, fields) = split(head);
        let framing = Framing::stated(response.is_modern, |name| fields.values(name))?;
        let closing = rewritten(response, head, "Connection: close\r\n");
        self.front.extend(closing);
        if self.is_head || matches!(response.status, 204 | 304) {
            return Ok(());
        }
        let count = match framing {
            Some(framing) => self.feed_body(Body::new(framing), rest)?,
            None => {
                self.state = State::Unframed;
                rest.len()
            }
        };
        self.front.extend_from_slice(&rest[..count]);
        Ok(())
    }

    /// Returns how many bytes of `piece` belong to the body.
    fn feed_body(&mut self, mut body: Body, piece: &[u8]) -> Result<usize, ReplyError> {
        let count = body.take(piece)?;
        if !body.has_ended() {
            self.state = State::Framed(body);
        }
        Ok(count)
    }
}

/// Refuses what a client could read differently, or in more time than ptunnel.
fn check(response: &Response, head: &[u8]) -> Result<(), Malformed> {
    if response.status == 101 {
        return Err(Malformed::Switching);
    }
    if split(head).1.iter().count() > FIELD_LIMIT {
        return Err(Malformed::TooManyFields);
    }
    if has_bare_cr(head) {
        return Err(Malformed::Syntax(httparse::Error::NewLine));
    }
    check_lines(head)
}

/// Returns the head as the client gets it, with `added` after its fields.
fn rewritten(response: &Response, head: &[u8], added: &str) -> Vec<u8> {
    let minor = u8::from(response.is_modern);
    let mut rewritten = format!("HTTP/1.{} {:03} ", minor, response.status).into_bytes();
    rewritten.extend_from_slice(&response.reason);
    rewritten.extend_from_slice(b"\r\n");
    for field in split(head).1.end_to_end(&HOP_BY_HOP) {
        field.push_to(&mut rewritten);
    }
    rewritten.extend_from_slice(added.as_bytes());
    rewritten.extend_from_slice(b"\r\n");
    rewritten
}

#[cfg(test)]
mod tests;
