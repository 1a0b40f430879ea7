//! The lines of a head that is forwarded: which of its fields are hop-by-hop (RFC 9110 §7.6.1).

use super::super::framing::words;

/// Fields that state where a message ends. They are forwarded even if `Connection` names them, because
/// the body is forwarded unchanged.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

/// A field line (RFC 9112 §5), without its line end.
pub(in crate::proto::http) struct Field<'a> {
    pub(super) line: &'a [u8],
    name: &'a [u8],
    pub(super) value: &'a [u8],
}

impl<'a> Field<'a> {
    /// Parses a line without its line end; `None` for the blank line.
    pub(super) fn read(line: &'a [u8]) -> Option<Field<'a>> {
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some(Field {
            line,
            name: &line[..colon],
            value: &line[colon + 1..],
        })
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    fn is_among(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.is(name))
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

/// Splits a head into its first line and its fields. Lines end in CRLF or LF.
pub(in crate::proto::http) fn split(head: &[u8]) -> (&[u8], Vec<Field<'_>>) {
    let mut lines = head.split(|byte| *byte == b'\n').map(without_cr);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    (first, lines.filter_map(Field::read).collect())
}

/// Returns the values of all fields of this name.
pub(in crate::proto::http) fn values<'a>(
    fields: &'a [Field],
    name: &'a str,
) -> impl Iterator<Item = &'a [u8]> {
    let named = fields.iter().filter(move |field| field.is(name));
    named.map(|field| field.value)
}

/// Returns the end-to-end fields: neither among `hop_by_hop` nor named by `Connection` (RFC 9110
/// §7.6.1).
pub(super) fn end_to_end<'a, 'b>(
    fields: &'b [Field<'a>],
    hop_by_hop: &'b [&str],
) -> impl Iterator<Item = &'b Field<'a>> {
    let named = words(values(fields, "connection"));
    fields.iter().filter(move |field| {
        let is_named = || named.iter().any(|name| field.is(name));
        !field.is_among(hop_by_hop) && (field.is_among(&FRAMING) || !is_named())
    })
}

fn without_cr(line: &[u8]) -> &[u8] {
    match line {
        [line @ .., b'\r'] => line,
        _ => line,
    }
}
