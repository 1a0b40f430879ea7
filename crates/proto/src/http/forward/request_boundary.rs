//! The end of a forwarded request in the client's bytes.

use std::error;
use std::fmt;
use std::io;

use super::super::body::Body;
use super::super::framing::Framing;
use super::Reply;

/// Lets one request through, its head and its body, and no bytes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestBoundary {
    head: usize,
    body: Body,
    /// The method is HEAD.
    is_head: bool,
    /// The client speaks HTTP/1.1.
    is_modern: bool,
}

impl RequestBoundary {
    pub(super) fn new(
        head: usize,
        framing: Framing,
        is_head: bool,
        is_modern: bool,
    ) -> RequestBoundary {
        RequestBoundary {
            head,
            body: Body::new(framing),
            is_head,
            is_modern,
        }
    }

    /// Returns the state of the reply to this request, before its first byte.
    pub fn reply(&self) -> Reply {
        Reply::new(self.is_head, self.is_modern)
    }

    /// Returns how many bytes of the piece, from its first, belong to the request.
    ///
    /// # Errors
    ///
    /// [`BrokenChunk`] if its chunks are invalid. No more bytes may be forwarded.
    pub fn take(&mut self, piece: &[u8]) -> Result<usize, BrokenChunk> {
        let of_head = self.head.min(piece.len());
        let of_body = self.body.take(&piece[of_head..]);
        self.head -= of_head;
        of_body
            .map(|count| of_head + count)
            .map_err(|_| BrokenChunk)
    }

    /// Returns whether the request is complete.
    pub fn has_ended(&self) -> bool {
        self.head == 0 && self.body.has_ended()
    }
}

/// A chunk of a client's body is invalid (RFC 9112 §7.1): it has no size, a length that differs
/// from its size, or a line that doesn't end in CRLF.
///
/// It converts into an [`io::Error`] of the kind `InvalidData`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenChunk;

impl fmt::Display for BrokenChunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request has an invalid chunk")
    }
}

impl error::Error for BrokenChunk {}

impl From<BrokenChunk> for io::Error {
    fn from(fault: BrokenChunk) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::forward::Forward;

    fn request(fields: &str) -> Forward {
        let head = format!("POST http://a/ HTTP/1.1\r\n{}\r\n", fields);
        Forward::rewrite(head.as_bytes()).unwrap()
    }

    /// Returns the bytes after the head that are let through, however the pieces are cut.
    fn through(fields: &str, after_head: &[u8]) -> Result<Vec<u8>, BrokenChunk> {
        let forward = request(fields);
        let all = [&forward.head[..], after_head].concat();
        let cut = |size: usize| -> Result<Vec<u8>, BrokenChunk> {
            let mut boundary = forward.boundary;
            let mut through = Vec::new();
            for piece in all.chunks(size) {
                through.extend_from_slice(&piece[..boundary.take(piece)?]);
            }
            assert!(through.starts_with(&forward.head));
            Ok(through.split_off(forward.head.len()))
        };
        let whole = cut(all.len());
        for size in 1..=after_head.len().max(7) {
            assert_eq!(cut(size), whole, "{}", size);
        }
        whole
    }

    #[test]
    fn no_byte_after_the_request_is_let_through() {
        let next = b"GET http://b/ HTTP/1.1\r\n\r\n";
        let with_next = |body: &[u8]| [body, next].concat();
        assert_eq!(through("", next), Ok(Vec::new()));
        assert_eq!(through("Content-Length: 0\r\n", next), Ok(Vec::new()));
        let length = "Content-Length: 5\r\n";
        assert_eq!(through(length, &with_next(b"abcde")), Ok(b"abcde".to_vec()));
        assert_eq!(through(length, b"abc"), Ok(b"abc".to_vec()));
        let chunked = "Transfer-Encoding: chunked\r\n";
        let body = b"3;x=y\r\nabc\r\n11\r\n0123456789abcdefg\r\n0\r\nA: b\r\n\r\n";
        assert_eq!(through(chunked, &with_next(body)), Ok(body.to_vec()));
        assert_eq!(through(chunked, b"x\r\n"), Err(BrokenChunk));
        assert_eq!(through(chunked, b"1\r\nabc\r\n"), Err(BrokenChunk));
    }

    #[test]
    fn a_body_of_any_size_is_let_through() {
        let mut boundary = request("Content-Length: 99999999999\r\n").boundary;
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..64 {
            assert_eq!(boundary.take(&piece), Ok(piece.len()));
        }
    }
}
