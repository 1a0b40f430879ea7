//! The pools that a PAC file has named so far.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use log::warn;

use super::pac::Verdict;
use super::pool::ProxyPool;
use super::pooled_proxy::PooledProxy;
use super::selector::HealthByName;
use super::ProxyHealth;
use crate::config::{ProxySpec, Route};
use ptunnel_proto::values::Schemes;

/// Maximum number of pools, proxies and notes that are kept: a file can name new ones without end.
const MOST: usize = 256;

/// The pools and proxies that a PAC file has named, by their text.
#[derive(Debug, Default)]
pub(super) struct PacPools {
    /// By the verdict, as it displays.
    pools: HashMap<String, Arc<ProxyPool>>,
    /// By the spec, as it displays.
    proxies: HashMap<String, Arc<PooledProxy>>,
    /// What was known before a reload.
    known: HealthByName,
    /// Notes on answers that were logged.
    noted: HashSet<String>,
}

impl PacPools {
    /// Makes pools whose proxies begin with the health that is known.
    pub(super) fn new(known: HealthByName) -> PacPools {
        PacPools {
            known,
            ..PacPools::default()
        }
    }

    /// Returns the proxies that the file has named.
    pub(super) fn proxies(&self) -> impl Iterator<Item = &Arc<PooledProxy>> {
        self.proxies.values()
    }

    /// Returns the pool of a verdict of `file`: equal verdicts get the same pool, and all pools share
    /// the health of their proxies.
    pub(super) fn pool(&mut self, verdict: Verdict, file: &str, route: &Route) -> Arc<ProxyPool> {
        self.note(file, &verdict.notes);
        let name = verdict.to_string();
        if let Some(pool) = self.pools.get(&name) {
            return pool.clone();
        }
        self.make_room(verdict.proxies.len());
        let mut direct_after = verdict.direct_after;
        if route.direct_fallback {
            direct_after.get_or_insert(verdict.proxies.len());
        }
        let proxies = verdict.proxies.into_iter();
        let proxies = proxies.map(|spec| self.proxy(spec, &route.schemes));
        let pool = Arc::new(ProxyPool::new(proxies.collect(), direct_after));
        self.pools.insert(name, pool.clone());
        pool
    }

    /// Returns the health of each proxy once, by name; it is in use if it is in use in any pool.
    pub(super) fn health(&self, now: Instant) -> BTreeMap<String, ProxyHealth> {
        let mut all: BTreeMap<String, ProxyHealth> = BTreeMap::new();
        for (name, health) in self.pools.values().flat_map(|pool| pool.health(now)) {
            all.entry(name)
                .and_modify(|seen| seen.is_in_use |= health.is_in_use)
                .or_insert(health);
        }
        all
    }

    /// Logs each note on an answer once.
    fn note(&mut self, file: &str, notes: &[String]) {
        for note in notes {
            if self.noted.len() < MOST && self.noted.insert(note.clone()) {
                warn!("{}: {}", file, note);
            }
        }
    }

    fn proxy(&mut self, spec: ProxySpec, schemes: &Schemes) -> Arc<PooledProxy> {
        let name = spec.to_string();
        let health = self.known.get(&name).cloned().unwrap_or_default();
        let proxy = self.proxies.entry(name);
        proxy
            .or_insert_with(|| Arc::new(PooledProxy::new(spec, schemes, health)))
            .clone()
    }

    /// Makes room for a pool with this many proxies. A proxy is kept longer than its pools if there
    /// is room; tunnels keep the pool that they began with.
    fn make_room(&mut self, proxies: usize) {
        let is_full = self.proxies.len() + proxies > MOST;
        if is_full {
            self.proxies.clear();
        }
        // A pool that stayed would not share the health of its proxies.
        if is_full || self.pools.len() >= MOST {
            self.pools.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(pools: &mut PacPools, proxies: &[String]) -> Arc<ProxyPool> {
        let verdict = Verdict {
            proxies: proxies.iter().map(|text| text.parse().unwrap()).collect(),
            ..Verdict::default()
        };
        pools.pool(verdict, "it", &Route::default())
    }

    /// Regression: with a file that returned many lists, proxies that don't answer were tried first
    /// again.
    #[test]
    fn health_of_a_proxy_outlasts_its_pool() {
        let mut pools = PacPools::default();
        let two = ["a:1".to_string(), "b:1".to_string()];
        let now = Instant::now();
        let failed = pool(&mut pools, &two);
        failed.proxies[0].health.failed(now, false);
        for count in 0..=MOST {
            let proxies = [
                format!("c:{}", 1 + count % 16),
                format!("d:{}", 1 + count / 16),
            ];
            pool(&mut pools, &proxies);
            assert!(pools.pools.len() <= MOST);
        }
        assert!(pools.pools.len() < MOST);
        let order = pool(&mut pools, &two).order(true, now);
        assert_eq!(order[0].1, Some(1));
    }

    #[test]
    fn the_number_of_remembered_proxies_is_bounded() {
        let mut pools = PacPools::default();
        for count in 0..MOST {
            let proxies = [format!("c:{}", 1 + count), format!("d:{}", 1 + count)];
            pool(&mut pools, &proxies);
            let count = pools.proxies.len();
            assert!(count <= MOST && count == pools.health(Instant::now()).len());
        }
    }
}
