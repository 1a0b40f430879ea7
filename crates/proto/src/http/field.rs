//! The lines of a head: its fields, and which of them are hop-by-hop (RFC 9110 §7.6.1).

use std::borrow::Cow;

use super::framing::words;
use super::head::Malformed;
use crate::values::is_token;

/// Fields that state where a message ends. They are forwarded even if `Connection` names them, because
/// the body is forwarded unchanged.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

/// A field line (RFC 9112 §5).
pub(super) struct Field<'a> {
    name: &'a [u8],
    /// What follows the colon, without the line end.
    rest: &'a [u8],
}

impl<'a> Field<'a> {
    /// Parses a line without its line end; `None` if it isn't a field: it has no colon, or its name
    /// isn't a token. White space before the colon is left out (RFC 9112 §5.1).
    fn read(line: &'a [u8]) -> Option<Field<'a>> {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let end = line[..colon].iter().rposition(|byte| !is_space(*byte))?;
        let name = &line[..=end];
        Some(Field {
            name,
            rest: &line[colon + 1..],
        })
        .filter(|_| name.iter().all(|byte| is_token(*byte)))
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    fn is_among(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.is(name))
    }

    /// Returns the value, without the white space around it.
    pub(super) fn value(&self) -> &'a [u8] {
        trim(self.rest)
    }

    /// Appends the field to a head, with its value byte for byte.
    pub(super) fn push_to(&self, head: &mut Vec<u8>) {
        for part in &[self.name, b":", self.rest, b"\r\n"] {
            head.extend_from_slice(part);
        }
    }

    /// Returns the name if a server that turns names into variables (CGI, WSGI:
    /// `HTTP_TRANSFER_ENCODING`) can't distinguish it from a field that states where the message
    /// ends.
    pub(super) fn imitates_framing(&self) -> Option<&'a [u8]> {
        let is_alike = |(byte, expected): (&u8, u8)| {
            byte.eq_ignore_ascii_case(&expected)
                || expected == b'-' && !byte.is_ascii_alphanumeric()
        };
        let imitates = |name: &&str| {
            self.name.len() == name.len() && self.name.iter().zip(name.bytes()).all(is_alike)
        };
        let is_one = !self.is_among(&FRAMING) && FRAMING.iter().any(imitates);
        Some(self.name).filter(|_| is_one)
    }
}

/// The fields of a head.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    lines: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Returns the fields in their order. Other lines are left out.
    pub(super) fn iter(self) -> impl Iterator<Item = Field<'a>> {
        self.lines().filter_map(Field::read)
    }

    fn lines(self) -> impl Iterator<Item = &'a [u8]> {
        let lines = self.lines.split(|byte| *byte == b'\n');
        lines.map(without_cr).filter(|line| !line.is_empty())
    }

    /// Returns the values of all fields of this name, in their order.
    pub(super) fn values(self, name: &'static str) -> impl Iterator<Item = &'a [u8]> {
        let named = self.iter().filter(move |field| field.is(name));
        named.map(|field| field.value())
    }

    /// Returns the end-to-end fields: neither among `hop_by_hop` nor named by `Connection` (RFC 9110
    /// §7.6.1).
    pub(super) fn end_to_end<'b>(
        self,
        hop_by_hop: &'b [&str],
    ) -> impl Iterator<Item = Field<'a>> + 'b
    where
        'a: 'b,
    {
        let named = words(self.values("connection"));
        self.iter().filter(move |field| {
            let is_named = || named.iter().any(|name| field.is(name));
            !field.is_among(hop_by_hop) && (field.is_among(&FRAMING) || !is_named())
        })
    }
}

/// Splits a head, or its beginning, into its first line and its fields. Lines end in CRLF or LF.
pub(super) fn split(head: &[u8]) -> (&[u8], Fields<'_>) {
    let head = begun(head);
    let end = head.iter().position(|byte| *byte == b'\n');
    let end = end.unwrap_or(head.len());
    let lines = head.get(end + 1..).unwrap_or_default();
    (without_cr(&head[..end]), Fields { lines })
}

/// Returns a head without the blank lines in front of it, which are skipped (RFC 9112 §2.2).
pub(super) fn begun(head: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !matches!(byte, b'\r' | b'\n');
    let start = head.iter().position(is_text).unwrap_or(head.len());
    &head[start..]
}

/// Returns the length of a head, up to the end of its blank line; `None` if that hasn't arrived.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let (mut start, mut has_begun) = (0, false);
    for end in (0..bytes.len()).filter(|at| bytes[*at] == b'\n') {
        let is_blank = without_cr(&bytes[start..end]).is_empty();
        if is_blank && has_begun {
            return Some(end + 1);
        }
        has_begun |= !is_blank;
        start = end + 1;
    }
    None
}

/// Returns a head with spaces for what ends no line: the line ends in folded fields (RFC 9112 §5.2),
/// CR elsewhere and NUL (RFC 9110 §5.5).
pub(super) fn unfolded(head: &[u8]) -> Cow<'_, [u8]> {
    // Most heads need no copy.
    let is_kept = |pair: &[u8]| match pair[0] {
        b'\n' => !is_space(pair[1]),
        b'\r' => pair[1] == b'\n',
        _ => true,
    };
    if !head.contains(&b'\0') && !head.ends_with(b"\r") && head.windows(2).all(is_kept) {
        return head.into();
    }
    let first = head.len() - split(head).1.lines.len();
    let is_folded = |at: usize| {
        let next = head.get(at + 1).copied();
        at >= first && head.get(at) == Some(&b'\n') && next.map_or(false, is_space)
    };
    let mut bytes = head.to_vec();
    for (at, byte) in bytes.iter_mut().enumerate() {
        let becomes_space = match byte {
            b'\0' => true,
            b'\n' => is_folded(at),
            b'\r' => head.get(at + 1) != Some(&b'\n') || is_folded(at + 1),
            _ => false,
        };
        if becomes_space {
            *byte = b' ';
        }
    }
    bytes.into()
}

/// Returns whether a CR in the bytes is followed by anything but LF (RFC 9112 §2.2).
pub(super) fn has_bare_cr(head: &[u8]) -> bool {
    let is_bare = |pair: &[u8]| pair[0] == b'\r' && pair[1] != b'\n';
    head.windows(2).any(is_bare)
}

/// Refuses a head that two recipients could read differently, as curl does: NUL, a line without a colon,
/// which can be another status line, a continuation of the status line, and a line that begins with CR,
/// which can end the head.
pub(super) fn check_lines(head: &[u8]) -> Result<(), Malformed> {
    let start = head.len() - begun(head).len();
    if head.contains(&b'\0') || has_bare_cr(head.get(..=start).unwrap_or(head)) {
        return Err(Malformed::Syntax(httparse::Error::NewLine));
    }
    let is_valid = |line: &[u8]| line.contains(&b':') && !is_space(line[0]);
    match split(&unfolded(head)).1.lines().all(is_valid) {
        true => Ok(()),
        false => Err(Malformed::Syntax(httparse::Error::HeaderName)),
    }
}

/// Returns the bytes without the white space around them.
pub(super) fn trim(bytes: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !is_space(*byte);
    let start = bytes.iter().position(is_text).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(is_text).map_or(start, |end| end + 1);
    &bytes[start..end]
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn without_cr(line: &[u8]) -> &[u8] {
    match line {
        [line @ .., b'\r'] => line,
        _ => line,
    }
}
