//! TCP addresses to listen on.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use super::host::{read_port, split_port, unmap_ipv4};
use super::{wrong, Host, HostPort, ParseError};

/// The interface that a listener binds, in the form of ssh's `bind_address`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    /// All interfaces, written as `*` or nothing.
    Any,
    /// An address, or a name that is resolved when it is bound; `localhost` is 127.0.0.1.
    Host(Host),
}

impl Bind {
    /// The default, 127.0.0.1.
    pub const LOOPBACK: Bind = Bind::Host(Host::Ip(IpAddr::V4(Ipv4Addr::LOCALHOST)));
}

/// A TCP address to listen on, `[BIND:]PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// The interface; `None` for the default of `--listen`.
    pub bind: Option<Bind>,
    /// The port; the system picks one for 0.
    pub port: u16,
}

impl Bind {
    /// Reads a host, or `*` or nothing for all interfaces.
    pub(super) fn read(text: &str) -> Result<Bind, String> {
        match text {
            "" | "*" => Ok(Bind::Any),
            _ => Host::read(text).map(Bind::Host),
        }
    }

    /// Returns whether one includes the other, so that a port can't be bound on both. Names are
    /// compared as text.
    pub fn overlaps(&self, other: &Bind) -> bool {
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

    /// Returns whether a connection to `host` reaches it. Which addresses an interface has isn't known
    /// here: of all interfaces, only loopback counts.
    pub fn accepts(&self, host: &Host) -> bool {
        let to = Bind::Host(host.clone());
        let is_any = match self {
            Bind::Any => true,
            Bind::Host(host) => matches!(host, Host::Ip(ip) if ip.is_unspecified()),
        };
        self.overlaps(&to) && (to.is_loopback() || !is_any)
    }

    /// Returns whether only this machine can connect.
    pub fn is_loopback(&self) -> bool {
        match self {
            Bind::Any => false,
            Bind::Host(Host::Ip(ip)) => unmap_ipv4(*ip).is_loopback(),
            Bind::Host(Host::Name(name)) => name == "localhost",
        }
    }
}

impl PortSpec {
    /// Reads `[BIND:]PORT`.
    ///
    /// # Errors
    ///
    /// The reason, as a clause: the caller knows the purpose of the value.
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

impl FromStr for Bind {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Bind, ParseError> {
        Bind::read(text).map_err(|why| {
            let why = match HostPort::read(text) {
                Ok(_) => "write only the address; the port is part of each tunnel".into(),
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
            Some(_) => Err("fd: is only for tunnels and -D".into()),
            None => PortSpec::read(text),
        };
        spec.map_err(|why| wrong("address to listen on", text, why, "127.0.0.1:3128"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_required_and_a_host_is_not() {
        let read = |text: &str| text.parse::<PortSpec>().map(|spec| (spec.bind, spec.port));
        assert_eq!(read("3128").unwrap(), (None, 3128));
        assert_eq!(read(":0").unwrap(), (Some(Bind::Any), 0));
        assert_eq!(read("[::1]:1").unwrap(), ("::1".parse().ok(), 1));
        for text in &["", "localhost", "a:b", "1:2:3", "70000"] {
            assert!(read(text).is_err(), "{}", text);
        }
        for text in &["fd:st", "fd:3"] {
            let complaint = read(text).unwrap_err().to_string();
            assert!(
                complaint.contains("fd: is only for tunnels"),
                "{}",
                complaint
            );
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
    fn a_connection_reaches_a_bind_address_of_this_machine() {
        let accepts = |bind: &str, host: &str| {
            let host = host.parse().unwrap();
            bind.parse::<Bind>().unwrap().accepts(&host)
        };
        for (bind, host) in &[
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.0.1", "localhost"),
            ("localhost", "::ffff:127.0.0.1"),
            ("127.0.0.1", "0.0.0.0"),
            ("192.0.2.1", "192.0.2.1"),
            ("a.example", "a.example"),
            ("*", "localhost"),
            ("*", "::1"),
            ("0.0.0.0", "127.0.0.9"),
        ] {
            assert!(accepts(bind, host), "{} {}", bind, host);
        }
        for (bind, host) in &[
            ("127.0.0.1", "127.0.0.2"),
            ("127.0.0.1", "192.0.2.1"),
            ("*", "192.0.2.1"),
            ("*", "a.example"),
            ("0.0.0.0", "::1"),
        ] {
            assert!(!accepts(bind, host), "{} {}", bind, host);
        }
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
