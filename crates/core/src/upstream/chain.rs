//! The proxies of one path to a destination.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use log::warn;

use super::pool::ProxyPool;
use super::pooled_proxy::PooledProxy;
use super::{Hop, ProxySelector, Tunnel};
use crate::config::ProxySpec;
use crate::error::{Error, TunnelPath};
use ptunnel_proto::auth::{basic, AuthCache};
use ptunnel_proto::Secrets;

/// A path to a destination: a proxy of a pool and the proxies behind it, or none for a direct
/// connection. Displays as `directly` or as `through 10.0.0.1:3128`, with each `via`. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ProxyChain(Option<Proxied>);

/// The proxies of a path that isn't direct.
#[derive(Clone, Debug)]
struct Proxied {
    selector: Arc<ProxySelector>,
    pool: Arc<ProxyPool>,
    /// Index of the first proxy in the pool.
    index: usize,
    /// Whether another path is left that isn't avoided.
    has_alternative: bool,
}

impl Proxied {
    fn first(&self) -> &Arc<PooledProxy> {
        &self.pool.proxies[self.index]
    }
}

impl ProxyChain {
    /// The chain without a proxy.
    pub const DIRECT: ProxyChain = ProxyChain(None);

    /// Makes the chain that begins with the pool's proxy at `index`.
    pub(super) fn new(
        selector: &Arc<ProxySelector>,
        pool: &Arc<ProxyPool>,
        index: usize,
        has_alternative: bool,
    ) -> ProxyChain {
        ProxyChain(Some(Proxied {
            selector: selector.clone(),
            pool: pool.clone(),
            index,
            has_alternative,
        }))
    }

    pub(super) fn is_direct(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the hop that requests the tunnel's destination; `None` for a direct connection.
    pub fn last_hop(&self, tunnel: &Tunnel) -> Option<Hop> {
        let behind = self.0.as_ref()?.selector.via();
        Hop::new(self, behind.len(), tunnel)
    }

    /// Returns the chain's proxies, first to last.
    pub(crate) fn proxies(&self) -> impl Iterator<Item = &ProxySpec> {
        self.pooled().map(|proxy| &proxy.spec)
    }

    pub(super) fn pooled(&self) -> impl Iterator<Item = &Arc<PooledProxy>> {
        self.0.iter().flat_map(|proxied| {
            let first = Some(proxied.first());
            first.into_iter().chain(proxied.selector.via())
        })
    }

    /// Returns what the chain's proxies receive in confidence, and could repeat.
    pub(crate) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        let auths = self.pooled().filter_map(|proxy| proxy.auth.as_ref());
        for credentials in auths.filter_map(AuthCache::credentials) {
            secrets.add_credentials(&credentials);
            secrets.add_authorization(&basic(&credentials));
        }
        if let Some(proxied) = &self.0 {
            let headers = proxied.selector.route().headers.iter();
            headers.for_each(|header| secrets.add_header(header));
        }
        secrets
    }

    /// Returns the text for a tunnel to `destination` on this path in the log.
    pub(crate) fn path_to(&self, destination: impl fmt::Display) -> TunnelPath {
        let proxies = self.proxies().map(ToString::to_string);
        TunnelPath::to(destination).through(proxies.collect())
    }

    /// Returns whether no other path is tried after this error: it is an answer, and isn't a
    /// refusal by the first proxy itself with a status that `failover_on` lists.
    pub(super) fn is_final(&self, error: &Error) -> bool {
        let fails_over = self.0.as_ref().map_or(false, |proxied| {
            let selector = &proxied.selector;
            let status = error.http_status_of(&selector.peer(&proxied.first().spec));
            let failover_on = &selector.route().failover_on;
            status.map_or(false, |status| failover_on.includes(status))
        });
        error.is_answer() && !fails_over
    }

    /// Notes what an error says about the first proxy: an answer, also after an error of a proxy behind
    /// it; a failure; or nothing.
    pub(super) fn note(&self, error: &Error) {
        let proxied = match &self.0 {
            Some(proxied) if !error.is_no_proxys_fault() => proxied,
            _ => return,
        };
        if error.is_answer() || error.is_of_via() {
            return self.answered();
        }
        let first = proxied.first();
        first.health.failed(Instant::now(), error.is_unreachable());
        proxied.selector.probe(first, false);
    }

    /// Notes an answer of the first proxy, and logs it if this proxy takes over from another one.
    pub(crate) fn answered(&self) {
        if let Some(proxied) = &self.0 {
            if proxied.pool.answered(proxied.index) {
                let until = if proxied.index == 0 {
                    "again"
                } else {
                    "for now"
                };
                warn!("new tunnels go {} {}", self, until);
            }
        }
    }

    /// Notes that each of the first `count` proxies has opened or refused a tunnel.
    pub(super) fn heard(&self, count: usize) {
        let now = Instant::now();
        let proxies = self.pooled().take(count);
        proxies.for_each(|proxy| proxy.health.heard(now));
    }

    /// Returns whether another path is left that isn't avoided.
    pub(super) fn has_alternative(&self) -> bool {
        let proxied = self.0.as_ref();
        proxied.map_or(false, |proxied| proxied.has_alternative)
    }
}

impl fmt::Display for ProxyChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut proxies = self.proxies();
        match proxies.next() {
            Some(first) => write!(f, "through {}", first)?,
            None => f.write_str("directly")?,
        }
        proxies.try_for_each(|proxy| write!(f, " via {}", proxy))
    }
}
