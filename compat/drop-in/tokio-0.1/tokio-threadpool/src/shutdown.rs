use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use futures::task::{self, Task};
use futures::{Async, Future, Poll};

/// A future that is ready once the pool's threads have ended and its tasks are dropped.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Shutdown {
    end: Arc<End>,
}

/// The end of a pool.
#[derive(Debug, Default)]
pub(crate) struct End {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    has_come: bool,
    waiting: Option<Task>,
}

impl End {
    /// Wakes what waits for it.
    pub(crate) fn come(&self) {
        let mut state = self.lock();
        state.has_come = true;
        let task = state.waiting.take();
        drop(state);
        self.changed.notify_all();
        if let Some(task) = task {
            task.notify();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shutdown {
    pub(crate) fn new(end: Arc<End>) -> Shutdown {
        Shutdown { end }
    }

    /// Blocks the thread until it is ready.
    pub(crate) fn block(self) {
        let state = self.end.lock();
        drop(
            self.end
                .changed
                .wait_while(state, |state| !state.has_come)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }
}

impl Future for Shutdown {
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll<(), ()> {
        let mut state = self.end.lock();
        if state.has_come {
            return Ok(Async::Ready(()));
        }
        state.waiting = Some(task::current());
        Ok(Async::NotReady)
    }
}
