//! `-D`: SOCKS, HTTP CONNECT and requests for `http://` URLs on one port.

use std::net::IpAddr;
use std::net::SocketAddr;
use std::sync::Arc;

use super::handshake::InboundHandshake;
use super::login::Login;
use super::password_check::Logins;
use super::{ConnectRequest, Inbound, Rejection};
use crate::config::TlsSpec;
use crate::error::Error;
use crate::upstream::{ProxySelector, Tunnel};
use ptunnel_proto::proxy_protocol::ClientAddresses;
use ptunnel_proto::values::{Credentials, HostPort, Users};

/// The rules of a `-D` listener: the users that clients must present, and the proxies that carry them.
/// Cheap to clone, and to send to another thread.
#[derive(Clone, Debug)]
pub struct DynamicConfig {
    selector: Arc<ProxySelector>,
    login: Login,
    tls: Option<TlsSpec>,
    exclude_local: bool,
    client: Option<Arc<ClientAddresses>>,
}

impl DynamicConfig {
    /// Returns the rules for clients that present `user`, or for any client if that is `None`.
    pub fn new(selector: &Arc<ProxySelector>, user: Option<&Credentials>) -> DynamicConfig {
        DynamicConfig {
            selector: selector.clone(),
            login: Login::of(user),
            tls: None,
            exclude_local: false,
            client: None,
        }
    }

    /// Counts wrong passwords in `logins`, which is shared by all listeners, also by those of a reload.
    pub fn sharing(self, logins: &Logins) -> DynamicConfig {
        let login = self.login.sharing(logins);
        DynamicConfig { login, ..self }
    }

    /// Requires one of these users; `logins` is as above.
    pub fn of_users(self, users: &Users, logins: &Logins) -> DynamicConfig {
        DynamicConfig {
            login: Login::of_users(users, logins),
            ..self
        }
    }

    /// Returns the rules for one client, whose address PROXY headers have.
    pub(crate) fn for_client(self, client: Option<Arc<ClientAddresses>>) -> DynamicConfig {
        DynamicConfig { client, ..self }
    }

    /// Returns the rules for one client that connected to `original`, which PROXY headers have instead
    /// of the listener's address.
    pub(super) fn connected_to(self, original: SocketAddr) -> DynamicConfig {
        let client = self.client.as_ref();
        let client = client.map(|of| Arc::new(ClientAddresses::new(of.client, original)));
        DynamicConfig { client, ..self }
    }

    /// Requires TLS, if this is given.
    pub fn secured(self, tls: &Option<TlsSpec>) -> DynamicConfig {
        DynamicConfig {
            tls: tls.clone(),
            ..self
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

    pub(crate) fn requires_login(&self) -> bool {
        self.login.is_required()
    }

    /// Returns the names of the protocols that clients can speak.
    pub(crate) fn protocols(&self) -> &'static str {
        DynamicConfig::protocols_for(self.requires_login())
    }

    /// Returns the names of the protocols for clients that must have a password, or that can do
    /// without: SOCKS4 has none.
    pub fn protocols_for(is_login_required: bool) -> &'static str {
        match is_login_required {
            false => "SOCKS and HTTP",
            true => "SOCKS5 and HTTP",
        }
    }

    /// Returns the selector of these clients' proxies.
    pub fn selector(&self) -> &ProxySelector {
        &self.selector
    }
}

impl Inbound for DynamicConfig {
    fn handshake(&self, client: Option<IpAddr>) -> InboundHandshake {
        InboundHandshake::detect(self.login.check(client))
    }

    fn tls(&self) -> &Option<TlsSpec> {
        &self.tls
    }

    fn tunnel(&self, destination: HostPort) -> Tunnel {
        Tunnel::chosen_by_client(destination, &self.selector, self.exclude_local)
            .reaching_tunnels()
            .for_client(self.client.clone())
    }

    fn failed(&self, request: &ConnectRequest, error: Error) -> Rejection {
        let reply = request.protocol.failed(&error);
        Rejection { reply, error }
    }
}

impl PartialEq for DynamicConfig {
    /// Compares the configuration, not the health of the proxies.
    fn eq(&self, other: &DynamicConfig) -> bool {
        self.login == other.login
            && self.tls == other.tls
            && self.exclude_local == other.exclude_local
            && self.selector.route() == other.selector.route()
    }
}
