//! What is measured how often, and for how long at most.

use std::io;
use std::time::Duration;

use clap::ValueEnum;

use super::bench::{Bench, Taken};
use super::{bulk, calls, cpu, instructions, memory, ping, tunnels};
use crate::peers::Found;

/// Figures that one sample gives together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Group {
    Cpu,
    Instructions,
    Calls,
    Bulk,
    Tunnels,
    Ping,
    Memory,
}

impl Group {
    pub fn name(self) -> &'static str {
        match self {
            Group::Cpu => "cpu",
            Group::Instructions => "instructions",
            Group::Calls => "calls",
            Group::Bulk => "bulk",
            Group::Tunnels => "tunnels",
            Group::Ping => "ping",
            Group::Memory => "memory",
        }
    }

    pub fn sample(self, bench: &Bench, peer: &Found) -> io::Result<Taken> {
        match self {
            Group::Cpu => cpu::sample(bench, peer),
            Group::Instructions => instructions::sample(bench, peer),
            Group::Calls => calls::sample(bench, peer),
            Group::Bulk => bulk::sample(bench, peer),
            Group::Tunnels => tunnels::sample(bench, peer),
            Group::Ping => ping::sample(bench, peer),
            Group::Memory => memory::sample(bench, peer),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub group: Group,
    pub rounds: usize,
    /// Rounds that are run even when the budget is spent.
    pub least: usize,
    /// How long one sample is thought to take.
    pub sample: Duration,
    /// No round begins after this long.
    pub budget: Duration,
}

impl Plan {
    pub fn expected(&self, peers: usize) -> Duration {
        (self.sample * (self.rounds * peers) as u32).min(self.budget)
    }
}

/// Group, then rounds, milliseconds a sample and seconds of budget: for a quick run, for a full one.
type Row = (Group, (usize, u64, u64), (usize, u64, u64));

const ROWS: &[Row] = &[
    (Group::Cpu, (3, 900, 20), (15, 2_100, 310)),
    (Group::Instructions, (1, 5_000, 45), (1, 9_000, 100)),
    (Group::Calls, (1, 2_000, 25), (1, 4_000, 50)),
    (Group::Bulk, (3, 800, 20), (15, 4_500, 400)),
    (Group::Tunnels, (3, 800, 15), (15, 1_600, 200)),
    (Group::Ping, (3, 1_000, 20), (15, 2_300, 270)),
    (Group::Memory, (1, 3_500, 35), (1, 30_000, 290)),
];

pub fn plans(quick: bool, only: &[Group]) -> Vec<Plan> {
    let wanted = ROWS
        .iter()
        .filter(|(group, ..)| only.is_empty() || only.contains(group));
    let plan = |&(group, of_quick, of_full): &Row| {
        let (rounds, sample, budget) = if quick { of_quick } else { of_full };
        Plan {
            group,
            rounds,
            least: rounds.min(if quick { 1 } else { 5 }),
            sample: Duration::from_millis(sample),
            budget: Duration::from_secs(budget),
        }
    };
    wanted.map(plan).collect()
}

/// The order of a round: rotated by one each round, and backwards every other round.
pub fn order(peers: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..peers).map(|i| (i + round) % peers).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_goes_first_once_and_neighbours_change() {
        assert_eq!(order(3, 0), [0, 1, 2]);
        assert_eq!(order(3, 1), [0, 2, 1]);
        assert_eq!(order(3, 2), [2, 0, 1]);
        assert_eq!(order(0, 5), Vec::<usize>::new());
    }

    #[test]
    fn budgets_keep_their_promise() {
        let sum = |quick| {
            plans(quick, &[])
                .iter()
                .map(|p| p.budget.as_secs())
                .sum::<u64>()
        };
        // The rest is for finding the peers, and for the last round of each group.
        assert!(sum(true) <= 180 && sum(false) <= 27 * 60 + 30);
    }

    #[test]
    fn a_filter_keeps_its_groups() {
        let groups: Vec<Group> = plans(true, &[Group::Ping])
            .iter()
            .map(|p| p.group)
            .collect();
        assert_eq!(groups, [Group::Ping]);
    }
}
