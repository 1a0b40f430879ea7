//! The head of a message, gathered from the pieces in which it arrives, and why it can't be decoded.

use std::error;
use std::fmt;

use crate::proto::SocksError;
use crate::text::debug::debug_by_name;

/// Maximum size of a head, in bytes, including its blank line.
pub const HEAD_LIMIT: usize = 16 * 1024;

/// Maximum number of fields of a head.
pub(crate) const FIELD_LIMIT: usize = 256;

/// The value and its length in bytes, after which other bytes can follow; `None` if more bytes are
/// needed.
type DecodeResult<T> = Result<Option<(T, usize)>, Malformed>;

/// Extends a decoder, so that it returns the bytes of the head as well.
pub(crate) fn with_bytes<T>(
    decode: impl Fn(&[u8], usize) -> DecodeResult<T>,
) -> impl Fn(&[u8], usize) -> DecodeResult<(T, Vec<u8>)> {
    move |bytes: &[u8], limit| {
        let decoded = decode(bytes, limit)?;
        Ok(decoded.map(|(head, length)| ((head, bytes[..length].to_vec()), length)))
    }
}

/// Why the peer's message can't be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It isn't HTTP/1; httparse's error names the part.
    Syntax(httparse::Error),
    /// It is a TLS alert: the peer expects TLS.
    Tls,
    /// It is the beginning of a TLS handshake, from a client of a listener without TLS.
    TlsClient,
    /// It is HTTP/2, in reply to HTTP/1.1.
    Http2,
    /// The head has more bytes than this limit.
    TooLong(usize),
    /// The head has more than 256 fields.
    TooManyFields,
    /// The status is 101, though the request has no `Upgrade` (RFC 9110 §15.2.2).
    Switching,
    /// More than 8 interim replies (1xx) came.
    TooManyInterim,
    /// A CONNECT request announces content (RFC 9110 §9.3.6).
    Content,
    /// A request has more than one `Host` (RFC 9112 §3.2).
    TooManyHosts,
    /// A challenge must be answered on its connection, but the end of its body can't be found.
    Body,
    /// The token with its acceptance isn't that of the proxy that the Kerberos ticket is for.
    Impostor,
    /// It isn't SOCKS, in reply to SOCKS.
    Socks(SocksError),
}

impl From<SocksError> for Malformed {
    fn from(fault: SocksError) -> Malformed {
        Malformed::Socks(fault)
    }
}

/// Returns whether the bytes begin as an alert of any version of TLS: content type 21, and the first
/// byte of the version (RFC 8446 §5.1).
pub(in crate::proto) fn is_alert(bytes: &[u8]) -> bool {
    bytes.starts_with(&[21, 3])
}

/// Returns whether the bytes begin as a handshake of any version of TLS: content type 22.
pub(in crate::proto) fn is_handshake(bytes: &[u8]) -> bool {
    bytes.starts_with(&[22, 3])
}

/// Returns whether the bytes begin as an HTTP/2 server's: a SETTINGS or a GOAWAY frame on stream 0, of
/// less than 65,536 bytes (RFC 9113 §4.1, §6.5, §6.8).
pub(in crate::proto) fn is_http2(bytes: &[u8]) -> bool {
    const SETTINGS: u8 = 4;
    const GOAWAY: u8 = 7;
    matches!(
        bytes,
        [0, _, _, SETTINGS, 0, 0, 0, 0, 0, ..] | [0, _, _, GOAWAY, 0, 0, 0, 0, 0, ..]
    )
}

impl Malformed {
    pub(in crate::proto) fn from_httparse(e: httparse::Error) -> Malformed {
        match e {
            httparse::Error::TooManyHeaders => Malformed::TooManyFields,
            other => Malformed::Syntax(other),
        }
    }

    /// Returns whether the text says what to do.
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
            Malformed::Tls => f.write_str("TLS instead of HTTP; use https://"),
            Malformed::TlsClient => f.write_str(
                "not HTTP/1 but TLS, which this listener doesn't speak; use http://, not https://, in \
                 the client, or add --listen-cert FILE",
            ),
            Malformed::Http2 => f.write_str(
                "HTTP/2, and ptunnel supports only HTTP/1.1; enable HTTP/1.1 there, or use another \
                 port",
            ),
            Malformed::TooLong(limit) => write!(f, "the head has more than {} bytes", limit),
            Malformed::TooManyFields => write!(f, "the head has more than {} fields", FIELD_LIMIT),
            Malformed::Switching => f.write_str("unexpected 101 (Switching Protocols)"),
            Malformed::TooManyInterim => f.write_str("too many interim replies (1xx)"),
            Malformed::Content => f.write_str("a CONNECT request can't have content"),
            Malformed::TooManyHosts => f.write_str("more than one Host field"),
            Malformed::Body => f.write_str("the body of the challenge has no end"),
            Malformed::Impostor => f.write_str(
                "wrong Kerberos token: the server isn't the proxy that the ticket is for",
            ),
            Malformed::Socks(fault) => fault.fmt(f),
        }
    }
}

impl error::Error for Malformed {}

/// Gathers a head from the pieces in which it arrives.
///
/// It decodes again only after the end of a line: a head that arrives byte by byte costs no more than
/// one that arrives line by line.
pub struct HeadReader {
    bytes: Vec<u8>,
    limit: usize,
}

// The bytes may hold credentials.
debug_by_name!(HeadReader);

impl HeadReader {
    /// Returns a reader for a head of at most `limit` bytes.
    pub fn new(limit: usize) -> HeadReader {
        HeadReader {
            bytes: Vec::new(),
            limit,
        }
    }

    /// Adds a piece and, if that may complete the head, decodes it.
    ///
    /// # Errors
    ///
    /// The errors of `decode`, which include [`Malformed::TooLong`].
    pub fn extend<T>(
        &mut self,
        piece: &[u8],
        decode: impl Fn(&[u8], usize) -> DecodeResult<T>,
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

    /// Decodes the bytes that have arrived, and removes a complete head from them.
    ///
    /// # Errors
    ///
    /// The errors of `decode`.
    pub fn decode<T>(
        &mut self,
        decode: impl Fn(&[u8], usize) -> DecodeResult<T>,
    ) -> Result<Option<T>, Malformed> {
        let decoded = decode(&self.bytes, self.limit)?;
        Ok(decoded.map(|(head, length)| {
            self.bytes.drain(..length);
            head
        }))
    }

    /// Puts bytes back, in front of those that followed the last head.
    pub(crate) fn put_back(&mut self, head: &[u8]) {
        self.bytes.splice(..0, head.iter().copied());
    }

    /// Returns whether no byte has followed the last head.
    pub(in crate::proto) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the bytes that followed the last head.
    pub fn into_rest(self) -> Vec<u8> {
        self.bytes
    }
}

/// Decodes a head with httparse's `status` of at most `limit` of the `bytes`.
pub(in crate::proto) fn within<T>(
    bytes: &[u8],
    limit: usize,
    status: httparse::Status<usize>,
    head: impl FnOnce() -> Result<T, Malformed>,
) -> DecodeResult<T> {
    match status {
        httparse::Status::Complete(length) if length <= limit => Ok(Some((head()?, length))),
        httparse::Status::Partial if bytes.len() < limit => Ok(None),
        _ => Err(Malformed::TooLong(limit)),
    }
}

/// Returns the values of all fields of this name, in their order.
pub(in crate::proto) fn values<'a>(
    fields: &'a [httparse::Header<'a>],
    name: &'static str,
) -> impl Iterator<Item = &'a [u8]> {
    let named = fields.iter();
    let named = named.filter(move |field| field.name.eq_ignore_ascii_case(name));
    named.map(|field| field.value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::proto::{ConnectHead, Response};

    /// Returns bytes that are nearly a head, cut into pieces.
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
        decode: impl Fn(&[u8], usize) -> DecodeResult<T>,
    ) -> Result<Option<(T, Vec<u8>)>, Malformed> {
        let decoded = decode(bytes, HEAD_LIMIT)?;
        Ok(decoded.map(|(head, length)| (head, bytes[length..].to_vec())))
    }

    /// As [`at_once`], with one byte at a time.
    fn bytewise<T>(
        bytes: &[u8],
        decode: impl Fn(&[u8], usize) -> DecodeResult<T>,
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
        fn a_head_can_be_split_anywhere(pieces in pieces()) {
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
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Response::decode(&bytes, HEAD_LIMIT);
            let _ = ConnectHead::decode(&bytes, HEAD_LIMIT);
        }
    }
}
