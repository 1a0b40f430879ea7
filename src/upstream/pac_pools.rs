//! A PAC file, and the pools that it has named so far.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use log::warn;

use super::health::PooledProxy;
use super::pac::{Pac, Verdict};
use super::pool::{ProxyPool, SharedRoute};
use super::{ProxyChain, ProxyHealth};
use crate::config::{PacFile, ProxySpec, Schemes};
use crate::os::mutex::lock;

/// Maximum number of pools, proxies and notes that are kept: a file can name new ones without end.
const MOST: usize = 256;

/// A PAC file with its pools, for all tunnels and threads.
#[derive(Debug)]
pub(super) struct PacPools {
    pub(super) pac: Pac,
    route: Arc<SharedRoute>,
    named: Mutex<Named>,
}

/// Pools and proxies by their text.
#[derive(Debug, Default)]
struct Named {
    /// By the verdict, as it displays.
    pools: HashMap<String, Arc<ProxyPool>>,
    /// By the spec, as it displays.
    proxies: HashMap<String, Arc<PooledProxy>>,
    /// Notes on answers that were logged.
    noted: HashSet<String>,
}

impl PacPools {
    pub(super) fn new(route: &Arc<SharedRoute>, file: PacFile) -> PacPools {
        PacPools {
            pac: Pac::new(file),
            route: route.clone(),
            named: Mutex::default(),
        }
    }

    /// Returns the pool of a verdict of the file: equal verdicts get the same pool, and all pools
    /// share the health of their proxies.
    pub(super) fn pool(&self, verdict: Verdict) -> Arc<ProxyPool> {
        let route = &self.route.route;
        let mut named = lock(&self.named);
        named.note(self.pac.name(), &verdict.notes);
        let name = verdict.to_string();
        if let Some(pool) = named.pools.get(&name) {
            return pool.clone();
        }
        named.make_room(verdict.proxies.len());
        let mut direct_after = verdict.direct_after;
        if route.direct_fallback {
            direct_after.get_or_insert(verdict.proxies.len());
        }
        let proxies = verdict.proxies.into_iter();
        let proxies = proxies.map(|spec| named.proxy(spec, &route.schemes));
        let proxies = proxies.collect();
        let pool = Arc::new(ProxyPool::new(&self.route, proxies, direct_after));
        named.pools.insert(name, pool.clone());
        pool
    }

    /// Returns the health of each proxy once, by name; it is in use if it is in use in any pool.
    pub(super) fn health(&self) -> Vec<(ProxyChain, ProxyHealth)> {
        let mut all: BTreeMap<String, (ProxyChain, ProxyHealth)> = BTreeMap::new();
        for (proxy, health) in lock(&self.named).pools.values().flat_map(ProxyPool::health) {
            all.entry(proxy.to_string())
                .and_modify(|(_, seen)| seen.is_in_use |= health.is_in_use)
                .or_insert((proxy, health));
        }
        all.into_iter().map(|(_, health)| health).collect()
    }
}

impl Named {
    /// Logs each note on an answer once.
    fn note(&mut self, file: &str, notes: &[String]) {
        for note in notes {
            if self.noted.len() < MOST && self.noted.insert(note.clone()) {
                warn!("{}: {}", file, note);
            }
        }
    }

    fn proxy(&mut self, spec: ProxySpec, schemes: &Schemes) -> Arc<PooledProxy> {
        let proxy = self.proxies.entry(spec.to_string());
        proxy
            .or_insert_with(|| Arc::new(PooledProxy::new(spec, schemes)))
            .clone()
    }

    /// Makes room for a pool with this many proxies. A proxy is remembered longer than its pools, as
    /// long as there is room; tunnels keep the pool that they began with.
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
    use crate::config::{ProxyDefaults, Route};
    use crate::error::Error;

    fn empty() -> PacPools {
        let route = Arc::new(SharedRoute::new(Route::default()));
        let file = PacFile {
            name: "it".into(),
            text: "".into(),
            proxy_defaults: ProxyDefaults::default(),
        };
        PacPools::new(&route, file)
    }

    fn pool(pools: &PacPools, proxies: &[String]) -> Arc<ProxyPool> {
        let verdict = Verdict {
            proxies: proxies.iter().map(|text| text.parse().unwrap()).collect(),
            ..Verdict::default()
        };
        pools.pool(verdict)
    }

    /// A file that returned many lists had proxies that don't answer tried first again.
    #[test]
    fn health_of_a_proxy_outlasts_its_pool() {
        let pools = empty();
        let two = ["a:1".to_string(), "b:1".to_string()];
        let paths = pool(&pools, &two).paths(false);
        let proxy = paths[0].proxy().unwrap();
        proxy.failed(&Error::ended(proxy.peer()));
        for count in 0..=MOST {
            let proxies = [
                format!("c:{}", 1 + count % 16),
                format!("d:{}", 1 + count / 16),
            ];
            pool(&pools, &proxies);
            assert!(lock(&pools.named).pools.len() <= MOST);
        }
        assert!(lock(&pools.named).pools.len() < MOST);
        let paths = pool(&pools, &two).paths(false);
        assert_eq!(paths[0].to_string(), "through b:1");
    }

    #[test]
    fn the_number_of_remembered_proxies_is_bounded() {
        let pools = empty();
        for count in 0..MOST {
            let proxies = [format!("c:{}", 1 + count), format!("d:{}", 1 + count)];
            pool(&pools, &proxies);
            let count = lock(&pools.named).proxies.len();
            assert!(count <= MOST && count == pools.health().len());
        }
    }
}
