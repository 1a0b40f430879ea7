//! The timer of `ptunnel_core::timer` for tasks of tokio 1, which it wakes.

use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use ptunnel_core::timer;

/// A coarse timer, which [`ticker`](super::ticker()) drives. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TaskTimer(timer::Timer<Waker>);

impl TaskTimer {
    /// Returns a timer without limits, which is ticked every `period`; not zero.
    ///
    /// A limit never ends early. It ends up to two periods late, plus the delay of the ticks.
    pub fn new(period: Duration) -> TaskTimer {
        TaskTimer(timer::Timer::new(period))
    }

    /// Returns the time between two ticks.
    pub fn period(&self) -> Duration {
        self.0.period()
    }

    /// Sets the time to `now` and wakes each task with a limit that is over.
    pub fn tick(&self, now: Instant) {
        self.0.tick(now);
    }

    /// Returns whether no limit is running. If so, the current task is woken when one starts.
    pub fn is_idle(&self, cx: &Context<'_>) -> bool {
        self.0.is_idle(|| cx.waker().clone())
    }

    /// Starts a limit of the current task.
    pub(super) fn start(&self, cx: &Context<'_>, limit: Duration) -> TaskCountdown {
        TaskCountdown(self.0.start(limit, cx.waker().clone()))
    }
}

/// A running limit; dropping it cancels the limit.
#[derive(Debug)]
pub(super) struct TaskCountdown(timer::Countdown<Waker>);

impl TaskCountdown {
    /// Returns whether the limit is over; if not, the current task is woken when it is.
    pub(super) fn is_over(&self, cx: &Context<'_>) -> bool {
        self.0.update(|waker| waker.clone_from(cx.waker())); // clones only one of another task
        self.0.is_over()
    }

    /// Starts the limit again, with this length.
    pub(super) fn restart(&self, limit: Duration) {
        self.0.restart(limit);
    }

    pub(super) fn limit(&self) -> Duration {
        self.0.limit()
    }
}
