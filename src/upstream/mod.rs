//! Which proxy comes next: chooses the paths to a destination and remembers which proxies failed.
//!
//! Must not hold anything that connects, polls or names futures. `engine`, `inbound`, `listener` and
//! `observe` use it, and the rungs of `compat/`; it uses `config`, `error`, `proto`, `text`, `os` and
//! the log's fields.
//!
//! A [`Tunnel`] is a destination and its [`ProxySelector`]. The selector returns [`Candidates`]: a
//! [`Failover`], which yields one [`UpstreamPath`] after the other, or the [`PacQuery`] that makes
//! one. A path is direct or a [`ProxyChain`] of [`Hop`]s, each a proxy and the target that is
//! requested from it. [`in_order`] sorts the addresses of a host.

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

use crate::error::{Error, TunnelPath};

/// A path to a destination, direct or through proxies; displays as `directly` or as
/// `through 10.0.0.1:3128`, with each `via`.
#[derive(Clone, Debug)]
pub struct UpstreamPath(Option<ProxyChain>);

impl UpstreamPath {
    /// The path without a proxy.
    pub const DIRECTLY: UpstreamPath = UpstreamPath(None);

    fn through(chain: ProxyChain) -> UpstreamPath {
        UpstreamPath(Some(chain))
    }

    /// Returns the chain, unless the path is direct.
    pub fn proxy(&self) -> Option<&ProxyChain> {
        self.0.as_ref()
    }

    /// Returns how the log names a tunnel to `destination` on this path.
    pub(crate) fn path_to(&self, destination: impl fmt::Display) -> TunnelPath {
        let proxies = self.0.iter().flat_map(ProxyChain::proxies);
        TunnelPath::to(destination).through(proxies.map(ToString::to_string).collect())
    }

    /// Returns whether no other path is tried after this error: it is an answer, and not a refusal
    /// that `failover_on` lists.
    pub(crate) fn is_final(&self, error: &Error) -> bool {
        let fails_over = |chain: &ProxyChain| chain.fails_over(error);
        error.is_answer() && !self.proxy().map_or(false, fails_over)
    }

    /// Notes that the path worked, and logs it if its proxy takes over from another one.
    pub(crate) fn worked(&self) {
        if let Some(chain) = self.proxy() {
            chain.worked();
        }
    }
}

impl fmt::Display for UpstreamPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(chain) => write!(f, "through {}", chain),
            None => f.write_str("directly"),
        }
    }
}
