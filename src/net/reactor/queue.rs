//! The tasks that are due.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use futures::executor::Notify;
use futures::task::AtomicTask;

/// Tasks that want to be polled. Notified from any thread, through a
/// [`Notifier`](crate::sys::Notifier).
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    running: AtomicBool,
    driver: AtomicTask,
}

#[derive(Default)]
struct Waiting {
    ready: Vec<usize>,
    queued: Vec<bool>,
}

impl Queue {
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

    /// Exchanges the tasks that are due with an empty list.
    pub(super) fn take(&self, ready: &mut Vec<usize>) {
        let mut waiting = self.lock();
        std::mem::swap(&mut waiting.ready, ready);
        for &id in ready.iter() {
            waiting.queued[id] = false;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().ready.is_empty()
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
        waiting.ready.push(id);
        drop(waiting);
        if !self.running.load(Ordering::SeqCst) {
            self.driver.notify();
        }
    }
}
