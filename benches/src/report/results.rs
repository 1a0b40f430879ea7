//! What a run measured: every raw sample, and what must be known to judge them. Serialised as it stands.
//!
//! Names are those of the rig's own constants; to read a file back, its text must live as long as they do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::stats::{paired_ratios, Spread};
use crate::peers::{Found, Kind, Missing};
use crate::tools::machine::Machine;

/// A column of the report.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Figure {
    pub name: &'static str,
    pub unit: &'static str,
    pub title: &'static str,
    /// Whether the smaller value is the better one.
    pub less_is_better: bool,
}

pub const fn figure(
    name: &'static str,
    unit: &'static str,
    title: &'static str,
    less_is_better: bool,
) -> Figure {
    Figure {
        name,
        unit,
        title,
        less_is_better,
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Peer {
    pub name: String,
    pub kind: Kind,
    pub about: String,
    pub splice: bool,
    pub same_steps: bool,
    pub again: Option<String>,
    pub start: String,
    /// Absent for a peer that is missing.
    pub version: Option<String>,
    pub missing: Option<String>,
    pub install: String,
    /// The command that builds it; absent for a package.
    #[serde(default)]
    pub build: Option<String>,
    /// It speaks TLS where the others don't.
    #[serde(default)]
    pub tls: bool,
    /// Figures that its entry says it can't give.
    #[serde(default)]
    pub without: Vec<String>,
}

/// What a run was not asked for by its command line, though the rig has it.
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

/// How busy the machine was before the first peer was looked for and after the last sample: processes that ran or
/// waited for a core, over the last minute.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct LoadAverage {
    pub start: f64,
    pub end: f64,
}

impl LoadAverage {
    /// Whether others worked too: at the start nobody should, at the end only this run, which keeps no more than the
    /// cores busy that it has.
    pub fn is_busy(self, cores: usize) -> bool {
        self.start > 1.0 || self.end > cores as f64 + 1.0
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Sample {
    pub figure: &'static str,
    pub peer: String,
    pub round: usize,
    pub value: f64,
}

/// A part of a figure: a function of its instructions, a call of its system calls.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Part {
    pub name: String,
    pub value: f64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Results {
    pub rig: &'static str,
    /// Older results have neither this nor `command` and `plotted`.
    #[serde(default)]
    pub question: &'static str,
    /// The command line that repeats the run.
    #[serde(default)]
    pub command: String,
    pub date: String,
    pub quick: bool,
    pub interrupted: bool,
    pub machine: Machine,
    /// What the programs were built with, and from.
    #[serde(default)]
    pub rustc: Option<String>,
    #[serde(default)]
    pub commit: Option<String>,
    /// What the order of turns was drawn from; older runs rotated it.
    #[serde(default)]
    pub seed: Option<u64>,
    #[serde(default)]
    pub load_average: Option<LoadAverage>,
    #[serde(default)]
    pub left_out: LeftOut,
    pub figures: Vec<Figure>,
    /// Those of the figures that are drawn.
    #[serde(default)]
    pub plotted: Vec<&'static str>,
    pub peers: Vec<Peer>,
    pub samples: Vec<Sample>,
    /// By figure, then by peer.
    pub parts: BTreeMap<&'static str, BTreeMap<String, Vec<Part>>>,
    /// What went otherwise than planned: failed samples, scaled counts.
    pub notes: Vec<String>,
    /// What a run beside the rig's own is called: its folder's name.
    #[serde(skip)]
    pub folder: Option<String>,
    /// What a note in its folder says of it, such as why it was taken.
    #[serde(skip)]
    pub note_of_folder: Option<String>,
}

impl Results {
    /// The rig, or what this further run of it is called.
    pub fn title(&self) -> String {
        match &self.folder {
            Some(name) => format!("{name}: {} again", self.rig),
            None => self.rig.to_string(),
        }
    }

    /// Where a page that has several runs tells of this one.
    pub fn anchor(&self) -> &str {
        self.folder.as_deref().unwrap_or(self.rig)
    }

    /// What must be known of a run before its figures: what its note says, and of a further one what it asked for.
    pub fn reason(&self) -> Option<String> {
        let command = self
            .folder
            .as_ref()
            .map(|_| format!("Taken with `{}`.", self.command));
        let parts: Vec<String> = self.note_of_folder.iter().cloned().chain(command).collect();
        match parts.is_empty() {
            true => None,
            false => Some(parts.join(" ")),
        }
    }

    pub fn add(&mut self, peer: &str, round: usize, values: &[(&'static str, f64)]) {
        for &(figure, value) in values {
            self.samples.push(Sample {
                figure,
                peer: peer.to_string(),
                round,
                value,
            });
        }
    }

    pub fn note(&mut self, text: String) {
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub fn by_round(&self, figure: &str, peer: &str) -> Vec<(usize, f64)> {
        let mine = self
            .samples
            .iter()
            .filter(|s| s.figure == figure && s.peer == peer);
        mine.map(|s| (s.round, s.value)).collect()
    }

    /// The median of one figure of one peer, with its quartiles.
    pub fn spread(&self, figure: &str, peer: &str) -> Option<Spread> {
        let values: Vec<f64> = self
            .by_round(figure, peer)
            .into_iter()
            .map(|(_, v)| v)
            .collect();
        Spread::of(&values)
    }

    /// The median of `ours / theirs` over the rounds of both, with the interval of that median.
    pub fn ratio(&self, figure: &str, ours: &str, theirs: &str) -> Option<Spread> {
        Spread::with_interval(&paired_ratios(
            &self.by_round(figure, ours),
            &self.by_round(figure, theirs),
        ))
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

    /// How busy the machine was, as the end of a list of what it is.
    pub fn load(&self) -> String {
        match self.load_average {
            Some(LoadAverage { start, end }) => {
                format!("; load average {start:.2} at the start, {end:.2} at the end")
            }
            None => String::new(),
        }
    }

    /// The warnings that stand above the figures, as a bold word and the rest.
    pub fn warnings(&self) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        if self.quick {
            all.push((
                "A quick run",
                ": its figures are a smoke test and nothing more. Don't quote them.".to_string(),
            ));
        }
        if self.interrupted {
            all.push((
                "Interrupted",
                ": this is what was measured until then.".to_string(),
            ));
        }
        if !self.left_out.is_empty() {
            all.push(("Narrowed", format!(": {}.", self.left_out.told())));
        }
        let busy = |load: &LoadAverage| load.is_busy(self.machine.cores);
        if let Some(load) = self.load_average.filter(busy) {
            all.push((
                "A busy machine",
                format!(
                    ": load average {:.1} at the start and {:.1} at the end, on {} cores. Other work is in these figures.",
                    load.start, load.end, self.machine.cores
                ),
            ));
        }
        all
    }

    pub fn subject(&self) -> Option<&Peer> {
        self.peers.iter().find(|p| p.kind == Kind::Subject)
    }

    pub fn peer(&self, name: &str) -> Option<&Peer> {
        self.peers.iter().find(|p| p.name == name)
    }

    /// Figures that have a sample, in their order.
    pub fn measured(&self) -> Vec<Figure> {
        let taken = |f: &&Figure| self.samples.iter().any(|s| s.figure == f.name);
        self.figures.iter().filter(taken).copied().collect()
    }
}

impl From<&Found> for Peer {
    fn from(found: &Found) -> Peer {
        Peer {
            version: Some(found.version.clone()),
            ..Peer::new(&found.spec)
        }
    }
}

impl From<&Box<Missing>> for Peer {
    fn from(missing: &Box<Missing>) -> Peer {
        Peer {
            missing: Some(missing.reason.clone()),
            ..Peer::new(&missing.spec)
        }
    }
}

impl LeftOut {
    /// In words, such as "only a part was asked for; without the peers x, y".
    fn told(&self) -> String {
        let list = |what: &str, names: &[String]| match names {
            [] => None,
            names => Some(format!("the {what} {}", names.join(", "))),
        };
        let parts = [list("peers", &self.peers), list("figures", &self.figures)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!("the command line left out {}", parts.join(", and "))
    }
}

impl Peer {
    /// Its name, with what makes its figures another thing.
    pub fn label(&self) -> String {
        match self.tls {
            true => format!("{} (encrypts)", self.name),
            false => self.name.clone(),
        }
    }

    fn new(spec: &crate::peers::Spec) -> Peer {
        Peer {
            name: spec.name.clone(),
            kind: spec.kind,
            about: spec.about.clone(),
            splice: spec.splice,
            same_steps: spec.same_steps,
            again: spec.again().cloned(),
            // With its placeholders: paths say something about a machine and nothing about a peer.
            start: spec.start.join(" "),
            version: None,
            missing: None,
            install: spec.install().to_string(),
            build: spec.build.clone(),
            tls: spec.tls,
            without: Vec::new(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run of `rounds` with a subject at half the value of each rival.
    pub fn example(figures: &[Figure], peers: &[(&str, Kind, f64)]) -> Results {
        let machine = Machine {
            cpu: "a core".to_string(),
            cores: 2,
            kernel: "Linux 1.2".to_string(),
            pinned: None,
            descriptors: 20_000,
        };
        let mut results = Results {
            rig: "relay",
            question: "Which is better?",
            command: "measure it".to_string(),
            date: "2030-01-02".to_string(),
            quick: false,
            interrupted: false,
            machine,
            rustc: None,
            commit: None,
            seed: None,
            load_average: None,
            left_out: LeftOut::default(),
            figures: figures.to_vec(),
            plotted: figures.iter().map(|f| f.name).collect(),
            peers: Vec::new(),
            samples: Vec::new(),
            parts: BTreeMap::new(),
            notes: Vec::new(),
            folder: None,
            note_of_folder: None,
        };
        for &(name, kind, value) in peers {
            results.peers.push(Peer {
                name: name.to_string(),
                kind,
                about: format!("about {name}"),
                splice: false,
                same_steps: true,
                again: None,
                start: name.to_string(),
                version: Some("1".to_string()),
                missing: None,
                install: format!("install {name}"),
                build: None,
                tls: false,
                without: Vec::new(),
            });
            for round in 0..3 {
                for figure in figures {
                    results.add(name, round, &[(figure.name, value * (1 + round) as f64)]);
                }
            }
        }
        results
    }

    #[test]
    fn a_run_that_was_narrowed_or_disturbed_says_so() {
        let mut results = example(&[], &[("us", Kind::Subject, 1.0)]);
        assert!(results.warnings().is_empty());
        results.left_out.peers = vec!["may".to_string()];
        results.load_average = Some(LoadAverage {
            start: 0.4,
            end: 2.9,
        });
        let told = results.warnings();
        assert_eq!(told.len(), 1);
        assert!(told[0].1.contains("left out the peers may"), "{told:?}");
        for (start, end) in [(1.1, 0.0), (0.0, 3.1)] {
            results.load_average = Some(LoadAverage { start, end });
            assert_eq!(results.warnings()[1].0, "A busy machine");
        }
    }

    #[test]
    fn zeros_among_other_values_are_told() {
        let figure = figure("f", "s", "F", true);
        let peers = [("us", Kind::Subject, 0.0), ("them", Kind::Program, 2.0)];
        let mut results = example(&[figure], &peers);
        let none: [String; 0] = [];
        assert_eq!(results.zeros(), none);
        results.add("them", 3, &[("f", 0.0)]);
        let told = "f of them is 0 in 1 of 4 rounds, which are in no ratio to it";
        assert_eq!(results.zeros(), [told]);
    }

    #[test]
    fn ratios_are_of_rounds_and_not_of_medians() {
        let figure = Figure {
            name: "f",
            unit: "s",
            title: "F",
            less_is_better: true,
        };
        let mut results = example(
            &[figure],
            &[("us", Kind::Subject, 1.0), ("them", Kind::Program, 2.0)],
        );
        results.add("us", 3, &[("f", 100.0)]);
        let ratio = results.ratio("f", "us", "them").unwrap();
        assert_eq!(
            (ratio.median, ratio.low, ratio.high, ratio.count),
            (0.5, 0.5, 0.5, 3)
        );
        assert_eq!(results.spread("f", "them").unwrap().median, 4.0);
        assert!(results.ratio("f", "us", "nobody").is_none());
    }
}
