//! How long a tunnel may stand still, at no cost for one that moves.
//!
//! A `tokio::time::Sleep` per tunnel would have to be reset at each message. So there is one
//! clock per thread, coarse and shared: it looks at every watched tunnel a few times per limit
//! and wakes those whose time is up. A tunnel that moves only notes the clock's last tick,
//! without a system call. While nothing is watched nothing ticks.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use ptunnel::config::Timeouts;
use slab::Slab;
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

/// A coarse clock and the tunnels that it watches. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Rc<Shared>);

struct Shared {
    period: Duration,
    now: Cell<Instant>,
    /// From the last tick but one to the last: longer than a period on a busy thread.
    gap: Cell<Duration>,
    watched: RefCell<Slab<Rc<Entry>>>,
    /// Whom to wake when the first tunnel wants to be watched.
    ticker: RefCell<Option<Waker>>,
}

struct Entry {
    moved_at: Cell<Instant>,
    limit: Cell<Duration>,
    waker: RefCell<Waker>,
}

impl Clock {
    /// A clock fine enough for `patience`: no limit is cut short, nor exceeded by more than two
    /// periods, or by as much as ticks are late. It ticks while [`run`](Clock::run) is polled.
    pub fn new(patience: Patience) -> Clock {
        let period = patience.period();
        Clock(Rc::new(Shared {
            period,
            now: Cell::new(Instant::now()),
            gap: Cell::new(period),
            watched: RefCell::default(),
            ticker: RefCell::default(),
        }))
    }

    /// Ticks for as long as somebody is watched; never ends.
    pub async fn run(self) {
        let period = self.0.period;
        loop {
            self.somebody_is_watched().await;
            // Not `interval`, whose first tick is at once; nor bursts after a delay (row 52).
            let mut ticks = interval_at(tokio::time::Instant::now() + period, period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            while !self.0.watched.borrow().is_empty() {
                ticks.tick().await;
                self.tick(Instant::now());
            }
        }
    }

    async fn somebody_is_watched(&self) {
        poll_fn(|cx| {
            if self.0.watched.borrow().is_empty() {
                *self.0.ticker.borrow_mut() = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await
    }

    fn tick(&self, now: Instant) {
        let last = self.0.now.replace(now);
        let gap = now.saturating_duration_since(last);
        self.0.gap.set(gap.max(self.0.period));
        for (_, entry) in self.0.watched.borrow().iter() {
            if self.is_over(entry) {
                entry.waker.borrow().wake_by_ref();
            }
        }
    }

    fn is_over(&self, entry: &Entry) -> bool {
        let still = self
            .0
            .now
            .get()
            .saturating_duration_since(entry.moved_at.get());
        // It may have moved as late as just before the tick that followed its note.
        still >= entry.limit.get() + self.0.gap.get()
    }

    fn watch(&self, cx: &Context<'_>, limit: Duration) -> Watched {
        if let Some(ticker) = self.0.ticker.take() {
            // Nobody has ticked lately.
            self.0.now.set(Instant::now());
            ticker.wake();
        }
        let entry = Rc::new(Entry {
            // Once per limit, so exact; what moves has the last tick's time.
            moved_at: Cell::new(Instant::now()),
            limit: Cell::new(limit),
            waker: RefCell::new(cx.waker().clone()),
        });
        let key = self.0.watched.borrow_mut().insert(entry.clone());
        Watched {
            key,
            entry,
            clock: self.clone(),
        }
    }
}

/// One relay's eye on the clock. Watched only while it has a limit.
#[derive(Debug)]
pub(super) struct Watch {
    patience: Patience,
    clock: Clock,
    watched: Option<Watched>,
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
        let Watched { entry, .. } = self.watched.get_or_insert_with(|| clock.watch(cx, limit));
        entry.waker.borrow_mut().clone_from(cx.waker()); // clones only a waker of another task
        if moved || entry.limit.get() != limit {
            entry.moved_at.set(clock.0.now.get());
            entry.limit.set(limit);
        }
        clock.is_over(entry).then_some(limit)
    }
}

/// A place on the clock's list, left on drop.
struct Watched {
    key: usize,
    entry: Rc<Entry>,
    clock: Clock,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.clock.0.watched.borrow_mut().remove(self.key);
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("now", &self.0.now)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("limit", &self.entry.limit)
            .finish_non_exhaustive()
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
        let period = clock.0.period;
        let cx = Context::from_waker(Waker::noop());
        assert_eq!(watch.look(&cx, false, false), None);
        clock.tick(start);
        assert_eq!(watch.look(&cx, true, false), None); // as late as just before the next tick
        clock.tick(start + LIMIT * 5);
        assert_eq!(watch.look(&cx, false, false), None);
        clock.tick(start + LIMIT * 5 + period);
        assert_eq!(watch.look(&cx, false, false), Some(LIMIT));
    }

    #[test]
    fn a_watch_that_begins_long_after_a_tick_has_all_its_time() {
        let ((clock, mut watch), start) = (watched(), Instant::now());
        let period = clock.0.period;
        let cx = Context::from_waker(Waker::noop());
        clock.tick(start - LIMIT * 2);
        assert_eq!(watch.look(&cx, false, false), None);
        clock.tick(start);
        clock.tick(start + period);
        assert_eq!(watch.look(&cx, false, false), None);
    }
}
