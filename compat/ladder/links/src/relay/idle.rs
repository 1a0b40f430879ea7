//! The time limits of a tunnel in which nothing moves.
//!
//! A `tokio::time::Sleep` per tunnel would have to be reset at each message. So there is one coarse
//! timer per thread, the root's, which never polled: a tunnel that moves only notes the last tick,
//! without a system call. While no limit is running nothing ticks.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use ptunnel::config::Timeouts;
use ptunnel::timer::{self, Countdown};
use tokio::time::{interval_at, MissedTickBehavior};

/// Returns the time between two ticks: a small part of the shortest limit, but no more often than
/// costs nothing.
pub fn period(timeouts: &Timeouts) -> Duration {
    let shortest = limits(timeouts).min().unwrap_or(Duration::from_secs(60));
    (shortest / 8).clamp(Duration::from_millis(10), Duration::from_secs(1))
}

/// Returns whether the client's end is held back.
pub(super) fn holds_end(timeouts: &Timeouts) -> bool {
    timeouts.half_close_delay != Some(Duration::ZERO)
}

/// Returns the limits that a relay can have.
fn limits(timeouts: &Timeouts) -> impl Iterator<Item = Duration> {
    let delay = timeouts.half_close_delay.filter(|delay| !delay.is_zero());
    timeouts
        .idle
        .into_iter()
        .chain(timeouts.linger)
        .chain(delay)
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

/// The root's timer for tasks of tokio 1. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TaskTimer(timer::Timer<Waker>);

impl TaskTimer {
    /// Returns a timer with the [`period`] of `timeouts`. A limit never ends early; it ends up to two
    /// periods late, plus the delay of the ticks. The timer ticks while [`run`](TaskTimer::run) is polled.
    pub fn new(timeouts: &Timeouts) -> TaskTimer {
        TaskTimer(timer::Timer::new(period(timeouts)))
    }

    /// Ticks while a limit is running; never ends.
    pub async fn run(self) {
        let period = self.0.period();
        loop {
            poll_fn(|cx| match self.is_idle(cx) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            })
            .await;
            // Not `interval`, whose first tick is at once; nor bursts after a delay (row 52).
            let mut ticks = interval_at(tokio::time::Instant::now() + period, period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            while !poll_fn(|cx| Poll::Ready(self.is_idle(cx))).await {
                ticks.tick().await;
                self.0.tick(Instant::now());
            }
        }
    }

    fn is_idle(&self, cx: &Context<'_>) -> bool {
        self.0.is_idle(|| cx.waker().clone())
    }
}

/// The idle timer of one relay. It has a countdown only while the phase has a limit.
#[derive(Debug)]
pub(super) struct IdleTimer {
    timeouts: Arc<Timeouts>,
    timer: TaskTimer,
    countdown: Option<Countdown<Waker>>,
}

impl IdleTimer {
    /// Returns the idle timer of a relay with `timeouts`; `None` if there is no limit.
    pub(super) fn new(timeouts: &Arc<Timeouts>, timer: &TaskTimer) -> Option<IdleTimer> {
        limits(timeouts).next()?;
        Some(IdleTimer {
            timeouts: timeouts.clone(),
            timer: timer.clone(),
            countdown: None,
        })
    }

    /// Returns the limit in this phase.
    fn limit(&self, phase: RelayPhase) -> Option<Duration> {
        let timeouts = &self.timeouts;
        let once_ended = match phase {
            RelayPhase::Open => return timeouts.idle,
            RelayPhase::Held => timeouts.half_close_delay.or(timeouts.linger),
            RelayPhase::HalfClosed => timeouts.linger,
        };
        timeouts.idle.into_iter().chain(once_ended).min()
    }

    /// Returns how long the bytes of a failed side may wait to be delivered.
    pub(super) fn delivery_limit(&self) -> Option<Duration> {
        self.limit(RelayPhase::HalfClosed)
    }

    /// Has the task polled again at the next tick.
    pub(super) fn tick(&mut self, cx: &Context<'_>) {
        let timer = &self.timer;
        let countdown = self
            .countdown
            .get_or_insert_with(|| timer.0.start(Duration::ZERO, cx.waker().clone()));
        countdown.update(|waker| waker.clone_from(cx.waker()));
        countdown.restart(Duration::ZERO);
        countdown.is_over(); // waits again
    }

    /// Returns the consequence if the limit of `phase` is over; called at the end of each poll.
    pub(super) fn look(
        &mut self,
        cx: &Context<'_>,
        moved: bool,
        phase: RelayPhase,
    ) -> Option<Over> {
        let Some(limit) = self.limit(phase) else {
            self.countdown = None;
            return None;
        };
        let timer = &self.timer;
        let countdown = self
            .countdown
            .get_or_insert_with(|| timer.0.start(limit, cx.waker().clone()));
        countdown.update(|waker| waker.clone_from(cx.waker())); // clones only one of another task
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

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(800);

    fn timers() -> (TaskTimer, IdleTimer) {
        let idle = Some(LIMIT);
        let timeouts = Arc::new(Timeouts {
            idle,
            linger: None,
            ..Timeouts::default()
        });
        let timer = TaskTimer::new(&timeouts);
        let idle = IdleTimer::new(&timeouts, &timer).expect("it has a limit");
        (timer, idle)
    }

    /// What moves notes the last tick's time, and that may be long ago on a busy thread.
    #[test]
    fn a_late_tick_cuts_nothing_short() {
        let ((timer, mut idle), start) = (timers(), Instant::now());
        let period = timer.0.period();
        let cx = Context::from_waker(Waker::noop());
        assert_eq!(idle.look(&cx, false, RelayPhase::Open), None);
        timer.0.tick(start);
        assert_eq!(idle.look(&cx, true, RelayPhase::Open), None); // as late as just before the next tick
        timer.0.tick(start + LIMIT * 5);
        assert_eq!(idle.look(&cx, false, RelayPhase::Open), None);
        timer.0.tick(start + LIMIT * 5 + period);
        assert_eq!(
            idle.look(&cx, false, RelayPhase::Open),
            Some(Over::Silent(LIMIT))
        );
    }

    #[test]
    fn a_timer_that_begins_long_after_a_tick_has_all_its_time() {
        let ((timer, mut idle), start) = (timers(), Instant::now());
        let period = timer.0.period();
        let cx = Context::from_waker(Waker::noop());
        timer.0.tick(start - LIMIT * 2);
        assert_eq!(idle.look(&cx, false, RelayPhase::Open), None);
        timer.0.tick(start);
        timer.0.tick(start + period);
        assert_eq!(idle.look(&cx, false, RelayPhase::Open), None);
    }
}
