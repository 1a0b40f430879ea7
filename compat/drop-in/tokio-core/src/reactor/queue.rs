//! The tasks of a Core that are ready to be polled, in the order of their wake-ups.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use futures::executor::Notify;

/// Id of the future that `Core::run` was called with.
pub(super) const MAIN: usize = 0;
/// Id of everything else: closures that other threads bring, and a new earliest timer.
pub(super) const INBOX: usize = 1;
/// Place of the first spawned task.
pub(super) const FIRST_TASK: usize = 2;

/// An id is a place in its low bits, and in the others the number of tasks that had this place
/// before, so that a late wake-up of one of those finds no task.
const PLACE_BITS: u32 = if usize::BITS < 64 { 20 } else { 32 };
const PLACE: usize = (1 << PLACE_BITS) - 1;

/// Returns the place of `id` among the tasks.
pub(super) fn place(id: usize) -> usize {
    id & PLACE
}

/// The way from a wake-up to the queue of its Core.
///
/// futures 0.1 makes task handles of `&'static Route` without counting references, so that a clone
/// of a task handle costs nothing. The price is that a route lives for ever: when its Core is gone,
/// the next Core takes it over. A wake-up that is late by a Core may then poll a task once too
/// often, which futures 0.1 allows.
///
/// The indirection is for soundness. futures passes a route about as a reference to a type without
/// size, which the compiler takes for read-only memory. So a route is only ever read; what a
/// wake-up changes lies behind another reference. (Its handles of an `Arc` break that rule: they
/// count references through the same kind of pointer.)
pub(super) struct Route {
    queue: &'static Queue,
}

/// Routes that no Core uses.
static SPARE: Mutex<Vec<&'static Route>> = Mutex::new(Vec::new());

pub(super) struct Queue(Mutex<State>);

#[derive(Default)]
struct State {
    ready: VecDeque<usize>,
    places: Vec<Place>,
    /// Wakes the Core's thread.
    waker: Option<Waker>,
    /// Whether the Core waits for that.
    asleep: bool,
}

#[derive(Clone, Copy, Default)]
struct Place {
    /// The high bits of this place's id.
    generation: usize,
    /// Whether the id is in `ready`, or was taken from there and not polled yet.
    is_queued: bool,
}

impl State {
    /// Returns the place of `id`, if the task is still there.
    fn place(&mut self, id: usize) -> Option<&mut Place> {
        let place = self.places.get_mut(place(id))?;
        (place.generation == id & !PLACE).then_some(place)
    }
}

impl Route {
    /// Returns a route to an empty queue.
    pub(super) fn open() -> &'static Route {
        let route = lock(&SPARE).pop().unwrap_or_else(|| {
            let queue = Box::leak(Box::new(Queue(Mutex::default())));
            Box::leak(Box::new(Route { queue }))
        });
        let mut state = lock(&route.queue.0);
        state.places = vec![Place::default(); FIRST_TASK];
        drop(state);
        route
    }

    /// Ignores wake-ups from here on, and leaves the route to the next Core.
    pub(super) fn close(&'static self) {
        let old = mem::take(&mut *lock(&self.queue.0));
        drop(old);
        lock(&SPARE).push(self);
    }

    pub(super) fn queue(&self) -> &'static Queue {
        self.queue
    }
}

impl Notify for Route {
    fn notify(&self, id: usize) {
        self.queue.push(id);
    }
}

impl Queue {
    /// Queues `id`, unless it is queued already or the task has ended, and wakes the Core.
    pub(super) fn push(&self, id: usize) {
        Queue::push_to(lock(&self.0), id);
    }

    /// Ends the Core's sleep. It looks at its timers after it has gone to sleep here and before its
    /// thread waits: a timer that is set while it isn't asleep needs no more.
    pub(super) fn rouse(&self) {
        let state = lock(&self.0);
        if state.asleep {
            Queue::push_to(state, INBOX);
        }
    }

    fn push_to(mut state: MutexGuard<'_, State>, id: usize) {
        match state.place(id) {
            Some(place) if !place.is_queued => place.is_queued = true,
            _ => return,
        }
        state.ready.push_back(id);
        if mem::take(&mut state.asleep) {
            let waker = state.waker.clone();
            // Under `run_async` it is that of any executor, which may come back here.
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Queues the new task at `place`.
    pub(super) fn admit(&self, place: usize) {
        assert!(
            place <= PLACE,
            "a Core can have {PLACE} tasks on this machine"
        );
        let mut state = lock(&self.0);
        if state.places.len() <= place {
            state.places.resize(place + 1, Place::default());
        }
        let id = place | state.places[place].generation;
        drop(state);
        self.push(id);
    }

    /// Ignores wake-ups of `id` from here on.
    pub(super) fn retire(&self, id: usize) {
        if let Some(place) = lock(&self.0).place(id) {
            place.generation = place.generation.wrapping_add(PLACE + 1);
            place.is_queued = false;
        }
    }

    /// Moves all that is queued to the end of `pass`.
    pub(super) fn take(&self, pass: &mut VecDeque<usize>) {
        let mut state = lock(&self.0);
        state.asleep = false;
        if pass.is_empty() {
            mem::swap(&mut state.ready, pass);
        } else {
            pass.append(&mut state.ready);
        }
    }

    /// Lets `id` be queued again, and returns whether the task is still there. Called right before
    /// it is polled.
    pub(super) fn release(&self, id: usize) -> bool {
        match lock(&self.0).place(id) {
            Some(place) => {
                place.is_queued = false;
                true
            }
            None => false,
        }
    }

    /// Returns false if something is queued. Otherwise the next `push` wakes `waker`.
    pub(super) fn sleep(&self, waker: &Waker) -> bool {
        let mut state = lock(&self.0);
        if !state.ready.is_empty() {
            return false;
        }
        state.asleep = true;
        if !state.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            let old = state.waker.replace(waker.clone());
            drop(state);
            drop(old);
        }
        true
    }
}

/// Nothing panics under these locks but the allocator.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
