//! The head of a message, gathered from the pieces in which it arrives, and why it can't be decoded.

use std::error;
use std::fmt;

use crate::debug_by_name;
use crate::lines::Lines;
use crate::SocksError;

/// Maximum size of a head, in bytes, including its blank line.
pub const HEAD_LIMIT: usize = 16 * 1024;

/// Maximum number of fields of a head.
pub const FIELD_LIMIT: usize = 256;

/// The value and its length in bytes, after which other bytes can follow; `None` if more bytes are
/// needed.
type DecodeResult<T> = Result<Option<(T, usize)>, Malformed>;

/// Extends a decoder, so that it returns the bytes of the head as well.
pub fn with_bytes<T>(
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
pub(crate) fn is_alert(bytes: &[u8]) -> bool {
    bytes.starts_with(&[21, 3])
}

/// Returns whether the bytes begin as a handshake of any version of TLS: content type 22.
pub(crate) fn is_handshake(bytes: &[u8]) -> bool {
    bytes.starts_with(&[22, 3])
}

/// Returns whether the bytes begin as an HTTP/2 server's: a SETTINGS or a GOAWAY frame on stream 0, of
/// less than 65,536 bytes (RFC 9113 §4.1, §6.5, §6.8).
pub(crate) fn is_http2(bytes: &[u8]) -> bool {
    const SETTINGS: u8 = 4;
    const GOAWAY: u8 = 7;
    matches!(
        bytes,
        [0, _, _, SETTINGS, 0, 0, 0, 0, 0, ..] | [0, _, _, GOAWAY, 0, 0, 0, 0, 0, ..]
    )
}

impl Malformed {
    pub(crate) fn from_httparse(e: httparse::Error) -> Malformed {
        match e {
            httparse::Error::TooManyHeaders => Malformed::TooManyFields,
            other => Malformed::Syntax(other),
        }
    }

    /// Returns whether the text says what to do.
    pub fn is_advised(&self) -> bool {
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

/// Decides when to decode a head that arrives in pieces, so that its cost grows with its length and not
/// with the number of pieces. Looks at each byte once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeadEnd {
    lines: Lines,
    /// A line that isn't blank has ended. Blank lines in front of it are skipped (RFC 9112 §2.2).
    has_begun: bool,
    /// The number of bytes that were decoded last.
    decoded: usize,
}

impl HeadEnd {
    /// Returns whether to decode `bytes`, to which bytes were added: the head has ended, or its first
    /// line, or they are twice as many as the last time. Then a fault is found before the end.
    pub(crate) fn is_due(&mut self, bytes: &[u8]) -> bool {
        let mut is_due = false;
        while let Some(line) = self.lines.next(bytes) {
            let is_blank = matches!(line, b"\n" | b"\r\n");
            let is_double = self.lines.length() >= 2 * self.decoded;
            is_due = is_due || is_blank == self.has_begun || is_double;
            self.has_begun |= !is_blank;
        }
        if is_due {
            self.decoded = bytes.len();
        }
        is_due
    }
}

/// Gathers a head from the pieces in which it arrives.
///
/// A head costs about the same in one piece as byte by byte. A fault in a line can be found later than
/// with the line's end, but not after the head's.
pub struct HeadReader {
    bytes: Vec<u8>,
    /// The number of bytes in heads that were returned.
    taken: usize,
    end: HeadEnd,
    limit: usize,
}

// The bytes may hold credentials.
debug_by_name!(HeadReader);

impl HeadReader {
    /// Returns a reader for a head of at most `limit` bytes.
    pub fn new(limit: usize) -> HeadReader {
        HeadReader {
            bytes: Vec::new(),
            taken: 0,
            end: HeadEnd::default(),
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
        self.discard_taken();
        self.bytes.extend_from_slice(piece);
        let bytes = &self.bytes[..];
        let is_other = is_alert(bytes) || is_handshake(bytes) || is_http2(bytes);
        if !self.end.is_due(bytes) && !is_other && bytes.len() < self.limit {
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
        let decoded = decode(&self.bytes[self.taken..], self.limit)?;
        Ok(decoded.map(|(head, length)| {
            self.taken += length;
            self.end = HeadEnd::default();
            head
        }))
    }

    fn discard_taken(&mut self) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
    }

    /// Puts bytes back, in front of those that followed the last head.
    pub fn put_back(&mut self, head: &[u8]) {
        self.bytes.splice(..self.taken, head.iter().copied());
        self.taken = 0;
    }

    /// Returns whether no byte has followed the last head.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.len() == self.taken
    }

    /// Returns the bytes that followed the last head.
    pub fn into_rest(mut self) -> Vec<u8> {
        self.discard_taken();
        self.bytes
    }
}

/// Decodes a head with httparse's `status` of at most `limit` of the `bytes`.
pub(crate) fn within<T>(
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
pub(crate) fn values<'a>(
    fields: &'a [httparse::Header<'a>],
    name: &'static str,
) -> impl Iterator<Item = &'a [u8]> {
    let named = fields.iter();
    let named = named.filter(move |field| field.name.eq_ignore_ascii_case(name));
    named.map(|field| field.value)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;
    use crate::{ConnectHead, Response};

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

    /// What a reader returns, and the bytes that follow the head.
    type Read<T> = Result<Option<(T, Vec<u8>)>, Malformed>;

    fn at_once<T>(bytes: &[u8], decode: impl Fn(&[u8], usize) -> DecodeResult<T>) -> Read<T> {
        let decoded = decode(bytes, HEAD_LIMIT)?;
        Ok(decoded.map(|(head, length)| (head, bytes[length..].to_vec())))
    }

    fn in_pieces<'a, T>(
        pieces: impl Iterator<Item = &'a [u8]>,
        decode: impl Fn(&[u8], usize) -> DecodeResult<T>,
    ) -> Read<T> {
        let mut reader = HeadReader::new(HEAD_LIMIT);
        let mut pieces = pieces;
        while let Some(piece) = pieces.next() {
            if let Some(head) = reader.extend(piece, &decode)? {
                let behind: Vec<u8> = pieces.flatten().copied().collect();
                return Ok(Some((head, [reader.into_rest(), behind].concat())));
            }
        }
        Ok(None)
    }

    /// Checks that the head is the same in two pieces, wherever they are cut, and in small ones.
    fn check_cuts<T: fmt::Debug + PartialEq>(
        bytes: &[u8],
        decode: impl Fn(&[u8], usize) -> DecodeResult<T>,
    ) {
        let expected = at_once(bytes, &decode);
        for cut in 0..=bytes.len() {
            let pieces = [&bytes[..cut], &bytes[cut..]];
            let read = in_pieces(pieces.iter().copied(), &decode);
            assert_eq!(read, expected, "cut at {}", cut);
        }
        for size in 1..=bytes.len().min(9) {
            assert_eq!(in_pieces(bytes.chunks(size), &decode), expected, "{}", size);
        }
    }

    #[test]
    fn every_cut_of_a_head_gives_the_same_result() {
        let fields = "A: b\r\nB:\tc\nHost: d\r\n";
        let starts = &["", "\n", "\r\n\n\r\n"];
        for (start, end) in starts.iter().zip(&["\r\n", "\n", "\r\n\n\r\n\r\n"]) {
            let reply = format!("{}HTTP/1.1 200 OK\n{} \r\n e\n{}rest", start, fields, end);
            check_cuts(reply.as_bytes(), Response::decode);
            let request = format!("{}GET / HTTP/1.1\r\n{}{}\nrest", start, fields, end);
            check_cuts(request.as_bytes(), ConnectHead::decode);
        }
        for wrong in &[
            "SSH-2.0-x\r\n",
            "\n\nSSH-2.0-x\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\r\n\r\n",
            "\r\r\n\n",
        ] {
            check_cuts(wrong.as_bytes(), Response::decode);
            check_cuts(wrong.as_bytes(), ConnectHead::decode);
        }
    }

    /// Regression: each line end decoded the head from its beginning, and a head of 60 KiB in small
    /// pieces held up the other tunnels of its thread.
    #[test]
    fn the_bytes_that_are_decoded_grow_with_the_head_and_not_with_its_pieces() {
        let (folds, blanks) = ("\n ".repeat(7_500), "\n".repeat(15_000));
        for (before, after) in &[("", &folds[..]), (&blanks, "")] {
            let head = format!("{}HTTP/1.1 200 OK\nA: b{}\n\n", before, after);
            let decoded = Cell::new(0);
            let pieces = head.as_bytes().chunks(5);
            let read = in_pieces(pieces, |bytes, limit| {
                decoded.set(decoded.get() + bytes.len());
                Response::decode(bytes, limit)
            });
            assert!(matches!(read, Ok(Some(_))), "{:?}", read);
            // At each doubling, at the end of the first line, and at the head's.
            assert!(decoded.get() <= 4 * head.len(), "{}", decoded.get());
        }
    }

    proptest! {
        #[test]
        fn a_head_can_be_split_anywhere(pieces in pieces()) {
            // A fault in a line can be found as late as with the end.
            let bytes = [pieces.concat(), b"\n\r\n".to_vec()].concat();
            check_cuts(&bytes, Response::decode);
            check_cuts(&bytes, ConnectHead::decode);
        }

        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Response::decode(&bytes, HEAD_LIMIT);
            let _ = ConnectHead::decode(&bytes, HEAD_LIMIT);
        }
    }
}
