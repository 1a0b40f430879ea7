//! How long a tunnel may stand still, at no cost for one that moves.
//!
//! One clock per reactor, coarse and shared: it looks at every watched tunnel a few times per
//! limit and wakes those whose time is up. A tunnel that moves only notes the clock's last
//! tick, without a system call. While nothing is watched nothing ticks.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures::task::{self, Task};
use slab::Slab;

/// How long a relay waits while nothing moves; `None` is for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patience {
    /// With both directions open.
    pub idle: Option<Duration>,
    /// Once one direction has ended.
    pub linger: Option<Duration>,
}

/// A coarse clock and the tunnels that it watches. Knows no runtime: somebody calls
/// [`tick`](Clock::tick).
#[derive(Clone)]
pub struct Clock {
    shared: Rc<Shared>,
}

struct Shared {
    period: Duration,
    now: Cell<Instant>,
    watched: RefCell<Slab<Rc<Entry>>>,
    /// Called when the first tunnel wants to be watched.
    wake: RefCell<Option<Task>>,
}

struct Entry {
    moved_at: Cell<Instant>,
    limit: Cell<Duration>,
    task: RefCell<Task>,
}

impl Clock {
    /// A clock that is ticked every `period`, and watches nothing yet.
    ///
    /// A limit is never cut short, and exceeded by up to two periods.
    pub fn new(period: Duration) -> Clock {
        Clock {
            shared: Rc::new(Shared {
                period,
                now: Cell::new(Instant::now()),
                watched: RefCell::new(Slab::new()),
                wake: RefCell::new(None),
            }),
        }
    }

    /// How often it wants to be ticked.
    pub fn period(&self) -> Duration {
        self.shared.period
    }

    /// Sets the time and notifies every tunnel in which nothing moved for its limit.
    pub fn tick(&self, now: Instant) {
        self.shared.now.set(now);
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

    fn is_over(&self, entry: &Entry) -> bool {
        let still = self
            .shared
            .now
            .get()
            .saturating_duration_since(entry.moved_at.get());
        // It may have moved as late as just before the tick that followed its note.
        still >= entry.limit.get() + self.shared.period
    }

    fn watch(&self, limit: Duration) -> (usize, Rc<Entry>) {
        if let Some(ticker) = self.shared.wake.borrow_mut().take() {
            // Nobody has ticked lately.
            self.shared.now.set(Instant::now());
            ticker.notify();
        }
        let entry = Rc::new(Entry {
            moved_at: Cell::new(self.shared.now.get()),
            limit: Cell::new(limit),
            task: RefCell::new(task::current()),
        });
        (
            self.shared.watched.borrow_mut().insert(entry.clone()),
            entry,
        )
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("now", &self.shared.now)
            .finish()
    }
}

/// One relay's eye on the clock. Watched only while it has a limit.
pub(super) struct Watch {
    patience: Patience,
    clock: Clock,
    watched: Option<(usize, Rc<Entry>)>,
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
                self.forget();
                return None;
            }
        };
        let clock = &self.clock;
        let (_, entry) = self.watched.get_or_insert_with(|| clock.watch(limit));
        if !entry.task.borrow().will_notify_current() {
            *entry.task.borrow_mut() = task::current();
        }
        if moved || entry.limit.get() != limit {
            entry.moved_at.set(clock.shared.now.get());
            entry.limit.set(limit);
        }
        if clock.is_over(entry) {
            Some(limit)
        } else {
            None
        }
    }

    fn forget(&mut self) {
        if let Some((key, _)) = self.watched.take() {
            self.clock.shared.watched.borrow_mut().remove(key);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.forget();
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("patience", &self.patience)
            .finish()
    }
}
