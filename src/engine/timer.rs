//! The timing wheel of `crate::timer` for tasks of futures 0.1: a task that waits is notified.

use std::fmt;
use std::time::{Duration, Instant};

use futures::task::{self, Task};

use crate::timer::{self, Wake};

impl Wake for Task {
    fn wake(&self) {
        self.notify();
    }
}

/// A coarse clock, and what it watches. Knows no runtime: somebody calls [`tick`](Clock::tick).
#[derive(Clone)]
pub struct Clock(timer::Clock<Task>);

impl Clock {
    /// A clock that is ticked every `period`, and watches nothing yet.
    ///
    /// A limit is never cut short, and exceeded by up to two periods, or by as much as ticks are
    /// late.
    pub fn new(period: Duration) -> Clock {
        Clock(timer::Clock::new(period))
    }

    /// How often it wants to be ticked.
    pub fn period(&self) -> Duration {
        self.0.period()
    }

    /// Sets the time and notifies every task whose limit is over.
    pub fn tick(&self, now: Instant) {
        self.0.tick(now);
    }

    /// Whether there is nothing to tick for. Then the current task is notified as soon as there
    /// is.
    pub fn is_idle(&self) -> bool {
        self.0.is_idle(task::current)
    }

    /// Watches the time of the current task.
    pub(super) fn watch(&self, limit: Duration) -> Watched {
        Watched(self.0.watch(limit, task::current()))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A limit that is watched, until this is dropped.
pub(super) struct Watched(timer::Watched<Task>);

impl Watched {
    /// Whether its time is over; if not, the current task is notified when it is.
    pub(super) fn is_over(&self) -> bool {
        self.0.update(|task| {
            if !task.will_notify_current() {
                *task = task::current();
            }
        });
        self.0.is_over()
    }

    /// Its time begins anew.
    pub(super) fn restart(&self, limit: Duration) {
        self.0.restart(limit);
    }

    pub(super) fn limit(&self) -> Duration {
        self.0.limit()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::executor::{spawn, Notify, Spawn};
    use futures::future::{poll_fn, PollFn};
    use futures::{Async, Poll};

    use super::*;
    use crate::os::sys::Notifier;

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Notify for Counter {
        fn notify(&self, _: usize) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn task(mut ready: impl FnMut() -> bool) -> Spawn<PollFn<impl FnMut() -> Poll<(), ()>>> {
        spawn(poll_fn(move || {
            Ok(if ready() {
                Async::Ready(())
            } else {
                Async::NotReady
            })
        }))
    }

    #[test]
    fn a_task_is_notified_when_its_time_is_over() {
        let period = Duration::from_millis(100);
        let (clock, start) = (Clock::new(period), Instant::now());
        let counter = Notifier::new(Counter::default());
        let mut watched = None;
        let mut task = task(|| {
            let watched = watched.get_or_insert_with(|| clock.watch(period * 5));
            watched.is_over()
        });
        let counted = |counter: &Notifier<Counter>| counter.0.load(Ordering::SeqCst);
        assert_eq!(task.poll_future_notify(&counter, 0), Ok(Async::NotReady));
        for tick in 0..=5 {
            clock.tick(start + period * tick);
        }
        assert_eq!(counted(&counter), 0, "it began after the start");
        clock.tick(start + period * 7);
        assert_eq!(counted(&counter), 0, "the tick was late");
        clock.tick(start + period * 8);
        assert_eq!(counted(&counter), 1);
        assert_eq!(task.poll_future_notify(&counter, 0), Ok(Async::Ready(())));
    }
}
