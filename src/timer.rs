//! The timer of `ptunnel_core::timer` for tasks of futures 0.1, which it notifies.

use std::time::{Duration, Instant};

use futures::task::{self, Task};

use ptunnel_core::timer::{self, Wake};

/// A task that waits for the end of a limit.
#[derive(Debug)]
struct Waiting(Task);

impl Wake for Waiting {
    fn wake(&self) {
        self.0.notify();
    }
}

fn current() -> Waiting {
    Waiting(task::current())
}

/// A coarse timer, which [`ticker`](super::ticker()) drives. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TaskTimer(timer::Timer<Waiting>);

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

    /// Sets the time to `now` and notifies each task with a limit that is over.
    pub fn tick(&self, now: Instant) {
        self.0.tick(now);
    }

    /// Returns whether no limit is running. If so, the current task is notified when one starts.
    pub fn is_idle(&self) -> bool {
        self.0.is_idle(current)
    }

    /// Starts a limit of the current task.
    pub(super) fn start(&self, limit: Duration) -> TaskCountdown {
        TaskCountdown(self.0.start(limit, current()))
    }
}

/// A running limit; dropping it cancels the limit.
#[derive(Debug)]
pub(super) struct TaskCountdown(timer::Countdown<Waiting>);

impl TaskCountdown {
    /// Returns whether the limit is over; if not, the current task is notified when it is.
    pub(super) fn is_over(&self) -> bool {
        self.0.update(|task| {
            if !task.0.will_notify_current() {
                *task = current();
            }
        });
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::executor::{spawn, Notify, Spawn};
    use futures::future::{poll_fn, PollFn};
    use futures::{Async, Poll};

    use super::*;
    use ptunnel_notify::Notifier;

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
        let (timer, start) = (TaskTimer::new(period), Instant::now());
        let counter = Notifier::new(Counter::default());
        let mut countdown = None;
        let mut task = task(|| {
            let countdown = countdown.get_or_insert_with(|| timer.start(period * 5));
            countdown.is_over()
        });
        let counted = |counter: &Notifier<Counter>| counter.0.load(Ordering::SeqCst);
        assert_eq!(task.poll_future_notify(&counter, 0), Ok(Async::NotReady));
        for tick in 0..=5 {
            timer.tick(start + period * tick);
        }
        assert_eq!(counted(&counter), 0, "it began after the start");
        timer.tick(start + period * 7);
        assert_eq!(counted(&counter), 0, "the tick was late");
        timer.tick(start + period * 8);
        assert_eq!(counted(&counter), 1);
        assert_eq!(task.poll_future_notify(&counter, 0), Ok(Async::Ready(())));
    }
}
