//! The head of a message, as it arrives: in pieces, perhaps too long, perhaps no HTTP.

use std::error;
use std::fmt;

use crate::proto::SocksError;

/// Bytes that a head may have, from its first to the end of its blank line.
pub const HEAD_LIMIT: usize = 16 * 1024;

/// Fields that a head may have.
pub(crate) const FIELD_LIMIT: usize = 256;

/// What could be made of the bytes so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded<T> {
    /// The blank line hasn't come yet.
    Partial,
    /// A whole head, and its length in bytes: what is behind belongs to somebody else.
    Complete(T, usize),
}

impl<T> Decoded<T> {
    /// The same of what `f` makes of it.
    pub(in crate::proto) fn map<U>(self, f: impl FnOnce(T) -> U) -> Decoded<U> {
        match self {
            Decoded::Partial => Decoded::Partial,
            Decoded::Complete(value, length) => Decoded::Complete(f(value), length),
        }
    }

    /// The same, with the bytes of the head, the first of `bytes`.
    pub(in crate::proto) fn with_bytes(self, bytes: &[u8]) -> Decoded<(T, Vec<u8>)> {
        match self {
            Decoded::Partial => Decoded::Partial,
            Decoded::Complete(value, length) => {
                Decoded::Complete((value, bytes[..length].to_vec()), length)
            }
        }
    }
}

/// Why a head is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It isn't HTTP/1: which part of it, as httparse tells.
    Syntax(httparse::Error),
    /// It is an alert of TLS: what was said in the clear was to be said in TLS.
    Tls,
    /// It is the beginning of a handshake of TLS: a client that was to speak in the clear.
    TlsClient,
    /// It is HTTP/2, from a peer that was spoken to in HTTP/1.1.
    Http2,
    /// More bytes than the limit, without a blank line.
    TooLong(usize),
    /// More than 256 fields.
    TooManyFields,
    /// A status that is none (RFC 9110 §15: 100 to 599).
    Status(u16),
    /// 101: nobody asked for another protocol.
    Switching,
    /// More interim replies (1xx) than make sense.
    TooManyInterim,
    /// A CONNECT request that announces content (RFC 9110 §9.3.6).
    Content,
    /// More than one `Host` (RFC 9112 §3.2).
    TooManyHosts,
    /// A challenge that is to be answered on its connection, and whose body has no end there.
    Body,
    /// It isn't SOCKS, where that was spoken.
    Socks(SocksError),
}

impl From<SocksError> for Malformed {
    fn from(fault: SocksError) -> Malformed {
        Malformed::Socks(fault)
    }
}

/// Whether this is how an alert begins, in every version of TLS: its content type, and the first
/// byte of the version (RFC 8446 §5.1).
pub(in crate::proto) fn is_alert(bytes: &[u8]) -> bool {
    bytes.starts_with(&[21, 3])
}

/// The same of a handshake.
pub(in crate::proto) fn is_handshake(bytes: &[u8]) -> bool {
    bytes.starts_with(&[22, 3])
}

/// Whether this is how a server begins in HTTP/2: a frame with settings, or one that says goodbye,
/// of a sane length, for the connection itself (RFC 9113 §4.1, §6.5, §6.8).
pub(in crate::proto) fn is_http2(bytes: &[u8]) -> bool {
    const SETTINGS: u8 = 4;
    const GOODBYE: u8 = 7;
    matches!(
        bytes,
        [0, _, _, SETTINGS, 0, 0, 0, 0, 0, ..] | [0, _, _, GOODBYE, 0, 0, 0, 0, 0, ..]
    )
}

impl Malformed {
    pub(in crate::proto) fn from_httparse(e: httparse::Error) -> Malformed {
        match e {
            httparse::Error::TooManyHeaders => Malformed::TooManyFields,
            other => Malformed::Syntax(other),
        }
    }

    /// Whether its text says what to do.
    pub(crate) fn is_advised(&self) -> bool {
        match self {
            Malformed::Tls | Malformed::TlsClient | Malformed::Http2 => true,
            Malformed::Socks(fault) => fault.spoken_instead().is_some(),
            _ => false,
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Syntax(e) => write!(f, "not HTTP/1 ({})", e),
            Malformed::Tls => f.write_str("it speaks TLS: try https://"),
            Malformed::TlsClient => f.write_str(
                "not HTTP/1 but TLS, which this listener doesn't speak: name it with http://, not \
                 https://, in the client",
            ),
            Malformed::Http2 => f.write_str(
                "it speaks HTTP/2, and ptunnel HTTP/1.1 alone: have its HTTP/1.1 switched on, or try \
                 another port",
            ),
            Malformed::TooLong(limit) => write!(f, "its head has more than {} bytes", limit),
            Malformed::TooManyFields => write!(f, "its head has more than {} fields", FIELD_LIMIT),
            Malformed::Status(status) => write!(f, "its status is {:03}", status),
            Malformed::Switching => f.write_str("it switches protocols (101) unasked"),
            Malformed::TooManyInterim => f.write_str("interim replies (1xx) without end"),
            Malformed::Content => f.write_str("a CONNECT request has no content"),
            Malformed::TooManyHosts => f.write_str("it has more than one Host"),
            Malformed::Body => f.write_str("the body of its challenge has no end"),
            Malformed::Socks(fault) => fault.fmt(f),
        }
    }
}

impl error::Error for Malformed {}

/// Gathers a head from the pieces in which it arrives.
///
/// Each end of a line, and only that, is a reason to look again: a head that comes byte by byte
/// costs no more than one that comes line by line.
pub struct HeadReader {
    bytes: Vec<u8>,
    limit: usize,
}

impl fmt::Debug for HeadReader {
    /// How much, not what: a client's credentials may be in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeadReader")
            .field("bytes", &self.bytes.len())
            .field("limit", &self.limit)
            .finish()
    }
}

impl HeadReader {
    /// Waits for a head of at most `limit` bytes.
    pub fn new(limit: usize) -> HeadReader {
        HeadReader {
            bytes: Vec::new(),
            limit,
        }
    }

    /// Adds what came, and decodes when that may help.
    ///
    /// # Errors
    ///
    /// Whatever `decode` finds wrong, as soon as it does.
    pub fn extend<T>(
        &mut self,
        piece: &[u8],
        decode: impl Fn(&[u8], usize) -> Result<Decoded<T>, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        let line_ended = piece.contains(&b'\n');
        self.bytes.extend_from_slice(piece);
        let is_other = is_alert(&self.bytes) || is_handshake(&self.bytes) || is_http2(&self.bytes);
        let may_help = line_ended || is_other;
        if !may_help && self.bytes.len() < self.limit {
            return Ok(None);
        }
        self.decode(decode)
    }

    /// Decodes what there is; takes the head out when it is whole.
    pub fn decode<T>(
        &mut self,
        decode: impl Fn(&[u8], usize) -> Result<Decoded<T>, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        match decode(&self.bytes, self.limit)? {
            Decoded::Partial => Ok(None),
            Decoded::Complete(head, length) => {
                self.bytes.drain(..length);
                Ok(Some(head))
            }
        }
    }

    /// Puts a head back, in front of what came behind the last one.
    pub(crate) fn put_back(&mut self, head: &[u8]) {
        self.bytes.splice(..0, head.iter().copied());
    }

    /// Whether nothing came since the last head.
    pub(in crate::proto) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What came behind the last head.
    pub fn into_rest(self) -> Vec<u8> {
        self.bytes
    }
}

/// The verdict on a head of `length` bytes (`None`: incomplete) within `bytes`.
pub(in crate::proto) fn within<T>(
    bytes: &[u8],
    limit: usize,
    length: Option<usize>,
    head: impl FnOnce() -> Result<T, Malformed>,
) -> Result<Decoded<T>, Malformed> {
    match length {
        Some(length) if length <= limit => Ok(Decoded::Complete(head()?, length)),
        None if bytes.len() < limit => Ok(Decoded::Partial),
        _ => Err(Malformed::TooLong(limit)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::proto::{ConnectHead, Response};

    /// Bytes that are nearly a head, cut into pieces.
    fn pieces() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let words: &[&[u8]] = &[
            b"HTTP/1.1 200 OK\r\n",
            b"CONNECT a:1 HTTP/1.1\r\n",
            b"Proxy-Authenticate: Basic realm=\"x\"\r\n",
            b"A: b\n",
            b" folded\r\n",
            b"\r\n",
            b"\n",
            b"\r",
            b"\0",
            b":",
        ];
        let word = prop::sample::select(words).prop_map(<[u8]>::to_vec);
        let noise = prop::collection::vec(any::<u8>(), 0..8);
        prop::collection::vec(prop_oneof![9 => word, 1 => noise], 0..12)
    }

    fn at_once<T>(
        bytes: &[u8],
        decode: impl Fn(&[u8], usize) -> Result<Decoded<T>, Malformed>,
    ) -> Result<Option<(T, Vec<u8>)>, Malformed> {
        Ok(match decode(bytes, HEAD_LIMIT)? {
            Decoded::Partial => None,
            Decoded::Complete(head, length) => Some((head, bytes[length..].to_vec())),
        })
    }

    /// The same, from bytes that come one at a time.
    fn bytewise<T>(
        bytes: &[u8],
        decode: impl Fn(&[u8], usize) -> Result<Decoded<T>, Malformed>,
    ) -> Result<Option<(T, Vec<u8>)>, Malformed> {
        let mut reader = HeadReader::new(HEAD_LIMIT);
        for (index, byte) in bytes.iter().enumerate() {
            if let Some(head) = reader.extend(&[*byte], &decode)? {
                let rest = [reader.into_rest(), bytes[index + 1..].to_vec()].concat();
                return Ok(Some((head, rest)));
            }
        }
        Ok(None)
    }

    proptest! {
        #[test]
        fn how_a_head_is_cut_makes_no_difference(pieces in pieces()) {
            let bytes = pieces.concat();
            // A fault in a line that hasn't ended is found with the line's end.
            if bytes.ends_with(b"\n") {
                let once = at_once(&bytes, Response::decode);
                prop_assert_eq!(once, bytewise(&bytes, Response::decode));
                let once = at_once(&bytes, ConnectHead::decode);
                prop_assert_eq!(once, bytewise(&bytes, ConnectHead::decode));
            }
        }

        #[test]
        fn no_bytes_make_a_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Response::decode(&bytes, HEAD_LIMIT);
            let _ = ConnectHead::decode(&bytes, HEAD_LIMIT);
        }
    }
}
