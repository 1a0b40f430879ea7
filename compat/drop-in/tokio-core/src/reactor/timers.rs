//! The timers of a Core.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures::task::{self, Task};
use futures::Async;
use tokio::time;

use super::queue::lock;
use super::shared::Shared;
use super::Handle;

/// Returns the current instant: that of tokio's clock, which a test can pause.
pub(super) fn now() -> Instant {
    time::Instant::now().into_std()
}

/// The instants that are set, the earliest first, and the tasks that wait for them.
#[derive(Default)]
pub(super) struct Timers(Mutex<State>);

#[derive(Default)]
struct State {
    next_id: u64,
    /// A timer that was never polled has no task; it ends `Core::turn` nevertheless.
    waiting: BTreeMap<(Instant, u64), Option<Task>>,
}

impl Timers {
    fn next_id(&self) -> u64 {
        let mut state = lock(&self.0);
        state.next_id += 1;
        state.next_id
    }

    /// Returns the earliest instant that is set.
    pub(super) fn first(&self) -> Option<Instant> {
        let state = lock(&self.0);
        state.waiting.first_key_value().map(|((at, _), _)| *at)
    }

    /// Notifies the tasks whose instant has come.
    pub(super) fn fire(&self) {
        let mut known = None;
        while let Some(at) = self.first() {
            if at > *known.get_or_insert_with(now) {
                break;
            }
            let task = lock(&self.0).waiting.pop_first();
            if let Some((_, Some(task))) = task {
                task.notify();
            }
        }
    }

    /// Drops the tasks that wait.
    pub(super) fn close(&self) {
        let waiting = mem::take(&mut lock(&self.0).waiting);
        drop(waiting);
    }

    /// Replaces the task that waits for `key`; returns whether that is new, and the earliest one.
    fn set(&self, key: (Instant, u64), task: Option<Task>) -> bool {
        let mut state = lock(&self.0);
        let old = state.waiting.insert(key, task);
        let first = state.waiting.first_key_value().map(|(key, _)| *key) == Some(key);
        drop(state);
        let is_new = old.is_none();
        // Outside of the lock: the last handle of a task may drop the task.
        drop(old);
        first && is_new
    }

    fn remove(&self, key: (Instant, u64)) {
        let task = lock(&self.0).waiting.remove(&key);
        drop(task);
    }
}

/// What `Timeout` and `Interval` have in common: an instant, and perhaps a task that waits for it.
/// The Core knows the instant from the start.
pub(super) struct Alarm {
    core: Arc<Shared>,
    id: u64,
    at: Instant,
    /// Whether the Core may still have it.
    is_set: bool,
}

impl Alarm {
    pub(super) fn new(at: Instant, handle: &Handle) -> io::Result<Alarm> {
        let core = handle.remote().shared();
        core.runtime()?;
        let mut alarm = Alarm {
            id: core.timers.next_id(),
            core: core.clone(),
            at,
            is_set: false,
        };
        alarm.set(None);
        Ok(alarm)
    }

    pub(super) fn at(&self) -> Instant {
        self.at
    }

    /// Sets another instant. A task that waits is forgotten.
    pub(super) fn reset(&mut self, at: Instant) {
        self.cancel();
        self.at = at;
        self.set(None);
    }

    /// Ready from its instant on. Before that, the current task waits for the Core to notify it.
    pub(super) fn poll(&mut self, now: Instant) -> Async<()> {
        if self.at <= now {
            self.cancel();
            return Async::Ready(());
        }
        self.set(Some(task::current()));
        Async::NotReady
    }

    fn set(&mut self, task: Option<Task>) {
        self.is_set = true;
        if self.core.timers.set((self.at, self.id), task) {
            self.core.rouse();
        }
    }

    fn cancel(&mut self) {
        if mem::take(&mut self.is_set) {
            self.core.timers.remove((self.at, self.id));
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alarm").field("at", &self.at).finish()
    }
}
