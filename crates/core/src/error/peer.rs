//! The other side of a connection, and what ptunnel waited for.

use std::fmt;

use ptunnel_proto::values::HostPort;

/// The other side of a connection that ptunnel opened, or the client of one with TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A configured proxy, the first of its chain.
    Proxy(HostPort),
    /// A proxy that a PAC file names.
    Named(HostPort),
    /// A proxy behind another one (`--via`).
    Via(HostPort),
    /// The destination, where no proxy reports on it: a direct connection, or TLS through a tunnel.
    Destination(HostPort),
    /// The client, and the address that it connects from.
    Client(HostPort),
}

impl Peer {
    /// Returns the peer's host and port.
    pub fn address(&self) -> &HostPort {
        match self {
            Peer::Proxy(address)
            | Peer::Named(address)
            | Peer::Via(address)
            | Peer::Destination(address)
            | Peer::Client(address) => address,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Proxy(address) | Peer::Named(address) | Peer::Via(address) => {
                write!(f, "proxy {}", address)
            }
            Peer::Destination(address) => write!(f, "{}", address),
            Peer::Client(address) => write!(f, "client {}", address),
        }
    }
}

/// The phase that took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Resolving the name and connecting to one of its addresses.
    Connecting,
    /// Resolving a name for a proxy that takes only addresses.
    Locating,
    /// Sending the request and waiting for the end of the reply, or the TLS handshake.
    Handshaking,
    /// The same, with a proxy that replies to others: it waits for the destination.
    Waiting,
}
