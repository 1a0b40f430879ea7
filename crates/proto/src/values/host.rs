//! Hosts and ports.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use super::{wrong, ParseError};
use crate::text::escape::Escaped;

/// A host as the user named it: an address, or a name that is resolved at each connect.
///
/// A name consists of ASCII letters, digits, `-`, `.` and `_`, and doesn't start with `-`: it
/// becomes part of request lines, and with ssh's `%h` of shell commands. An IPv6 zone id is
/// refused: it means nothing on another machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// An IPv4 or IPv6 literal.
    Ip(IpAddr),
    /// Anything else, as it was written.
    Name(String),
}

/// A host and a port, both explicit: the authority form of RFC 9110 §9.3.6.
///
/// Displays as `example.org:22` or `[2001:db8::1]:22`, ready for a request line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// The host, without brackets.
    pub host: Host,
    /// The port; never 0.
    pub port: u16,
}

impl Host {
    /// Reads a host without a port; an IPv6 literal with or without brackets.
    ///
    /// # Errors
    ///
    /// The reason, as a clause: the caller knows the purpose of the host.
    pub(super) fn read(text: &str) -> Result<Host, String> {
        let bracketed = text.starts_with('[') && text.ends_with(']');
        let inner = if bracketed {
            &text[1..text.len() - 1]
        } else {
            text
        };
        if bracketed || inner.contains(':') {
            return match inner.parse::<Ipv6Addr>() {
                Ok(ip) => Ok(Host::Ip(ip.into())),
                Err(_) if inner.contains('%') => {
                    Err("an IPv6 zone id has no meaning on another machine; remove it".into())
                }
                Err(_) => Err("not an IPv6 address".into()),
            };
        }
        if let Ok(ip) = inner.parse() {
            return Ok(Host::Ip(IpAddr::V4(ip)));
        }
        read_name(inner).map(|()| Host::Name(inner.to_string()))
    }
}

fn read_name(name: &str) -> Result<(), String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if name.is_empty() {
        Err("the host is missing".into())
    } else if name.len() > 253 {
        Err("a host name can have at most 253 characters".into())
    } else if name.starts_with('-') {
        Err("a host name can't start with '-'".into())
    } else if !name.is_ascii() {
        Err("write an international host name in its xn-- form".into())
    } else if let Some(c) = name.chars().find(|c| !is_allowed(*c)) {
        Err(format!("a host name can't contain {:?}", c))
    } else {
        Ok(())
    }
}

/// Reads a port in decimal; 0 is accepted only with `any`.
pub(super) fn read_port(text: &str, any: bool) -> Result<u16, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(0) if !any => Err("port 0 can't be connected to".into()),
        Ok(port) if digits => Ok(port),
        _ if text.is_empty() => Err("the port is missing".into()),
        _ if text.bytes().all(|b| b.is_ascii_alphabetic()) => {
            Err("a port must be a number up to 65535, not the name of a service".into())
        }
        _ => Err("a port must be a number up to 65535".into()),
    }
}

/// Splits at the first `SCHEME://`; returns the text before it, with the colon there, the scheme,
/// and the text after it.
pub(super) fn split_scheme(text: &str) -> Option<(&str, &str, &str)> {
    let end = text.find("://")?;
    let start = text[..end].rfind(':').map_or(0, |colon| colon + 1);
    Some((&text[..start], &text[start..end], &text[end + 3..]))
}

/// Refuses a URL: only proxies and destinations with TLS are given as one.
pub(super) fn refuse_scheme(text: &str) -> Result<(), String> {
    match split_scheme(text) {
        Some((_, scheme, _)) => Err(format!(
            "{}:// isn't allowed here",
            Escaped(scheme.as_bytes())
        )),
        None => Ok(()),
    }
}

/// Splits `HOST:PORT` at its colon; the port is empty when there is none.
pub(super) fn split_port(text: &str) -> Result<(&str, &str), String> {
    refuse_scheme(text)?;
    let end = match text.find(']') {
        Some(bracket) if text.starts_with('[') => bracket + 1,
        None if text.starts_with('[') => return Err("a '[' has no ']' after it".into()),
        _ => text.find(':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at(end);
    if rest.is_empty() {
        return Ok((host, ""));
    }
    match rest.strip_prefix(':') {
        Some(port) if !port.contains(':') => Ok((host, port)),
        Some(_) => Err("write IPv6 addresses in brackets".into()),
        None => Err("a colon must follow the bracket".into()),
    }
}

/// Unwraps an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2).
pub fn unmap_ipv4(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(v6) => match v6.segments() {
            [0, 0, 0, 0, 0, 0xffff, high, low] => {
                let value = u32::from(high) << 16 | u32::from(low);
                IpAddr::V4(Ipv4Addr::from(value))
            }
            _ => ip,
        },
        IpAddr::V4(_) => ip,
    }
}

impl From<SocketAddr> for HostPort {
    fn from(address: SocketAddr) -> HostPort {
        HostPort {
            host: Host::Ip(address.ip()),
            port: address.port(),
        }
    }
}

impl HostPort {
    /// Reads `HOST:PORT`.
    ///
    /// # Errors
    ///
    /// The reason, as a clause: the caller knows the purpose of the value.
    pub(super) fn read(text: &str) -> Result<HostPort, String> {
        let (host, port) = split_port(text)?;
        Ok(HostPort {
            host: Host::read(host)?,
            port: read_port(port, false)?,
        })
    }
}

impl FromStr for Host {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Host, ParseError> {
        Host::read(text).map_err(|why| wrong("host", text, why, "example.org"))
    }
}

impl FromStr for HostPort {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<HostPort, ParseError> {
        HostPort::read(text).map_err(|why| wrong("destination", text, why, "example.org:22"))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Ip(IpAddr::V6(ip)) => write!(f, "[{}]", ip),
            Host::Ip(IpAddr::V4(ip)) => ip.fmt(f),
            Host::Name(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        text.parse::<HostPort>().unwrap_err().to_string()
    }

    #[test]
    fn displays_as_in_a_request_line() {
        for text in &[
            "example.org:22",
            "10.0.0.1:65535",
            "[2001:db8::1]:22",
            "a_b.c-d:1",
        ] {
            assert_eq!(text.parse::<HostPort>().unwrap().to_string(), *text);
        }
    }

    #[test]
    fn refuses_text_that_could_split_a_request_or_a_shell_line() {
        let bad = [
            "a b:1",
            "a\r\nX: y:1",
            "a\0:1",
            "-oProxyCommand=x:1",
            "$(id):1",
            "a;b:1",
            "a/b:1",
            "a@b:1",
            "`id`:1",
            "a'b:1",
            "\u{fc}.example:1",
        ];
        for text in &bad {
            assert!(text.parse::<HostPort>().is_err(), "{:?}", text);
        }
    }

    #[test]
    fn a_zone_id_is_refused_everywhere() {
        assert!(complaint("[fe80::1%eth0]:22").contains("zone id"));
        assert!(complaint("fe80::1%eth0:22").contains("brackets"));
        assert!("fe80::1%1".parse::<Host>().is_err());
    }

    #[test]
    fn errors_show_the_text_the_reason_and_an_example() {
        assert_eq!(
            complaint("example.org"),
            "invalid destination 'example.org': the port is missing; e.g. example.org:22"
        );
        assert!(complaint("example.org:+22").contains("a port must be a number"));
        assert!(complaint("example.org:0").contains("port 0"));
        assert!(complaint("example.org:65536").contains("a port must be a number"));
        assert!(complaint(":22").contains("the host is missing"));
        assert!(complaint("::1:22").contains("brackets"));
        assert!(complaint("[::1]22").contains("a colon must follow"));
        assert!(complaint("a\u{1b}[m:1").contains("a\\x1b[m"));
        assert!(complaint("a\u{1b}[m://b:1").contains(": a\\x1b[m:// isn't allowed"));
        for url in &["http://a:1", "http://a", "https://[::1]:1/"] {
            assert!(complaint(url).contains(":// isn't allowed here"), "{}", url);
        }
    }
}
