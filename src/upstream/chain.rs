//! The proxies of one path to a destination.

use std::fmt;
use std::sync::Arc;

use log::warn;

use super::health::PooledProxy;
use super::pool::ProxyPool;
use super::{Hop, ProxySelector, Tunnel};
use crate::config::ProxySpec;
use crate::error::{Error, TunnelPath};
use crate::proto::auth::{basic, AuthCache};
use crate::proto::Secrets;

/// A path to a destination: a proxy of a pool and the proxies behind it, or none for a direct
/// connection. Displays as `directly` or as `through 10.0.0.1:3128`, with each `via`. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ProxyChain(Option<(Arc<ProxySelector>, Arc<ProxyPool>, usize)>);

impl ProxyChain {
    /// The chain without a proxy.
    pub const DIRECT: ProxyChain = ProxyChain(None);

    /// Makes the chain that begins with the pool's proxy at `index`.
    pub(super) fn new(
        selector: &Arc<ProxySelector>,
        pool: &Arc<ProxyPool>,
        index: usize,
    ) -> ProxyChain {
        ProxyChain(Some((selector.clone(), pool.clone(), index)))
    }

    /// Returns the hop that requests the tunnel's destination; `None` for a direct connection.
    pub fn last_hop(&self, tunnel: &Tunnel) -> Option<Hop> {
        let (selector, ..) = self.0.as_ref()?;
        Hop::new(self, selector.via().len(), tunnel)
    }

    /// Returns the chain's proxies, first to last.
    pub(crate) fn proxies(&self) -> impl Iterator<Item = &ProxySpec> {
        self.pooled().map(|proxy| &proxy.spec)
    }

    pub(super) fn pooled(&self) -> impl Iterator<Item = &Arc<PooledProxy>> {
        self.0.iter().flat_map(|(selector, pool, index)| {
            let first = Some(&pool.proxies[*index]);
            first.into_iter().chain(selector.via())
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
        if let Some((selector, ..)) = &self.0 {
            let headers = selector.route().headers.iter();
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
        let fails_over = self.0.as_ref().map_or(false, |(selector, pool, index)| {
            let status = error.http_status_of(&selector.peer(&pool.proxies[*index].spec));
            let failover_on = &selector.route().failover_on;
            status.map_or(false, |status| failover_on.includes(status))
        });
        error.is_answer() && !fails_over
    }

    /// Notes a failure of the first proxy, unless the proxy didn't cause the error.
    pub(super) fn failed(&self, error: &Error) {
        if let (Some((selector, pool, index)), false) = (&self.0, error.is_no_proxys_fault()) {
            pool.proxies[*index].failed(selector.now());
        }
    }

    /// Notes an answer of the first proxy, and logs it if this proxy takes over from another one.
    pub(crate) fn worked(&self) {
        if let Some((_, pool, index)) = &self.0 {
            if pool.worked(*index) {
                let until = if *index == 0 { "again" } else { "for now" };
                warn!("new tunnels go {} {}", self, until);
            }
        }
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
