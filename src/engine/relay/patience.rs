//! How long a tunnel may stand still.

use std::fmt;
use std::time::Duration;

use crate::engine::clock::{Clock, Watched};

/// How long a relay waits while nothing moves; `None` is for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patience {
    /// With both directions open.
    pub idle: Option<Duration>,
    /// Once one direction has ended.
    pub linger: Option<Duration>,
}

/// One relay's eye on the clock. Watched only while it has a limit.
pub(super) struct Watch {
    patience: Patience,
    clock: Clock,
    watched: Option<Watched>,
}

impl Watch {
    /// `None` when there is nothing to wait for.
    pub(super) fn new(patience: Patience, clock: &Clock) -> Option<Watch> {
        if patience == Patience::default() {
            return None;
        }
        Some(Watch {
            patience,
            clock: clock.clone(),
            watched: None,
        })
    }

    /// Called at the end of each poll; returns the limit that was exceeded, if one was.
    pub(super) fn look(&mut self, moved: bool, half_closed: bool) -> Option<Duration> {
        let limit = match (self.patience.idle, self.patience.linger) {
            (Some(idle), Some(linger)) if half_closed => Some(idle.min(linger)),
            (None, linger) if half_closed => linger,
            (idle, _) => idle,
        };
        let limit = match limit {
            Some(limit) => limit,
            None => {
                self.watched = None;
                return None;
            }
        };
        let clock = &self.clock;
        let watched = self.watched.get_or_insert_with(|| clock.watch(limit));
        if moved || watched.limit() != limit {
            watched.restart(limit);
        }
        if watched.is_over() {
            Some(limit)
        } else {
            None
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("patience", &self.patience)
            .finish()
    }
}
