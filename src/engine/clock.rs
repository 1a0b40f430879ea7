//! How long things may take, at no cost for those that are in time.
//!
//! One clock per reactor, coarse and shared: it looks at everything that is watched a few times
//! per limit and wakes what is over its time. Setting a limit is an entry in a table, and what
//! moves only notes the last tick: neither is a system call, or a timer of its own. While
//! nothing is watched nothing ticks.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures::task::{self, Task};
use slab::Slab;

/// A coarse clock, and what it watches. Knows no runtime: somebody calls [`tick`](Clock::tick).
#[derive(Clone)]
pub struct Clock {
    shared: Rc<Shared>,
}

struct Shared {
    period: Duration,
    now: Cell<Instant>,
    /// From the last tick but one to the last: longer than a period on a busy thread.
    gap: Cell<Duration>,
    watched: RefCell<Slab<Rc<Entry>>>,
    /// Notified when there is something to watch.
    wake: RefCell<Option<Task>>,
}

struct Entry {
    since: Cell<Instant>,
    limit: Cell<Duration>,
    task: RefCell<Task>,
}

impl Clock {
    /// A clock that is ticked every `period`, and watches nothing yet.
    ///
    /// A limit is never cut short, and exceeded by up to two periods, or by as much as ticks are
    /// late.
    pub fn new(period: Duration) -> Clock {
        Clock {
            shared: Rc::new(Shared {
                period,
                now: Cell::new(Instant::now()),
                gap: Cell::new(period),
                watched: RefCell::new(Slab::new()),
                wake: RefCell::new(None),
            }),
        }
    }

    /// How often it wants to be ticked.
    pub fn period(&self) -> Duration {
        self.shared.period
    }

    /// Sets the time and notifies every task whose limit is over.
    pub fn tick(&self, now: Instant) {
        let last = self.shared.now.replace(now);
        let gap = now.saturating_duration_since(last);
        self.shared.gap.set(gap.max(self.shared.period));
        for (_, entry) in self.shared.watched.borrow().iter() {
            if self.is_over(entry) {
                entry.task.borrow().notify();
            }
        }
    }

    /// Whether there is anything to tick for. If not, the current task is notified as soon as
    /// there is.
    pub fn is_idle(&self) -> bool {
        let idle = self.shared.watched.borrow().is_empty();
        if idle {
            *self.shared.wake.borrow_mut() = Some(task::current());
        }
        idle
    }

    /// Begins to watch, for the current task.
    pub(super) fn watch(&self, limit: Duration) -> Watched {
        if let Some(ticker) = self.shared.wake.borrow_mut().take() {
            // Nobody has ticked lately.
            self.shared.now.set(Instant::now());
            ticker.notify();
        }
        let entry = Rc::new(Entry {
            // Once per limit, so exact; what moves has the last tick's time.
            since: Cell::new(Instant::now()),
            limit: Cell::new(limit),
            task: RefCell::new(task::current()),
        });
        let key = self.shared.watched.borrow_mut().insert(entry.clone());
        Watched {
            key,
            entry,
            clock: self.clone(),
        }
    }

    fn is_over(&self, entry: &Entry) -> bool {
        let now = self.shared.now.get();
        let passed = now.saturating_duration_since(entry.since.get());
        // It may have moved as late as just before the tick that followed its note.
        passed >= entry.limit.get() + self.shared.gap.get()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("now", &self.shared.now)
            .finish()
    }
}

/// A limit that is watched, until this is dropped.
pub(super) struct Watched {
    key: usize,
    entry: Rc<Entry>,
    clock: Clock,
}

impl Watched {
    /// Whether its time is over; if not, the current task is notified when it is.
    pub(super) fn is_over(&self) -> bool {
        if !self.entry.task.borrow().will_notify_current() {
            *self.entry.task.borrow_mut() = task::current();
        }
        self.clock.is_over(&self.entry)
    }

    /// Its time begins anew.
    pub(super) fn restart(&self, limit: Duration) {
        self.entry.since.set(self.clock.shared.now.get());
        self.entry.limit.set(limit);
    }

    pub(super) fn limit(&self) -> Duration {
        self.entry.limit.get()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.clock.shared.watched.borrow_mut().remove(self.key);
    }
}

#[cfg(test)]
mod tests {
    use futures::future::poll_fn;
    use futures::{Async, Future};

    use super::*;

    #[test]
    fn a_limit_is_never_cut_short_and_exceeded_by_two_periods_at_most() {
        let period = Duration::from_millis(100);
        let clock = Clock::new(period);
        let run = poll_fn(|| {
            let start = Instant::now();
            clock.tick(start);
            let watched = clock.watch(period * 5); // not before the start
            clock.tick(start + period * 4);
            clock.tick(start + period * 5);
            assert!(!watched.is_over(), "it began after the start");
            clock.tick(start + period * 6);
            clock.tick(start + period * 7);
            assert!(watched.is_over());
            watched.restart(period);
            assert!(!watched.is_over());
            Ok::<_, ()>(Async::Ready(()))
        });
        run.wait().unwrap();
    }

    #[test]
    fn a_late_tick_cuts_nothing_short() {
        let period = Duration::from_millis(10);
        let clock = Clock::new(period);
        let run = poll_fn(|| {
            let start = Instant::now();
            let watched = clock.watch(period);
            clock.tick(start);
            watched.restart(period); // as late as just before the next tick
            clock.tick(start + period * 50);
            assert!(!watched.is_over());
            clock.tick(start + period * 51);
            assert!(watched.is_over());
            Ok::<_, ()>(Async::Ready(()))
        });
        run.wait().unwrap();
    }

    #[test]
    fn what_is_dropped_is_not_watched() {
        let clock = Clock::new(Duration::from_millis(1));
        let run = poll_fn(|| {
            assert!(clock.is_idle());
            let watched = clock.watch(Duration::from_secs(1));
            assert!(!clock.is_idle());
            drop(watched);
            assert!(clock.is_idle());
            Ok::<_, ()>(Async::Ready(()))
        });
        run.wait().unwrap();
    }
}
