//! What a listener does for its clients.

use crate::inbound::policy::Policy;
use crate::inbound::DynamicConfig;
use crate::upstream::Tunnel;

/// What is done for the clients of a listener. Cheap to clone, and to send to another thread. Two
/// are equal when the same was configured.
#[derive(Clone, Debug, PartialEq)]
pub enum ListenerKind {
    /// Each is carried to the tunnel's destination.
    Tunnel(Tunnel),
    /// Each names its destination, and is carried there as a guest.
    Dynamic(DynamicConfig),
    /// Each may ask the embedded proxy for a destination.
    Proxy(Policy),
}

impl ListenerKind {
    pub(crate) fn resolves_names(&self) -> bool {
        match self {
            ListenerKind::Tunnel(tunnel) => tunnel.looks_names_up(),
            ListenerKind::Dynamic(_) | ListenerKind::Proxy(_) => true,
        }
    }

    /// What a listener is for, in an error: the destination or the option.
    pub(crate) fn purpose(&self) -> String {
        match self {
            ListenerKind::Tunnel(tunnel) => tunnel.destination().to_string(),
            ListenerKind::Dynamic(_) => "-D".into(),
            ListenerKind::Proxy(_) => "--serve-proxy".into(),
        }
    }

    /// What is said of a listener for it.
    pub(crate) fn line(&self, name: &str) -> String {
        match self {
            ListenerKind::Tunnel(tunnel) => format!("listening on {} for {}", name, tunnel),
            ListenerKind::Dynamic(guests) => format!(
                "listening on {} for {} {}",
                name,
                guests.protocols(),
                guests.gateway()
            ),
            ListenerKind::Proxy(_) => format!("serving proxy on {}", name),
        }
    }
}
