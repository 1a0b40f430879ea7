//! Header fields of the CONNECT request.

use std::fmt;
use std::str::FromStr;

use super::{wrong, ParseError};

/// A header field that is added to the CONNECT request; its value has no control characters.
///
/// `Debug` prints only the name, as the value may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    name: String,
    value: String,
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Header({}: ***)", self.name)
    }
}

/// Fields that ptunnel sets, or that contradict a request without content.
const RESERVED: [&str; 4] = [
    "host",
    "content-length",
    "transfer-encoding",
    "proxy-authorization",
];

impl Header {
    /// Returns the field name, a token (RFC 9110 §5.6.2).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the field value, without surrounding white space.
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl FromStr for Header {
    type Err = ParseError;

    /// Parses `NAME: VALUE`.
    fn from_str(text: &str) -> Result<Header, ParseError> {
        read(text).map_err(|why| wrong("header", &redact(text), why, "'User-Agent: ptunnel'"))
    }
}

/// Returns the text for messages, without the credentials of a Proxy-Authorization field.
fn redact(text: &str) -> String {
    const NAME: &str = "proxy-authorization";
    match text.trim_start().get(..NAME.len()) {
        Some(name) if name.eq_ignore_ascii_case(NAME) => format!("{}: ***", name),
        _ => text.to_string(),
    }
}

fn read(text: &str) -> Result<Header, String> {
    let colon = text
        .find(':')
        .ok_or("the colon after the name is missing")?;
    let (name, value) = (
        &text[..colon],
        text[colon + 1..].trim_matches(&[' ', '\t'][..]),
    );
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err("a name can contain only letters, digits and !#$%&'*+-.^_`|~".into());
    }
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err("a value can't contain control characters".into());
    }
    if RESERVED.iter().any(|it| name.eq_ignore_ascii_case(it)) {
        return Err(format!("ptunnel sets {} itself", name));
    }
    Ok(Header {
        name: name.to_string(),
        value: value.to_string(),
    })
}

/// Returns whether a byte can be in the name of a field (RFC 9110 §5.6.2).
pub fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_name_and_a_value() {
        let header: Header = "X-Tag: a: b\t ".parse().unwrap();
        assert_eq!((header.name(), header.value()), ("X-Tag", "a: b"));
        assert_eq!("X-Empty:".parse::<Header>().unwrap().value(), "");
        assert!("Proxy-Connection: keep-alive".parse::<Header>().is_ok());
    }

    #[test]
    fn refuses_fields_that_split_or_contradict_the_request() {
        let bad = [
            "X-Tag",
            ": a",
            "X Tag: a",
            "X-Tag : a",
            "X-Tag: a\r\nHost: b",
            "X-Tag: \0",
            "Host: a",
            "content-length: 5",
            "Transfer-Encoding: chunked",
            "Proxy-Authorization: Basic eDp5",
            "proxy-authorization Basic eDp5",
        ];
        for text in &bad {
            let complaint = text.parse::<Header>().unwrap_err().to_string();
            assert!(!complaint.contains("eDp5"), "{}", complaint);
        }
    }
}
