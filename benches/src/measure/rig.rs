//! A rig as a value: what is compared, and how often each group of its figures is sampled.

use std::io;
use std::time::Duration;

use super::bench::{Bench, Taken};
use crate::model::{Figure, Target};
use crate::peers::Found;

#[derive(Clone, Copy, Debug)]
pub struct Rig {
    /// Its name on the command line, in `peers.toml` and in the results.
    pub name: &'static str,
    /// One line above its report: what is compared with what.
    pub question: &'static str,
    /// The figure whose plot isn't folded: the first of these that was measured.
    pub plotted: &'static [&'static str],
    pub targets: &'static [Target],
    /// Measured one after the other.
    pub groups: &'static [Group],
    /// A figure and the same by another load generator.
    pub repeats: &'static [[&'static str; 2]],
    /// What a reader of a quick run must know about its columns.
    pub quick_note: Option<&'static str>,
}

/// Figures that one sample gives together.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    pub name: &'static str,
    pub figures: &'static [Figure],
    pub sample: fn(&Bench, &Found) -> io::Result<Taken>,
    pub quick: Plan,
    pub full: Plan,
}

impl Rig {
    /// The columns of the report.
    pub fn figures(&self) -> impl Iterator<Item = &'static Figure> {
        self.groups.iter().flat_map(|group| group.figures)
    }
}

impl Group {
    pub fn has(&self, figure: &str) -> bool {
        self.figures.iter().any(|f| f.name == figure)
    }
}

/// Rounds of a figure that is held against a target. The interval of a median of nine ratios is the second to the eighth
/// (96.1 %), so that one bad round on each side doesn't widen it. A count, which doesn't vary as time does, has one.
pub const ENOUGH: usize = 9;

#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub rounds: usize,
    /// Rounds that are run even when the budget is spent.
    pub least: usize,
    /// How long one sample is thought to take.
    pub sample: Duration,
    /// No round begins after this long.
    pub budget: Duration,
}

impl Plan {
    /// `sample` in milliseconds, `budget` in seconds.
    pub const fn quick(rounds: usize, sample: u64, budget: u64) -> Plan {
        Plan {
            rounds,
            least: 1,
            sample: Duration::from_millis(sample),
            budget: Duration::from_secs(budget),
        }
    }

    /// As [`quick`](Plan::quick), but never fewer rounds than an interval needs.
    pub const fn full(rounds: usize, sample: u64, budget: u64) -> Plan {
        Plan {
            least: if rounds < ENOUGH { rounds } else { ENOUGH },
            ..Plan::quick(rounds, sample, budget)
        }
    }

    pub fn expected(&self, peers: usize) -> Duration {
        self.whole(peers).min(self.budget)
    }

    /// How long all rounds are thought to take.
    pub fn whole(&self, peers: usize) -> Duration {
        self.sample * (self.rounds * peers) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_never_promises_more_rounds_than_it_has() {
        assert_eq!(Plan::full(1, 100, 10).least, 1);
        assert_eq!(Plan::full(15, 100, 10).least, ENOUGH);
        assert_eq!(
            Plan::full(15, 1_000, 10).expected(2),
            Duration::from_secs(10)
        );
    }
}
