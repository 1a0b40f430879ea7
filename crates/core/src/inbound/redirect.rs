//! `--redirect`: connections that a rule of nftables or iptables sends to the listener.
//!
//! Such a client doesn't know of ptunnel. The kernel knows the address that it connected to. Its first
//! bytes may hold the name, which a proxy is more likely to accept; they are passed on unchanged.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::io::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;

use super::handshake::InboundHandshake;
use super::{ConnectRequest, DynamicConfig, Inbound, InboundProtocol, Rejection};
use crate::config::TlsSpec;
use crate::error::Error;
use crate::os::own_sockets::OwnSockets;
use crate::os::sys::original_destination;
use crate::upstream::{ProxySelector, Tunnel};
use ptunnel_proto::proxy_protocol::ClientAddresses;
use ptunnel_proto::values::{unmap_ipv4, HostPort};
use ptunnel_proto::{ServerNameReader, Step};

/// Time for which a client can be silent before the address is used without a name: a client of SSH,
/// SMTP or IMAP waits for the server to speak first.
pub(super) const SILENCE: Duration = Duration::from_millis(300);

/// The rules of a `--redirect` listener: the proxies that carry its clients. Cheap to clone, and to
/// send to another thread.
#[derive(Clone, Debug, PartialEq)]
pub struct RedirectConfig {
    /// Clients choose their destinations as those of `-D` do, only in another way.
    clients: DynamicConfig,
}

impl RedirectConfig {
    /// Returns the rules for clients that the proxies of `selector` carry.
    pub fn new(selector: &Arc<ProxySelector>) -> RedirectConfig {
        RedirectConfig {
            clients: DynamicConfig::new(selector, None),
        }
    }

    /// As [`DynamicConfig::for_client`].
    pub(crate) fn for_client(self, client: Option<Arc<ClientAddresses>>) -> RedirectConfig {
        RedirectConfig {
            clients: self.clients.for_client(client),
        }
    }

    /// As [`DynamicConfig::exclude_local`].
    pub fn exclude_local(self) -> RedirectConfig {
        RedirectConfig {
            clients: self.clients.exclude_local(),
        }
    }

    /// Returns the selector of these clients' proxies.
    pub fn selector(&self) -> &ProxySelector {
        self.clients.selector()
    }

    /// Returns the rules for this client, which has just connected.
    ///
    /// # Errors
    ///
    /// [`Error::rejected`] if the client's connection wasn't redirected. One to the listener itself
    /// would lead to the listener again.
    pub fn of(&self, client: &impl AsRawFd) -> Result<RedirectedClient, Error> {
        match destinations(client) {
            Ok((own, original)) if own == original => Err(not_redirected(format_args!(
                "the client connected to {} itself",
                own
            ))),
            Ok((_, original)) => Ok(RedirectedClient {
                clients: self.clients.clone().connected_to(original),
                from: client_address(client),
                original,
            }),
            Err(e) => Err(not_redirected(e)),
        }
    }
}

fn not_redirected(why: impl std::fmt::Display) -> Error {
    Error::rejected(format!(
        "the connection wasn't redirected ({}); send it here by a rule of nftables or iptables in \
         the listener's network namespace",
        why
    ))
}

fn client_address(client: &impl AsRawFd) -> Option<SocketAddr> {
    let address = SockRef::from(client).peer_addr().ok()?.as_socket()?;
    Some(SocketAddr::new(unmap_ipv4(address.ip()), address.port()))
}

/// Returns the listener's address as the kernel now sees it, and the one that the client connected
/// to.
fn destinations(client: &impl AsRawFd) -> io::Result<(SocketAddr, SocketAddr)> {
    let none = || io::Error::from(io::ErrorKind::AddrNotAvailable);
    let own = SockRef::from(client).local_addr()?;
    let own = own.as_socket().ok_or_else(none)?;
    let own = SocketAddr::new(unmap_ipv4(own.ip()), own.port());
    let original = original_destination(client, own.is_ipv4())?.ok_or_else(none)?;
    // Without the zone of an IPv6 address, which `own` doesn't have either.
    Ok((own, SocketAddr::new(original.ip(), original.port())))
}

/// The rules for one client, whose connection was redirected.
#[derive(Clone, Debug)]
pub struct RedirectedClient {
    clients: DynamicConfig,
    /// The client's address, unless it has left.
    from: Option<SocketAddr>,
    original: SocketAddr,
}

impl Inbound for RedirectedClient {
    fn handshake(&self, _: Option<IpAddr>) -> InboundHandshake {
        let route = self.clients.selector().route();
        InboundHandshake::redirected(NameReader {
            from: self.from,
            original: self.original,
            own: route.family.own.clone(),
            is_direct: route.is_direct(&self.original.into()),
            name: ServerNameReader::default(),
        })
    }

    fn tls(&self) -> &Option<TlsSpec> {
        self.clients.tls()
    }

    fn tunnel(&self, destination: HostPort) -> Tunnel {
        self.clients.tunnel(destination)
    }

    fn failed(&self, request: &ConnectRequest, error: Error) -> Rejection {
        self.clients.failed(request, error)
    }
}

/// A redirected client that hasn't been served yet.
#[derive(Debug)]
pub(super) struct NameReader {
    from: Option<SocketAddr>,
    original: SocketAddr,
    own: OwnSockets,
    /// Whether the address is reached without a proxy, so that no name is needed: resolving it could
    /// lead to another server.
    is_direct: bool,
    name: ServerNameReader,
}

impl NameReader {
    /// Adds bytes that arrived.
    ///
    /// # Errors
    ///
    /// As [`request`](NameReader::request).
    pub(super) fn feed(&mut self, piece: &[u8]) -> Result<Step<ConnectRequest>, Rejection> {
        let request = match self.name.extend(piece) {
            _ if self.is_direct => self.request(),
            Ok(None) => return Ok(Step::Read),
            Ok(Some(host)) => self.request_for(HostPort {
                host,
                port: self.original.port(),
            }),
            Err(_) => self.request(),
        };
        request.map(Step::Done)
    }

    /// Returns the request for the bare address.
    ///
    /// # Errors
    ///
    /// The connection is one of ptunnel's own. Only now is this sure: a connection can be accepted on
    /// one thread before another one knows that it is connected.
    pub(super) fn request(&self) -> Result<ConnectRequest, Rejection> {
        self.request_for(self.original.into())
    }

    fn request_for(&self, destination: HostPort) -> Result<ConnectRequest, Rejection> {
        let is_own = |from| self.own.has(from, self.original);
        if self.from.map_or(false, is_own) {
            return Err(Rejection {
                reply: Vec::new(),
                error: Error::rejected(format!(
                    "loop: ptunnel's own connection to {} was redirected to it; leave the user that \
                     ptunnel runs as out of the rules",
                    self.original
                )),
            });
        }
        Ok(InboundProtocol::Redirected.connect_request(destination))
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.name.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::config::Route;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a.example:8080\r\n\r\n";

    fn client(original: &str, no_proxy: &str) -> RedirectedClient {
        let route = Route {
            proxies: vec!["proxy.example:1".parse().unwrap()],
            no_proxy: no_proxy.parse().unwrap(),
            ..Route::default()
        };
        RedirectedClient {
            clients: DynamicConfig::new(&ProxySelector::new(route), None),
            from: None,
            original: original.parse().unwrap(),
        }
    }

    fn destination(step: Result<Step<ConnectRequest>, Rejection>) -> String {
        match step {
            Ok(Step::Done(request)) => {
                assert!(request.protocol.granted().is_empty());
                request.destination.to_string()
            }
            other => panic!("{:?}", other),
        }
    }

    #[test]
    fn the_name_replaces_the_address_and_not_the_port() {
        let mut handshake = client("192.0.2.1:80", "b.example").handshake(None);
        assert!(handshake.silence_limit().is_some());
        assert!(matches!(handshake.feed(&REQUEST[..9]), Ok(Step::Read)));
        assert_eq!(destination(handshake.feed(&REQUEST[9..])), "a.example:80");
        assert_eq!(handshake.into_rest(), REQUEST);
    }

    #[test]
    fn a_client_without_a_name_keeps_its_address() {
        let client = client("[2001:db8::1]:22", "");
        let mut handshake = client.handshake(None);
        assert_eq!(
            destination(handshake.feed(b"SSH-2.0-x\r\n")),
            "[2001:db8::1]:22"
        );
        assert_eq!(handshake.into_rest(), b"SSH-2.0-x\r\n");
        let mut handshake = client.handshake(None);
        assert!(matches!(handshake.feed(b"GE"), Ok(Step::Read)));
        let request = handshake.end().expect("a request").unwrap();
        assert_eq!(request.destination.to_string(), "[2001:db8::1]:22");
        assert_eq!(handshake.into_rest(), b"GE");
        assert!(InboundHandshake::default().end().is_none());
        assert!(InboundHandshake::default().silence_limit().is_none());
    }

    /// Otherwise a client could choose another server by the name, or DNS could.
    #[test]
    fn an_address_that_is_reached_directly_keeps_its_address() {
        let mut handshake = client("192.0.2.1:80", "192.0.2.0/24").handshake(None);
        assert_eq!(destination(handshake.feed(REQUEST)), "192.0.2.1:80");
        assert_eq!(handshake.into_rest(), REQUEST);
    }

    /// Otherwise the lookup of its name could delay those of the configuration.
    #[test]
    fn the_destination_is_the_clients_choice() {
        let client = client("192.0.2.1:80", "");
        let tunnel = client.tunnel("a.example:80".parse().unwrap());
        let configured = Tunnel::to("a.example:80".parse().unwrap()).build();
        assert_ne!(tunnel.lookup().chosen_by(), configured.lookup().chosen_by());
    }

    #[test]
    #[cfg_attr(miri, ignore)] // which has no network
    fn a_connection_to_the_listener_itself_is_refused() {
        let rules = RedirectConfig::new(&ProxySelector::new(Route::default()));
        for loopback in &["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(loopback).unwrap();
            let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let error = rules.of(&accepted).unwrap_err().to_string();
            assert!(error.contains("wasn't redirected ("), "{}", error);
        }
    }
}
