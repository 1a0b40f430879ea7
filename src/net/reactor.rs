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

use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::os::unix::io::AsRawFd;
use std::panic::{self, AssertUnwindSafe};
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::executor::{self, Notify, Spawn};
use futures::task::{self, AtomicTask, Task};
use futures::{Async, Future, Poll};
use log::error;
use mio::event::Evented;
use mio::unix::EventedFd;
use mio::{PollOpt, Ready, Token};
use slab::Slab;
use tokio_core::reactor::{Core, Handle as CoreHandle, PollEvented};

use crate::sys::{Epoll, Events, Spare};

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
    inner: Rc<Inner>,
}

struct Inner {
    core: CoreHandle,
    epoll: Epoll,
    sources: RefCell<Slab<Rc<Source>>>,
    tasks: RefCell<Slab<Option<BoxedTask>>>,
    queue: Arc<Queue>,
    batch: RefCell<Batch>,
    /// `Handle::run` looks after each turn; the driver needn't be woken by our epoll set.
    turned: Cell<bool>,
    closed: Cell<bool>,
}

/// Whether `core` waits in an epoll of its own, on its own thread: the case up to tokio-core
/// 0.1.12. From 0.1.13 on it parks, and the reactor of another thread wakes its tasks.
///
/// Only the later ones have a method `runtime`; where there is none, the trait's is called.
fn has_loop_of_its_own(core: &Core) -> bool {
    struct NoRuntime;
    #[allow(dead_code)] // on the later ones
    trait Runtime {
        fn runtime(&self) -> &NoRuntime {
            &NoRuntime
        }
    }
    impl Runtime for Core {}

    fn is_none<T: 'static>(_runtime: &T) -> bool {
        TypeId::of::<T>() == TypeId::of::<NoRuntime>()
    }
    is_none(core.runtime())
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
        let inner = Rc::new(Inner {
            core: core.clone(),
            epoll: Epoll::new()?,
            sources: RefCell::new(Slab::new()),
            tasks: RefCell::new(Slab::new()),
            queue: Arc::new(Queue::default()),
            batch: RefCell::new(Batch {
                events: Events::with_capacity(EVENTS),
                ready: Vec::new(),
            }),
            turned: Cell::new(false),
            closed: Cell::new(false),
        });
        core.spawn(Driver {
            readable: PollEvented::new(Nested(inner.clone()), core)?,
            inner: inner.clone(),
        });
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
        self.spawn(future.then({
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
                self.inner.queue.shared.driver.notify(); // it takes over
                return end;
            }
            assert!(Rc::strong_count(&result) > 1, "the main future panicked");
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

    /// A descriptor put aside, to be dropped when one is needed; an error when there is none.
    pub(crate) fn spare(&self) -> io::Result<Spare> {
        self.inner.epoll.spare()
    }

    /// Starts to report on `io`, whose first readiness the caller knows.
    pub(super) fn register(&self, io: &impl AsRawFd, ready: Readiness) -> io::Result<Registration> {
        let mut sources = self.inner.sources.borrow_mut();
        let entry = sources.vacant_entry();
        self.inner.epoll.add(io, entry.key() as u64)?;
        let source = Rc::new(Source {
            key: entry.key(),
            ready: Cell::new(ready),
            task: RefCell::new(None),
        });
        entry.insert(source.clone());
        Ok(Registration {
            source,
            reactor: Rc::downgrade(&self.inner),
        })
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("core", &self.inner.core)
            .finish()
    }
}

/// What a source is known to be ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Readiness(u8);

impl Readiness {
    pub(super) const NONE: Readiness = Readiness(0);
    pub(super) const READ: Readiness = Readiness(1);
    pub(super) const WRITE: Readiness = Readiness(2);
    /// Read on until the end or an error: see [`Event::more`](crate::sys::Event).
    const MORE: Readiness = Readiness(4);
    /// There is an error to be taken from the descriptor.
    const FAILED: Readiness = Readiness(8);

    fn has(self, other: Readiness) -> bool {
        self.0 & other.0 != 0
    }
}

/// One registered descriptor, shared by its owner and the reactor.
struct Source {
    key: usize,
    ready: Cell<Readiness>,
    // Stays when it is notified: a tunnel's two sockets belong to one task for all its life,
    // so parking is a comparison and not a clone.
    task: RefCell<Option<Task>>,
}

/// The owner's half of a [`Source`]: what is ready, and whom to tell when that changes.
///
/// Dropped together with the descriptor, whose closing ends the kernel's reports.
pub(super) struct Registration {
    source: Rc<Source>,
    reactor: Weak<Inner>,
}

impl Registration {
    /// Whether to try now. If not, the current task is notified when to try again.
    ///
    /// # Panics
    ///
    /// Outside of a task, when it isn't ready.
    pub(super) fn poll_ready(&self, wanted: Readiness) -> Async<()> {
        if self.source.ready.get().has(wanted) {
            Async::Ready(())
        } else {
            self.park();
            Async::NotReady
        }
    }

    /// The descriptor just said that it would block.
    pub(super) fn would_block(&self, tried: Readiness) {
        let ready = self.source.ready.get();
        self.source.ready.set(Readiness(ready.0 & !tried.0));
        self.park();
    }

    /// Whether an end, an error or urgent data may be waiting, that a short read doesn't tell of.
    pub(super) fn has_more(&self) -> bool {
        self.source.ready.get().has(Readiness::MORE)
    }

    /// Whether an error was reported that nobody was told of here; if not, the current task is
    /// notified of one that comes.
    pub(super) fn take_failed(&self) -> bool {
        let ready = self.source.ready.get();
        let failed = ready.has(Readiness::FAILED);
        if failed {
            let rest = Readiness(ready.0 & !Readiness::FAILED.0);
            self.source.ready.set(rest);
        } else {
            self.park();
        }
        failed
    }

    /// Whether a read that didn't fill its buffer took everything there was; if so, the current
    /// task is notified of what comes next.
    pub(super) fn is_drained(&self) -> bool {
        if self.has_more() {
            return false;
        }
        self.would_block(Readiness::READ);
        true
    }

    fn park(&self) {
        let mut parked = self.source.task.borrow_mut();
        match &*parked {
            Some(task) if task.will_notify_current() => {}
            _ => *parked = Some(task::current()),
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(reactor) = self.reactor.upgrade() {
            // An event for this key that is already taken reaches at worst the key's next
            // owner, which then tries in vain once.
            reactor.sources.borrow_mut().remove(self.source.key);
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registration")
            .field(&self.source.ready.get())
            .finish()
    }
}

/// Tasks that want to be polled. Notified from any thread.
///
/// One pointer away from what it changes, on purpose: futures 0.1 makes the `&self` of
/// [`Notify`] from a reference to a type without size, so that the compiler may take what lies
/// behind it for read-only. It did: with link-time optimisation (rustc 1.95) what `notify` had
/// written into its own fields was gone.
#[derive(Default)]
struct Queue {
    shared: Box<Due>,
}

#[derive(Default)]
struct Due {
    waiting: Mutex<Waiting>,
    /// Set while the driver works the queue and will look at it again by itself.
    running: AtomicBool,
    driver: AtomicTask,
}

#[derive(Default)]
struct Waiting {
    ready: Vec<usize>,
    queued: Vec<bool>,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing under this lock can panic half-way.
        self.shared
            .waiting
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Exchanges the tasks that are due with an empty list.
    fn take(&self, ready: &mut Vec<usize>) {
        let mut waiting = self.lock();
        std::mem::swap(&mut waiting.ready, ready);
        for &id in ready.iter() {
            waiting.queued[id] = false;
        }
    }

    fn is_empty(&self) -> bool {
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

impl Inner {
    /// Polls what is due and looks for more, for a bounded number of rounds. Returns whether
    /// nothing was left: then a later event makes our set readable anew, and a later notification
    /// notifies the driver.
    fn work(&self) -> bool {
        let queue = &self.queue;
        queue.shared.running.store(true, Ordering::SeqCst);
        let idle = (0..ROUNDS).any(|_| {
            self.run_ready();
            let count = self.dispatch();
            self.run_ready();
            count < BUSY && queue.is_empty()
        });
        queue.shared.running.store(false, Ordering::SeqCst);
        // Another thread may have come between the last look and the line above.
        idle && queue.is_empty()
    }

    /// Polls each task that is due, once.
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
        let poll = panic::catch_unwind(AssertUnwindSafe(|| task.poll_future_notify(queue, id)));
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
            let source = match sources.get(event.token as usize) {
                Some(source) => source,
                None => continue,
            };
            let mut ready = source.ready.get().0;
            if event.readable {
                ready |= Readiness::READ.0;
            }
            if event.writable {
                ready |= Readiness::WRITE.0;
            }
            if event.more {
                ready |= Readiness::MORE.0;
            }
            if event.failed {
                ready |= Readiness::FAILED.0;
            }
            source.ready.set(Readiness(ready));
            if let Some(task) = &*source.task.borrow() {
                task.notify();
            }
        }
        count
    }
}

/// The task on tokio-core's loop that is woken when there is work.
struct Driver {
    inner: Rc<Inner>,
    readable: PollEvented<Nested>,
}

impl Future for Driver {
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll<(), ()> {
        self.inner.queue.shared.driver.register();
        if self.inner.turned.get() {
            return Ok(Async::NotReady); // being woken was all that it took
        }
        if self.readable.poll_read().is_ready() {
            // Whatever comes from now on makes our set readable anew.
            self.readable.need_read();
        }
        if !self.inner.work() {
            task::current().notify();
        }
        Ok(Async::NotReady)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The tasks own sockets and handles, which own the reactor: the circle is cut here.
        self.inner.closed.set(true);
        drop(self.inner.tasks.replace(Slab::new()));
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "no message"
    }
}

/// Our epoll set as a source of tokio-core's.
struct Nested(Rc<Inner>);

impl Evented for Nested {
    fn register(&self, poll: &mio::Poll, token: Token, _: Ready, _: PollOpt) -> io::Result<()> {
        EventedFd(&self.0.epoll.as_raw_fd()).register(
            poll,
            token,
            Ready::readable(),
            PollOpt::edge(),
        )
    }

    fn reregister(&self, poll: &mio::Poll, token: Token, _: Ready, _: PollOpt) -> io::Result<()> {
        EventedFd(&self.0.epoll.as_raw_fd()).reregister(
            poll,
            token,
            Ready::readable(),
            PollOpt::edge(),
        )
    }

    fn deregister(&self, poll: &mio::Poll) -> io::Result<()> {
        EventedFd(&self.0.epoll.as_raw_fd()).deregister(poll)
    }
}

#[cfg(test)]
mod tests;
