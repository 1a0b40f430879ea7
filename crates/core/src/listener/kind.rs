//! The kinds of listeners.

use std::sync::Arc;

use crate::config::TlsSpec;
use crate::inbound::policy::Policy;
use crate::inbound::{DynamicConfig, Inbound, RedirectConfig};
use crate::observe::status::ListenerInfo;
use crate::upstream::Tunnel;
use ptunnel_proto::proxy_protocol::ClientAddresses;

/// The kind of a listener: its service for its clients. Cheap to clone, and to send to another
/// thread. Two are equal if they are configured alike.
#[derive(Clone, Debug, PartialEq)]
pub enum ListenerKind {
    /// Carries each to the tunnel's destination.
    Tunnel(Tunnel),
    /// `-D`: each client names its destination, in SOCKS or HTTP.
    Dynamic(DynamicConfig),
    /// `--redirect`: the destination is the one that each client connected to.
    Redirect(RedirectConfig),
    /// `--serve-proxy`: each client names its destination in a CONNECT request.
    Proxy(Policy),
}

impl ListenerKind {
    /// Returns whether a client can cause a name lookup.
    pub(crate) fn resolves_names(&self) -> bool {
        match self {
            ListenerKind::Tunnel(tunnel) => tunnel.resolves_names(),
            ListenerKind::Dynamic(_) | ListenerKind::Redirect(_) | ListenerKind::Proxy(_) => true,
        }
    }

    /// Returns whether a balancer can be in front. The kernel redirects only the clients' own
    /// connections.
    pub(crate) fn can_be_balanced(&self) -> bool {
        !matches!(self, ListenerKind::Redirect(_))
    }

    /// Returns whether a connection of ptunnel to this listener can lead to another one. The embedded
    /// proxy connects directly, and never to a listener that can.
    pub(crate) fn can_loop(&self) -> bool {
        !matches!(self, ListenerKind::Proxy(_))
    }

    /// Returns whether clients send passwords unencrypted.
    pub(crate) fn takes_clear_passwords(&self) -> bool {
        match self {
            ListenerKind::Tunnel(_) | ListenerKind::Redirect(_) => false,
            ListenerKind::Dynamic(dynamic) => dynamic.requires_login() && dynamic.tls().is_none(),
            ListenerKind::Proxy(policy) => policy.requires_login() && policy.tls().is_none(),
        }
    }

    /// Returns whether a destination or a proxy gets the client's address.
    pub(crate) fn sends_addresses(&self) -> bool {
        match self {
            ListenerKind::Tunnel(tunnel) => &tunnel.selector().route().send_proxy_protocol,
            ListenerKind::Dynamic(dynamic) => &dynamic.selector().route().send_proxy_protocol,
            ListenerKind::Redirect(redirect) => &redirect.selector().route().send_proxy_protocol,
            ListenerKind::Proxy(policy) => policy.send_proxy_protocol(),
        }
        .is_used()
    }

    /// Returns the service for one client, whose address PROXY headers have.
    pub(crate) fn for_client(&self, client: Option<ClientAddresses>) -> ListenerKind {
        let client = client.map(Arc::new);
        match self.clone() {
            ListenerKind::Tunnel(tunnel) => ListenerKind::Tunnel(tunnel.for_client(client)),
            ListenerKind::Dynamic(dynamic) => ListenerKind::Dynamic(dynamic.for_client(client)),
            ListenerKind::Redirect(redirect) => ListenerKind::Redirect(redirect.for_client(client)),
            ListenerKind::Proxy(policy) => ListenerKind::Proxy(policy.for_client(client)),
        }
    }

    /// Returns the listener's description for the status server.
    pub(crate) fn info(&self) -> ListenerInfo {
        let (kind, path, tunnel) = match self {
            ListenerKind::Tunnel(tunnel) => ("tunnel", tunnel.to_string(), Some(tunnel.clone())),
            ListenerKind::Dynamic(dynamic) => {
                let path = format!("what its clients request, {}", dynamic.selector());
                ("dynamic", path, None)
            }
            ListenerKind::Redirect(redirect) => {
                let path = format!("where its clients connect to, {}", redirect.selector());
                ("redirect", path, None)
            }
            ListenerKind::Proxy(_) => ("proxy", "what its clients request, directly".into(), None),
        };
        ListenerInfo { kind, path, tunnel }
    }

    /// Returns the name of the listener in an error: the destination or the option.
    pub(crate) fn label(&self) -> String {
        match self {
            ListenerKind::Tunnel(tunnel) => tunnel.destination().to_string(),
            ListenerKind::Dynamic(_) => "-D".into(),
            ListenerKind::Redirect(_) => "--redirect".into(),
            ListenerKind::Proxy(_) => "--serve-proxy".into(),
        }
    }

    /// Returns the line that announces a listener of this kind at the address `name`.
    pub(crate) fn line(&self, name: &str) -> String {
        match self {
            ListenerKind::Tunnel(tunnel) => format!("listening on {} for {}", name, tunnel),
            ListenerKind::Dynamic(dynamic) => format!(
                "listening on {} for {}{} {}",
                name,
                dynamic.protocols(),
                over_tls(dynamic.tls()),
                dynamic.selector()
            ),
            ListenerKind::Redirect(redirect) => format!(
                "listening on {} for redirected connections {}",
                name,
                redirect.selector()
            ),
            ListenerKind::Proxy(policy) => {
                format!("serving proxy on {}{}", name, over_tls(policy.tls()))
            }
        }
    }
}

/// Returns the words about the TLS of a listener.
pub fn over_tls(tls: &Option<TlsSpec>) -> &'static str {
    match tls {
        Some(_) => " over TLS",
        None => "",
    }
}
