//! Alternative proxies, in the order in which they are tried.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use super::health::{PooledProxy, ProxyHealth};

/// Alternative proxies in their configured order, for all tunnels and threads.
#[derive(Debug)]
pub(super) struct ProxyPool {
    pub(super) proxies: Vec<Arc<PooledProxy>>,
    /// The destination itself is tried after this many proxies; the others are tried if that fails.
    direct_after: Option<usize>,
    /// Index of the proxy that new tunnels go through: the latest that worked while all before it
    /// were down.
    in_use: AtomicUsize,
}

impl ProxyPool {
    pub(super) fn new(proxies: Vec<Arc<PooledProxy>>, direct_after: Option<usize>) -> ProxyPool {
        ProxyPool {
            proxies,
            direct_after,
            in_use: AtomicUsize::new(0),
        }
    }

    /// Returns the indices of the proxies in the order in which one client tries them at the time
    /// `now`, in milliseconds. It is the configured order, but with proxies that failed lately
    /// last, and among these the one that worked before the others. `None` means the destination
    /// itself, and no proxy moves past it. Each comes with its rank: a list without ranks would
    /// cost each tunnel another allocation.
    ///
    /// An observer doesn't report which proxy worked, so it must not probe a failed one instead of a
    /// client.
    pub(super) fn order(&self, may_probe: bool, now: u64) -> Vec<(u8, Option<usize>)> {
        const DIRECT: u8 = 1 << 2;
        loop {
            let in_use = self.in_use.load(Ordering::Relaxed);
            let rank = |(index, proxy): (usize, &Arc<PooledProxy>)| {
                let is_behind = self.direct_after.map_or(false, |count| index >= count);
                let is_avoided = proxy.is_avoided(now);
                let is_last = is_avoided && index != in_use;
                // As one number: valgrind reports the optimised form of three numbers as
                // uninitialised memory.
                let rank = u8::from(is_behind) << 3 | u8::from(is_avoided) << 1 | u8::from(is_last);
                (rank, Some(index))
            };
            // Each rank is computed once: other threads write.
            let direct = self.direct_after.map(|_| (DIRECT, None));
            let ranked = self.proxies.iter().enumerate().map(rank).chain(direct);
            let mut ranked: Vec<_> = ranked.collect();
            ranked.sort_unstable();
            let first = ranked.first().and_then(|(_, index)| *index);
            let first = first.filter(|_| may_probe);
            if first.map_or(true, |index| self.proxies[index].may_be_first(now)) {
                return ranked;
            }
        }
    }

    /// Returns the name and the health of each proxy, in the configured order.
    pub(super) fn health(&self, now: u64) -> impl Iterator<Item = (String, ProxyHealth)> + '_ {
        let in_use = self.in_use.load(Ordering::Relaxed);
        let proxies = self.proxies.iter().enumerate();
        proxies
            .map(move |(index, proxy)| (proxy.spec.to_string(), proxy.health(index == in_use, now)))
    }

    /// Notes that a proxy answered. Returns whether it takes over from another one.
    pub(super) fn worked(&self, index: usize) -> bool {
        self.proxies[index].worked();
        // Otherwise a proxy in front of it recovered in the meantime, and this answer is late.
        let is_its_turn = self.proxies[..index].iter().all(|proxy| proxy.is_down());
        is_its_turn && self.in_use.swap(index, Ordering::Relaxed) != index
    }
}

#[cfg(test)]
mod tests {
    use super::super::health::AVOIDED;
    use super::*;
    use crate::config::Schemes;

    fn of(count: usize, direct_after: Option<usize>) -> ProxyPool {
        let proxy = |index| format!("p{}:1", index).parse().unwrap();
        let proxies = (0..count).map(|index| PooledProxy::new(proxy(index), &Schemes::default()));
        ProxyPool::new(proxies.map(Arc::new).collect(), direct_after)
    }

    /// Returns the order, in which the destination has the number of the proxies.
    fn order(pool: &ProxyPool, may_probe: bool, now: u64) -> Vec<usize> {
        let order = pool.order(may_probe, now).into_iter();
        let number = |(_, index): (_, Option<usize>)| index.unwrap_or(pool.proxies.len());
        order.map(number).collect()
    }

    #[test]
    fn the_configured_order_holds_until_a_proxy_fails() {
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
            let (_, health) = pool.health(now).nth(proxy).unwrap();
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
    fn a_late_answer_causes_no_takeover() {
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
        assert_eq!(order(&pool, true, 3), [0, 1, 3, 2]);
        assert!(pool.worked(1));
        pool.proxies[1].failed(4);
        assert_eq!(order(&pool, true, 5), [1, 0, 3, 2]);
    }

    #[test]
    fn pools_share_the_health_of_a_proxy() {
        let all = of(3, None);
        let [a, b, c] = [&all.proxies[0], &all.proxies[1], &all.proxies[2]];
        let one = ProxyPool::new(vec![a.clone(), b.clone()], None);
        let other = ProxyPool::new(vec![a.clone(), c.clone()], None);
        one.proxies[0].failed(1);
        assert_eq!(order(&other, true, 2), [1, 0]);
        assert!(other.worked(1), "for this list that is news");
        assert!(one.worked(1), "and for the other one");
    }
}
