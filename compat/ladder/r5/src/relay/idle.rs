//! How long a tunnel may stand still, at no cost for one that moves.
//!
//! A `tokio::time::Sleep` per tunnel would have to be reset at each message. So there is one
//! clock per thread, coarse and shared, and it is the root's, which never polled: a tunnel that
//! moves only notes its last tick, without a system call. While nothing is watched nothing ticks.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use ptunnel::config::Timeouts;
use ptunnel::timer::{self, Watched};
use tokio::time::{interval_at, MissedTickBehavior};

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
            half_close_delay: Some(Duration::ZERO),
        }
    }
}

impl IdleTimeouts {
    /// As configured.
    pub fn of(timeouts: &Timeouts) -> IdleTimeouts {
        IdleTimeouts {
            idle: timeouts.idle,
            linger: timeouts.linger,
            half_close_delay: timeouts.half_close_delay,
        }
    }

    /// A small part of the shortest limit, but no more often than costs nothing.
    pub fn period(&self) -> Duration {
        let shortest = self.limits().min().unwrap_or(Duration::from_secs(60));
        (shortest / 8).clamp(Duration::from_millis(10), Duration::from_secs(1))
    }

    /// Whether the client's end isn't passed on at once.
    pub(super) fn holds_end(&self) -> bool {
        self.half_close_delay != Some(Duration::ZERO)
    }

    fn limits(&self) -> impl Iterator<Item = Duration> {
        let delay = self.half_close_delay.filter(|delay| !delay.is_zero());
        self.idle.into_iter().chain(self.linger).chain(delay)
    }

    /// The limit in this phase.
    fn limit(&self, phase: RelayPhase) -> Option<Duration> {
        let once_ended = match phase {
            RelayPhase::Open => return self.idle,
            RelayPhase::Held => self.half_close_delay.or(self.linger),
            RelayPhase::HalfClosed => self.linger,
        };
        self.idle.into_iter().chain(once_ended).min()
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

/// The root's clock for tasks of today. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock(timer::Clock<Waker>);

impl Clock {
    /// A clock fine enough for `patience`: no limit is cut short, nor exceeded by more than two
    /// periods, or by as much as ticks are late. It ticks while [`run`](Clock::run) is polled.
    pub fn new(patience: IdleTimeouts) -> Clock {
        Clock(timer::Clock::new(patience.period()))
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
pub(super) struct IdleTimer {
    patience: Rc<IdleTimeouts>,
    clock: Clock,
    watched: Option<Watched<Waker>>,
}

impl IdleTimer {
    /// `None` when there is nothing to wait for.
    pub(super) fn new(patience: &Rc<IdleTimeouts>, clock: &Clock) -> Option<IdleTimer> {
        patience.limits().next()?;
        Some(IdleTimer {
            patience: patience.clone(),
            clock: clock.clone(),
            watched: None,
        })
    }

    /// How long what came from a side that has failed may wait to be delivered.
    pub(super) fn delivery_limit(&self) -> Option<Duration> {
        self.patience.limit(RelayPhase::HalfClosed)
    }

    /// Has the task polled again at the next tick.
    pub(super) fn tick(&mut self, cx: &Context<'_>) {
        let clock = &self.clock;
        let watched = self
            .watched
            .get_or_insert_with(|| clock.0.watch(Duration::ZERO, cx.waker().clone()));
        watched.update(|waker| waker.clone_from(cx.waker()));
        watched.restart(Duration::ZERO);
        watched.is_over(); // watches again
    }

    /// Called at the end of each poll; returns what follows when a limit was exceeded.
    pub(super) fn look(
        &mut self,
        cx: &Context<'_>,
        moved: bool,
        phase: RelayPhase,
    ) -> Option<Over> {
        let Some(limit) = self.patience.limit(phase) else {
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
        if !watched.is_over() {
            return None;
        }
        if phase == RelayPhase::Held && self.patience.half_close_delay.is_some() {
            watched.restart(limit); // the next phase has all of its time
            Some(Over::Hold)
        } else {
            Some(Over::SilentProxy(limit))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(800);

    fn watched() -> (Clock, IdleTimer) {
        let idle = Some(LIMIT);
        let patience = Rc::new(IdleTimeouts {
            idle,
            ..IdleTimeouts::default()
        });
        let clock = Clock::new(*patience);
        let watch = IdleTimer::new(&patience, &clock).expect("it has a limit");
        (clock, watch)
    }

    /// What moves notes the last tick's time, and that may be long ago on a busy thread.
    #[test]
    fn a_late_tick_cuts_nothing_short() {
        let ((clock, mut watch), start) = (watched(), Instant::now());
        let period = clock.0.period();
        let cx = Context::from_waker(Waker::noop());
        assert_eq!(watch.look(&cx, false, RelayPhase::Open), None);
        clock.0.tick(start);
        assert_eq!(watch.look(&cx, true, RelayPhase::Open), None); // as late as just before the next tick
        clock.0.tick(start + LIMIT * 5);
        assert_eq!(watch.look(&cx, false, RelayPhase::Open), None);
        clock.0.tick(start + LIMIT * 5 + period);
        assert_eq!(
            watch.look(&cx, false, RelayPhase::Open),
            Some(Over::SilentProxy(LIMIT))
        );
    }

    #[test]
    fn a_watch_that_begins_long_after_a_tick_has_all_its_time() {
        let ((clock, mut watch), start) = (watched(), Instant::now());
        let period = clock.0.period();
        let cx = Context::from_waker(Waker::noop());
        clock.0.tick(start - LIMIT * 2);
        assert_eq!(watch.look(&cx, false, RelayPhase::Open), None);
        clock.0.tick(start);
        clock.0.tick(start + period);
        assert_eq!(watch.look(&cx, false, RelayPhase::Open), None);
    }
}
