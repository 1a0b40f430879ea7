//! Hosts, ports, and the addresses that are listened on.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use super::{wrong, ParseError};
use crate::text::escape::Escaped;

/// A host as the user named it: an address, or a name that is resolved at each connect.
///
/// A name is made of ASCII letters, digits, `-`, `.` and `_`, and doesn't start with `-`: it
/// ends up in request lines, and with ssh's `%h` in shells. An IPv6 zone id is refused: it means
/// nothing on another machine.
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

/// Where a tunnel listens, in ssh's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    /// Empty or `*`: all interfaces.
    Any,
    /// A host: `localhost` is 127.0.0.1.
    Host(Host),
}

/// An address of our own: `[BIND:]PORT`; port 0 picks a free one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// Where to listen; `None` is the default of `--listen`.
    pub bind: Option<Bind>,
    /// The port.
    pub port: u16,
}

impl Bind {
    /// Reads a host, or all interfaces' `*` or nothing.
    pub(super) fn read(text: &str) -> Result<Bind, String> {
        match text {
            "" | "*" => Ok(Bind::Any),
            _ => Host::read(text).map(Bind::Host),
        }
    }

    /// Whether one includes the other, so that a port can't be bound on both. Names are compared as
    /// text.
    pub(crate) fn overlaps(&self, other: &Bind) -> bool {
        let ip = |bind: &Bind| match bind {
            Bind::Host(Host::Ip(ip)) => Some(unmap_ipv4(*ip)),
            Bind::Host(Host::Name(name)) if name == "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
            Bind::Host(Host::Name(_)) | Bind::Any => None,
        };
        match (self, other) {
            (Bind::Any, _) | (_, Bind::Any) => true,
            _ => match (ip(self), ip(other)) {
                (Some(one), Some(other)) => {
                    let is_all = one.is_unspecified() || other.is_unspecified();
                    one == other || is_all && one.is_ipv4() == other.is_ipv4()
                }
                _ => self == other,
            },
        }
    }

    /// Whether only this machine can connect to it.
    pub fn is_loopback(&self) -> bool {
        match self {
            Bind::Any => false,
            Bind::Host(Host::Ip(ip)) => unmap_ipv4(*ip).is_loopback(),
            Bind::Host(Host::Name(name)) => name == "localhost",
        }
    }
}

impl Host {
    /// Reads a host without a port; an IPv6 literal with or without brackets.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as a clause: callers know what the host is for.
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
                    Err("an IPv6 zone id means nothing to another machine".into())
                }
                Err(_) => Err("it isn't an IPv6 address".into()),
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
        Err("a host name has at most 253 characters".into())
    } else if name.starts_with('-') {
        Err("a host name doesn't start with '-'".into())
    } else if !name.is_ascii() {
        Err("write an international host name in its xn-- form".into())
    } else if let Some(c) = name.chars().find(|c| !is_allowed(*c)) {
        Err(format!("a host name holds no {:?}", c))
    } else {
        Ok(())
    }
}

/// Reads a port in decimal; 0 only where `any` port will do.
pub(super) fn read_port(text: &str, any: bool) -> Result<u16, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(0) if !any => Err("port 0 can't be connected to".into()),
        Ok(port) if digits => Ok(port),
        _ if text.is_empty() => Err("the port is missing".into()),
        _ if text.bytes().all(|b| b.is_ascii_alphabetic()) => {
            Err("a port is a number from 1 to 65535; names of services aren't looked up".into())
        }
        _ => Err("a port is a number from 1 to 65535".into()),
    }
}

/// Splits at the first `SCHEME://`: what is before it with the colon there, the scheme, and what is
/// behind it.
pub(super) fn split_scheme(text: &str) -> Option<(&str, &str, &str)> {
    let end = text.find("://")?;
    let start = text[..end].rfind(':').map_or(0, |colon| colon + 1);
    Some((&text[..start], &text[start..end], &text[end + 3..]))
}

/// There are no URLs but those of proxies and of destinations in TLS.
pub(super) fn refuse_scheme(text: &str) -> Result<(), String> {
    match split_scheme(text) {
        Some((_, scheme, _)) => Err(format!(
            "{}:// has no place in it",
            Escaped(scheme.as_bytes())
        )),
        None => Ok(()),
    }
}

/// Splits `HOST:PORT` at the colon that parts them; the port is empty when there is none.
pub(super) fn split_port(text: &str) -> Result<(&str, &str), String> {
    refuse_scheme(text)?;
    let end = match text.find(']') {
        Some(bracket) if text.starts_with('[') => bracket + 1,
        _ => text.find(':').unwrap_or(text.len()),
    };
    let (host, rest) = text.split_at(end);
    if rest.is_empty() {
        return Ok((host, ""));
    }
    match rest.strip_prefix(':') {
        Some(port) if !port.contains(':') => Ok((host, port)),
        Some(_) => Err("write IPv6 addresses in brackets".into()),
        None => Err("a colon comes after the bracket".into()),
    }
}

/// IPv4 in IPv6's clothes (RFC 4291 §2.5.5.2) reaches the same machine.
pub(crate) fn unmap_ipv4(ip: IpAddr) -> IpAddr {
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
    /// As `from_str`, for callers that know what it is for.
    pub(super) fn read(text: &str) -> Result<HostPort, String> {
        let (host, port) = split_port(text)?;
        Ok(HostPort {
            host: Host::read(host)?,
            port: read_port(port, false)?,
        })
    }
}

impl PortSpec {
    /// As `from_str`, for callers that know what it is for.
    pub(super) fn read(text: &str) -> Result<PortSpec, String> {
        let is_port = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let (bind, port) = match split_port(text)? {
            _ if is_port => (None, text),
            (host, port) => (Some(Bind::read(host)?), port),
        };
        let port = read_port(port, true)?;
        Ok(PortSpec { bind, port })
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

impl FromStr for Bind {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Bind, ParseError> {
        Bind::read(text).map_err(|why| {
            let why = match HostPort::read(text) {
                Ok(_) => "the port is part of each tunnel, write the address alone".into(),
                Err(_) => why,
            };
            wrong("address to listen on", text, why, "127.0.0.1")
        })
    }
}

impl FromStr for PortSpec {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<PortSpec, ParseError> {
        let spec = match text.strip_prefix("fd:") {
            Some(_) => Err("fd: is for tunnels and -D".into()),
            None => PortSpec::read(text),
        };
        spec.map_err(|why| wrong("address to listen on", text, why, "127.0.0.1:3128"))
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

impl fmt::Display for Bind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bind::Any => f.write_str("*"),
            Bind::Host(host) => host.fmt(f),
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
    fn displays_as_it_stands_in_a_request_line() {
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
    fn refuses_what_could_split_a_request_or_a_shell_line() {
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
    fn a_zone_id_is_refused_wherever_it_stands() {
        assert!(complaint("[fe80::1%eth0]:22").contains("zone id"));
        assert!(complaint("fe80::1%eth0:22").contains("brackets"));
        assert!("fe80::1%1".parse::<Bind>().is_err());
    }

    #[test]
    fn complaints_show_the_text_the_reason_and_an_example() {
        assert_eq!(
            complaint("example.org"),
            "invalid destination 'example.org': the port is missing; e.g. example.org:22"
        );
        assert!(complaint("example.org:+22").contains("a port is a number"));
        assert!(complaint("example.org:0").contains("port 0"));
        assert!(complaint("example.org:65536").contains("a port is a number"));
        assert!(complaint(":22").contains("the host is missing"));
        assert!(complaint("::1:22").contains("brackets"));
        assert!(complaint("[::1]22").contains("a colon comes after"));
        assert!(complaint("a\u{1b}[m:1").contains("a\\x1b[m"));
        assert!(complaint("a\u{1b}[m://b:1").contains(": a\\x1b[m:// has no place"));
        for url in &["http://a:1", "http://a", "https://[::1]:1/"] {
            assert!(complaint(url).contains(":// has no place in it"), "{}", url);
        }
    }

    #[test]
    fn an_address_of_our_own_needs_a_port_and_may_do_without_a_host() {
        let read = |text: &str| text.parse::<PortSpec>().map(|spec| (spec.bind, spec.port));
        assert_eq!(read("3128").unwrap(), (None, 3128));
        assert_eq!(read(":0").unwrap(), (Some(Bind::Any), 0));
        assert_eq!(read("[::1]:1").unwrap(), ("::1".parse().ok(), 1));
        for text in &["", "localhost", "a:b", "1:2:3", "70000"] {
            assert!(read(text).is_err(), "{}", text);
        }
        for text in &["fd:st", "fd:3"] {
            let complaint = read(text).unwrap_err().to_string();
            assert!(complaint.contains("fd: is for tunnels"), "{}", complaint);
        }
    }

    #[test]
    fn binds_overlap_where_one_includes_the_other() {
        let overlap = |one: &str, other: &str| {
            let (one, other): (Bind, Bind) = (one.parse().unwrap(), other.parse().unwrap());
            assert_eq!(one.overlaps(&other), other.overlaps(&one));
            one.overlaps(&other)
        };
        for other in &["*", "0.0.0.0", "::", "::1", "127.0.0.1", "a.example"] {
            assert!(overlap("*", other), "{}", other);
        }
        assert!(overlap("localhost", "127.0.0.1") && overlap("0.0.0.0", "127.0.0.1"));
        assert!(overlap("::ffff:10.0.0.1", "10.0.0.1") && overlap("::", "::1"));
        assert!(overlap("a.example", "a.example") && !overlap("a.example", "b.example"));
        assert!(!overlap("127.0.0.1", "127.0.0.2") && !overlap("::1", "127.0.0.1"));
        assert!(!overlap("0.0.0.0", "::1") && !overlap("a.example", "10.0.0.1"));
    }

    #[test]
    fn a_bind_address_is_everywhere_loopback_or_named() {
        assert_eq!("".parse::<Bind>().unwrap(), Bind::Any);
        assert_eq!("*".parse::<Bind>().unwrap(), Bind::Any);
        for loopback in &["localhost", "127.0.0.9", "[::1]", "::1", "::ffff:127.0.0.1"] {
            assert!(
                loopback.parse::<Bind>().unwrap().is_loopback(),
                "{}",
                loopback
            );
        }
        for other in &["*", "0.0.0.0", "::", "gateway.example"] {
            assert!(!other.parse::<Bind>().unwrap().is_loopback(), "{}", other);
        }
    }
}
