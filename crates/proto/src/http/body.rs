//! Finds the end of a body in the bytes that arrive: of a challenge, which the next reply follows, and
//! of a forwarded request and its reply.

use super::framing::Framing;

/// Maximum number of hexadecimal digits in the size of a chunk, which has 64 bits.
const MAX_SIZE_DIGITS: u8 = 16;

/// Maximum number of bytes of a body that are skipped to keep its connection: a new connection is
/// cheaper than more.
const SKIP_LIMIT: u64 = 64 * 1024;

/// The position in a body that is forwarded or skipped.
///
/// ```text
///   Size ──▶ Extension ──▶ Data ──▶ DataEnd ──▶ Size …
///                └──0──▶ Trailer ──blank line──▶ the end
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Length(u64),
    /// A chunk's size so far, and the number of its digits.
    Size(u64, u8),
    /// The rest of the line after the size, and whether its last byte so far is CR.
    Extension(u64, bool),
    /// The bytes of a chunk that are left.
    Data(u64),
    /// The line end after a chunk's data, and whether its CR has arrived.
    DataEnd(bool),
    /// A line of the trailer: whether it is blank so far, and whether its last byte so far is CR.
    Trailer(bool, bool),
    End,
}

/// The end of a body can't be found: its chunks violate RFC 9112 §7.1, or it is too long to skip.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BodyError;

impl Body {
    pub(crate) fn new(framing: Framing) -> Body {
        Body {
            state: match framing {
                Framing::Length(0) => State::End,
                Framing::Length(length) => State::Length(length),
                Framing::Chunked => State::Size(0, 0),
            },
        }
    }

    /// Returns how many bytes of the piece belong to the body: all, unless it ends there.
    pub(crate) fn take(&mut self, piece: &[u8]) -> Result<usize, BodyError> {
        let mut left = piece;
        while !left.is_empty() && !self.has_ended() {
            left = self.step(left)?;
        }
        Ok(piece.len() - left.len())
    }

    /// Takes the bytes of the body, and appends its content, which is without the lines of chunks.
    pub(crate) fn take_content(
        &mut self,
        piece: &[u8],
        content: &mut Vec<u8>,
    ) -> Result<(), BodyError> {
        let mut left = piece;
        while !left.is_empty() && !self.has_ended() {
            let is_content = matches!(self.state, State::Length(_) | State::Data(_));
            let rest = self.step(left)?;
            if is_content {
                content.extend_from_slice(&left[..left.len() - rest.len()]);
            }
            left = rest;
        }
        Ok(())
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state == State::End
    }

    /// Returns a number of bytes that are certain to follow.
    fn ahead(&self) -> u64 {
        match self.state {
            State::Length(left) | State::Data(left) => left,
            _ => 0,
        }
    }

    /// Advances by one byte, or by many of the same meaning; returns the rest.
    fn step<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], BodyError> {
        let (byte, rest) = (bytes[0], &bytes[1..]);
        let (next, rest) = match self.state {
            State::Length(left) | State::Data(left) => {
                let count = left.min(bytes.len() as u64);
                let next = match (&self.state, left - count) {
                    (State::Length(_), 0) => State::End,
                    (State::Length(_), left) => State::Length(left),
                    (_, 0) => State::DataEnd(false),
                    (_, left) => State::Data(left),
                };
                (next, &bytes[count as usize..])
            }
            State::Size(size, digits) => match (byte as char).to_digit(16) {
                Some(_) if digits == MAX_SIZE_DIGITS => return Err(BodyError),
                Some(digit) => {
                    let size = size << 4 | u64::from(digit);
                    (State::Size(size, digits + 1), rest)
                }
                None if digits > 0 && b";\r".contains(&byte) => {
                    (State::Extension(size, false), bytes)
                }
                None => return Err(BodyError),
            },
            State::Extension(0, true) if byte == b'\n' => (State::Trailer(true, false), rest),
            State::Extension(size, true) if byte == b'\n' => (State::Data(size), rest),
            State::DataEnd(false) if byte == b'\r' => (State::DataEnd(true), rest),
            State::DataEnd(true) if byte == b'\n' => (State::Size(0, 0), rest),
            State::Trailer(true, true) if byte == b'\n' => (State::End, rest),
            State::Trailer(false, true) if byte == b'\n' => (State::Trailer(true, false), rest),
            // A recipient that takes a lone CR or LF for a line's end finds the body's end elsewhere.
            State::Extension(_, true) | State::Trailer(_, true) | State::DataEnd(_) => {
                return Err(BodyError)
            }
            // Some recipients end a line at a control character, or the text at NUL.
            State::Extension(..) | State::Trailer(..) if is_control(byte) => return Err(BodyError),
            State::Extension(size, false) => (State::Extension(size, byte == b'\r'), rest),
            State::Trailer(is_blank, false) => {
                let is_cr = byte == b'\r';
                (State::Trailer(is_blank && is_cr, is_cr), rest)
            }
            State::End => (State::End, bytes),
        };
        self.state = next;
        Ok(rest)
    }
}

/// Returns whether a byte is invalid in an extension and a trailer, apart from the CR before LF.
fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && !matches!(byte, b'\r' | b'\t')
}

/// Skips a body of at most [`SKIP_LIMIT`] bytes.
#[derive(Debug)]
pub(crate) struct Skip {
    body: Body,
    skipped: u64,
}

impl Skip {
    pub(crate) fn new(framing: Framing) -> Skip {
        Skip {
            body: Body::new(framing),
            skipped: 0,
        }
    }

    /// Skips the body's bytes in the piece; returns those after the body, once it has ended.
    pub(crate) fn skip<'a>(&mut self, piece: &'a [u8]) -> Result<Option<&'a [u8]>, BodyError> {
        let count = self.body.take(piece)?;
        self.skipped += count as u64;
        if self.skipped > SKIP_LIMIT || self.body.ahead() > SKIP_LIMIT {
            return Err(BodyError);
        }
        Ok(if self.body.has_ended() {
            Some(&piece[count..])
        } else {
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes after the body, however the pieces are cut.
    fn rest_after(framing: Framing, bytes: &[u8]) -> Result<Option<Vec<u8>>, BodyError> {
        let mut body = Skip::new(framing);
        let whole = body.skip(bytes).map(|rest| rest.map(<[u8]>::to_vec));
        let mut body = Skip::new(framing);
        let mut bytewise = body.skip(&[]).map(|rest| rest.map(<[u8]>::to_vec));
        for (at, byte) in bytes.iter().enumerate() {
            if bytewise != Ok(None) {
                break;
            }
            bytewise = body
                .skip(std::slice::from_ref(byte))
                .map(|rest| rest.map(|rest| [rest, &bytes[at + 1..]].concat()));
        }
        if let Ok(Some(rest)) = &mut bytewise {
            // Nothing was fed yet where the body is empty.
            if framing == Framing::Length(0) {
                *rest = bytes.to_vec();
            }
        }
        assert_eq!(whole, bytewise);
        whole
    }

    #[test]
    fn finds_the_end_of_a_body_in_any_pieces() {
        let rest = |bytes: &[u8]| Ok(Some(bytes.to_vec()));
        assert_eq!(rest_after(Framing::Length(0), b"x"), rest(b"x"));
        assert_eq!(rest_after(Framing::Length(3), b"abcx"), rest(b"x"));
        assert_eq!(rest_after(Framing::Length(3), b"ab"), Ok(None));
        let chunked = |bytes: &[u8]| rest_after(Framing::Chunked, bytes);
        assert_eq!(chunked(b"3\r\nabc\r\n0\r\n\r\nx"), rest(b"x"));
        assert_eq!(
            chunked(b"A;a=b\r\n0123456789\r\n00\r\nT: u\r\n\r\n"),
            rest(b"")
        );
        assert_eq!(chunked(b"3\r\nabc\r\n0\r\n\r"), Ok(None));
        assert_eq!(chunked(b"0\r\nT: u\r\n"), Ok(None));
        assert_eq!(chunked(b"x\r\n"), Err(BodyError));
        assert_eq!(chunked(b"\r\n"), Err(BodyError));
        assert_eq!(chunked(b"fffffffffffffffff"), Err(BodyError));
        assert_eq!(chunked(b"00000000000000001"), Err(BodyError));
        assert_eq!(chunked(b"0000000000000001\r\na\r\n"), Ok(None));
        assert_eq!(chunked(b"3g\r\nabc\r\n"), Err(BodyError));
        assert_eq!(chunked(b"3\r\nabcd\n0\r\n\r\n"), Err(BodyError));
        assert_eq!(chunked(b"3\r\nabcXX0\r\n\r\n"), Err(BodyError));
        assert_eq!(chunked(b"0\r\nT: u\r\n\r\nx"), rest(b"x"));
    }

    /// A line ends in CRLF only (RFC 9112 §7.1): servers that differ in this find two requests in one.
    #[test]
    fn a_lone_cr_or_lf_ends_no_line() {
        for bytes in &[
            &b"3\nabc\r\n0\r\n\r\n"[..],
            b"3;\nabc\r\n0\r\n\r\n",
            b"3;a\rb\r\nabc\r\n0\r\n\r\n",
            b"3\r\r\nabc\r\n0\r\n\r\n",
            b"0\n\r\n",
            b"0\r\n\n",
            b"0\r\n\r\r\n",
            b"0\r\nT: u\n\r\n",
            b"0\r\nT: u\rv\r\n\r\n",
        ] {
            let text = String::from_utf8_lossy(bytes);
            assert_eq!(
                rest_after(Framing::Chunked, bytes),
                Err(BodyError),
                "{:?}",
                text
            );
        }
    }

    /// Servers differ in what else they accept: for some the next chunk begins elsewhere.
    #[test]
    fn a_size_is_followed_by_an_extension_or_the_end_of_its_line() {
        let chunked = |line: &str| {
            let body = format!("{}\r\nabcde\r\n0\r\n\r\n", line);
            rest_after(Framing::Chunked, body.as_bytes())
        };
        for line in &["5", "05", "5;a", "5;\ta=\"\u{e9} b\"", "5;a ; b=c"] {
            assert_eq!(chunked(line), Ok(Some(Vec::new())), "{:?}", line);
        }
        for line in &[
            "5 5",
            "5 x",
            "5 ",
            "5\t",
            "5 ;a",
            " 5",
            "0x5",
            "+5",
            "5_",
            "5,5",
            "5;a\0b",
            "5;\u{1}",
            "5;a\u{7f}",
            "5;\u{b}",
            ";a",
        ] {
            assert_eq!(chunked(line), Err(BodyError), "{:?}", line);
        }
        let trailer = b"0\r\nA: \0b\r\n\r\n";
        assert_eq!(rest_after(Framing::Chunked, trailer), Err(BodyError));
    }

    #[test]
    fn a_long_body_is_not_skipped() {
        let long = vec![b'x'; SKIP_LIMIT as usize + 1];
        assert_eq!(
            rest_after(Framing::Length(SKIP_LIMIT), &long),
            Ok(Some(vec![b'x']))
        );
        assert_eq!(
            rest_after(Framing::Length(SKIP_LIMIT + 1), &long),
            Err(BodyError)
        );
        assert_eq!(rest_after(Framing::Chunked, b"10001\r\n"), Err(BodyError));
        let lines = b"1\r\nx\r\n".repeat(SKIP_LIMIT as usize / 6 + 1);
        assert_eq!(rest_after(Framing::Chunked, &lines), Err(BodyError));
    }
}
