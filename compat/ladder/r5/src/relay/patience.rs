//! How long a tunnel may stand still, at no cost for one that moves.
//!
//! A `tokio::time::Sleep` per tunnel would have to be reset at each message. So there is one
//! clock per thread, coarse and shared, and it is the root's, which never polled: a tunnel that
//! moves only notes its last tick, without a system call. While nothing is watched nothing ticks.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use ptunnel::clock::{self, Watched};
use ptunnel::config::Timeouts;
use tokio::time::{interval_at, MissedTickBehavior};

/// How long a relay waits while nothing moves; `None` is for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patience {
    /// With both directions open.
    pub idle: Option<Duration>,
    /// Once one direction has ended.
    pub linger: Option<Duration>,
}

impl Patience {
    /// As configured.
    pub fn of(timeouts: &Timeouts) -> Patience {
        Patience {
            idle: timeouts.idle,
            linger: timeouts.linger,
        }
    }

    /// A small part of the shortest limit, but no more often than costs nothing.
    pub fn period(&self) -> Duration {
        let shortest = self.idle.into_iter().chain(self.linger).min();
        let shortest = shortest.unwrap_or(Duration::from_secs(60));
        (shortest / 8).clamp(Duration::from_millis(10), Duration::from_secs(1))
    }

    fn limit(&self, half_closed: bool) -> Option<Duration> {
        if half_closed {
            self.idle.into_iter().chain(self.linger).min()
        } else {
            self.idle
        }
    }
}

/// The root's clock for tasks of today. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock(clock::Clock<Waker>);

impl Clock {
    /// A clock fine enough for `patience`: no limit is cut short, nor exceeded by more than two
    /// periods, or by as much as ticks are late. It ticks while [`run`](Clock::run) is polled.
    pub fn new(patience: Patience) -> Clock {
        Clock(clock::Clock::new(patience.period()))
    }

    /// Ticks for as long as somebody is watched; never ends.
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

/// One relay's eye on the clock. Watched only while it has a limit.
#[derive(Debug)]
pub(super) struct Watch {
    patience: Patience,
    clock: Clock,
    watched: Option<Watched<Waker>>,
}

impl Watch {
    /// `None` when there is nothing to wait for.
    pub(super) fn new(patience: Patience, clock: &Clock) -> Option<Watch> {
        let watch = Watch {
            patience,
            clock: clock.clone(),
            watched: None,
        };
        Some(watch).filter(|_| patience != Patience::default())
    }

    /// Called at the end of each poll; returns the limit that was exceeded, if one was.
    pub(super) fn look(
        &mut self,
        cx: &Context<'_>,
        moved: bool,
        half_closed: bool,
    ) -> Option<Duration> {
        let Some(limit) = self.patience.limit(half_closed) else {
            self.watched = None;
            return None;
        };
        let clock = &self.clock;
        let watched = self
            .watched
            .get_or_insert_with(|| clock.0.watch(limit, cx.waker().clone()));
        watched.update(|waker| waker.clone_from(cx.waker())); // clones only one of another task
        if moved || watched.limit() != limit {
            watched.restart(limit);
        }
        watched.is_over().then_some(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(800);

    fn watched() -> (Clock, Watch) {
        let idle = Some(LIMIT);
        let patience = Patience { idle, linger: None };
        let clock = Clock::new(patience);
        let watch = Watch::new(patience, &clock).expect("it has a limit");
        (clock, watch)
    }

    /// What moves notes the last tick's time, and that may be long ago on a busy thread.
    #[test]
    fn a_late_tick_cuts_nothing_short() {
        let ((clock, mut watch), start) = (watched(), Instant::now());
        let period = clock.0.period();
        let cx = Context::from_waker(Waker::noop());
        assert_eq!(watch.look(&cx, false, false), None);
        clock.0.tick(start);
        assert_eq!(watch.look(&cx, true, false), None); // as late as just before the next tick
        clock.0.tick(start + LIMIT * 5);
        assert_eq!(watch.look(&cx, false, false), None);
        clock.0.tick(start + LIMIT * 5 + period);
        assert_eq!(watch.look(&cx, false, false), Some(LIMIT));
    }

    #[test]
    fn a_watch_that_begins_long_after_a_tick_has_all_its_time() {
        let ((clock, mut watch), start) = (watched(), Instant::now());
        let period = clock.0.period();
        let cx = Context::from_waker(Waker::noop());
        clock.0.tick(start - LIMIT * 2);
        assert_eq!(watch.look(&cx, false, false), None);
        clock.0.tick(start);
        clock.0.tick(start + period);
        assert_eq!(watch.look(&cx, false, false), None);
    }
}
