//! The TCP sockets of this process, so that it recognises itself: a connection to its own listener can
//! be served by another one to that listener, and so on, without end.
//!
//! What connects to the address of a listener is recognised before. Where a rule of the kernel
//! redirects connections, their address doesn't show it: then an accepted connection is looked for
//! among those that were made last.

use std::collections::HashMap;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::io::RawFd;
use std::sync::{Arc, Mutex};

use ptunnel_proto::debug_by_name;
use ptunnel_proto::sync::lock;

/// The listeners of this process, and its last connections if they can be redirected. The default
/// recognises nothing. Cheap to clone, also for other threads.
#[derive(Clone, Default)]
pub struct OwnSockets {
    shared: Option<Arc<Shared>>,
    /// Whether a connection to a tunnel's listener is allowed.
    allows_tunnels: bool,
}

#[derive(Default)]
struct Shared {
    listeners: Mutex<Vec<OwnListener>>,
    /// `None` where no connection is redirected.
    connections: Mutex<Option<Connections>>,
}

/// A listener of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnListener {
    /// The address that it is bound to.
    pub(crate) address: SocketAddr,
    /// Whether all its clients get to the same destination.
    pub(crate) is_tunnel: bool,
}

/// The number of connections of a generation.
const GENERATION: usize = 4096;

/// The connections of the last two generations: the descriptor of each, by its local address and its
/// peer's.
#[derive(Default)]
struct Connections {
    young: HashMap<(SocketAddr, SocketAddr), RawFd>,
    old: HashMap<(SocketAddr, SocketAddr), RawFd>,
}

impl OwnSockets {
    /// No sockets.
    pub(crate) const NONE: OwnSockets = OwnSockets {
        shared: None,
        allows_tunnels: false,
    };

    /// Makes the sockets of a process that has none yet.
    pub(crate) fn new() -> OwnSockets {
        OwnSockets {
            shared: Some(Arc::default()),
            ..OwnSockets::NONE
        }
    }

    /// Returns the same sockets, for a client that may be led to the listener of a tunnel.
    pub(crate) fn allowing_tunnels(self) -> OwnSockets {
        OwnSockets {
            allows_tunnels: true,
            ..self
        }
    }

    /// Replaces the listeners. With `are_redirected`, a connection to any address can lead to one.
    pub(crate) fn set(&self, listeners: Vec<OwnListener>, are_redirected: bool) {
        if let Some(shared) = &self.shared {
            *lock(&shared.listeners) = listeners;
            let connections = &mut *lock(&shared.connections);
            if are_redirected != connections.is_some() {
                *connections = Some(Connections::default()).filter(|_| are_redirected);
            }
        }
    }

    /// Returns the addresses of the listeners at this port to which no connection is allowed.
    pub(crate) fn at(&self, port: u16) -> Vec<IpAddr> {
        let shared = match &self.shared {
            Some(shared) => shared,
            None => return Vec::new(),
        };
        let listeners = lock(&shared.listeners);
        let at_port = listeners.iter().filter(|listener| {
            let is_allowed = self.allows_tunnels && listener.is_tunnel;
            listener.address.port() == port && !is_allowed
        });
        at_port.map(|listener| listener.address.ip()).collect()
    }

    /// Notes a connection that was made; `addresses` returns those of the peer and of this side.
    pub fn connected(
        &self,
        descriptor: RawFd,
        addresses: impl FnOnce() -> Option<(SocketAddr, SocketAddr)>,
    ) {
        let shared = match &self.shared {
            Some(shared) => shared,
            None => return,
        };
        if let Some(Connections { young, old }) = &mut *lock(&shared.connections) {
            if young.len() == GENERATION {
                *old = mem::take(young);
            }
            if let Some((peer, local)) = addresses() {
                young.insert((local, peer), descriptor);
            }
        }
    }

    /// Returns whether this process has made the connection between these addresses, and has it still:
    /// by now, another program's can have both addresses.
    pub(crate) fn has(&self, local: SocketAddr, peer: SocketAddr) -> bool {
        let descriptor = self.shared.as_ref().and_then(|shared| {
            let connections = lock(&shared.connections);
            let Connections { young, old } = connections.as_ref()?;
            let key = (local, peer);
            young.get(&key).or_else(|| old.get(&key)).copied()
        });
        descriptor.map_or(false, |descriptor| ends(descriptor) == Some((local, peer)))
    }
}

/// Returns the addresses of this side and of the peer.
fn ends(descriptor: RawFd) -> Option<(SocketAddr, SocketAddr)> {
    let socket = socket2::SockRef::from(&descriptor);
    let local = socket.local_addr().ok()?.as_socket()?;
    Some((local, socket.peer_addr().ok()?.as_socket()?))
}

impl PartialEq for OwnSockets {
    fn eq(&self, other: &OwnSockets) -> bool {
        let is_same = match (&self.shared, &other.shared) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        is_same && self.allows_tunnels == other.allows_tunnels
    }
}

impl Eq for OwnSockets {}

debug_by_name!(OwnSockets);

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::io::AsRawFd;

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore)] // which has no network
    fn a_connection_is_known_as_long_as_it_is_open_and_can_be_redirected() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = listener.local_addr().unwrap();
        let own = OwnSockets::new();
        let connect = || {
            let stream = TcpStream::connect(peer).unwrap();
            let local = stream.local_addr().unwrap();
            own.connected(stream.as_raw_fd(), || Some((peer, local)));
            (stream, local)
        };
        let (_stream, local) = connect();
        assert!(!own.has(local, peer), "nothing is redirected");
        own.set(Vec::new(), true);
        let (stream, local) = connect();
        own.set(Vec::new(), true);
        assert!(own.has(local, peer) && !own.has(peer, local));
        let none = || unreachable!("it isn't noted");
        OwnSockets::NONE.connected(stream.as_raw_fd(), none);
        assert!(!OwnSockets::NONE.has(local, peer));
        // They are forgotten in time, but not before as many others.
        let other = |index: usize| SocketAddr::from(([192, 0, 2, 1], index as u16));
        for index in 0..2 * GENERATION {
            assert!(own.has(local, peer), "{}", index);
            own.connected(stream.as_raw_fd(), || Some((peer, other(index))));
        }
        assert!(!own.has(local, peer));
        let (stream, local) = connect();
        assert!(own.has(local, peer));
        drop(stream);
        assert!(!own.has(local, peer));
    }

    #[test]
    fn a_tunnel_can_be_spared() {
        let own = OwnSockets::new();
        let listener = |address: &str, is_tunnel| OwnListener {
            address: address.parse().unwrap(),
            is_tunnel,
        };
        let listeners = vec![
            listener("127.0.0.1:1", true),
            listener("[::]:1", false),
            listener("127.0.0.1:2", false),
        ];
        own.set(listeners, false);
        assert_eq!(own.at(1).len(), 2);
        assert_eq!(
            own.clone().allowing_tunnels().at(1),
            [IpAddr::from([0_u16; 8])]
        );
        assert!(own.at(3).is_empty());
    }
}
