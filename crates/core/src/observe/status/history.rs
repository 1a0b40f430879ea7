//! The last ten minutes, in steps of two seconds.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::observe::session::Traffic;
use crate::observe::stats::{Histogram, Totals};
use ptunnel_proto::sync::lock;

/// Time between two samples of the totals.
pub(super) const STEP: Duration = Duration::from_secs(2);

/// Number of steps that are kept: ten minutes.
const STEPS: usize = 300;

/// The last [`STEPS`] intervals, with the latest at the end.
pub(super) struct History {
    samples: Mutex<Samples>,
}

struct Samples {
    steps: VecDeque<Interval>,
    last: Totals,
    at: Instant,
}

/// The changes between two samples.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub(super) lasted: Duration,
    /// Number of connected clients at the end of the interval.
    pub(super) clients: u64,
    pub(super) carried: Traffic,
    pub(super) opening: Histogram,
    pub(super) failed: u64,
}

impl History {
    pub(super) fn new(totals: Totals) -> History {
        History {
            samples: Mutex::new(Samples {
                steps: VecDeque::with_capacity(STEPS),
                last: totals,
                at: Instant::now(),
            }),
        }
    }

    /// Adds a sample of the totals.
    pub(super) fn record(&self, totals: Totals) {
        let mut samples = lock(&self.samples);
        let now = Instant::now();
        let last = &samples.last;
        let step = Interval {
            lasted: now.saturating_duration_since(samples.at),
            clients: totals.clients,
            carried: Traffic {
                upload: totals.carried.upload.saturating_sub(last.carried.upload),
                download: totals
                    .carried
                    .download
                    .saturating_sub(last.carried.download),
            },
            opening: totals.opening.since(&last.opening),
            failed: totals.failed().saturating_sub(last.failed()),
        };
        if samples.steps.len() == STEPS {
            samples.steps.pop_front();
        }
        samples.steps.push_back(step);
        samples.last = totals;
        samples.at = now;
    }

    pub(super) fn steps(&self) -> Vec<Interval> {
        lock(&self.samples).steps.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(upload: u64, clients: u64) -> Totals {
        Totals {
            clients,
            carried: Traffic {
                upload,
                download: 0,
            },
            ..Totals::default()
        }
    }

    #[test]
    fn keeps_the_last_steps() {
        let history = History::new(carried(100, 0));
        for step in 1..=STEPS as u64 + 5 {
            history.record(carried(100 + step * step, step));
        }
        let steps = history.steps();
        assert_eq!(steps.len(), STEPS);
        let first = &steps[0];
        assert_eq!((first.clients, first.carried.upload), (6, 36 - 25));
        assert_eq!(steps[STEPS - 1].clients, STEPS as u64 + 5);
    }
}
