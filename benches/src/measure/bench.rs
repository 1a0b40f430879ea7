//! What every sample needs, and what it gives.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use super::headline;
use super::options::Options;
use crate::load::client::Client;
use crate::load::driver::{Driver, Ran};
use crate::load::pace::{Pace, Until};
use crate::load::pattern::Pattern;
use crate::model::{median, Cores, Part};
use crate::peers::{Found, Running, Setup, Under};
use crate::stop::Stop;
use crate::tools::process::{Cpu, Used};

/// Descriptors that a process needs beside those of its connections.
const SPARE: usize = 200;

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

    /// What a sample met that its reader must know.
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
        if headline::compares(&peer.spec) {
            let mut all = self.capacities.borrow_mut();
            all.entry(peer.spec.name.clone()).or_default().push(rate);
        }
    }

    /// Returns the capacity of the slowest of the headline's peers in requests per second, by the medians of what was
    /// carried before the first call, which notes it.
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

    /// How many connections fit the descriptors of a process that has `each` of them for one: at most `wanted`, noted where
    /// it is fewer, and at most `own`, which is the peer's limit.
    pub fn fitting(&self, wanted: usize, each: usize, own: Option<usize>) -> usize {
        let fit = (self.descriptors as usize).saturating_sub(SPARE) / each;
        let own = own.unwrap_or(usize::MAX);
        let count = wanted.min(own).min(fit);
        if count < wanted {
            let why = match own <= fit {
                true => "its entry in peers.toml says so".to_string(),
                false => format!("a process may have {} descriptors", self.descriptors),
            };
            self.note(format!("{count} connections instead of {wanted}: {why}"));
        }
        count
    }

    /// Starts a fresh process of this peer on its core, or on both where it has several threads.
    pub fn start(&self, peer: &Found, setup: Setup, under: &Under) -> io::Result<Running> {
        Running::start(peer, setup, under, &self.folder, self.cores)
    }

    /// Runs the load, to warm up and then to measure, for so many milliseconds; returns what it measured, and the CPU time
    /// that the process used meanwhile.
    ///
    /// # Errors
    /// Those of the load.
    pub fn run<C: Client>(
        &self,
        load: &mut Driver<C>,
        pace: Pace,
        milliseconds: [u64; 2],
        id: u32,
    ) -> io::Result<(Ran, Used)> {
        let [warm_up, time] = milliseconds.map(Until::milliseconds);
        load.run(pace, warm_up, &self.stop)?;
        self.during(id, || load.run(pace, time, &self.stop))
    }

    /// Does that work; returns what came of it, and the CPU time that the process on its core used meanwhile.
    ///
    /// # Errors
    /// Those of the work.
    pub fn during<T>(
        &self,
        id: u32,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, Used)> {
        Cpu::during(id, self.cores.map(|cores| cores.peer), work)
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
    /// In the order of the group's figures; none where a peer doesn't have that one.
    pub values: Vec<Option<f64>>,
    /// Those of the figure that has the group's name, the dearest first.
    pub parts: Vec<Part>,
}

impl Taken {
    /// Without parts.
    pub fn of<V: Into<Option<f64>>>(values: impl IntoIterator<Item = V>) -> Taken {
        Taken {
            values: values.into_iter().map(Into::into).collect(),
            parts: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_fit_the_descriptors_and_the_peer_or_a_note_says_so() {
        let fitting = |descriptors, wanted, each, own| {
            let (options, stop) = (Options::default(), Stop::default());
            let bench = Bench::new(&options, None, descriptors, PathBuf::new(), stop).unwrap();
            let count = bench.fitting(wanted, each, own);
            (count, bench.noted().concat())
        };
        assert_eq!(fitting(20_000, 10_000, 1, None), (10_000, String::new()));
        let (count, why) = fitting(20_000, 10_000, 2, None);
        assert!(
            count == 9_900 && why.ends_with("20000 descriptors"),
            "{why}"
        );
        let (count, why) = fitting(20_000, 10_000, 2, Some(1_000));
        assert!(count == 1_000 && why.contains("peers.toml"), "{why}");
        assert_eq!(fitting(100, 1_000, 1, Some(9)).0, 0);
    }
}
