//! What a run measured: every raw sample, and what must be known to judge them. Serialised field by field.
//!
//! Names are those of the rig's own constants; see `Results::read` for those of a file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::figure::{Figure, Part};
use super::machine::Machine;
use super::peer::{Kind, Peer};
use super::stats::{median, paired_ratios, Spread};

/// What the rig has and the command line of a run left out.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct LeftOut {
    pub peers: Vec<String>,
    pub figures: Vec<String>,
}

impl LeftOut {
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty() && self.figures.is_empty()
    }
}

/// One life of a peer's process, with all that was read off it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Sample {
    pub peer: String,
    pub round: usize,
    /// Seconds that the hypervisor gave to others meanwhile, and that processes of others ran; older runs didn't look.
    #[serde(flatten)]
    pub foreign: Foreign,
    #[serde(borrow)]
    pub values: BTreeMap<&'static str, f64>,
}

/// Work that isn't the run's, in seconds on a core; absent where it wasn't looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Foreign {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Results {
    pub rig: &'static str,
    pub question: &'static str,
    /// The command line that repeats the run.
    pub command: String,
    /// Why it was taken, where its figures can't say it.
    #[serde(default)]
    pub reason: Option<String>,
    pub date: String,
    pub quick: bool,
    pub interrupted: bool,
    pub machine: Machine,
    /// What the programs were built with, and from.
    pub rustc: Option<String>,
    pub commit: Option<String>,
    /// What the order of turns was drawn from; older runs rotated it.
    #[serde(default)]
    pub seed: Option<u64>,
    pub left_out: LeftOut,
    pub figures: Vec<Figure>,
    /// The figure whose plot isn't folded: the first of these that was measured.
    pub plotted: Vec<&'static str>,
    pub peers: Vec<Peer>,
    pub samples: Vec<Sample>,
    /// The dearest parts, by figure and then by peer.
    pub parts: BTreeMap<&'static str, BTreeMap<String, Vec<Part>>>,
    /// What went otherwise than planned: failed samples, scaled counts.
    pub notes: Vec<String>,
}

impl Results {
    pub fn add(&mut self, peer: &str, round: usize, values: &[(&'static str, f64)]) {
        self.samples.push(Sample {
            peer: peer.to_string(),
            round,
            foreign: Foreign::default(),
            values: values.iter().copied().collect(),
        });
    }

    pub fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub fn by_round(&self, figure: &str, peer: &str) -> Vec<(usize, f64)> {
        let mine = self.samples.iter().filter(|s| s.peer == peer);
        mine.filter_map(|s| Some((s.round, *s.values.get(figure)?)))
            .collect()
    }

    fn values(&self, figure: &str, peer: &str) -> Vec<f64> {
        let all = self.by_round(figure, peer).into_iter();
        all.map(|(_, value)| value).collect()
    }

    pub fn median(&self, figure: &str, peer: &str) -> Option<f64> {
        median(&self.values(figure, peer))
    }

    /// The median of one figure of one peer, with its quartiles.
    pub fn spread(&self, figure: &str, peer: &str) -> Option<Spread> {
        Spread::of(&self.values(figure, peer))
    }

    /// The median of one figure of one peer, with the interval of that median.
    pub fn value(&self, figure: &str, peer: &str) -> Option<Spread> {
        Spread::with_interval(&self.values(figure, peer))
    }

    /// The ratios of `one / other` of the rounds of both.
    pub fn ratios(&self, figure: &str, one: &str, other: &str) -> Vec<f64> {
        paired_ratios(&self.by_round(figure, one), &self.by_round(figure, other))
    }

    /// The median of `one / other` over the rounds of both, with the interval of that median.
    pub fn ratio(&self, figure: &str, one: &str, other: &str) -> Option<Spread> {
        Spread::with_interval(&self.ratios(figure, one, other))
    }

    /// Figures of a peer that are 0 in some rounds and not in others: the former drop out of each ratio to it.
    pub fn zeros(&self) -> Vec<String> {
        let mut all = Vec::new();
        for figure in self.measured() {
            for peer in &self.peers {
                let samples = self.by_round(figure.name, &peer.name);
                let zeros = samples.iter().filter(|(_, value)| *value == 0.0).count();
                if zeros > 0 && zeros < samples.len() {
                    all.push(format!(
                        "{} of {} is 0 in {zeros} of {} rounds, which are in no ratio to it",
                        figure.name,
                        peer.name,
                        samples.len()
                    ));
                }
            }
        }
        all
    }

    /// The warnings above the figures.
    pub fn warnings(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.quick {
            all.push("A quick run, which is a smoke test: don't quote its figures.".to_string());
        }
        if self.interrupted {
            all.push("Interrupted: this is what was measured until then.".to_string());
        }
        if self.machine.pinned.is_none() {
            all.push("Not pinned: peers and load shared their cores.".to_string());
        }
        for (what, names) in [
            ("peers", &self.left_out.peers),
            ("figures", &self.left_out.figures),
        ] {
            if !names.is_empty() {
                let names = names.join(", ");
                all.push(format!(
                    "Narrowed: the command line left out the {what} {names}."
                ));
            }
        }
        all
    }

    pub fn subject(&self) -> Option<&Peer> {
        self.peers.iter().find(|p| p.kind == Kind::Subject)
    }

    pub fn peer(&self, name: &str) -> Option<&Peer> {
        self.peers.iter().find(|p| p.name == name)
    }

    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|f| f.name == name)
    }

    /// Figures that have a sample, in their order.
    pub fn measured(&self) -> Vec<Figure> {
        let taken = |f: &&Figure| self.samples.iter().any(|s| s.values.contains_key(f.name));
        self.figures.iter().filter(taken).copied().collect()
    }

    /// The first seven characters of the commit.
    pub fn short_commit(&self) -> &str {
        let commit = self.commit.as_deref().unwrap_or("unknown");
        commit.get(..7).unwrap_or(commit)
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{example, CPU};
    use super::*;

    #[test]
    fn a_run_that_was_narrowed_or_is_not_pinned_says_so() {
        let mut results = example(&[], &[("us", Kind::Subject, 1.0)]);
        results.left_out.peers = vec!["may".to_string()];
        let told = results.warnings();
        assert_eq!(told.len(), 2);
        assert!(told[1].contains("left out the peers may"), "{told:?}");
    }

    #[test]
    fn zeros_among_other_values_are_reported() {
        let peers = [("us", Kind::Subject, 0.0), ("them", Kind::Program, 2.0)];
        let mut results = example(&[CPU], &peers);
        assert_eq!(results.zeros(), Vec::<String>::new());
        results.add("them", 3, &[("cpu", 0.0)]);
        let told = "cpu of them is 0 in 1 of 4 rounds, which are in no ratio to it";
        assert_eq!(results.zeros(), [told]);
    }

    #[test]
    fn ratios_are_of_rounds_and_not_of_medians() {
        let peers = [("us", Kind::Subject, 1.0), ("them", Kind::Program, 2.0)];
        let mut results = example(&[CPU], &peers);
        results.add("us", 3, &[("cpu", 100.0)]);
        let ratio = results.ratio("cpu", "us", "them").unwrap();
        assert_eq!(
            (ratio.median, ratio.low, ratio.high, ratio.count),
            (0.5, 0.5, 0.5, 3)
        );
        assert_eq!(results.spread("cpu", "them").unwrap().median, 4.0);
        assert!(results.ratio("cpu", "us", "absent").is_none());
    }
}
