//! Destinations of tunnels: `HOST:PORT`, or `tls://HOST:PORT` if ptunnel adds TLS for clients
//! without TLS, or `starttls-imap://HOST:PORT` and the like if TLS starts later.

use std::fmt;
use std::str::FromStr;

use super::host::{split_scheme, Host};
use super::{wrong, HostPort, ParseError, TlsStart};
use crate::text::escape::Escaped;

const RIGHT: &str = "example.org:22 or tls://mail.example:993";

/// A destination as text, before its TLS settings are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationUrl {
    /// The address.
    pub address: HostPort,
    /// How TLS starts, which its scheme says; `None` without a scheme.
    pub tls: Option<TlsStart>,
}

impl DestinationUrl {
    /// Reads `[tls://]HOST` and `PORT`; an IPv6 address needs no brackets here.
    ///
    /// # Errors
    ///
    /// [`ParseError`] with the text of both.
    pub fn of_words(host: &str, port: &str) -> Result<DestinationUrl, ParseError> {
        let bare = split_scheme(host).map_or(host, |(_, _, rest)| rest);
        let scheme = &host[..host.len() - bare.len()];
        match bare.parse::<Host>() {
            Ok(host) => format!("{}{}:{}", scheme, host, port).parse(),
            Err(_) => format!("{} {}", host, port).parse(),
        }
    }
}

/// Splits `BEFORE[tls://]REST`; returns what precedes the scheme, its meaning if there is one, and the
/// rest, which has none.
pub(super) fn split_tls(text: &str) -> Result<(&str, Option<TlsStart>, &str), String> {
    let (before, scheme, rest) = match split_scheme(text) {
        Some(parts) => parts,
        None => return Ok(("", None, text)),
    };
    let start = TlsStart::of_scheme(scheme);
    if start.is_some() && rest.contains('@') {
        return Err(
            "a destination can't have a user; the program that uses the tunnel authenticates"
                .into(),
        );
    }
    if start.is_some() && split_scheme(rest).is_none() {
        return Ok((before, start, rest));
    }
    let hint = match &scheme.to_ascii_lowercase()[..] {
        "https" | "ssl" | "imaps" | "smtps" | "pop3s" | "ldaps" => {
            "; for TLS with a destination, write tls://HOST:PORT"
        }
        "imap" | "smtp" | "submission" | "postgres" | "postgresql" => {
            "; for STARTTLS, write starttls-imap://, starttls-smtp:// or starttls-postgres://"
        }
        scheme if scheme.starts_with("starttls") => {
            "; write starttls-imap://, starttls-smtp:// or starttls-postgres://"
        }
        _ => "",
    };
    let scheme = Escaped(scheme.as_bytes());
    Err(format!("{}:// isn't allowed here{}", scheme, hint))
}

/// Replaces a user and password in a URL by `***`, for messages.
pub(super) fn redact(text: &str) -> String {
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => {
            format!("{}://***{}", &text[..scheme], &text[at..])
        }
        _ => text.into(),
    }
}

impl FromStr for DestinationUrl {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<DestinationUrl, ParseError> {
        let read = || match split_tls(text)? {
            ("", tls, address) => Ok(DestinationUrl {
                address: HostPort::read(address)?,
                tls,
            }),
            _ => Err("nothing can precede the scheme".into()),
        };
        read().map_err(|why: String| wrong("destination", &redact(text), why, RIGHT))
    }
}

impl fmt::Display for DestinationUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.tls.map_or("", TlsStart::scheme);
        write!(f, "{}{}", scheme, self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        text.parse::<DestinationUrl>().unwrap_err().to_string()
    }

    #[test]
    fn a_destination_without_a_scheme_has_no_tls() {
        let plain: DestinationUrl = "[::1]:22".parse().unwrap();
        assert_eq!(plain.tls, None);
        assert_eq!(plain.to_string(), "[::1]:22");
        assert!(DestinationUrl::of_words("::1", "22").unwrap() == "[::1]:22".parse().unwrap());
    }

    #[test]
    fn other_schemes_are_refused() {
        for (text, expected) in &[
            (
                "http://a:1",
                "'http://a:1': http:// isn't allowed here; e.g.",
            ),
            (
                "https://a:1",
                "https:// isn't allowed here; for TLS with a destination, write tls://",
            ),
            (
                "imaps://a:1",
                "imaps:// isn't allowed here; for TLS with a destination, write tls://",
            ),
            ("\u{1b}://a:1", ": \\x1b:// isn't allowed here"),
            ("a", "the port is missing"),
        ] {
            let complaint = complaint(text);
            assert!(complaint.contains(expected), "{}", complaint);
        }
    }

    #[test]
    fn tls_is_accepted_only_before_a_destination() {
        for (text, start) in &[
            ("tls://mail.example:993", TlsStart::AtOnce),
            ("tls://[2001:db8::1]:993", TlsStart::AtOnce),
            ("starttls-imap://mail.example:143", TlsStart::Imap),
            ("starttls-smtp://mail.example:587", TlsStart::Smtp),
            ("starttls-postgres://[2001:db8::1]:5432", TlsStart::Postgres),
        ] {
            let url: DestinationUrl = text.parse().unwrap();
            assert_eq!(url.tls, Some(*start));
            assert_eq!(url.to_string(), *text);
            assert_eq!(text.replace("tls", "TLS").parse().ok(), Some(url));
        }
        let words = DestinationUrl::of_words("tls://::1", "993").unwrap();
        assert_eq!(words.to_string(), "tls://[::1]:993");
        for (text, expected) in &[
            ("tls://a", "'tls://a': the port is missing"),
            ("tls://a:0", "port 0"),
            ("tls://a:1/", "a port must be a number"),
            ("tls://::1:22", "brackets"),
            ("tls://tls://a:1", "tls:// isn't allowed here"),
            ("tls://http://a:1", "tls:// isn't allowed here"),
            ("1:tls://a:1", "nothing can precede the scheme"),
            ("starttls-pop3://a:1", "; write starttls-imap://,"),
            ("imap://a:1", "for STARTTLS, write starttls-imap://,"),
            ("tls://", "the host is missing"),
            (
                "tls://joe:x@a:1",
                "'tls://***@a:1': a destination can't have a user",
            ),
        ] {
            let complaint = complaint(text);
            assert!(complaint.contains(expected), "{}", complaint);
        }
        assert!(DestinationUrl::of_words("tls://a b", "1").is_err());
    }
}
