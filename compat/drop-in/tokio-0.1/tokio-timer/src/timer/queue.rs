use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::task::{self, Task};
use futures::{Async, Poll};
use tokio_executor::park::Unpark;

use crate::{ms_down, ms_up, Error};

/// What waits for a [`Timer`](super::Timer), in whole milliseconds after `start`.
pub(crate) struct Queue {
    start: Instant,
    /// Of the thread that waits.
    unpark: Box<dyn Unpark>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: BTreeMap<Place, Option<Task>>,
    entries: u64,
    /// The last look at the clock.
    elapsed: u64,
    is_closed: bool,
}

/// When, and a number that no other entry has.
type Place = (u64, u64);

/// A place in a [`Queue`], given up when it is dropped. It has fired once it isn't there any more.
pub(crate) struct Entry {
    queue: Arc<Queue>,
    place: Place,
}

impl Queue {
    pub(super) fn new(start: Instant, unpark: Box<dyn Unpark>) -> Queue {
        Queue {
            start,
            unpark,
            state: Mutex::default(),
        }
    }

    /// Returns the first instant that something waits for.
    pub(super) fn next(&self) -> Option<Instant> {
        let state = self.lock();
        let (&(when, _), _) = state.waiting.first_key_value()?;
        Some(self.start + Duration::from_millis(when))
    }

    /// Fires what is due at `now`.
    pub(super) fn fire(&self, now: Instant) {
        let mut state = self.lock();
        state.elapsed = ms_down(now.saturating_duration_since(self.start)).max(state.elapsed);
        let first_later = (state.elapsed + 1, 0);
        let later = state.waiting.split_off(&first_later);
        let due = std::mem::replace(&mut state.waiting, later);
        drop(state);
        due.into_values().flatten().for_each(|task| task.notify());
    }

    /// Fails what waits, now and later.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let tasks: Vec<_> = state
            .waiting
            .values_mut()
            .filter_map(Option::take)
            .collect();
        drop(state);
        tasks.iter().for_each(Task::notify);
    }

    fn when(&self, deadline: Instant) -> u64 {
        ms_up(deadline.saturating_duration_since(self.start))
    }

    /// Inserts an entry, unless it is due, and wakes the thread if it would wait for too long.
    fn insert(&self, mut state: MutexGuard<'_, State>, place: Place, task: Option<Task>) {
        if place.0 <= state.elapsed {
            drop(state);
            // It was moved there after its last poll.
            if let Some(task) = task {
                task.notify();
            }
            return;
        }
        state.waiting.insert(place, task);
        let is_first = state.waiting.first_key_value().map(|(&first, _)| first) == Some(place);
        drop(state);
        if is_first {
            self.unpark.unpark();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    pub(crate) fn new(queue: Arc<Queue>, deadline: Instant) -> Entry {
        let mut state = queue.lock();
        state.entries += 1;
        let place = (queue.when(deadline), state.entries);
        if state.is_closed {
            // Where it stays, since it can't fire.
            state.waiting.insert(place, None);
            drop(state);
        } else {
            queue.insert(state, place, None);
        }
        Entry { queue, place }
    }

    pub(crate) fn is_elapsed(&self) -> bool {
        let state = self.queue.lock();
        state.is_closed || !state.waiting.contains_key(&self.place)
    }

    pub(crate) fn reset(&mut self, deadline: Instant) {
        let mut state = self.queue.lock();
        if state.is_closed {
            return;
        }
        let task = state.waiting.remove(&self.place).flatten();
        self.place.0 = self.queue.when(deadline);
        self.queue.insert(state, self.place, task);
    }

    pub(crate) fn poll(&mut self) -> Poll<(), Error> {
        let mut state = self.queue.lock();
        let is_closed = state.is_closed;
        match state.waiting.get_mut(&self.place) {
            None => Ok(Async::Ready(())),
            Some(_) if is_closed => Err(Error::shutdown()),
            Some(Some(task)) if task.will_notify_current() => Ok(Async::NotReady),
            Some(waiting) => {
                let old = waiting.replace(task::current());
                drop(state);
                drop(old);
                Ok(Async::NotReady)
            }
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        let task = state.waiting.remove(&self.place);
        drop(state);
        drop(task);
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").finish_non_exhaustive()
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("waiting", &self.lock().waiting.len())
            .finish_non_exhaustive()
    }
}
