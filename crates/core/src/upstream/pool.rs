//! Alternative proxies, in the order in which they are tried.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;

use super::health::{ProxyHealth, Standing};
use super::pooled_proxy::PooledProxy;

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

/// The place of a path in the order of one client: lower ones come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u8);

impl Rank {
    /// Another proxy worked later.
    const LAST: u8 = 1;
    const AVOIDED: u8 = 1 << 1;
    const DIRECT: u8 = 1 << 2;
    /// The proxy comes after the destination.
    const BEHIND: u8 = 1 << 3;
    /// The proxy comes before the destination, and can't be reached.
    const BYPASSED: u8 = 1 << 4;

    /// Returns whether the path isn't avoided.
    pub(super) fn is_fit(self) -> bool {
        self.0 & Rank::AVOIDED == 0
    }
}

impl ProxyPool {
    pub(super) fn new(proxies: Vec<Arc<PooledProxy>>, direct_after: Option<usize>) -> ProxyPool {
        ProxyPool {
            proxies,
            direct_after,
            in_use: AtomicUsize::new(0),
        }
    }

    /// Returns the indices of the proxies in the order in which one client tries them now. It is the
    /// configured order, but with proxies that failed lately last, and among these the one that worked
    /// before the others. `None` means the destination itself. Proxies move past it only if none before
    /// it can be reached: a proxy that was reached and failed isn't bypassed. Each comes with its rank:
    /// a list without ranks would cost each tunnel another allocation.
    ///
    /// An observer doesn't report which proxy worked, so it must not try a failed one instead of a
    /// client.
    pub(super) fn order(&self, may_try: bool, now: Instant) -> Vec<(Rank, Option<usize>)> {
        loop {
            let in_use = self.in_use.load(Ordering::Relaxed);
            let before = self.before_direct();
            let mut standings = before.iter().map(|proxy| proxy.health.standing(now));
            let is_bypassing =
                !before.is_empty() && standings.all(|it| it == Standing::Unreachable);
            let rank = |(index, proxy): (usize, &Arc<PooledProxy>)| {
                let is_behind = self.direct_after.map_or(false, |count| index >= count);
                let is_avoided = proxy.health.standing(now) != Standing::Fit;
                // As one number: valgrind reports the optimised form of three numbers as
                // uninitialised memory.
                let mut rank = match (is_behind, is_bypassing) {
                    (true, _) => Rank::BEHIND,
                    (false, true) => Rank::BYPASSED,
                    (false, false) => 0,
                };
                if is_avoided {
                    rank |= Rank::AVOIDED;
                    rank |= u8::from(index != in_use) * Rank::LAST;
                }
                (Rank(rank), Some(index))
            };
            // Each rank is computed once: other threads write.
            let direct = self.direct_after.map(|_| (Rank(Rank::DIRECT), None));
            let ranked = self.proxies.iter().enumerate().map(rank).chain(direct);
            let mut ranked: Vec<_> = ranked.collect();
            ranked.sort_unstable();
            // If it is avoided, all other proxies are, too.
            let is_claimed = match ranked.first() {
                Some((rank, Some(index))) if may_try && rank.is_fit() => {
                    self.proxies[*index].health.claim(now)
                }
                _ => true,
            };
            if is_claimed {
                return ranked;
            }
        }
    }

    /// Returns the proxies that are tried before the destination itself.
    pub(super) fn before_direct(&self) -> &[Arc<PooledProxy>] {
        &self.proxies[..self.direct_after.unwrap_or(0)]
    }

    /// Returns the name and the health of each proxy, in the configured order.
    pub(super) fn health(&self, now: Instant) -> impl Iterator<Item = (String, ProxyHealth)> + '_ {
        let in_use = self.in_use.load(Ordering::Relaxed);
        let proxies = self.proxies.iter().enumerate();
        proxies.map(move |(index, proxy)| {
            let health = proxy.health.report(index == in_use, now);
            (proxy.spec.to_string(), health)
        })
    }

    /// Notes that a proxy answered. Returns whether it takes over from another one.
    pub(super) fn answered(&self, index: usize) -> bool {
        self.proxies[index].health.answered();
        // Otherwise a proxy in front of it recovered in the meantime, and this answer is late.
        let is_its_turn = self.proxies[..index]
            .iter()
            .all(|proxy| proxy.health.is_down());
        is_its_turn && self.in_use.swap(index, Ordering::Relaxed) != index
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::health::PAUSE;
    use super::*;
    use ptunnel_proto::values::Schemes;

    fn of(count: usize, direct_after: Option<usize>) -> ProxyPool {
        let proxies = (0..count).map(|index| {
            let spec = format!("p{}:1", index).parse().unwrap();
            PooledProxy::new(spec, &Schemes::default(), Arc::default())
        });
        ProxyPool::new(proxies.map(Arc::new).collect(), direct_after)
    }

    /// Returns the order, in which the destination has the number of the proxies.
    fn order(pool: &ProxyPool, may_try: bool, now: Instant) -> Vec<usize> {
        let order = pool.order(may_try, now).into_iter();
        let number = |(_, index): (_, Option<usize>)| index.unwrap_or(pool.proxies.len());
        order.map(number).collect()
    }

    /// Returns a clock: the time after so many seconds.
    fn clock() -> impl Fn(u64) -> Instant {
        let start = Instant::now();
        move |seconds| start + Duration::from_secs(seconds)
    }

    /// A proxy was reached and failed, or can't be reached.
    fn fail(pool: &ProxyPool, index: usize, now: Instant) {
        pool.proxies[index].health.failed(now, false);
    }

    fn lose(pool: &ProxyPool, index: usize, now: Instant) {
        pool.proxies[index].health.failed(now, true);
    }

    #[test]
    fn the_configured_order_holds_until_a_proxy_fails() {
        let (pool, at) = (of(3, None), clock());
        assert_eq!(order(&pool, true, at(0)), [0, 1, 2]);
        assert!(!pool.answered(0));
        fail(&pool, 0, at(5));
        assert_eq!(order(&pool, true, at(6)), [1, 2, 0]);
        fail(&pool, 1, at(7));
        assert_eq!(order(&pool, true, at(8)), [2, 0, 1]);
    }

    #[test]
    fn a_single_client_tries_a_proxy_after_its_pause() {
        let (pool, at) = (of(2, None), clock());
        let pause = PAUSE.as_secs();
        fail(&pool, 0, at(5));
        assert!(pool.answered(1), "it takes over");
        assert!(!pool.answered(1), "that is no news any more");
        assert_eq!(order(&pool, true, at(5 + pause - 1)), [1, 0]);
        assert_eq!(order(&pool, true, at(5 + pause)), [0, 1]);
        assert_eq!(order(&pool, true, at(5 + pause)), [1, 0], "another client");
        // The first one reported nothing: it may have left.
        assert_eq!(order(&pool, true, at(5 + pause * 2)), [0, 1]);
        assert!(pool.answered(0), "it is back");
        assert_eq!(order(&pool, true, at(6 + pause * 2)), [0, 1]);
    }

    #[test]
    fn an_observer_does_not_try_it() {
        let (pool, at) = (of(2, None), clock());
        fail(&pool, 0, at(5));
        let then = at(5 + PAUSE.as_secs());
        assert_eq!(order(&pool, false, then), [0, 1]);
        assert_eq!(order(&pool, true, then), [0, 1]);
    }

    #[test]
    fn a_proxy_is_in_use_after_an_answer_and_down_from_a_failure_to_its_next_answer() {
        let (pool, at) = (of(2, None), clock());
        let pause = PAUSE.as_secs();
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
        assert_eq!(health(0, at(0)), ("standby", 0, 0));
        pool.answered(0);
        assert_eq!(health(0, at(1)), ("in use", 1, 0));
        fail(&pool, 0, at(5));
        pool.answered(1);
        assert_eq!(health(0, at(6)), ("avoided", 1, 1));
        assert_eq!(health(1, at(6)), ("in use", 1, 0));
        // The pause is over, but no client has tried it again.
        assert_eq!(health(0, at(5 + pause)), ("down", 1, 1));
        pool.answered(0);
        assert_eq!(health(0, at(6 + pause)), ("in use", 2, 1));
        assert_eq!(health(1, at(6 + pause)), ("standby", 1, 0));
    }

    #[test]
    fn only_the_first_proxy_is_claimed_for_a_try() {
        let (pool, at) = (of(3, None), clock());
        let pause = PAUSE.as_secs();
        fail(&pool, 1, at(0));
        assert_eq!(order(&pool, true, at(pause)), [0, 1, 2]);
        fail(&pool, 0, at(pause));
        assert_eq!(order(&pool, true, at(pause)), [1, 2, 0]);
    }

    #[test]
    fn if_all_failed_the_last_that_worked_is_first() {
        let (pool, at) = (of(3, None), clock());
        fail(&pool, 0, at(1));
        fail(&pool, 1, at(2));
        assert!(pool.answered(2));
        fail(&pool, 2, at(3));
        assert_eq!(order(&pool, true, at(4)), [2, 0, 1]);
    }

    /// The answer is to a request that began while the first proxy was down.
    #[test]
    fn a_late_answer_causes_no_takeover() {
        let (pool, at) = (of(2, None), clock());
        fail(&pool, 0, at(1));
        assert!(pool.answered(1));
        assert!(pool.answered(0));
        assert!(!pool.answered(1));
        assert!(!pool.answered(0));
    }

    /// Otherwise clients would bypass a proxy that is there, and may forbid the destination.
    #[test]
    fn proxies_that_were_reached_and_failed_stay_before_the_destination_itself() {
        let (pool, at) = (of(3, Some(2)), clock());
        fail(&pool, 0, at(1));
        fail(&pool, 1, at(2));
        assert_eq!(order(&pool, true, at(3)), [0, 1, 3, 2]);
        assert!(pool.answered(1));
        lose(&pool, 1, at(4));
        assert_eq!(order(&pool, true, at(5)), [1, 0, 3, 2]);
        lose(&pool, 0, at(5));
        fail(&pool, 1, at(6));
        assert_eq!(order(&pool, true, at(7)), [1, 0, 3, 2]);
    }

    /// Regression: each client waited for the connect timeout, since no failure moved a proxy past it.
    #[test]
    fn the_destination_itself_is_first_while_no_proxy_before_it_can_be_reached() {
        let (pool, at) = (of(3, Some(2)), clock());
        let pause = PAUSE.as_secs();
        lose(&pool, 0, at(1));
        assert_eq!(order(&pool, true, at(2)), [1, 0, 3, 2]);
        lose(&pool, 1, at(2));
        assert_eq!(order(&pool, true, at(3)), [3, 2, 0, 1]);
        assert!(!pool.order(true, at(3))[2].0.is_fit());
        assert_eq!(order(&pool, true, at(1 + pause)), [0, 1, 3, 2]);
        pool.answered(1);
        assert_eq!(order(&pool, true, at(2 + pause)), [1, 0, 3, 2]);
    }

    #[test]
    fn pools_share_the_health_of_a_proxy() {
        let (all, at) = (of(3, None), clock());
        let [a, b, c] = [&all.proxies[0], &all.proxies[1], &all.proxies[2]];
        let one = ProxyPool::new(vec![a.clone(), b.clone()], None);
        let other = ProxyPool::new(vec![a.clone(), c.clone()], None);
        fail(&one, 0, at(1));
        assert_eq!(order(&other, true, at(2)), [1, 0]);
        assert!(other.answered(1), "for this list that is news");
        assert!(one.answered(1), "and for the other one");
    }
}
