//! A coarse timer that all time limits of a thread share.
//!
//! Starting a limit adds an entry to a timing wheel, and restarting it notes the time of the last
//! tick: neither makes a system call or a timer of the operating system. A tick looks only at
//! entries that can be over, so ten thousand idle tunnels cost as much as one. The timer depends on
//! no runtime and no future: the program calls [`tick`](Timer::tick) and supplies the tasks to wake.
//! It must not hold a limit's meaning or length. The program's `timer` and the idle timer of r5 in
//! `compat/ladder` use it; it uses no other module.
//!
//! Invariant: each entry lies in the wheel from [`start`](Timer::start) until its [`Countdown`] is
//! dropped, at or before the slot of its earliest end.

mod wheel;

use std::cell::{Cell, RefCell};
use std::convert::TryFrom;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

use self::wheel::{Positioned, Wheel, WheelPosition};
use ptunnel_proto::debug_by_name;

/// A task, or a value that wakes one.
pub trait Wake {
    /// Schedules the task for another poll: it must not call back into the timer.
    fn wake(&self);
}

impl Wake for Waker {
    fn wake(&self) {
        self.wake_by_ref();
    }
}

/// A timer and its running limits. Cheap to clone.
pub struct Timer<W> {
    shared: Rc<TimerParts<W>>,
}

/// Times are nanoseconds since `origin`: 64 bits last for centuries and keep an entry small.
struct TimerParts<W> {
    origin: Instant,
    period: u64,
    now: Cell<u64>,
    /// Time between the last two ticks: longer than a period on a busy thread.
    gap: Cell<u64>,
    wheel: RefCell<Wheel<TimerEntry<W>>>,
    /// The task that ticks, while no limit is running.
    ticker: RefCell<Option<W>>,
}

struct TimerEntry<W> {
    since: Cell<u64>,
    limit: Cell<u64>,
    position: Cell<WheelPosition>,
    waiter: RefCell<W>,
}

impl<W> Positioned for TimerEntry<W> {
    fn position(&self) -> &Cell<WheelPosition> {
        &self.position
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl<W: Wake> Timer<W> {
    /// Returns a timer without limits, which the caller ticks every `period`; not zero.
    ///
    /// A limit never ends early. It ends up to two periods late, plus the delay of the ticks.
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

    /// Returns the time between two ticks, while the timer isn't idle.
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.shared.period)
    }

    /// Returns whether no limit is running. If so, `ticker` is woken when one starts.
    pub fn is_idle(&self, ticker: impl FnOnce() -> W) -> bool {
        let idle = self.shared.wheel.borrow().is_empty();
        if idle {
            *self.shared.ticker.borrow_mut() = Some(ticker());
        }
        idle
    }

    /// Sets the time to `now` and wakes each task with a limit that is over: at every tick, until
    /// the task drops or restarts its [`Countdown`].
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

    /// Starts a limit; `waiter` is woken when it is over.
    pub fn start(&self, limit: Duration, waiter: W) -> Countdown<W> {
        let shared = &self.shared;
        // Exact, since it happens once per limit; a restart takes the time of the last tick.
        let now = shared.time(Instant::now());
        if let Some(ticker) = shared.ticker.borrow_mut().take() {
            // There were no ticks while the timer was idle.
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
        // A restart notes the time of the last tick, and can happen just before the next one.
        passed >= entry.limit.get().saturating_add(self.gap.get())
    }

    /// Returns a time before which no tick finds the entry over, unless its limit is shortened.
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

/// A running time limit; dropping it cancels the limit.
pub struct Countdown<W> {
    entry: Rc<TimerEntry<W>>,
    timer: Timer<W>,
}

impl<W> Countdown<W> {
    /// Returns whether the limit is over.
    pub fn is_over(&self) -> bool {
        self.timer.shared.is_over(&self.entry)
    }

    /// Changes the value that is woken when the limit is over.
    pub fn update(&self, change: impl FnOnce(&mut W)) {
        change(&mut self.entry.waiter.borrow_mut());
    }

    /// Starts the limit again from the last tick, with this length.
    pub fn restart(&self, limit: Duration) {
        let (shared, limit) = (&self.timer.shared, nanoseconds(limit));
        self.entry.since.set(shared.now.get());
        // The slot of a shorter limit lies before the entry's; a longer one is found there and put back.
        if self.entry.limit.replace(limit) > limit {
            let mut wheel = shared.wheel.borrow_mut();
            let entry = wheel.remove(self.entry.position.get());
            let end = shared.earliest_end(&entry);
            wheel.put(entry, end);
        }
    }

    /// Returns the length of the limit.
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

debug_by_name!(Timer<W>, Countdown<W>);

#[cfg(test)]
mod tests;
