//! Where the body of a message ends, as its fields state it (RFC 9112 §6).

use std::fmt;

use crate::text::escape::Escaped;

/// Where a body ends (RFC 9112 §6.3), if not with its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// After this number of bytes.
    Length(u64),
    /// After the last chunk and its trailer (RFC 9112 §7.1).
    Chunked,
}

impl Framing {
    /// Returns the framing that the fields of a message state; `None` if they state none. `values`
    /// returns the values of a field, `is_modern` is false for HTTP/1.0.
    ///
    /// The only transfer coding is `chunked`: no other was negotiated (`TE` isn't forwarded), and
    /// implementations disagree on what `identity, chunked` means.
    ///
    /// # Errors
    ///
    /// [`FramingError`] if two recipients could find two ends (RFC 9112 §6.1, §6.3, §11.2).
    pub(crate) fn stated<'a, I>(
        is_modern: bool,
        values: impl Fn(&'static str) -> I,
    ) -> Result<Option<Framing>, FramingError>
    where
        I: Iterator<Item = &'a [u8]>,
    {
        let codings = words(values("transfer-encoding"));
        let lengths = words(values("content-length"));
        match (&codings[..], &lengths[..]) {
            ([], []) => Ok(None),
            ([], [length]) if length.bytes().all(|b| b.is_ascii_digit()) => match length.parse() {
                Ok(length) => Ok(Some(Framing::Length(length))),
                Err(_) => Err(FramingError::Length(length.clone())),
            },
            ([], _) => Err(FramingError::Length(lengths.join(", "))),
            (_, [_, ..]) => Err(FramingError::Two),
            _ if !is_modern => Err(FramingError::CodedTooEarly),
            ([coding], []) if coding == "chunked" => Ok(Some(Framing::Chunked)),
            (_, []) => Err(FramingError::Coding(codings.join(", "))),
        }
    }
}

/// Returns whether another response can follow one with these fields on its connection (RFC 9112
/// §9.3), if the end of its body can be found.
pub(crate) fn is_kept<'a, I>(is_modern: bool, values: impl Fn(&'static str) -> I) -> bool
where
    I: Iterator<Item = &'a [u8]>,
{
    let names = |name| words(values(name));
    // Proxies send the second, which no RFC defines.
    let options = [names("connection"), names("proxy-connection")].concat();
    let has = |option: &str| options.iter().any(|one| one == option);
    !has("close") && (is_modern || has("keep-alive"))
}

/// Why the fields of a message don't state exactly one end of its body. Displays with the message as
/// its subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FramingError {
    /// `Content-Length` isn't one decimal number of at most 64 bits.
    Length(String),
    /// Both `Content-Length` and `Transfer-Encoding` are present.
    Two,
    /// `Transfer-Encoding` isn't exactly `chunked`.
    Coding(String),
    /// `Transfer-Encoding` is present in HTTP/1.0 (RFC 9112 §6.1).
    CodedTooEarly,
}

impl FramingError {
    /// Leaves out the text of a peer that has received secrets, unless it is of numbers or of the names
    /// of codings.
    pub(crate) fn of_reply(self) -> FramingError {
        const CODINGS: [&str; 7] = [
            "br", "chunked", "compress", "deflate", "gzip", "identity", "x-gzip",
        ];
        let is_number = |c: char| c.is_ascii_digit() || ", +-".contains(c);
        match self {
            FramingError::Length(text) if !text.chars().all(is_number) => {
                FramingError::Length("…".into())
            }
            FramingError::Coding(text) if !text.split(", ").all(|it| CODINGS.contains(&it)) => {
                FramingError::Coding("…".into())
            }
            other => other,
        }
    }
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FramingError::Length(text) => write!(
                f,
                "Content-Length isn't one number: '{}'",
                Escaped(text.as_bytes())
            ),
            FramingError::Two => {
                f.write_str("both Content-Length and Transfer-Encoding are present")
            }
            FramingError::Coding(text) => write!(
                f,
                "Transfer-Encoding isn't 'chunked': '{}'",
                Escaped(text.as_bytes())
            ),
            FramingError::CodedTooEarly => f.write_str("HTTP/1.0 can't have Transfer-Encoding"),
        }
    }
}

/// Returns the items of a list field (RFC 9110 §5.6.1) from all its values, in lower case.
pub(crate) fn words<'a>(values: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let is_space = |c: char| matches!(c, ' ' | '\t');
    let mut words = Vec::new();
    for value in values {
        let value = String::from_utf8_lossy(value).to_ascii_lowercase();
        words.extend(
            value
                .split(',')
                .map(|word| word.trim_matches(is_space).into()),
        );
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(version: &str, fields: &[(&str, &str)]) -> Option<Framing> {
        let values = |name| {
            let named = fields.iter().filter(move |(field, _)| *field == name);
            named.map(|(_, value)| value.as_bytes())
        };
        let framing = Framing::stated(version == "1.1", values).unwrap_or(None);
        framing.filter(|_| is_kept(version == "1.1", values))
    }

    #[test]
    fn a_connection_is_kept_when_all_agree_on_where_the_body_ends() {
        let length = ("content-length", "5");
        let chunked = ("transfer-encoding", "Chunked");
        let kept = ("proxy-connection", "Keep-Alive");
        assert_eq!(framing("1.1", &[length]), Some(Framing::Length(5)));
        assert_eq!(framing("1.1", &[chunked]), Some(Framing::Chunked));
        assert_eq!(framing("1.0", &[length, kept]), Some(Framing::Length(5)));
        for (version, fields) in &[
            ("1.0", vec![length]),
            ("1.1", vec![]),
            ("1.1", vec![length, ("connection", "x, Close")]),
            ("1.1", vec![length, ("proxy-connection", "close")]),
            ("1.1", vec![length, chunked]),
            ("1.1", vec![length, ("content-length", "6")]),
            ("1.1", vec![("content-length", "+5")]),
            ("1.1", vec![("content-length", "")]),
            ("1.1", vec![("transfer-encoding", "gzip, chunked")]),
            ("1.1", vec![("transfer-encoding", "\u{a0}chunked")]),
        ] {
            assert_eq!(framing(version, fields), None, "{} {:?}", version, fields);
        }
    }
}
