//! The samples of one group of figures: its peers take turns, round by round, in an order that is drawn for each round;
//! each sample has a fresh process.

use std::io;
use std::time::{Duration, Instant};

use super::bench::{Bench, Taken};
use super::plan::Plan;
use super::progress::Progress;
use super::turns::Turns;
use super::Group;
use crate::peers::Found;
use crate::report::Results;

/// A peer that failed so often is asked no more.
const MOST_FAILURES: usize = 2;

pub struct Rounds<'a> {
    group: &'a Group,
    plan: Plan,
    peers: Vec<&'a Found>,
}

impl<'a> Rounds<'a> {
    /// Of those of `peers` that take part in `group`.
    pub fn of(group: &'a Group, bench: &Bench, peers: &'a [Found]) -> Rounds<'a> {
        let takes_part = |peer: &&Found| peer.spec.takes_part(group.name);
        Rounds {
            group,
            plan: bench.either(group.quick, group.full),
            peers: peers.iter().filter(takes_part).collect(),
        }
    }

    /// How long all of it is going to take.
    pub fn expected(&self) -> Duration {
        self.plan.expected(self.peers.len())
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
        let step = self.expected() / (rounds * peers).max(1) as u32;
        let begun = Instant::now();
        let mut failures = vec![0; peers];
        for round in 0..rounds {
            // What no longer fits the time is not begun, but never fewer rounds than a spread needs.
            let is_over = round >= self.plan.least && begun.elapsed() > self.plan.budget;
            for index in turns.round(peers) {
                if !is_over && failures[index] < MOST_FAILURES && !bench.stop.asked() {
                    let peer = self.peers[index];
                    let (group, name) = (self.group.name, &peer.spec.name);
                    let what = format!("{} {group} {}/{rounds} {name}", results.rig, round + 1);
                    progress.tell(&what);
                    match self.sample(bench, peer, round, results) {
                        Ok(()) => {}
                        Err(_) if bench.stop.asked() => {}
                        Err(e) if bench.strict => {
                            return Err(io::Error::other(format!("{what}: {e}")));
                        }
                        Err(e) => {
                            failures[index] += 1;
                            results.note(format!("{what}: {e}"));
                            if failures[index] == MOST_FAILURES && round + 1 < rounds {
                                results.note(format!(
                                    "{name} failed twice and was asked no more for {group}"
                                ));
                            }
                        }
                    }
                }
                progress.step(step);
            }
        }
        Ok(())
    }

    /// One peer's turn, with what is to be said of it.
    fn sample(
        &self,
        bench: &Bench,
        peer: &Found,
        round: usize,
        results: &mut Results,
    ) -> io::Result<()> {
        let name = &peer.spec.name;
        let taken = (self.group.sample)(bench, peer);
        for note in bench.noted() {
            results.note(format!("{} {name}: {note}", self.group.name));
        }
        keep(results, name, round, of_its_group(self.group, taken?)?);
        Ok(())
    }
}

/// A figure that its group doesn't name would be missing where runs are narrowed and rounds are counted.
fn of_its_group(group: &Group, taken: Taken) -> io::Result<Taken> {
    match taken
        .values
        .iter()
        .find(|(name, _)| !group.figures.contains(name))
    {
        Some((name, _)) => Err(io::Error::other(format!(
            "{name} is no figure of {}",
            group.name
        ))),
        None => Ok(taken),
    }
}

fn keep(results: &mut Results, peer: &str, round: usize, taken: Taken) {
    results.add(peer, round, &taken.values);
    for note in taken.notes {
        results.note(format!("{peer}: {note}"));
    }
    if let Some((figure, parts)) = taken.parts {
        results
            .parts
            .entry(figure)
            .or_default()
            .insert(peer.to_string(), parts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rigs::relay;

    #[test]
    fn a_figure_that_its_group_does_not_name_is_an_error() {
        let group = &relay::RIG.groups[0];
        assert!(of_its_group(group, Taken::values(vec![("cpu", 1.0)])).is_ok());
        assert!(of_its_group(group, Taken::values(vec![("cpo", 1.0)])).is_err());
    }
}
