//! How often a group of figures is sampled, and for how long at most.

use std::time::Duration;

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
        Plan::new(rounds, 1, sample, budget)
    }

    /// As [`quick`](Plan::quick), but never fewer rounds than an interval needs.
    pub const fn full(rounds: usize, sample: u64, budget: u64) -> Plan {
        let least = if rounds < ENOUGH { rounds } else { ENOUGH };
        Plan::new(rounds, least, sample, budget)
    }

    const fn new(rounds: usize, least: usize, sample: u64, budget: u64) -> Plan {
        Plan {
            rounds,
            least,
            sample: Duration::from_millis(sample),
            budget: Duration::from_secs(budget),
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
