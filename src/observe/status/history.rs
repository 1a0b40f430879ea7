//! The last ten minutes, in steps.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::observe::session::Traffic;
use crate::observe::stats::{Histogram, Totals};

/// How often the totals are looked at.
pub(super) const STEP: Duration = Duration::from_secs(2);

/// Steps that are kept: ten minutes.
const STEPS: usize = 300;

/// What happened in each of the last steps, the latest last.
pub(super) struct History {
    kept: Mutex<Kept>,
}

struct Kept {
    steps: VecDeque<Interval>,
    last: Totals,
    at: Instant,
}

/// From one look to the next.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub(super) lasted: Duration,
    /// At its end.
    pub(super) clients: u64,
    pub(super) carried: Traffic,
    pub(super) opening: Histogram,
    pub(super) failed: u64,
}

impl History {
    pub(super) fn new(totals: Totals) -> History {
        History {
            kept: Mutex::new(Kept {
                steps: VecDeque::with_capacity(STEPS),
                last: totals,
                at: Instant::now(),
            }),
        }
    }

    /// Another look.
    pub(super) fn note(&self, totals: Totals) {
        let mut kept = self.lock();
        let now = Instant::now();
        let last = &kept.last;
        let step = Interval {
            lasted: now.saturating_duration_since(kept.at),
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
        if kept.steps.len() == STEPS {
            kept.steps.pop_front();
        }
        kept.steps.push_back(step);
        kept.last = totals;
        kept.at = now;
    }

    pub(super) fn steps(&self) -> Vec<Interval> {
        self.lock().steps.iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn keeps_what_happened_in_each_of_the_last_steps() {
        let history = History::new(carried(100, 0));
        for step in 1..=STEPS as u64 + 5 {
            history.note(carried(100 + step * step, step));
        }
        let steps = history.steps();
        assert_eq!(steps.len(), STEPS);
        let first = &steps[0];
        assert_eq!((first.clients, first.carried.upload), (6, 36 - 25));
        assert_eq!(steps[STEPS - 1].clients, STEPS as u64 + 5);
    }
}
