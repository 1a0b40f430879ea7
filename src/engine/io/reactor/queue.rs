//! The tasks that are due.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use futures::executor::Notify;
use futures::task::AtomicTask;

/// Tasks that want to be polled. Notified from any thread, through a
/// [`Notifier`](crate::os::sys::Notifier).
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    running: AtomicBool,
    /// The task that is being polled, and [`NONE`] otherwise.
    polled: AtomicUsize,
    driver: AtomicTask,
}

const NONE: usize = usize::MAX;

#[derive(Default)]
struct Waiting {
    ready: Vec<usize>,
    /// Those that notified themselves: they have had their share, and want more.
    yielded: VecDeque<usize>,
    queued: Vec<bool>,
}

impl Queue {
    pub(super) fn new() -> Queue {
        Queue {
            waiting: Mutex::default(),
            running: AtomicBool::new(false),
            polled: AtomicUsize::new(NONE),
            driver: AtomicTask::new(),
        }
    }

    /// Notifies the current task, the driver's, of what becomes due while it doesn't run.
    pub(super) fn register_driver(&self) {
        self.driver.register();
    }

    pub(super) fn notify_driver(&self) {
        self.driver.notify();
    }

    /// Whether somebody works the queue and will look at it again: nobody need be woken.
    pub(super) fn set_running(&self, running: bool) {
        self.running.store(running, Ordering::SeqCst);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing under this lock can panic half-way.
        self.waiting
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Exchanges an empty list with the tasks that are due: all that others have notified, and
    /// behind them one of those that notified themselves, which may be at work for long.
    pub(super) fn take(&self, ready: &mut Vec<usize>) {
        let waiting = &mut *self.lock();
        std::mem::swap(&mut waiting.ready, ready);
        ready.extend(waiting.yielded.pop_front());
        for &id in ready.iter() {
            waiting.queued[id] = false;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        let waiting = self.lock();
        waiting.ready.is_empty() && waiting.yielded.is_empty()
    }

    /// Runs `poll`, which polls this task, maybe from within another one's.
    pub(super) fn while_polled<T>(&self, id: usize, poll: impl FnOnce() -> T) -> T {
        let outer = self.polled.swap(id, Ordering::Relaxed);
        let result = poll();
        self.polled.store(outer, Ordering::Relaxed);
        result
    }
}

impl Notify for Queue {
    fn notify(&self, id: usize) {
        let mut waiting = self.lock();
        if waiting.queued.len() <= id {
            waiting.queued.resize(id + 1, false);
        }
        if waiting.queued[id] {
            return;
        }
        waiting.queued[id] = true;
        if self.polled.load(Ordering::Relaxed) == id {
            waiting.yielded.push_back(id);
        } else {
            waiting.ready.push(id);
        }
        drop(waiting);
        if !self.running.load(Ordering::SeqCst) {
            self.driver.notify();
        }
    }
}
