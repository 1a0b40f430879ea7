//! Addresses of listeners: as configured ([`ListenAddr`]), and as the system reports them once they
//! are bound (`BoundAddr`).

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::{unmap_ipv4, Bind, Host, HostPort, ListenSpec};

/// The address of a listener, with the default of `--listen` filled in.
///
/// `fd:NAME` can mean several inherited sockets: `S` is the name at first, and one of the sockets
/// once they are looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddr<S = String> {
    /// A TCP port; the system picks one for 0.
    Port(Bind, u16),
    /// The path of a Unix socket.
    Path(PathBuf),
    /// An inherited socket.
    Inherited(S),
}

impl ListenAddr {
    /// Returns the address that `spec` means, with `default` where it names none for its port.
    pub fn new(spec: &ListenSpec, default: &Bind) -> ListenAddr {
        match spec {
            ListenSpec::Port(spec) => {
                let bind = spec.bind.as_ref().unwrap_or(default);
                ListenAddr::Port(bind.clone(), spec.port)
            }
            ListenSpec::Path(path) => ListenAddr::Path(path.clone()),
            ListenSpec::Inherited(name) => ListenAddr::Inherited(name.clone()),
        }
    }

    /// Returns whether the two can't be bound together, as far as their text shows.
    pub(crate) fn conflicts_with(&self, other: &ListenAddr) -> bool {
        match (self, other) {
            (ListenAddr::Port(one, port), ListenAddr::Port(other, same)) => {
                // The system picks a different port for each 0.
                port == same && *port != 0 && one.overlaps(other)
            }
            _ => self == other,
        }
    }
}

impl<S> ListenAddr<S> {
    /// Returns whether a connection to `address` reaches it, as far as its text shows.
    pub(crate) fn is_at(&self, address: &HostPort) -> bool {
        let (bind, port) = match self {
            ListenAddr::Port(bind, port) => (bind, *port),
            _ => return false,
        };
        port == address.port && bind.accepts(&address.host)
    }

    /// Returns whether the system picks the port.
    pub(crate) fn is_any_port(&self) -> bool {
        matches!(self, ListenAddr::Port(_, 0))
    }

    /// Returns the address as text if it is a TCP port that other machines can connect to.
    pub fn exposed_port(&self) -> Option<String> {
        match self {
            ListenAddr::Port(bind, port) if !bind.is_loopback() => {
                Some(format!("{}:{}", bind, port))
            }
            _ => None,
        }
    }
}

impl fmt::Display for ListenAddr {
    /// Writes the address as an option takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddr::Port(bind, port) => write!(f, "{}:{}", bind, port),
            ListenAddr::Path(path) => escaped(path).fmt(f),
            ListenAddr::Inherited(name) => write!(f, "fd:{}", Escaped(name.as_bytes())),
        }
    }
}

/// The address of a bound socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BoundAddr {
    /// An IP address and a port.
    Ip(SocketAddr),
    /// The path of a Unix socket, escaped; empty if it has none.
    Path(String),
}

impl BoundAddr {
    /// Returns the address of a Unix socket.
    pub(crate) fn of_path(path: &Path) -> BoundAddr {
        BoundAddr::Path(escaped(path).to_string())
    }

    /// Returns whether other machines can connect to it.
    pub(crate) fn is_beyond_loopback(&self) -> bool {
        match self {
            BoundAddr::Ip(address) => !unmap_ipv4(address.ip()).is_loopback(),
            BoundAddr::Path(_) => false,
        }
    }
}

impl fmt::Display for BoundAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoundAddr::Ip(address) => address.fmt(f),
            BoundAddr::Path(path) if path.is_empty() => f.write_str("a socket without a name"),
            BoundAddr::Path(path) => f.write_str(path),
        }
    }
}

fn escaped(path: &Path) -> Escaped<'_> {
    Escaped(path.as_os_str().as_bytes())
}

/// Returns the IP addresses that `bind` means on this machine, in the order in which they are
/// tried. A name other than `localhost` is looked up, which blocks.
///
/// # Errors
///
/// The error of the resolver, of any kind, when `bind` is a name.
pub(super) fn resolve(bind: &Bind, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok(match bind {
        // [::] accepts IPv4, too; 0.0.0.0 is for machines without IPv6.
        Bind::Any => vec![
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        ],
        Bind::Host(Host::Ip(ip)) => vec![SocketAddr::new(*ip, port)],
        Bind::Host(Host::Name(name)) if name == "localhost" => {
            vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))]
        }
        Bind::Host(Host::Name(name)) => (&name[..], port).to_socket_addrs()?.take(1).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_ip_address_can_be_beyond_loopback() {
        for (address, beyond) in &[
            ("127.0.0.1:1", false),
            ("[::1]:1", false),
            ("[::ffff:127.0.0.1]:1", false),
            ("0.0.0.0:1", true),
            ("[::]:1", true),
        ] {
            let address = BoundAddr::Ip(address.parse().unwrap());
            assert_eq!(address.is_beyond_loopback(), *beyond, "{}", address);
        }
        assert!(!BoundAddr::Path(String::new()).is_beyond_loopback());
    }
}
