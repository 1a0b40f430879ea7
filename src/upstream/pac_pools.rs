//! The proxies that a PAC file has named so far, in the lists in which it named them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use log::warn;

use super::pool::{Common, Known, PooledProxy, ProxyPool};
use super::{ProxyChain, ProxyHealth};
use crate::config::{ProxySpec, Schemes};
use crate::upstream::pac::Verdict;

/// So many lists are kept, and so many proxies: a file may name others without end.
const MOST: usize = 256;

/// What was learnt of them, for all tunnels and threads together.
#[derive(Debug, Default)]
pub(super) struct Named {
    known: Mutex<Register>,
}

#[derive(Debug, Default)]
struct Register {
    /// By the verdict, as it displays.
    lineups: HashMap<String, Arc<ProxyPool>>,
    /// By their specs, as they display.
    proxies: HashMap<String, Known>,
    /// What was said of answers.
    noted: HashSet<String>,
}

impl Named {
    /// The list of a verdict of this file: the same for the same one, and with the same proxies as
    /// others that name them.
    pub(super) fn lineup(
        &self,
        common: &Arc<Common>,
        file: &str,
        verdict: Verdict,
    ) -> Arc<ProxyPool> {
        let name = verdict.to_string();
        let mut register = self.register();
        register.note(file, &verdict.notes);
        if let Some(lineup) = register.lineups.get(&name) {
            return lineup.clone();
        }
        register.make_room(verdict.proxies.len());
        let mut direct_after = verdict.direct_after;
        if common.route.direct_fallback {
            direct_after.get_or_insert(verdict.proxies.len());
        }
        let proxies = verdict.proxies.into_iter();
        let proxies = proxies.map(|spec| register.known(spec, &common.route.schemes));
        let lineup = Arc::new(ProxyPool::new(common, proxies.collect(), direct_after));
        register.lineups.insert(name, lineup.clone());
        lineup
    }

    /// What was learnt of each proxy: in use is one for the answers of any list.
    pub(super) fn standings(&self) -> Vec<(ProxyChain, ProxyHealth)> {
        let lineups: Vec<Arc<ProxyPool>> = self.register().lineups.values().cloned().collect();
        let mut all = BTreeMap::new();
        for (proxy, standing) in lineups.iter().flat_map(ProxyPool::standings) {
            all.entry(proxy.to_string())
                .and_modify(|(_, known): &mut (ProxyChain, ProxyHealth)| {
                    known.is_in_use |= standing.is_in_use
                })
                .or_insert((proxy, standing));
        }
        all.into_iter().map(|(_, known)| known).collect()
    }

    fn register(&self) -> MutexGuard<'_, Register> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Register {
    /// Reports what is odd about an answer, each thing once; a file may say new ones without end.
    fn note(&mut self, file: &str, notes: &[String]) {
        for note in notes {
            if self.noted.len() < MOST && self.noted.insert(note.clone()) {
                warn!("{}: {}", file, note);
            }
        }
    }

    /// A proxy with what is remembered of it.
    fn known(&mut self, spec: ProxySpec, schemes: &Schemes) -> Known {
        let known = self.proxies.entry(spec.to_string());
        known
            .or_insert_with(|| PooledProxy::new(spec, schemes).into())
            .clone()
    }

    /// For another list and so many proxies. What is remembered of a proxy outlasts the lists that it
    /// was in, as long as there is room for the proxies; tunnels keep what they began with.
    fn make_room(&mut self, proxies: usize) {
        let is_full = self.proxies.len() + proxies > MOST;
        if is_full {
            self.proxies.clear();
        }
        // In a list that stayed a proxy would be remembered apart.
        if is_full || self.lineups.len() >= MOST {
            self.lineups.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Route;
    use crate::error::Error;

    /// The list of these proxies.
    fn lineup(named: &Named, proxies: &[String]) -> Arc<ProxyPool> {
        let verdict = Verdict {
            proxies: proxies.iter().map(|text| text.parse().unwrap()).collect(),
            ..Verdict::default()
        };
        let common = Arc::new(Common::new(Route::default()));
        named.lineup(&common, "it", verdict)
    }

    /// A file that named many lists had the proxies that don't answer asked first again.
    #[test]
    fn what_is_remembered_of_a_proxy_outlasts_its_list() {
        let named = Named::default();
        let two = ["a:1".to_string(), "b:1".to_string()];
        let ways = lineup(&named, &two).ways(false);
        let proxy = ways[0].proxy().unwrap();
        proxy.blame(&Error::ended(proxy.peer()));
        for count in 0..=MOST {
            let proxies = [
                format!("c:{}", 1 + count % 16),
                format!("d:{}", 1 + count / 16),
            ];
            lineup(&named, &proxies);
            assert!(named.register().lineups.len() <= MOST);
        }
        assert!(named.register().lineups.len() < MOST);
        let ways = lineup(&named, &two).ways(false);
        assert_eq!(ways[0].to_string(), "through b:1");
    }

    #[test]
    fn proxies_without_end_are_forgotten_with_their_lists() {
        let named = Named::default();
        for count in 0..MOST {
            let proxies = [format!("c:{}", 1 + count), format!("d:{}", 1 + count)];
            lineup(&named, &proxies);
            let known = named.register().proxies.len();
            assert!(known <= MOST && known == named.standings().len());
        }
    }
}
