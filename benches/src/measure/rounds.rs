//! The samples of one group of figures: its peers take turns, round by round, in an order that is drawn for each round;
//! each sample has a fresh process.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use super::bench::{Bench, Taken};
use super::headline;
use super::progress::Progress;
use super::rig::{Group, Plan};
use super::turns::Turns;
use crate::model::{Kind, Results, Sample};
use crate::peers::Found;
use crate::tools::foreign::Watch;

/// A peer that failed so often is asked no more.
const MOST_FAILURES: usize = 2;
/// A sample beside which others worked is taken so often, and then given up.
const TRIES: usize = 3;
/// Pairs of rounds that the headline's comparisons are thought to need, and the time that they get.
const PAIRS: usize = 65;
const PAIRS_BUDGET: Duration = Duration::from_secs(15 * 60);
/// Rounds between two looks at how many pairs they need.
const CHECKED_EVERY: usize = 10;
/// Parts of a figure that are kept of each peer.
const PARTS: usize = 12;

pub struct Rounds<'a> {
    group: &'a Group,
    plan: Plan,
    peers: Vec<&'a Found>,
    /// Those of the peers, by index, that have more rounds than the plan's, until the headline's comparisons are resolved.
    paired: Vec<usize>,
}

impl<'a> Rounds<'a> {
    /// Of those of `peers` that take part in `group`.
    pub fn of(
        group: &'a Group,
        bench: &Bench,
        peers: &'a [Found],
        results: &Results,
    ) -> Rounds<'a> {
        let takes_part = |peer: &&Found| peer.spec.takes_part(group.name);
        let peers: Vec<&Found> = peers.iter().filter(takes_part).collect();
        let is_headline = headline::planned(results).is_some_and(|f| group.has(f));
        let is_paired = |index: &usize| {
            let spec = &peers[*index].spec;
            headline::compares(spec) || spec.kind == Kind::Control
        };
        let all = 0..peers.len();
        let paired = all.filter(|i| is_headline && !bench.unpaired && is_paired(i));
        let paired = paired.collect();
        Rounds {
            group,
            plan: bench.either(group.quick, group.full),
            peers,
            paired,
        }
    }

    /// How long all of it is going to take.
    pub fn expected(&self) -> Duration {
        let more =
            self.plan.sample * (PAIRS.saturating_sub(self.plan.rounds) * self.paired.len()) as u32;
        self.plan.expected(self.peers.len()) + more.min(PAIRS_BUDGET)
    }

    /// Takes the samples into `results`.
    ///
    /// # Errors
    ///
    /// The first failure of a peer in a strict run; it is a note in any other.
    pub fn take(
        &self,
        bench: &Bench,
        turns: &mut Turns,
        progress: &mut Progress,
        results: &mut Results,
    ) -> io::Result<()> {
        let (rounds, peers) = (self.plan.rounds, self.peers.len());
        // The budget may cut the group short: a step is a share of the time that it is expected to take.
        let step = self.plan.expected(peers) / (rounds * peers).max(1) as u32;
        let begun = Instant::now();
        let mut failures = vec![0; peers];
        for round in 0..rounds {
            // What no longer fits the time is not begun, but never fewer rounds than a spread needs.
            let is_over = round >= self.plan.least && begun.elapsed() > self.plan.budget;
            for index in turns.round(peers) {
                if !is_over {
                    let round = (round, rounds);
                    self.turn(bench, index, round, &mut failures, progress, results)?;
                }
                progress.step(step);
            }
        }
        if self.paired.is_empty() {
            return Ok(());
        }
        let begun = Instant::now();
        for round in rounds.. {
            // s is an estimate: to stop as soon as one of many is low would prefer the low ones.
            let is_asked = (round - rounds) % CHECKED_EVERY == 0;
            let is_over = begun.elapsed() > PAIRS_BUDGET || bench.stop.asked();
            if is_over || is_asked && self.is_resolved(results, &failures) {
                break;
            }
            for at in turns.round(self.paired.len()) {
                let (index, round) = (self.paired[at], (round, headline::MOST_PAIRS));
                self.turn(bench, index, round, &mut failures, progress, results)?;
                progress.step(self.plan.sample);
            }
        }
        Ok(())
    }

    /// Whether each comparison that goes on has the pairs that it needs.
    fn is_resolved(&self, results: &Results, failures: &[usize]) -> bool {
        let fails = |index: &usize| failures[*index] >= MOST_FAILURES;
        let gone: Vec<_> = self.paired.iter().filter(|i| fails(i)).collect();
        let named = |name: &str| gone.iter().any(|i| self.peers[**i].spec.name == name);
        let is_subject = |i: &&usize| self.peers[**i].spec.kind == Kind::Subject;
        let enough = |taken, needed: usize| taken >= needed.min(headline::MOST_PAIRS);
        gone.iter().any(is_subject)
            || headline::pairs(results)
                .into_iter()
                .all(|(rival, taken, needed)| named(rival) || enough(taken, needed))
    }

    /// One peer's turn, unless it failed too often already.
    fn turn(
        &self,
        bench: &Bench,
        index: usize,
        (round, rounds): (usize, usize),
        failures: &mut [usize],
        progress: &Progress,
        results: &mut Results,
    ) -> io::Result<()> {
        if failures[index] >= MOST_FAILURES || bench.stop.asked() {
            return Ok(());
        }
        let peer = self.peers[index];
        let (group, name) = (self.group.name, &peer.spec.name);
        let what = format!("{} {group} {}/{rounds} {name}", results.rig, round + 1);
        progress.tell(&what);
        match self.sample(bench, peer, round, results) {
            Ok(()) => {}
            Err(_) if bench.stop.asked() => {}
            Err(e) if bench.strict => return Err(io::Error::other(format!("{what}: {e}"))),
            Err(e) => {
                results.note(format!("{what}: {e}"));
                failures[index] += 1;
                if failures[index] == MOST_FAILURES && round + 1 < rounds {
                    let text = "failed twice and was asked no more for";
                    results.note(format!("{name} {text} {group}"));
                }
            }
        }
        Ok(())
    }

    /// A sample without foreign work beside it, or none, with what is to be said of it. A quick run keeps any.
    fn sample(
        &self,
        bench: &Bench,
        peer: &Found,
        round: usize,
        results: &mut Results,
    ) -> io::Result<()> {
        let (group, name) = (self.group.name, &peer.spec.name);
        for _ in 0..TRIES {
            let watch = Watch::begin()?;
            let taken = (self.group.sample)(bench, peer);
            let foreign = watch.end()?;
            for note in bench.noted() {
                results.note(format!("{group} {name}: {note}"));
            }
            let Taken { values, parts } = taken?;
            if bench.keeps_any || !watch.is_dirty(foreign) {
                results.samples.push(Sample {
                    peer: name.clone(),
                    round,
                    foreign,
                    values: named(self.group, values)?,
                });
                if !parts.is_empty() {
                    let parts = parts.into_iter().take(PARTS).collect();
                    let of_group = results.parts.entry(group).or_default();
                    of_group.insert(name.clone(), parts);
                }
                return Ok(());
            }
            bench.stop.check()?;
        }
        results.note(format!(
            "{group} {}: {name} has no sample, since others worked beside each of {TRIES}",
            round + 1
        ));
        Ok(())
    }
}

/// A sample has a value, or none, for each of the group's figures.
fn named(group: &Group, values: Vec<Option<f64>>) -> io::Result<BTreeMap<&'static str, f64>> {
    let (found, wanted) = (values.len(), group.figures.len());
    if found != wanted {
        let text = format!("{found} values for {wanted} figures");
        return Err(io::Error::other(text));
    }
    let pairs = group.figures.iter().zip(values);
    let pairs = pairs.filter_map(|(figure, value)| Some((figure.name, value?)));
    Ok(pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::measure::Options;
    use crate::model::example::{example, CPU, RATE};
    use crate::peers::spec;
    use crate::stop::Stop;

    /// Some samples of a rival take 15 % more than others; one rival fails after its fifth.
    fn noisy(_: &Bench, peer: &Found) -> io::Result<Taken> {
        static TAKEN: AtomicUsize = AtomicUsize::new(0);
        static OF_HAPROXY: AtomicUsize = AtomicUsize::new(0);
        if peer.spec.name == "haproxy" && OF_HAPROXY.fetch_add(1, Ordering::Relaxed) > 4 {
            return Err(io::Error::other("it ended"));
        }
        let even = TAKEN.fetch_add(1, Ordering::Relaxed) & 4 == 0;
        let is_steady = peer.spec.name == "ptunnel" || even;
        Ok(Taken::of([if is_steady { 1.0 } else { 1.15 }]))
    }

    const GROUP: Group = Group {
        name: "cpu",
        figures: &[CPU],
        sample: noisy,
        quick: Plan::quick(2, 1, 1),
        full: Plan::full(6, 1, 60),
    };

    #[test]
    fn the_headlines_peers_go_on_until_their_pairs_resolve_three_percent() {
        let kinds = ["subject", "program", "package", "package"];
        let entry = |(name, kind): (&str, _)| {
            let text = format!("kind = '{kind}'\nabout = ''\nstart = ['x']\nbuild = 'x'");
            format!("[[relay]]\nname = '{name}'\n{text}\n")
        };
        let names = ["ptunnel", "tokio", "haproxy", "nginx"];
        let list: String = names.into_iter().zip(kinds).map(entry).collect();
        let specs = spec::parse(&list, &[], "relay").unwrap();
        let peers: Vec<Found> = specs.into_iter().map(Found::of_package).collect();
        for (quick, least, most) in [(false, 12, headline::MOST_PAIRS), (true, 2, 2)] {
            let options = Options {
                quick,
                ..Options::default()
            };
            let stop = Stop::default();
            let mut bench = Bench::new(&options, None, 9, Default::default(), stop).unwrap();
            bench.keeps_any = true;
            let mut results = example(&[CPU], &[]);
            results.peers = peers
                .iter()
                .map(|peer| peer.described(Vec::new()))
                .collect();
            let rounds = Rounds::of(&GROUP, &bench, &peers, &results);
            let mut progress = Progress::new(rounds.expected());
            let mut turns = Turns::new(1);
            rounds
                .take(&bench, &mut turns, &mut progress, &mut results)
                .unwrap();
            let count = |peer| results.by_round("cpu", peer).len();
            let taken = count("tokio");
            assert!((least..=most).contains(&taken), "{taken}");
            assert!(count("nginx") <= GROUP.full.rounds);
            assert!(count("haproxy") <= 5);
        }
    }

    #[test]
    fn a_sample_has_as_many_values_as_its_group_has_figures() {
        let group = Group {
            figures: &[CPU, RATE],
            ..GROUP
        };
        let named = |values: &[Option<f64>]| named(&group, values.to_vec());
        assert_eq!(
            named(&[None, Some(2.0)]).unwrap(),
            BTreeMap::from([("rate", 2.0)])
        );
        assert!(named(&[Some(1.0)]).is_err() && named(&[None; 3]).is_err());
    }
}
