//! Requests of clients that name their destination, and the replies to them.
//!
//! This folder holds the three kinds of [`Inbound`]: [`DynamicConfig`] (`-D`: SOCKS, HTTP CONNECT and
//! requests for `http://` URLs on one port), [`policy::Policy`] (`--serve-proxy`: only CONNECT,
//! to destinations that an allow list covers, reached directly) and [`RedirectedClient`]
//! (`--redirect`: no request at all). Each decodes a client's request and encodes the reply. The
//! first two can require a username and a password ([`Logins`]). It must not hold I/O: the program
//! drives all with the same code, `src/inbound.rs`.
//!
//! It uses `upstream`, `config`, `error`, `os` and `ptunnel-proto`. `listener`, `ptunnel-cli`, the
//! program and the rungs of `compat/ladder` use it.

mod dynamic;
mod failed_logins;
mod handshake;
mod http;
mod login;
mod login_queue;
mod password_check;
pub mod policy;
mod redirect;
mod socks_reply;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;

use crate::config::TlsSpec;
use crate::error::Error;
use crate::upstream::Tunnel;
use ptunnel_proto::values::HostPort;
use ptunnel_proto::{RequestBoundary, SocksReply};

pub use self::dynamic::DynamicConfig;
pub use self::handshake::InboundHandshake;
pub use self::password_check::Logins;
pub use self::redirect::{RedirectConfig, RedirectedClient};

/// A listener's rules for clients that name their destination.
pub trait Inbound: Clone + 'static {
    /// Returns the handshake with a new client that connects from this address, if it has one.
    fn handshake(&self, client: Option<IpAddr>) -> InboundHandshake;

    /// Returns the TLS that clients must speak, if any.
    fn tls(&self) -> &Option<TlsSpec>;

    /// Returns the tunnel to a destination that the handshake has granted.
    fn tunnel(&self, destination: HostPort) -> Tunnel;

    /// Returns the reply to a client with an unreachable destination, and the error to log.
    fn failed(&self, request: &ConnectRequest, error: Error) -> Rejection;
}

/// A client's request to be connected.
#[derive(Clone, Debug)]
pub struct ConnectRequest {
    /// The destination that the client named.
    pub destination: HostPort,
    /// The protocol in which the client gets its reply.
    pub protocol: InboundProtocol,
    /// The name with which the client authenticated, if it had to.
    pub user: Option<Arc<str>>,
}

/// The refusal of a client.
#[derive(Debug)]
pub struct Rejection {
    /// The bytes to send to the client.
    pub reply: Vec<u8>,
    /// The error to log.
    pub error: Error,
}

/// The protocol of a client's request and of its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboundProtocol {
    /// HTTP CONNECT (RFC 9110 §9.3.6).
    Http,
    /// A plain HTTP request that ptunnel forwards (RFC 9112 §3.2.2), and its end: the destination
    /// gets no byte after that.
    Forward(RequestBoundary),
    /// None: the client's connection was redirected, and it gets no reply.
    Redirected,
    /// SOCKS 4 and 4A.
    Socks4,
    /// SOCKS 5 (RFC 1928).
    Socks5,
}

impl InboundProtocol {
    fn connect_request(self, destination: HostPort) -> ConnectRequest {
        ConnectRequest {
            destination,
            protocol: self,
            user: None,
        }
    }

    /// Returns where the client's bytes to its destination end, where that isn't the end of its
    /// connection.
    pub fn request_boundary(self) -> Option<RequestBoundary> {
        match self {
            InboundProtocol::Forward(boundary) => Some(boundary),
            InboundProtocol::Http
            | InboundProtocol::Redirected
            | InboundProtocol::Socks4
            | InboundProtocol::Socks5 => None,
        }
    }

    /// Returns the reply to a client that is connected to its destination; empty where the
    /// destination itself replies.
    pub fn granted(self) -> Vec<u8> {
        match self {
            InboundProtocol::Http => policy::GRANTED.to_vec(),
            InboundProtocol::Forward(_) | InboundProtocol::Redirected => Vec::new(),
            InboundProtocol::Socks4 => SocksReply::Succeeded.encode_4(),
            InboundProtocol::Socks5 => SocksReply::Succeeded.encode(),
        }
    }

    /// Returns the reply to a client with an unreachable destination.
    pub fn failed(self, error: &Error) -> Vec<u8> {
        match self {
            InboundProtocol::Http => policy::HttpRejection::unreachable(error).reply(),
            InboundProtocol::Forward(_) => policy::HttpRejection::unforwarded(error).reply(),
            InboundProtocol::Redirected => Vec::new(),
            InboundProtocol::Socks4 => socks_reply::reply(error).encode_4(),
            InboundProtocol::Socks5 => socks_reply::reply(error).encode(),
        }
    }
}
