//! The tasks that are due.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use futures::executor::Notify;
use futures::task::AtomicTask;

/// Tasks that want to be polled. Notified from any thread.
///
/// One pointer away from what it changes, on purpose: futures 0.1 makes the `&self` of
/// [`Notify`] from a reference to a type without size, so that the compiler may take what lies
/// behind it for read-only. It did: with link-time optimisation (rustc 1.95) what `notify` had
/// written into its own fields was gone.
#[derive(Default)]
pub(super) struct Queue {
    shared: Box<Due>,
}

#[derive(Default)]
struct Due {
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
        self.shared.driver.register();
    }

    pub(super) fn notify_driver(&self) {
        self.shared.driver.notify();
    }

    /// Whether somebody works the queue and will look at it again: nobody need be woken.
    pub(super) fn set_running(&self, running: bool) {
        self.shared.running.store(running, Ordering::SeqCst);
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing under this lock can panic half-way.
        self.shared
            .waiting
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
        if !self.shared.running.load(Ordering::SeqCst) {
            self.shared.driver.notify();
        }
    }
}
