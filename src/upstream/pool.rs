//! Proxies in the order in which they are tried, and each of them as a chain to a destination.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;

use log::warn;

use super::health::{PooledProxy, ProxyHealth};
use super::{Hop, UpstreamPath};
use crate::config::{Family, HostPort, ProxySpec, Route};
use crate::error::{Error, Peer};

/// What all pools of a selector have in common.
#[derive(Debug)]
pub(super) struct SharedRoute {
    pub(super) route: Route,
    /// The proxies of `route.via`.
    via: Vec<PooledProxy>,
    /// Time 0 of the proxies' health.
    start: Instant,
}

impl SharedRoute {
    pub(super) fn new(route: Route) -> SharedRoute {
        let via = route.via.iter().cloned();
        SharedRoute {
            via: via
                .map(|spec| PooledProxy::new(spec, &route.schemes))
                .collect(),
            route,
            start: Instant::now(),
        }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }
}

/// Alternative proxies in their configured order, for all tunnels and threads.
#[derive(Debug)]
pub(super) struct ProxyPool {
    route: Arc<SharedRoute>,
    proxies: Vec<Arc<PooledProxy>>,
    /// The destination itself is tried after this many proxies; the others are for when that fails.
    direct_after: Option<usize>,
    /// Index of the proxy that new tunnels go through: the latest that worked while all before it
    /// were down.
    in_use: AtomicUsize,
}

impl ProxyPool {
    pub(super) fn new(
        route: &Arc<SharedRoute>,
        proxies: Vec<Arc<PooledProxy>>,
        direct_after: Option<usize>,
    ) -> ProxyPool {
        ProxyPool {
            route: route.clone(),
            proxies,
            direct_after,
            in_use: AtomicUsize::new(0),
        }
    }

    /// Returns the paths in the order in which one client tries them now. An observer doesn't report
    /// which path worked, so it must not probe a failed proxy instead of a client.
    pub(super) fn paths(self: &Arc<ProxyPool>, is_observer: bool) -> Vec<UpstreamPath> {
        let order = self.order(!is_observer, self.route.now()).into_iter();
        let mut paths: Vec<UpstreamPath> = order
            .map(|(_, index)| UpstreamPath::through(self.chain(index)))
            .collect();
        if let Some(count) = self.direct_after {
            paths.insert(count, UpstreamPath::DIRECTLY);
        }
        paths
    }

    /// Returns each proxy's chain and health, in the configured order.
    pub(super) fn health(self: &Arc<ProxyPool>) -> Vec<(ProxyChain, ProxyHealth)> {
        let now = self.route.now();
        let all = 0..self.proxies.len();
        all.map(|index| (self.chain(index), self.health_of(index, now)))
            .collect()
    }

    fn chain(self: &Arc<ProxyPool>, index: usize) -> ProxyChain {
        let pool = self.clone();
        ProxyChain { pool, index }
    }

    /// Returns the indices of the proxies in the order of attempts: the configured one, but proxies
    /// that failed lately last, and among these the one that worked before the others. No proxy
    /// moves past the destination. Each comes with its rank: a list without would be one more
    /// allocation a tunnel.
    fn order(&self, may_probe: bool, now: u64) -> Vec<(u8, usize)> {
        loop {
            let in_use = self.in_use.load(Ordering::Relaxed);
            let rank = |(index, proxy): (usize, &Arc<PooledProxy>)| {
                let is_behind = self.direct_after.map_or(false, |count| index >= count);
                let is_avoided = proxy.is_avoided(now);
                let is_last = is_avoided && index != in_use;
                // As one number: valgrind takes what the optimiser makes of three for uninitialised.
                let rank = u8::from(is_behind) << 2 | u8::from(is_avoided) << 1 | u8::from(is_last);
                (rank, index)
            };
            // Each rank is computed once: other threads write.
            let mut ranked: Vec<(u8, usize)> = self.proxies.iter().enumerate().map(rank).collect();
            ranked.sort_unstable();
            let first = match self.direct_after {
                Some(0) => None,
                _ => ranked.first().filter(|_| may_probe),
            };
            if first.map_or(true, |(_, index)| self.proxies[*index].may_be_first(now)) {
                return ranked;
            }
        }
    }

    fn health_of(&self, index: usize, now: u64) -> ProxyHealth {
        let is_current = self.in_use.load(Ordering::Relaxed) == index;
        self.proxies[index].health(is_current, now)
    }

    /// Notes that a proxy answered. Returns whether it takes over from another one.
    fn worked(&self, index: usize) -> bool {
        self.proxies[index].worked();
        // Otherwise a proxy in front of it came back in the meantime, and this answer is late.
        let is_its_turn = self.proxies[..index].iter().all(|proxy| proxy.is_down());
        is_its_turn && self.in_use.swap(index, Ordering::Relaxed) != index
    }
}

/// A proxy of a pool and the proxies behind it, as one path to a destination. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ProxyChain {
    pool: Arc<ProxyPool>,
    index: usize,
}

impl ProxyChain {
    /// Returns the first proxy, which ptunnel dials.
    pub fn spec(&self) -> &ProxySpec {
        self.proxy(0)
    }

    /// Returns the first proxy as errors name it.
    pub fn peer(&self) -> Peer {
        let address = self.spec().address.clone();
        match self.route().pac {
            Some(_) => Peer::Named(address),
            None => Peer::Proxy(address),
        }
    }

    /// Returns which addresses of the first proxy are tried.
    pub fn family(&self) -> Family {
        self.route().family
    }

    /// Returns the number of proxies in the chain, at least 1.
    pub fn hop_count(&self) -> usize {
        1 + self.route().via.len()
    }

    /// Returns the hop at `index`, which asks for the next proxy, or at the end for `destination`.
    pub fn hop(&self, index: usize, destination: &HostPort) -> Hop {
        let next = self.route().via.get(index);
        let target = next.map_or(destination, |proxy| &proxy.address);
        Hop::new(self.clone(), index, target.clone())
    }

    /// Returns the chain's proxies, first to last.
    pub(crate) fn proxies(&self) -> impl Iterator<Item = &ProxySpec> {
        (0..self.hop_count()).map(move |index| self.proxy(index))
    }

    pub(super) fn route(&self) -> &Route {
        &self.pool.route.route
    }

    pub(super) fn proxy(&self, index: usize) -> &ProxySpec {
        &self.pooled(index).spec
    }

    pub(super) fn pooled(&self, index: usize) -> &PooledProxy {
        match index.checked_sub(1) {
            None => &self.pool.proxies[self.index],
            Some(behind) => &self.pool.route.via[behind],
        }
    }

    /// Returns whether `failover_on` has the next proxy tried after this error: the first proxy
    /// itself refused, with a status that the user listed.
    pub(super) fn fails_over(&self, error: &Error) -> bool {
        let status = error.http_status_of(&self.peer());
        status.map_or(false, |status| self.route().failover_on.includes(status))
    }

    /// Notes a failure of the first proxy, unless the error isn't the proxy's.
    pub(super) fn failed(&self, error: &Error) {
        if !error.is_no_proxys_fault() {
            let now = self.pool.route.now();
            self.pool.proxies[self.index].failed(now);
        }
    }

    /// Notes an answer of the first proxy, and logs it if that takes over from another one.
    pub(super) fn worked(&self) {
        if self.pool.worked(self.index) {
            let until = if self.index == 0 { "again" } else { "for now" };
            warn!("new tunnels go through {} {}", self, until);
        }
    }
}

impl fmt::Display for ProxyChain {
    /// `proxy.example:3128 via second.example:3128`, with every proxy of the chain.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec().fmt(f)?;
        let mut via = self.route().via.iter();
        via.try_for_each(|proxy| write!(f, " via {}", proxy))
    }
}

#[cfg(test)]
mod tests {
    use super::super::health::AVOIDED;
    use super::*;

    fn of(count: usize, direct_after: Option<usize>) -> ProxyPool {
        let route = Route::default();
        let proxy = |index| format!("p{}:1", index).parse().unwrap();
        let proxies = (0..count).map(|index| PooledProxy::new(proxy(index), &route.schemes));
        let proxies = proxies.map(Arc::new).collect();
        ProxyPool::new(&Arc::new(SharedRoute::new(route)), proxies, direct_after)
    }

    fn order(pool: &ProxyPool, may_probe: bool, now: u64) -> Vec<usize> {
        let order = pool.order(may_probe, now).into_iter();
        order.map(|(_, index)| index).collect()
    }

    #[test]
    fn the_lists_order_holds_until_one_fails() {
        let pool = of(3, None);
        assert_eq!(order(&pool, true, 0), [0, 1, 2]);
        assert!(!pool.worked(0));
        pool.proxies[0].failed(5);
        assert_eq!(order(&pool, true, 6), [1, 2, 0]);
        pool.proxies[1].failed(7);
        assert_eq!(order(&pool, true, 8), [2, 0, 1]);
    }

    #[test]
    fn a_single_client_probes_a_proxy_after_its_time() {
        let pool = of(2, None);
        pool.proxies[0].failed(5);
        assert!(pool.worked(1), "it takes over");
        assert!(!pool.worked(1), "that is no news any more");
        assert_eq!(order(&pool, true, 5 + AVOIDED - 1), [1, 0]);
        assert_eq!(order(&pool, true, 5 + AVOIDED), [0, 1]);
        assert_eq!(order(&pool, true, 5 + AVOIDED), [1, 0], "another client");
        // The probe reported nothing: its client may have left.
        assert_eq!(order(&pool, true, 5 + AVOIDED * 2), [0, 1]);
        assert!(pool.worked(0), "it is back");
        assert_eq!(order(&pool, true, 6 + AVOIDED * 2), [0, 1]);
    }

    #[test]
    fn an_observer_does_not_probe() {
        let pool = of(2, None);
        pool.proxies[0].failed(5);
        assert_eq!(order(&pool, false, 5 + AVOIDED), [0, 1]);
        assert_eq!(order(&pool, true, 5 + AVOIDED), [0, 1]);
    }

    #[test]
    fn a_proxy_is_in_use_after_an_answer_and_down_from_a_failure_to_its_next_answer() {
        let pool = of(2, None);
        let health = |proxy, now| {
            let health = pool.health_of(proxy, now);
            let ProxyHealth {
                answers, failures, ..
            } = health;
            let state = match (health.is_in_use, health.is_down, health.is_avoided) {
                (true, false, false) => "in use",
                (false, false, false) => "standby",
                (false, true, true) => "avoided",
                (false, true, false) => "down",
                other => panic!("{:?}", other),
            };
            (state, answers, failures)
        };
        assert_eq!(health(0, 0), ("standby", 0, 0));
        pool.worked(0);
        assert_eq!(health(0, 1), ("in use", 1, 0));
        pool.proxies[0].failed(5);
        pool.worked(1);
        assert_eq!(health(0, 6), ("avoided", 1, 1));
        assert_eq!(health(1, 6), ("in use", 1, 0));
        // The avoided time is over, but no client has tried it again.
        assert_eq!(health(0, 5 + AVOIDED), ("down", 1, 1));
        pool.worked(0);
        assert_eq!(health(0, 6 + AVOIDED), ("in use", 2, 1));
        assert_eq!(health(1, 6 + AVOIDED), ("standby", 1, 0));
    }

    #[test]
    fn only_the_first_proxy_is_claimed_for_a_probe() {
        let pool = of(3, None);
        pool.proxies[1].failed(0);
        assert_eq!(order(&pool, true, AVOIDED), [0, 1, 2]);
        pool.proxies[0].failed(AVOIDED);
        assert_eq!(order(&pool, true, AVOIDED), [1, 2, 0]);
    }

    #[test]
    fn if_all_failed_the_last_that_worked_is_first() {
        let pool = of(3, None);
        pool.proxies[0].failed(1);
        pool.proxies[1].failed(2);
        assert!(pool.worked(2));
        pool.proxies[2].failed(3);
        assert_eq!(order(&pool, true, 4), [2, 0, 1]);
    }

    /// The answer is to a request that began while the first proxy was down.
    #[test]
    fn a_late_answer_takes_nothing_over() {
        let pool = of(2, None);
        pool.proxies[0].failed(1);
        assert!(pool.worked(1));
        assert!(pool.worked(0));
        assert!(!pool.worked(1));
        assert!(!pool.worked(0));
    }

    /// A recent failure must not move a proxy behind DIRECT.
    #[test]
    fn failed_proxies_stay_before_the_destination_itself() {
        let pool = of(3, Some(2));
        pool.proxies[0].failed(1);
        pool.proxies[1].failed(2);
        assert_eq!(order(&pool, true, 3), [0, 1, 2]);
        assert!(pool.worked(1));
        pool.proxies[1].failed(4);
        assert_eq!(order(&pool, true, 5), [1, 0, 2]);
    }

    #[test]
    fn pools_share_the_health_of_a_proxy() {
        let all = of(3, None);
        let [a, b, c] = [&all.proxies[0], &all.proxies[1], &all.proxies[2]];
        let one = ProxyPool::new(&all.route, vec![a.clone(), b.clone()], None);
        let other = ProxyPool::new(&all.route, vec![a.clone(), c.clone()], None);
        one.proxies[0].failed(1);
        assert_eq!(order(&other, true, 2), [1, 0]);
        assert!(other.worked(1), "for this list that is news");
        assert!(one.worked(1), "and for the other one");
    }
}
