//! The proxies that a PAC file has named so far, in the lists in which it named them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use log::warn;

use super::lineup::{Common, Hop, Known, Lineup};
use super::{Candidate, Standing};
use crate::error::Error;
use crate::pac::{Pac, Verdict};

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
    lineups: HashMap<String, Arc<Lineup>>,
    /// By their specs, as they display.
    proxies: HashMap<String, Known>,
}

impl Named {
    /// The list of a verdict: the same for the same one, and with the same proxies as others that
    /// name them.
    ///
    /// # Errors
    ///
    /// When a proxy's protocol has no room for our credentials.
    pub(super) fn lineup(
        &self,
        common: &Arc<Common>,
        pac: &Pac,
        verdict: Verdict,
    ) -> Result<Arc<Lineup>, Error> {
        let name = verdict.to_string();
        let mut register = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lineup) = register.lineups.get(&name) {
            return Ok(lineup.clone());
        }
        // So it is told once.
        for what in &verdict.passed_over {
            warn!("{}: passing over {}", pac.name(), what);
        }
        register.make_room(verdict.proxies.len());
        let mut direct_after = verdict.direct_after;
        if common.route.direct_fallback {
            direct_after.get_or_insert(verdict.proxies.len());
        }
        let mut proxies = Vec::new();
        for url in verdict.proxies {
            let spec = pac.complete(url)?;
            let known = register.proxies.entry(spec.to_string());
            let known = known.or_insert_with(|| Hop::new(spec, &common.route.schemes).into());
            proxies.push(known.clone());
        }
        let lineup = Arc::new(Lineup::new(common, proxies, direct_after));
        register.lineups.insert(name, lineup.clone());
        Ok(lineup)
    }
}

impl Named {
    /// What was learnt of each proxy: in use is one for the answers of any list.
    pub(super) fn standings(&self) -> Vec<(Candidate, Standing)> {
        let register = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = BTreeMap::new();
        for (proxy, standing) in register.lineups.values().flat_map(Lineup::standings) {
            all.entry(proxy.to_string())
                .and_modify(|(_, known): &mut (Candidate, Standing)| {
                    known.is_in_use |= standing.is_in_use
                })
                .or_insert((proxy, standing));
        }
        all.into_iter().map(|(_, known)| known).collect()
    }
}

impl Register {
    /// Where there is none all is forgotten; tunnels keep what they began with.
    fn make_room(&mut self, proxies: usize) {
        if self.lineups.len() >= MOST || self.proxies.len() + proxies > MOST {
            *self = Register::default();
        }
    }
}
