//! An epoll set and a run queue, nested in tokio-core's loop.
//!
//! tokio-core drives everything that happens once per connection: signals, timers, the pool.
//! What happens once per message goes through here, for three reasons: mio 0.6 doesn't report
//! a half-close, so a short read could never be trusted to have drained a socket; a task that
//! tokio-core wakes costs a detour through a second epoll_wait; and its registrations weigh as
//! much as all the rest of an idle tunnel.
//!
//! ```text
//!   Core ── epoll_wait ──▶ our epoll set is readable ──▶ Handle::run, or Driver
//!                                                          │ epoll_wait(0)
//!                              Source ◀── readiness ───────┤
//!                                │ notify                  │
//!                                ▼                         ▼
//!                            run queue ───── poll ──▶ tasks (tunnels)
//! ```
//!
//! `Core::run` works: there the driver is a task like others. [`Handle::run`] does the same with
//! one wait less a batch, since it looks after each turn of the core without being woken.
//!
//! Tasks here are ordinary futures 0.1 tasks: a timeout or an answer from another thread wakes
//! them like any other.

mod critical;
mod driver;
mod queue;
mod source;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::os::unix::io::AsRawFd;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::time::Duration;

use futures::executor::{self, Spawn};
use futures::{Async, Future};
use log::error;
use slab::Slab;
use tokio_core::reactor::{Core, Handle as CoreHandle};

use self::critical::{Critical, Panic};
use self::driver::{has_loop_of_its_own, Driver};
use self::queue::Queue;
use self::source::Source;
pub(super) use self::source::{Readiness, Registration};
use crate::os::panics::message;
use crate::os::sys::{Epoll, Events, Notifier, ReservedFd};

/// Events taken in one wait.
const EVENTS: usize = 512;

/// A wait that brought fewer events than this is followed by tokio-core's own wait; after a
/// fuller one it pays to look again at once.
const BUSY: usize = 4;

/// How often the driver looks again before it lets tokio-core have a turn.
const ROUNDS: usize = 32;

type BoxedTask = Spawn<Box<dyn Future<Item = (), Error = ()>>>;

/// Where sockets are registered and tunnels are spawned; one per thread, cloned freely.
///
/// Everything made with a handle lives on the thread of the `Core` that it was made for, and
/// is dropped with that `Core`.
#[derive(Clone)]
pub struct Handle {
    inner: Rc<EventLoop>,
}

struct EventLoop {
    core: CoreHandle,
    epoll: Epoll,
    sources: RefCell<Slab<Rc<Source>>>,
    tasks: RefCell<Slab<Option<BoxedTask>>>,
    queue: Notifier<Queue>,
    batch: RefCell<Batch>,
    /// `Handle::run` looks after each turn; the driver needn't be woken by our epoll set.
    turned: Cell<bool>,
    closed: Cell<bool>,
    /// With what a vital task has panicked.
    broken: RefCell<Option<Panic>>,
}

/// Memory of one round, reused by the next.
struct Batch {
    events: Events,
    ready: Vec<usize>,
}

impl Handle {
    /// Starts a reactor on `core`'s loop.
    ///
    /// # Errors
    ///
    /// When there is no descriptor for another epoll set.
    pub fn new(core: &CoreHandle) -> io::Result<Handle> {
        let inner = Rc::new(EventLoop {
            core: core.clone(),
            epoll: Epoll::new()?,
            sources: RefCell::new(Slab::new()),
            tasks: RefCell::new(Slab::new()),
            queue: Notifier::new(Queue::new()),
            batch: RefCell::new(Batch {
                events: Events::with_capacity(EVENTS),
                ready: Vec::new(),
            }),
            turned: Cell::new(false),
            closed: Cell::new(false),
            broken: RefCell::new(None),
        });
        core.spawn(Driver::new(&inner, core)?);
        Ok(Handle { inner })
    }

    /// The `Core` underneath: timeouts and whatever else tokio-core offers.
    pub fn core(&self) -> &CoreHandle {
        &self.inner.core
    }

    /// Runs `core`, which must be the one that this handle was made for, until `future` is done.
    ///
    /// # Panics
    ///
    /// When the future does.
    pub fn run<F>(&self, core: &mut Core, future: F) -> Result<F::Item, F::Error>
    where
        F: Future + 'static,
        F::Item: 'static,
        F::Error: 'static,
    {
        if !has_loop_of_its_own(core) {
            return core.run(future); // our epoll set wakes the driver there, on its other thread
        }
        let result = Rc::new(RefCell::new(None));
        self.spawn_critical(future.then({
            let result = result.clone();
            move |end| {
                *result.borrow_mut() = Some(end);
                Ok(())
            }
        }));
        self.inner.turned.set(true);
        loop {
            let idle = self.inner.work();
            if let Some(end) = result.borrow_mut().take() {
                self.inner.turned.set(false);
                self.inner.queue.notify_driver(); // it takes over
                return end;
            }
            core.turn(if idle {
                None
            } else {
                Some(Duration::from_secs(0))
            });
        }
    }

    /// Runs `future` on this thread until it ends, beginning at once: it is polled before this
    /// returns. So a client that was let in has its descriptors before the next one is.
    ///
    /// Dropped unpolled when the `Core` is gone, as tokio-core's own `spawn` does. A panic
    /// ends this future only; it is logged.
    pub fn spawn<F>(&self, future: F)
    where
        F: Future<Item = (), Error = ()> + 'static,
    {
        if self.inner.closed.get() {
            return;
        }
        let task: Box<dyn Future<Item = (), Error = ()>> = Box::new(future);
        let id = self
            .inner
            .tasks
            .borrow_mut()
            .insert(Some(executor::spawn(task)));
        self.inner.poll_task(id);
    }

    /// As [`spawn`](Handle::spawn), for a task that the others count on, such as a listener: its
    /// panic goes on in whoever runs the `Core`, which would only seem to serve without it.
    pub(crate) fn spawn_critical<F>(&self, future: F)
    where
        F: Future<Item = (), Error = ()> + 'static,
    {
        self.spawn(Critical::new(future, &self.inner));
    }

    /// Reserves a descriptor, to be dropped when one is needed.
    ///
    /// # Errors
    ///
    /// `EMFILE` or `ENFILE` if there is none.
    pub(crate) fn reserve_fd(&self) -> io::Result<ReservedFd> {
        self.inner.epoll.spare()
    }

    /// Starts to report on `io`, whose first readiness the caller knows.
    pub(super) fn register(&self, io: &impl AsRawFd, ready: Readiness) -> io::Result<Registration> {
        Registration::new(&self.inner, io, ready)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("core", &self.inner.core)
            .finish()
    }
}

impl EventLoop {
    /// Polls what is due and looks for more, for a bounded number of rounds. Returns whether
    /// nothing was left: then a later event makes our set readable anew, and a later notification
    /// notifies the driver.
    fn work(&self) -> bool {
        let queue = &self.queue;
        queue.set_running(true);
        let idle = (0..ROUNDS).any(|_| {
            let count = self.dispatch();
            self.run_ready();
            count < BUSY && queue.is_empty()
        });
        queue.set_running(false);
        if let Some(panic) = self.broken.borrow_mut().take() {
            panic::resume_unwind(panic);
        }
        // Another thread may have come between the last look and the line above.
        idle && queue.is_empty()
    }

    /// Polls each task that is due, once; of those that did their share and want more, one: the
    /// others wait until the kernel was asked again who has something small to do.
    fn run_ready(&self) {
        let mut ready = std::mem::take(&mut self.batch.borrow_mut().ready);
        self.queue.take(&mut ready);
        for id in ready.drain(..) {
            self.poll_task(id);
        }
        self.batch.borrow_mut().ready = ready;
    }

    fn poll_task(&self, id: usize) {
        let slot = self.tasks.borrow_mut().get_mut(id).and_then(Option::take);
        let mut task = match slot {
            Some(task) => task,
            None => return, // it ended, and was notified once more
        };
        let queue = &self.queue;
        let poll = queue.while_polled(id, || {
            panic::catch_unwind(AssertUnwindSafe(|| task.poll_future_notify(queue, id)))
        });
        match poll {
            Ok(Ok(Async::NotReady)) => self.tasks.borrow_mut()[id] = Some(task),
            Ok(_) => {
                self.tasks.borrow_mut().remove(id);
            }
            Err(panic) => {
                error!("a task panicked and was ended: {}", message(&*panic));
                self.tasks.borrow_mut().remove(id);
            }
        }
    }

    /// Takes what the kernel has to tell, and notifies whom it concerns.
    fn dispatch(&self) -> usize {
        let events = &mut self.batch.borrow_mut().events;
        let count = match self.epoll.poll(events) {
            Ok(count) => count,
            Err(ref e) if e.kind() == io::ErrorKind::Interrupted => return BUSY,
            // Our own set, our own memory: this is a defect, not a condition.
            Err(e) => panic!("epoll_wait: {}", e),
        };
        let sources = self.sources.borrow();
        for index in 0..count {
            let event = events.at(index);
            if let Some(source) = sources.get(event.token as usize) {
                source.report(&event);
            }
        }
        count
    }
}

#[cfg(test)]
mod tests;
