//! The tasks of an executor, and those that are ready to be polled.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

use futures::executor::{self, Spawn};
use futures::{Async, Future};
use slab::Slab;
use tokio_executor::on_tokio_1::Notifier;
use tokio_executor::park::Unpark;
use tokio_executor::SpawnError;

type Local = Box<dyn Future<Item = (), Error = ()>>;
type Remote = Box<dyn Future<Item = (), Error = ()> + Send>;

/// The tasks, which stay on their thread.
pub(crate) struct Tasks {
    slots: RefCell<Slab<Slot>>,
    pub(crate) queue: Arc<Queue>,
}

struct Slot {
    /// `None` while it is polled.
    task: Option<Spawn<Local>>,
    wake_up: Arc<WakeUp>,
    notifier: Notifier,
}

/// What other threads see of an executor.
pub(crate) struct Queue {
    state: Mutex<State>,
    unpark: Box<dyn Unpark>,
}

#[derive(Default)]
struct State {
    /// In the order of spawns and wake-ups.
    ready: VecDeque<Arc<WakeUp>>,
    /// From other threads.
    spawned: VecDeque<Remote>,
    tasks: usize,
    is_closed: bool,
}

/// The wake-up of a task.
struct WakeUp {
    queue: Arc<Queue>,
    slot: usize,
    is_queued: AtomicBool,
}

impl Wake for WakeUp {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::SeqCst) {
            let queue = self.queue.clone();
            let mut state = queue.lock();
            // Else nothing would break the circle from here to the queue.
            if !state.is_closed {
                state.ready.push_back(self);
            }
            drop(state);
            queue.unpark.unpark();
        }
    }
}

/// Ends a wait of the executor.
impl Wake for Queue {
    fn wake(self: Arc<Self>) {
        self.unpark.unpark();
    }
}

impl Queue {
    /// Returns how many tasks have not ended.
    pub(crate) fn tasks(&self) -> usize {
        self.lock().tasks
    }

    pub(crate) fn status(&self) -> Result<(), SpawnError> {
        if self.lock().is_closed {
            return Err(SpawnError::shutdown());
        }
        Ok(())
    }

    /// Spawns from any thread.
    pub(crate) fn spawn(&self, future: Remote) -> Result<(), SpawnError> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(SpawnError::shutdown());
        }
        state.tasks += 1;
        state.spawned.push_back(future);
        drop(state);
        self.unpark.unpark();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<Tasks>>> = const { RefCell::new(None) };
}

impl Tasks {
    pub(crate) fn new(unpark: impl Unpark) -> Rc<Tasks> {
        Rc::new(Tasks {
            slots: RefCell::default(),
            queue: Arc::new(Queue {
                state: Mutex::default(),
                unpark: Box::new(unpark),
            }),
        })
    }

    /// Returns those of the executor that is polling on this thread.
    pub(crate) fn current() -> Option<Rc<Tasks>> {
        CURRENT.with_borrow(Option::clone)
    }

    /// Calls `f` as a task of this executor.
    pub(crate) fn enter<R>(self: &Rc<Self>, f: impl FnOnce() -> R) -> R {
        struct Restore(Option<Rc<Tasks>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _restore = Restore(CURRENT.replace(Some(self.clone())));
        f()
    }

    pub(crate) fn spawn(&self, future: Local) {
        self.queue.lock().tasks += 1;
        self.insert(future);
    }

    fn insert(&self, future: Local) {
        let mut slots = self.slots.borrow_mut();
        let slot = slots.vacant_entry();
        let wake_up = Arc::new(WakeUp {
            queue: self.queue.clone(),
            slot: slot.key(),
            is_queued: AtomicBool::new(true),
        });
        slot.insert(Slot {
            task: Some(executor::spawn(future)),
            notifier: Notifier::new(Waker::from(wake_up.clone())),
            wake_up: wake_up.clone(),
        });
        self.queue.lock().ready.push_back(wake_up);
    }

    /// Returns whether a task is ready.
    pub(crate) fn is_ready(&self) -> bool {
        !self.queue.lock().ready.is_empty()
    }

    /// Polls each task that is ready now, once, and returns whether there was one. What becomes
    /// ready meanwhile ends the next wait.
    pub(crate) fn tick(self: &Rc<Self>) -> bool {
        let spawned = mem::take(&mut self.queue.lock().spawned);
        spawned.into_iter().for_each(|future| self.insert(future));
        let count = self.queue.lock().ready.len();
        for _ in 0..count {
            let wake_up = self.queue.lock().ready.pop_front();
            if let Some(wake_up) = wake_up {
                self.poll(&wake_up);
            }
        }
        if self.is_ready() {
            self.queue.unpark.unpark();
        }
        count > 0
    }

    fn poll(self: &Rc<Self>, wake_up: &Arc<WakeUp>) {
        /// Ends the task, unless it is put back. It may spawn as it is dropped.
        struct Polled<'a> {
            tasks: &'a Rc<Tasks>,
            slot: usize,
            task: Option<Spawn<Local>>,
        }
        impl Drop for Polled<'_> {
            fn drop(&mut self) {
                let Some(task) = self.task.take() else {
                    return;
                };
                let slot = self.tasks.slots.borrow_mut().remove(self.slot);
                self.tasks.queue.lock().tasks -= 1;
                self.tasks.enter(|| drop((task, slot)));
            }
        }
        let mut slots = self.slots.borrow_mut();
        // A wake-up may come after the end of its task, when the slot is another's.
        let found = slots.get_mut(wake_up.slot);
        let Some(slot) = found.filter(|slot| Arc::ptr_eq(&slot.wake_up, wake_up)) else {
            return;
        };
        let (task, notifier) = (slot.task.take(), slot.notifier.clone());
        drop(slots);
        wake_up.is_queued.store(false, Ordering::SeqCst);
        let mut polled = Polled {
            tasks: self,
            slot: wake_up.slot,
            task,
        };
        let task = polled.task.as_mut().expect("only one poll at a time");
        if let Ok(Async::NotReady) = self.enter(|| task.poll_future_notify(&notifier, 0)) {
            self.slots.borrow_mut()[wake_up.slot].task = polled.task.take();
        }
    }

    /// Drops all tasks, and refuses more.
    pub(crate) fn close(&self) {
        let mut state = self.queue.lock();
        state.is_closed = true;
        let dropped = (mem::take(&mut state.spawned), mem::take(&mut state.ready));
        drop(state);
        let slots = mem::take(&mut *self.slots.borrow_mut());
        drop((slots, dropped));
    }
}
