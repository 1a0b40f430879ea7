//! How long a tunnel may stand still.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use crate::config::Timeouts;
use crate::engine::timer::{Countdown, Timer};

/// How long a relay waits while nothing moves; `None` is for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleTimeouts {
    /// With both directions open.
    pub idle: Option<Duration>,
    /// Once one direction has ended.
    pub linger: Option<Duration>,
    /// Before the client's end is passed on, if the upstream doesn't end first. Zero passes it on
    /// at once.
    pub half_close_delay: Option<Duration>,
}

impl Default for IdleTimeouts {
    /// No limit, and the client's end is passed on at once.
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
    /// Whether the client's end isn't passed on at once.
    pub(super) fn holds_end(&self) -> bool {
        self.half_close_delay != Some(Duration::default())
    }

    /// The limit in this phase.
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

/// How far a tunnel has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelayPhase {
    /// Both directions are open.
    Open,
    /// The client has ended, which the upstream doesn't know yet.
    Held,
    /// One direction has ended.
    HalfClosed,
}

/// What follows from nothing having moved for long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The client's end is passed on.
    Hold,
    /// The tunnel is cut: nothing moved for so long.
    SilentProxy(Duration),
}

/// One relay's eye on the timer. Countdown only while it has a limit.
pub(super) struct IdleTimer {
    timeouts: Rc<IdleTimeouts>,
    timer: Timer,
    countdown: Option<Countdown>,
}

impl IdleTimer {
    pub(super) fn new(timeouts: &Rc<IdleTimeouts>, timer: &Timer) -> IdleTimer {
        IdleTimer {
            timeouts: timeouts.clone(),
            timer: timer.clone(),
            countdown: None,
        }
    }

    /// How long what came from a side that has failed may wait to be delivered.
    pub(super) fn delivery_limit(&self) -> Option<Duration> {
        self.timeouts.limit(RelayPhase::HalfClosed)
    }

    /// Has the current task polled again at the next tick, and no longer when its time is over.
    pub(super) fn tick(&mut self) {
        let at_once = Duration::from_secs(0);
        let timer = &self.timer;
        let countdown = self.countdown.get_or_insert_with(|| timer.start(at_once));
        countdown.restart(at_once);
        countdown.is_over(); // the current task is the one that is notified
    }

    /// Called at the end of each poll; returns what follows when a limit was exceeded.
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
            countdown.restart(limit); // the next phase has all of its time
            Some(Over::Hold)
        } else {
            Some(Over::SilentProxy(limit))
        }
    }
}

impl fmt::Debug for IdleTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleTimer")
            .field("timeouts", &self.timeouts)
            .finish()
    }
}
