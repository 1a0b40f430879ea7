//! How long things may take, at no cost for those that are in time.
//!
//! A coarse timer, shared by all that has limits on a thread. Setting a limit is an entry in a
//! table, and what moves only notes the last tick: neither is a system call, or a timer of its own.
//! A tick looks at those alone whose time can be over: ten thousand that rest cost what one does.
//! It knows no runtime and no future: an engine ticks it, and says who is woken.

mod wheel;

use std::cell::{Cell, RefCell};
use std::convert::TryFrom;
use std::fmt;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

use self::wheel::{Position, Positioned, Wheel};

/// Who waits for the time to be over.
pub trait Wake {
    /// Has it look. Runs nothing of its by itself.
    fn wake(&self);
}

impl Wake for Waker {
    fn wake(&self) {
        self.wake_by_ref();
    }
}

/// A coarse timer, and those whose time it watches. Cheap to clone.
pub struct Timer<W> {
    shared: Rc<TimerParts<W>>,
}

/// Times are in nanoseconds from the origin: they last for centuries, and an entry is small.
struct TimerParts<W> {
    origin: Instant,
    period: u64,
    now: Cell<u64>,
    /// From the last tick but one to the last: longer than a period on a busy thread.
    gap: Cell<u64>,
    wheel: RefCell<Wheel<TimerEntry<W>>>,
    /// Who ticks, while there is nothing to tick for.
    ticker: RefCell<Option<W>>,
}

struct TimerEntry<W> {
    since: Cell<u64>,
    limit: Cell<u64>,
    position: Cell<Position>,
    waiter: RefCell<W>,
}

impl<W> Positioned for TimerEntry<W> {
    fn position(&self) -> &Cell<Position> {
        &self.position
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl<W: Wake> Timer<W> {
    /// A timer that is ticked every `period`, which isn't zero, and watches nothing yet.
    ///
    /// A limit is never cut short, and exceeded by up to two periods, or by as much as ticks are
    /// late.
    pub fn new(period: Duration) -> Timer<W> {
        let period = nanoseconds(period);
        Timer {
            shared: Rc::new(TimerParts {
                origin: Instant::now(),
                period,
                now: Cell::new(0),
                gap: Cell::new(period),
                wheel: RefCell::new(Wheel::new(period)),
                ticker: RefCell::new(None),
            }),
        }
    }

    /// How often it wants to be ticked, as long as it isn't idle.
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.shared.period)
    }

    /// Whether there is nothing to tick for. Then `ticker` is woken as soon as there is.
    pub fn is_idle(&self, ticker: impl FnOnce() -> W) -> bool {
        let idle = self.shared.wheel.borrow().is_empty();
        if idle {
            *self.shared.ticker.borrow_mut() = Some(ticker());
        }
        idle
    }

    /// Sets the time, and wakes all whose time is over: at each tick, until they go.
    pub fn tick(&self, now: Instant) {
        let shared = &self.shared;
        let now = shared.time(now);
        let gap = now.saturating_sub(shared.now.replace(now));
        shared.gap.set(gap.max(shared.period));
        let mut wheel = shared.wheel.borrow_mut();
        for entry in wheel.due(now) {
            if shared.is_over(&entry) {
                entry.waiter.borrow().wake();
            }
            let end = shared.earliest_end(&entry);
            wheel.put(entry, end);
        }
    }

    /// Watches the time of `waiter`, from now on.
    pub fn start(&self, limit: Duration, waiter: W) -> Countdown<W> {
        let shared = &self.shared;
        // Once per limit, so exact; what moves has the last tick's time.
        let now = shared.time(Instant::now());
        if let Some(ticker) = shared.ticker.borrow_mut().take() {
            // Nobody has ticked lately.
            shared.now.set(now);
            ticker.wake();
        }
        let entry = Rc::new(TimerEntry {
            since: Cell::new(now),
            limit: Cell::new(nanoseconds(limit)),
            position: Cell::default(),
            waiter: RefCell::new(waiter),
        });
        let end = shared.earliest_end(&entry);
        shared.wheel.borrow_mut().put(entry.clone(), end);
        Countdown {
            entry,
            timer: self.clone(),
        }
    }
}

impl<W> TimerParts<W> {
    fn time(&self, at: Instant) -> u64 {
        nanoseconds(at.saturating_duration_since(self.origin))
    }

    fn is_over(&self, entry: &TimerEntry<W>) -> bool {
        let passed = self.now.get().saturating_sub(entry.since.get());
        // It may have moved as late as just before the tick that followed its note.
        passed >= entry.limit.get().saturating_add(self.gap.get())
    }

    /// No tick before it finds the entry over, unless that is restarted with a shorter limit.
    fn earliest_end(&self, entry: &TimerEntry<W>) -> u64 {
        let limit = entry.limit.get().saturating_add(self.period);
        entry.since.get().saturating_add(limit)
    }
}

impl<W> Clone for Timer<W> {
    fn clone(&self) -> Timer<W> {
        Timer {
            shared: self.shared.clone(),
        }
    }
}

impl<W> fmt::Debug for Timer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = Duration::from_nanos(self.shared.now.get());
        f.debug_struct("Timer").field("now", &now).finish()
    }
}

/// A running time limit; dropping it cancels the limit.
pub struct Countdown<W> {
    entry: Rc<TimerEntry<W>>,
    timer: Timer<W>,
}

impl<W> Countdown<W> {
    /// Whether its time is over.
    pub fn is_over(&self) -> bool {
        self.timer.shared.is_over(&self.entry)
    }

    /// Changes who is woken when it is.
    pub fn update(&self, change: impl FnOnce(&mut W)) {
        change(&mut self.entry.waiter.borrow_mut());
    }

    /// Its time begins anew.
    pub fn restart(&self, limit: Duration) {
        let (shared, limit) = (&self.timer.shared, nanoseconds(limit));
        self.entry.since.set(shared.now.get());
        // A longer one is found where it lies, and put back.
        if self.entry.limit.replace(limit) > limit {
            let mut wheel = shared.wheel.borrow_mut();
            let entry = wheel.remove(self.entry.position.get());
            let end = shared.earliest_end(&entry);
            wheel.put(entry, end);
        }
    }

    /// How long it has.
    pub fn limit(&self) -> Duration {
        Duration::from_nanos(self.entry.limit.get())
    }
}

impl<W> Drop for Countdown<W> {
    fn drop(&mut self) {
        let mut wheel = self.timer.shared.wheel.borrow_mut();
        wheel.remove(self.entry.position.get());
    }
}

impl<W> fmt::Debug for Countdown<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Countdown")
            .field("limit", &self.limit())
            .finish()
    }
}

#[cfg(test)]
mod tests;
