//! `-D`: SOCKS, HTTP CONNECT and requests for `http://` URLs on one port.

use std::sync::Arc;

use super::handshake::InboundHandshake;
use super::{ConnectRequest, Inbound, Rejection};
use crate::config::{Credentials, HostPort};
use crate::error::Error;
use crate::upstream::{ProxySelector, Tunnel};

/// The rules of a `-D` listener: the user that clients must present, and the proxies that carry them.
/// Cheap to clone, and to send to another thread.
#[derive(Clone, Debug)]
pub struct DynamicConfig {
    selector: Arc<ProxySelector>,
    user: Option<Arc<Credentials>>,
    exclude_local: bool,
}

impl DynamicConfig {
    /// Returns the rules for clients that present `user`, or for any client if that is `None`.
    pub fn new(selector: &Arc<ProxySelector>, user: Option<&Credentials>) -> DynamicConfig {
        DynamicConfig {
            selector: selector.clone(),
            user: user.cloned().map(Arc::new),
            exclude_local: false,
        }
    }

    /// Excludes this machine and its links from the destinations that are reached directly: for a
    /// listener that accepts clients of other machines.
    pub fn exclude_local(self) -> DynamicConfig {
        DynamicConfig {
            exclude_local: true,
            ..self
        }
    }

    /// Returns the names of the protocols that clients can speak.
    pub(crate) fn protocols(&self) -> &'static str {
        DynamicConfig::protocols_for(self.user.as_deref())
    }

    /// Returns the names of the protocols for clients that must present `user`, if any: SOCKS4 has
    /// no password.
    pub(crate) fn protocols_for(user: Option<&Credentials>) -> &'static str {
        match user {
            None => "SOCKS and HTTP",
            Some(_) => "SOCKS5 and HTTP",
        }
    }

    /// Returns the selector of these clients' proxies.
    pub fn selector(&self) -> &ProxySelector {
        &self.selector
    }
}

impl Inbound for DynamicConfig {
    fn handshake(&self) -> InboundHandshake {
        InboundHandshake::detect(self.user.clone())
    }

    fn tunnel(&self, destination: HostPort) -> Tunnel {
        Tunnel::chosen_by_client(destination, &self.selector, self.exclude_local)
    }

    fn failed(&self, request: &ConnectRequest, error: Error) -> Rejection {
        let reply = request.protocol.failed(&error);
        Rejection { reply, error }
    }
}

impl PartialEq for DynamicConfig {
    /// Compares the configuration, not the health of the proxies.
    fn eq(&self, other: &DynamicConfig) -> bool {
        self.user == other.user
            && self.exclude_local == other.exclude_local
            && self.selector.route() == other.selector.route()
    }
}
