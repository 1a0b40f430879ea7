//! The tasks of a Core.

use std::cell::{Cell, RefCell};
use std::mem;

use futures::executor::{self, Spawn};
use futures::{Async, Future};
use slab::Slab;

use super::queue::{place, Route, FIRST_TASK};

pub(super) type Task = Box<dyn Future<Item = (), Error = ()>>;

pub(super) struct Tasks {
    route: &'static Route,
    /// `None` while the task is being polled.
    slots: RefCell<Slab<Option<Spawn<Task>>>>,
    closed: Cell<bool>,
}

impl Tasks {
    pub(super) fn new(route: &'static Route) -> Tasks {
        Tasks {
            route,
            slots: RefCell::new(Slab::new()),
            closed: Cell::new(false),
        }
    }

    /// Queues a new task behind those that are ready. Its first poll is in the Core's next pass.
    pub(super) fn spawn(&self, task: Task) {
        if self.closed.get() {
            return;
        }
        let slot = self.slots.borrow_mut().insert(Some(executor::spawn(task)));
        self.route.queue().admit(slot + FIRST_TASK);
    }

    /// Polls the task of `id`, if there is one. A task that ends or panics is dropped.
    pub(super) fn poll(&self, id: usize) {
        let slot = place(id) - FIRST_TASK;
        let Some(mut task) = self.slots.borrow_mut().get_mut(slot).and_then(Option::take) else {
            return;
        };
        let vacate = Vacate(self, id);
        if let Ok(Async::NotReady) = task.poll_future_notify(&self.route, id) {
            mem::forget(vacate);
            if let Some(home) = self.slots.borrow_mut().get_mut(slot) {
                *home = Some(task);
            }
        }
    }

    /// Drops all tasks, and from here on what is spawned.
    pub(super) fn close(&self) {
        self.closed.set(true);
        // Dropped outside of the borrow: a task may spawn while it is dropped.
        let slots = mem::take(&mut *self.slots.borrow_mut());
        drop(slots);
    }
}

/// Frees the slot of a task that ended, also when it panicked.
struct Vacate<'a>(&'a Tasks, usize);

impl Drop for Vacate<'_> {
    fn drop(&mut self) {
        let Vacate(tasks, id) = *self;
        tasks.route.queue().retire(id);
        tasks.slots.borrow_mut().try_remove(place(id) - FIRST_TASK);
    }
}
