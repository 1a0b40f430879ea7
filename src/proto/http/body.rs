//! Bodies, of which nobody here wants to know more than where they end: a challenge's, behind which
//! the next reply begins, and those of a request and its reply on their way through.

use super::framing::Framing;

/// Digits that the size of a chunk can have: as many as 64 bits fill.
const SIZE_DIGITS: u8 = 16;

/// Bytes of a body that are skipped for the sake of its connection; a new one is cheaper than more.
const LIMIT: u64 = 64 * 1024;

/// A body on its way past us.
///
/// ```text
///   Size ──▶ Extension ──▶ Data ──▶ Edge ──▶ Size …
///                └──0──▶ Trailer ──blank line──▶ the end
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::proto) struct Body {
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Length(u64),
    /// The size of a chunk so far, and the number of its digits.
    Size(u64, u8),
    /// The rest of the line behind the size, and whether its last byte so far is CR.
    Extension(u64, bool),
    /// So many bytes of a chunk.
    Data(u64),
    /// The line end behind them, and whether its first byte came.
    Edge(bool),
    /// A line of it: whether that is blank so far, and whether its last byte so far is CR.
    Trailer(bool, bool),
    End,
}

/// The end of it won't come, or too late.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::proto) struct Endless;

impl Body {
    pub(in crate::proto) fn new(framing: Framing) -> Body {
        Body {
            state: match framing {
                Framing::Length(0) => State::End,
                Framing::Length(length) => State::Length(length),
                Framing::Chunked => State::Size(0, 0),
            },
        }
    }

    /// How many bytes of this piece are of it: all of them, if it doesn't end there.
    pub(in crate::proto) fn take(&mut self, piece: &[u8]) -> Result<usize, Endless> {
        let mut left = piece;
        while !left.is_empty() && !self.has_ended() {
            left = self.step(left)?;
        }
        Ok(piece.len() - left.len())
    }

    pub(in crate::proto) fn has_ended(&self) -> bool {
        self.state == State::End
    }

    /// Bytes that are certain to come yet.
    fn ahead(&self) -> u64 {
        match self.state {
            State::Length(left) | State::Data(left) => left,
            _ => 0,
        }
    }

    /// One byte further, or as far as it makes no difference.
    fn step<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Endless> {
        let (byte, rest) = (bytes[0], &bytes[1..]);
        let (next, rest) = match self.state {
            State::Length(left) | State::Data(left) => {
                let count = left.min(bytes.len() as u64);
                let next = match (&self.state, left - count) {
                    (State::Length(_), 0) => State::End,
                    (State::Length(_), left) => State::Length(left),
                    (_, 0) => State::Edge(false),
                    (_, left) => State::Data(left),
                };
                (next, &bytes[count as usize..])
            }
            State::Size(size, digits) => match (byte as char).to_digit(16) {
                Some(_) if digits == SIZE_DIGITS => return Err(Endless),
                Some(digit) => {
                    let size = size << 4 | u64::from(digit);
                    (State::Size(size, digits + 1), rest)
                }
                None if digits > 0 && b";\r".contains(&byte) => {
                    (State::Extension(size, false), bytes)
                }
                None => return Err(Endless),
            },
            State::Extension(0, true) if byte == b'\n' => (State::Trailer(true, false), rest),
            State::Extension(size, true) if byte == b'\n' => (State::Data(size), rest),
            State::Edge(false) if byte == b'\r' => (State::Edge(true), rest),
            State::Edge(true) if byte == b'\n' => (State::Size(0, 0), rest),
            State::Trailer(true, true) if byte == b'\n' => (State::End, rest),
            State::Trailer(false, true) if byte == b'\n' => (State::Trailer(true, false), rest),
            // Who takes one of the two for a line's end finds the body's end elsewhere.
            State::Extension(_, true) | State::Trailer(_, true) | State::Edge(_) => {
                return Err(Endless)
            }
            // Some end a line at such a byte, too, or the whole text (NUL).
            State::Extension(..) | State::Trailer(..) if is_control(byte) => return Err(Endless),
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

/// Whether neither an extension nor a trailer has such a byte, apart from the CR before LF.
fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && !matches!(byte, b'\r' | b'\t')
}

/// A body that is passed over, as long as that is worth it.
#[derive(Debug)]
pub(in crate::proto) struct Skip {
    body: Body,
    skipped: u64,
}

impl Skip {
    pub(in crate::proto) fn new(framing: Framing) -> Skip {
        Skip {
            body: Body::new(framing),
            skipped: 0,
        }
    }

    /// Passes over what came of it; returns what came behind its end, once there is one.
    pub(in crate::proto) fn skip<'a>(
        &mut self,
        piece: &'a [u8],
    ) -> Result<Option<&'a [u8]>, Endless> {
        let count = self.body.take(piece)?;
        self.skipped += count as u64;
        if self.skipped > LIMIT || self.body.ahead() > LIMIT {
            return Err(Endless);
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

    /// What is behind the body, however it is cut; `Err` when it has no end.
    fn behind(framing: Framing, bytes: &[u8]) -> Result<Option<Vec<u8>>, Endless> {
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
    fn finds_the_end_of_a_body_wherever_it_is_cut() {
        let rest = |bytes: &[u8]| Ok(Some(bytes.to_vec()));
        assert_eq!(behind(Framing::Length(0), b"x"), rest(b"x"));
        assert_eq!(behind(Framing::Length(3), b"abcx"), rest(b"x"));
        assert_eq!(behind(Framing::Length(3), b"ab"), Ok(None));
        let chunked = |bytes: &[u8]| behind(Framing::Chunked, bytes);
        assert_eq!(chunked(b"3\r\nabc\r\n0\r\n\r\nx"), rest(b"x"));
        assert_eq!(
            chunked(b"A;a=b\r\n0123456789\r\n00\r\nT: u\r\n\r\n"),
            rest(b"")
        );
        assert_eq!(chunked(b"3\r\nabc\r\n0\r\n\r"), Ok(None));
        assert_eq!(chunked(b"0\r\nT: u\r\n"), Ok(None));
        assert_eq!(chunked(b"x\r\n"), Err(Endless));
        assert_eq!(chunked(b"\r\n"), Err(Endless));
        assert_eq!(chunked(b"fffffffffffffffff"), Err(Endless));
        assert_eq!(chunked(b"00000000000000001"), Err(Endless));
        assert_eq!(chunked(b"0000000000000001\r\na\r\n"), Ok(None));
        assert_eq!(chunked(b"3g\r\nabc\r\n"), Err(Endless));
        assert_eq!(chunked(b"3\r\nabcd\n0\r\n\r\n"), Err(Endless));
        assert_eq!(chunked(b"3\r\nabcXX0\r\n\r\n"), Err(Endless));
        assert_eq!(chunked(b"0\r\nT: u\r\n\r\nx"), rest(b"x"));
    }

    /// A line of chunks ends in CRLF alone (RFC 9112 §7.1): servers that end it elsewhere, and such that
    /// don't, found two requests in one.
    #[test]
    fn half_a_line_end_is_none() {
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
            assert_eq!(behind(Framing::Chunked, bytes), Err(Endless), "{:?}", text);
        }
    }

    /// What servers make of them differs: the next chunk begins elsewhere for some.
    #[test]
    fn a_size_is_followed_by_an_extension_or_the_end_of_its_line() {
        let chunked = |line: &str| {
            let body = format!("{}\r\nabcde\r\n0\r\n\r\n", line);
            behind(Framing::Chunked, body.as_bytes())
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
            assert_eq!(chunked(line), Err(Endless), "{:?}", line);
        }
        let trailer = b"0\r\nA: \0b\r\n\r\n";
        assert_eq!(behind(Framing::Chunked, trailer), Err(Endless));
    }

    #[test]
    fn a_long_body_is_not_worth_it() {
        let long = vec![b'x'; LIMIT as usize + 1];
        assert_eq!(behind(Framing::Length(LIMIT), &long), Ok(Some(vec![b'x'])));
        assert_eq!(behind(Framing::Length(LIMIT + 1), &long), Err(Endless));
        assert_eq!(behind(Framing::Chunked, b"10001\r\n"), Err(Endless));
        let lines = b"1\r\nx\r\n".repeat(LIMIT as usize / 6 + 1);
        assert_eq!(behind(Framing::Chunked, &lines), Err(Endless));
    }
}
