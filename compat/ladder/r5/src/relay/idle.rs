//! The time limits of a tunnel in which nothing moves.
//!
//! The limit depends on the phase of the tunnel: both directions open, the client's end held back, or
//! half-closed. Each byte that moves starts it again, and so does a change of phase.

use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use crate::timer::{TaskCountdown, TaskTimer};
use ptunnel_core::config::Timeouts;

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
    timeouts: Arc<Timeouts>,
    timer: TaskTimer,
    countdown: Option<TaskCountdown>,
}

impl IdleTimer {
    pub(super) fn new(timeouts: &Arc<Timeouts>, timer: &TaskTimer) -> IdleTimer {
        IdleTimer {
            timeouts: timeouts.clone(),
            timer: timer.clone(),
            countdown: None,
        }
    }

    /// Returns whether the client's end is held back.
    pub(super) fn holds_end(&self) -> bool {
        self.timeouts.half_close_delay != Some(Duration::default())
    }

    /// Returns the limit in this phase.
    fn limit(&self, phase: RelayPhase) -> Option<Duration> {
        let timeouts = &self.timeouts;
        let once_ended = match phase {
            RelayPhase::Open => return timeouts.idle,
            RelayPhase::Held => timeouts.half_close_delay.or(timeouts.linger),
            RelayPhase::HalfClosed => timeouts.linger,
        };
        match (timeouts.idle, once_ended) {
            (Some(idle), Some(other)) => Some(idle.min(other)),
            (idle, other) => idle.or(other),
        }
    }

    /// Returns how long the bytes of a failed side may wait to be delivered.
    pub(super) fn delivery_limit(&self) -> Option<Duration> {
        self.limit(RelayPhase::HalfClosed)
    }

    /// Makes the timer wake the current task at the next tick.
    pub(super) fn tick(&mut self, cx: &Context<'_>) {
        let at_once = Duration::from_secs(0);
        let timer = &self.timer;
        let countdown = self
            .countdown
            .get_or_insert_with(|| timer.start(cx, at_once));
        countdown.restart(at_once);
        countdown.is_over(cx); // registers the current task
    }

    /// Returns the consequence if the limit of `phase` is over; called at the end of each poll.
    pub(super) fn look(
        &mut self,
        cx: &Context<'_>,
        moved: bool,
        phase: RelayPhase,
    ) -> Option<Over> {
        let limit = match self.limit(phase) {
            Some(limit) => limit,
            None => {
                self.countdown = None;
                return None;
            }
        };
        let timer = &self.timer;
        let countdown = self.countdown.get_or_insert_with(|| timer.start(cx, limit));
        if moved || countdown.limit() != limit {
            countdown.restart(limit);
        }
        if !countdown.is_over(cx) {
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
