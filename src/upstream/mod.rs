//! Which way a tunnel goes: values and rules; nothing here connects.
//!
//! A [`Tunnel`] is a destination and the [`ProxySelector`] to it; the gateway remembers which proxies
//! failed lately, or holds the [`PacQuery`] to a PAC file, [`Failover`] hands out one way after the
//! other, a [`Hop`] says what each proxy is asked for, and [`in_order`] sorts the addresses of each.

mod address_order;
mod failover;
mod health;
mod hop;
pub mod pac;
mod pac_pools;
mod pool;
mod selector;
mod silent_proxy;
#[cfg(feature = "tls")]
pub mod tls;
mod tunnel;

use std::fmt;

pub use self::address_order::in_order;
pub use self::failover::Failover;
pub(crate) use self::health::ProxyHealth;
pub use self::hop::Hop;
pub use self::pool::ProxyChain;
pub use self::selector::{Candidates, PacQuery, ProxySelector};
pub use self::silent_proxy::SilentProxy;
pub use self::tunnel::{Builder, Tunnel};

use crate::error::Error;
use crate::observe::logging::field::TunnelPath;

/// Which way a tunnel goes; displays as `through 10.0.0.1:3128`, with those behind it, or
/// `directly`.
#[derive(Clone, Debug)]
pub struct UpstreamPath(Option<ProxyChain>);

impl UpstreamPath {
    /// To the destination itself.
    pub const DIRECTLY: UpstreamPath = UpstreamPath(None);

    /// Through this proxy, and those behind it.
    fn through(candidate: ProxyChain) -> UpstreamPath {
        UpstreamPath(Some(candidate))
    }

    /// The first proxy on it.
    pub fn proxy(&self) -> Option<&ProxyChain> {
        self.0.as_ref()
    }

    /// The proxies on it, in their order.
    fn proxies(&self) -> Vec<String> {
        let candidates = self.0.iter();
        let proxies = candidates.flat_map(ProxyChain::proxies);
        proxies.map(ToString::to_string).collect()
    }

    /// How the log names a tunnel to `destination` that goes this way.
    pub(crate) fn path_to(&self, destination: impl fmt::Display) -> TunnelPath {
        TunnelPath::to(destination).through(self.proxies())
    }

    /// Whether no other way is tried after this error: it is an answer, and not a refusal after which
    /// the user lets the next proxy be tried.
    pub(crate) fn is_final(&self, error: &Error) -> bool {
        let lets_others = |proxy: &ProxyChain| proxy.lets_others_try(error);
        error.is_answer() && !self.proxy().map_or(false, lets_others)
    }

    /// It could be used: when another proxy was in use before, the log says so.
    pub fn worked(&self) {
        if let Some(proxy) = self.proxy() {
            proxy.trust();
        }
    }
}

impl fmt::Display for UpstreamPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(candidate) => write!(f, "through {}", candidate),
            None => f.write_str("directly"),
        }
    }
}
