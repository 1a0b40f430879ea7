//! The run queue: the tasks that are due.
//!
//! Invariant: a task is in the queue at most once, and while the queue isn't running, every addition
//! wakes the driver and, where the thread waits elsewhere, the thread.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;

use futures::executor::Notify;
use futures::task::AtomicTask;

use super::turns::Tick;
use ptunnel_proto::sync::lock;

/// The run queue, which any thread can notify through a [`Notifier`](ptunnel_notify::Notifier).
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    running: AtomicBool,
    /// The thread waits in the reactor's own epoll set, in which the tick is, not in the core's.
    away: AtomicBool,
    tick: Tick,
    /// The task that is being polled, or [`NONE`].
    polled: AtomicUsize,
    driver: AtomicTask,
}

const NONE: usize = usize::MAX;

#[derive(Default)]
struct Waiting {
    ready: Vec<usize>,
    /// Tasks that have notified themselves in order to yield.
    yielded: VecDeque<usize>,
    queued: Vec<bool>,
}

impl Queue {
    pub(super) fn new(tick: Tick) -> Queue {
        Queue {
            tick,
            away: AtomicBool::new(false),
            waiting: Mutex::default(),
            running: AtomicBool::new(false),
            polled: AtomicUsize::new(NONE),
            driver: AtomicTask::new(),
        }
    }

    /// Makes the queue notify the current task, the driver, of tasks that become due while the
    /// driver doesn't run.
    pub(super) fn register_driver(&self) {
        self.driver.register();
    }

    pub(super) fn notify_driver(&self) {
        self.driver.notify();
    }

    /// Sets whether the queue is being processed and will be checked again, so that no wake-up of
    /// the driver is necessary.
    pub(super) fn set_running(&self, running: bool) {
        self.running.store(running, Ordering::SeqCst);
    }

    /// Runs `take`, which can wait if no task is due: what is added meanwhile ends the wait.
    pub(super) fn while_away(
        &self,
        take: impl FnOnce(bool) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.away.store(true, Ordering::SeqCst);
        // What is added after this look finds the thread away.
        let result = take(self.is_empty());
        self.away.store(false, Ordering::SeqCst);
        result
    }

    /// Fills the empty list `ready` with the tasks that are due: all that others have notified, and then
    /// one of those that have yielded, which can take long.
    pub(super) fn take(&self, ready: &mut Vec<usize>) {
        let waiting = &mut *lock(&self.waiting);
        std::mem::swap(&mut waiting.ready, ready);
        ready.extend(waiting.yielded.pop_front());
        for &id in ready.iter() {
            waiting.queued[id] = false;
        }
    }

    /// Returns the tick, which ends waits in the reactor's own epoll set.
    pub(super) fn tick(&self) -> &Tick {
        &self.tick
    }

    pub(super) fn is_empty(&self) -> bool {
        let waiting = lock(&self.waiting);
        waiting.ready.is_empty() && waiting.yielded.is_empty()
    }

    /// Runs `poll`, which polls this task, possibly within the poll of another.
    pub(super) fn while_polled<T>(&self, id: usize, poll: impl FnOnce() -> T) -> T {
        let outer = self.polled.swap(id, Ordering::Relaxed);
        let result = poll();
        self.polled.store(outer, Ordering::Relaxed);
        result
    }
}

impl Notify for Queue {
    fn notify(&self, id: usize) {
        let mut waiting = lock(&self.waiting);
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
        // Once is enough: the thread looks at the queue before its next wait.
        if self.away.load(Ordering::SeqCst) && self.away.swap(false, Ordering::SeqCst) {
            self.tick.now();
        }
    }
}
