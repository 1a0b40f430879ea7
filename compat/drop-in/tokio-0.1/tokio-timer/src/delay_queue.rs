//! Values that each become ready at their own instant.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures::{try_ready, Future, Poll, Stream};
use slab::Slab;

use crate::timer::Handle;
use crate::{clock, ms_up, Delay, Error};

/// A stream of the values whose instant has passed, the earliest first.
///
/// It ends when it is empty; what is inserted afterwards is yielded when it is polled again.
#[derive(Debug)]
pub struct DelayQueue<T> {
    handle: Handle,
    /// By key.
    entries: Slab<Entry<T>>,
    /// The keys by instant, and those of one instant by insertion.
    order: BTreeMap<(Instant, u64), usize>,
    inserted: u64,
    /// Instants are whole milliseconds after this.
    start: Instant,
    /// The last instant that has passed.
    elapsed: Instant,
    /// Fires at the first instant of `order`, or before.
    delay: Option<Delay>,
}

#[derive(Debug)]
struct Entry<T> {
    value: T,
    place: (Instant, u64),
}

/// A value of a [`DelayQueue`] that is not in it any more.
#[derive(Debug)]
pub struct Expired<T> {
    value: T,
}

/// A value's place in its [`DelayQueue`].
#[derive(Debug, Clone)]
pub struct Key {
    index: usize,
}

impl<T> DelayQueue<T> {
    /// Returns an empty queue.
    pub fn new() -> DelayQueue<T> {
        DelayQueue::with_capacity(0)
    }

    /// Returns an empty queue with room for `capacity` values, on the timer of `handle`.
    pub fn with_capacity_and_handle(capacity: usize, handle: &Handle) -> DelayQueue<T> {
        let start = clock::now();
        DelayQueue {
            handle: handle.clone(),
            entries: Slab::with_capacity(capacity),
            order: BTreeMap::new(),
            inserted: 0,
            start,
            elapsed: start,
            delay: None,
        }
    }

    /// Returns an empty queue with room for `capacity` values.
    pub fn with_capacity(capacity: usize) -> DelayQueue<T> {
        DelayQueue::with_capacity_and_handle(capacity, &Handle::default())
    }

    /// Inserts a value that is ready at `when`, rounded up to a millisecond.
    pub fn insert_at(&mut self, value: T, when: Instant) -> Key {
        let place = self.place(when);
        let index = self.entries.insert(Entry { value, place });
        self.order.insert(place, index);
        self.hasten();
        Key { index }
    }

    /// Inserts a value that is ready in `timeout` from now.
    pub fn insert(&mut self, value: T, timeout: Duration) -> Key {
        self.insert_at(value, clock::now() + timeout)
    }

    /// Removes the value before it is ready.
    ///
    /// # Panics
    ///
    /// If it isn't in the queue any more.
    pub fn remove(&mut self, key: &Key) -> Expired<T> {
        let entry = self.entries.remove(key.index);
        self.order.remove(&entry.place);
        Expired { value: entry.value }
    }

    /// Makes the value ready at `when` instead.
    ///
    /// # Panics
    ///
    /// If it isn't in the queue any more.
    pub fn reset_at(&mut self, key: &Key, when: Instant) {
        let place = self.place(when);
        let old = std::mem::replace(&mut self.entries[key.index].place, place);
        self.order.remove(&old);
        self.order.insert(place, key.index);
        self.hasten();
    }

    /// Makes the value ready in `timeout` from now instead.
    ///
    /// # Panics
    ///
    /// If it isn't in the queue any more.
    pub fn reset(&mut self, key: &Key, timeout: Duration) {
        self.reset_at(key, clock::now() + timeout);
    }

    /// Drops all values.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.order.clear();
        self.delay = None;
    }

    /// Returns how many values have room without an allocation.
    pub fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Makes room for `additional` values.
    pub fn reserve(&mut self, additional: usize) {
        self.entries.reserve(additional);
    }

    /// Returns whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn place(&mut self, when: Instant) -> (Instant, u64) {
        let after = ms_up(when.saturating_duration_since(self.start));
        self.inserted += 1;
        (self.start + Duration::from_millis(after), self.inserted)
    }

    /// Moves a delay that would fire too late.
    fn hasten(&mut self) {
        if let (Some(delay), Some((&(first, _), _))) =
            (&mut self.delay, self.order.first_key_value())
        {
            if first < delay.deadline() {
                delay.reset(first);
            }
        }
    }
}

impl<T> Default for DelayQueue<T> {
    fn default() -> DelayQueue<T> {
        DelayQueue::new()
    }
}

impl<T> Stream for DelayQueue<T> {
    type Item = Expired<T>;
    type Error = Error;

    fn poll(&mut self) -> Poll<Option<Expired<T>>, Error> {
        loop {
            let Some((&place, &index)) = self.order.first_key_value() else {
                self.delay = None;
                return Ok(None.into());
            };
            if place.0 <= self.elapsed {
                self.order.remove(&place);
                let value = self.entries.remove(index).value;
                return Ok(Some(Expired { value }).into());
            }
            let delay = self.delay.get_or_insert_with(|| self.handle.delay(place.0));
            try_ready!(delay.poll());
            self.elapsed = delay.deadline();
            self.delay = None;
        }
    }
}

impl<T> Expired<T> {
    /// Returns the value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns the value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value
    }
}
