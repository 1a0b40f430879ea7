//! The time limits of a tunnel in which nothing moves.
//!
//! The limit depends on the phase of the tunnel: both directions open, the client's end held back, or
//! half-closed. Each byte that moves starts it again, and so does a change of phase.

use std::rc::Rc;
use std::time::Duration;

use crate::config::Timeouts;
use crate::engine::timer::{TaskCountdown, TaskTimer};

/// How long a relay waits while nothing moves; `None` means without limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleTimeouts {
    /// With both directions open.
    pub idle: Option<Duration>,
    /// Once one direction has ended.
    pub linger: Option<Duration>,
    /// With the client's end held back, until it is passed on; 0 passes it on at once.
    pub half_close_delay: Option<Duration>,
}

impl Default for IdleTimeouts {
    /// Returns no limits; the client's end is passed on at once.
    fn default() -> IdleTimeouts {
        IdleTimeouts {
            idle: None,
            linger: None,
            half_close_delay: Some(Duration::default()),
        }
    }
}

impl From<&Timeouts> for IdleTimeouts {
    fn from(timeouts: &Timeouts) -> IdleTimeouts {
        IdleTimeouts {
            idle: timeouts.idle,
            linger: timeouts.linger,
            half_close_delay: timeouts.half_close_delay,
        }
    }
}

impl IdleTimeouts {
    /// Returns whether the client's end is held back.
    pub(super) fn holds_end(&self) -> bool {
        self.half_close_delay != Some(Duration::default())
    }

    /// Returns the limit in this phase.
    fn limit(&self, phase: RelayPhase) -> Option<Duration> {
        let once_ended = match phase {
            RelayPhase::Open => return self.idle,
            RelayPhase::Held => self.half_close_delay.or(self.linger),
            RelayPhase::HalfClosed => self.linger,
        };
        match (self.idle, once_ended) {
            (Some(idle), Some(other)) => Some(idle.min(other)),
            (idle, other) => idle.or(other),
        }
    }
}

/// Which directions of a tunnel are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelayPhase {
    /// Both directions are open.
    Open,
    /// The client has ended, and its end is held back.
    Held,
    /// One direction has ended.
    HalfClosed,
}

/// The consequence of a limit that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// Pass the client's end on.
    Hold,
    /// Cut the tunnel, in which nothing has moved for this time.
    Silent(Duration),
}

/// The idle timer of one relay. It has a countdown only while the phase has a limit.
#[derive(Debug)]
pub(super) struct IdleTimer {
    timeouts: Rc<IdleTimeouts>,
    timer: TaskTimer,
    countdown: Option<TaskCountdown>,
}

impl IdleTimer {
    pub(super) fn new(timeouts: &Rc<IdleTimeouts>, timer: &TaskTimer) -> IdleTimer {
        IdleTimer {
            timeouts: timeouts.clone(),
            timer: timer.clone(),
            countdown: None,
        }
    }

    /// Returns how long the bytes of a failed side may wait to be delivered.
    pub(super) fn delivery_limit(&self) -> Option<Duration> {
        self.timeouts.limit(RelayPhase::HalfClosed)
    }

    /// Has the current task polled again at the next tick.
    pub(super) fn tick(&mut self) {
        let at_once = Duration::from_secs(0);
        let timer = &self.timer;
        let countdown = self.countdown.get_or_insert_with(|| timer.start(at_once));
        countdown.restart(at_once);
        countdown.is_over(); // registers the current task
    }

    /// Returns the consequence if the limit of `phase` is over; called at the end of each poll.
    pub(super) fn look(&mut self, moved: bool, phase: RelayPhase) -> Option<Over> {
        let limit = match self.timeouts.limit(phase) {
            Some(limit) => limit,
            None => {
                self.countdown = None;
                return None;
            }
        };
        let timer = &self.timer;
        let countdown = self.countdown.get_or_insert_with(|| timer.start(limit));
        if moved || countdown.limit() != limit {
            countdown.restart(limit);
        }
        if !countdown.is_over() {
            return None;
        }
        if phase == RelayPhase::Held && self.timeouts.half_close_delay.is_some() {
            countdown.restart(limit); // the next phase has its full time
            Some(Over::Hold)
        } else {
            Some(Over::Silent(limit))
        }
    }
}
