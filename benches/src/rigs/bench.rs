//! What every sample needs, and what it gives.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use super::run::Options;
use crate::load::pattern::Pattern;
use crate::peers::{Found, Running, Setup, Under};
use crate::report::headline;
use crate::report::results::Part;
use crate::report::stats::median;
use crate::stop::Stop;
use crate::tools::machine::Cores;

#[derive(Debug)]
pub struct Bench {
    pub quick: bool,
    pub cores: Option<Cores>,
    pub descriptors: u64,
    pub folder: PathBuf,
    pub pattern: Pattern,
    pub stop: Stop,
    /// A sample that fails ends the run.
    pub strict: bool,
    /// A sample beside which others worked is kept.
    pub keeps_any: bool,
    /// The headline has no more rounds than planned.
    pub unpaired: bool,
    notes: RefCell<Vec<String>>,
    /// Requests per second that each of the headline's peers carried in closed loops.
    capacities: RefCell<BTreeMap<String, Vec<f64>>>,
    slowest: OnceCell<f64>,
    /// Peers that don't move bulk as their entries say.
    mislabelled: RefCell<BTreeSet<String>>,
}

impl Bench {
    pub fn new(
        options: &Options,
        cores: Option<Cores>,
        descriptors: u64,
        folder: PathBuf,
        stop: Stop,
    ) -> io::Result<Bench> {
        Ok(Bench {
            quick: options.quick,
            cores,
            descriptors,
            folder,
            pattern: Pattern::new()?,
            stop,
            strict: options.strict,
            keeps_any: options.quick,
            unpaired: options.quick || options.unpaired,
            notes: RefCell::default(),
            capacities: RefCell::default(),
            slowest: OnceCell::new(),
            mislabelled: RefCell::default(),
        })
    }

    /// What a sample met that its reader must know, where it is too deep to return it.
    pub fn note(&self, text: String) {
        self.notes.borrow_mut().push(text);
    }

    /// What was noted since the last time.
    pub fn noted(&self) -> Vec<String> {
        self.notes.take()
    }

    /// Keeps that this peer splices where its entry says that it copies, or the other way round: it has no bulk figure.
    pub fn mislabelled(&self, peer: &Found) {
        let mut all = self.mislabelled.borrow_mut();
        all.insert(peer.spec.name.clone());
    }

    /// Fails for a peer of which [`Bench::mislabelled`] was found.
    ///
    /// # Errors
    /// Says what was found.
    pub fn moves_bulk_as_it_says(&self, peer: &Found) -> io::Result<()> {
        if self.mislabelled.borrow().contains(&peer.spec.name) {
            let text = "it doesn't move bulk as its entry says: see bulk-copies";
            return Err(io::Error::other(text));
        }
        Ok(())
    }

    /// Keeps what a peer carried in a closed loop, in requests per second, where it is one of the headline's: a slower peer
    /// must not set a rate at which these are idle.
    pub fn carried(&self, peer: &Found, rate: f64) {
        if !headline::compares(&peer.spec) {
            return;
        }
        let mut all = self.capacities.borrow_mut();
        all.entry(peer.spec.name.clone()).or_default().push(rate);
    }

    /// Returns the capacity of the slowest of the headline's peers in requests per second, by the medians of what was carried before the first
    /// call, which notes it.
    ///
    /// # Errors
    /// When no closed loop was run.
    pub fn slowest(&self) -> io::Result<f64> {
        if let Some(rate) = self.slowest.get() {
            return Ok(*rate);
        }
        let all = self.capacities.borrow();
        let medians = all
            .iter()
            .filter_map(|(name, rates)| Some((median(rates)?, name)));
        let slowest = medians.min_by(|(a, _), (b, _)| a.total_cmp(b));
        let (rate, name) = slowest.ok_or_else(|| {
            let text = "no capacity is known: measure ptunnel or a rival in the closed loop too, --figures cpu,rates";
            io::Error::other(text)
        })?;
        self.note(format!(
            "the slowest is {name}, which carried {rate:.0} requests per second in a closed loop: rates are shares of that"
        ));
        Ok(*self.slowest.get_or_init(|| rate))
    }

    /// Starts a fresh process of this peer on its core, or on both where it has several threads.
    pub fn start(&self, peer: &Found, setup: Setup, under: &Under) -> io::Result<Running> {
        Running::start(peer, setup, under, &self.folder, self.cores)
    }

    /// One of two values, by the kind of run.
    pub fn either<T>(&self, quick: T, full: T) -> T {
        if self.quick {
            quick
        } else {
            full
        }
    }
}

/// What one sample found.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    pub values: Vec<(&'static str, f64)>,
    pub parts: Option<(&'static str, Vec<Part>)>,
    pub notes: Vec<String>,
}

impl Taken {
    pub fn values(values: Vec<(&'static str, f64)>) -> Taken {
        Taken {
            values,
            ..Taken::default()
        }
    }
}

/// The parts of a figure per unit of work, from counts of a run and of one twice as long: the dearest first.
pub fn parts_of_difference(
    once: &BTreeMap<String, u64>,
    twice: &BTreeMap<String, u64>,
    units: f64,
) -> Vec<Part> {
    let mut parts: Vec<Part> = twice
        .iter()
        .map(|(name, &count)| {
            let before = once.get(name).copied().unwrap_or(0);
            Part {
                name: name.clone(),
                value: (count as f64 - before as f64) / units,
            }
        })
        .filter(|part| part.value > 0.0)
        .collect();
    parts.sort_by(|a, b| b.value.total_cmp(&a.value));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_what_the_longer_run_adds() {
        let counts =
            |entries: &[(&str, u64)]| entries.iter().map(|&(n, c)| (n.to_string(), c)).collect();
        let once = counts(&[("start", 900), ("poll", 150), ("recv", 100)]);
        let twice = counts(&[("start", 900), ("poll", 250), ("recv", 300), ("new", 50)]);
        let parts = parts_of_difference(&once, &twice, 100.0);
        let names: Vec<(&str, f64)> = parts.iter().map(|p| (p.name.as_str(), p.value)).collect();
        assert_eq!(names, [("recv", 2.0), ("poll", 1.0), ("new", 0.5)]);
    }
}
