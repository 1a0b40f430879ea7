//! An epoll set and a run queue, nested in tokio-core's loop.
//!
//! tokio-core drives the work that happens once per connection: signals, timers, the resolver's
//! threads. This reactor drives the work that happens once per message, for three reasons: mio 0.6
//! doesn't report a half-close, so a short read would not mean a drained socket; a task that
//! tokio-core wakes costs a second epoll_wait; and its registrations need as much memory as the
//! rest of an idle tunnel.
//!
//! ```text
//!   Core ── epoll_wait ──▶ the epoll set is readable ──▶ Handle::run, or Driver
//!                                                          │ epoll_wait(0)
//!                              SocketSource ◀── readiness ─┤
//!                                │ notify                  │
//!                                ▼                         ▼
//!                            run queue ───── poll ──▶ tasks (tunnels)
//! ```
//!
//! With `Core::run` the driver is an ordinary task of the core. [`Handle::run`] saves one wait per
//! batch, since it looks at the epoll set after each turn of the core, without being woken. While
//! traffic is dense it saves another one: [it waits in the epoll set itself](turns), and the core has a
//! turn every two milliseconds.
//!
//! Tasks of this reactor are ordinary futures 0.1 tasks: tokio-core's timeouts and other threads can
//! wake them.
//!
//! Must not define a type of stream, as `io` does, or depend on what a task does. `io` uses the
//! event sources, and every thread of the engine uses the [`Handle`].
//!
//! Invariant: when [`EventLoop::work`] reports that nothing is left, a later event makes the epoll set
//! readable again, and a later notification wakes the driver.

mod driver;
mod queue;
mod source;
mod turns;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::io;
use std::os::unix::io::{AsRawFd, RawFd};
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;

use futures::executor::{self, Spawn};
use futures::{future, Async, Future};
use log::error;
use slab::Slab;
use tokio_core::reactor::{Core, Handle as CoreHandle};

use self::driver::{has_loop_of_its_own, Driver};
use self::queue::Queue;
use self::source::SocketSource;
pub(super) use self::source::{Readiness, Registration};
use self::turns::{Tick, Turns};
use ptunnel_core::os::panics::message;
use ptunnel_core::os::sys::{Epoll, Events, ReservedFd};
use ptunnel_notify::Notifier;
use ptunnel_proto::debug_by_name;

/// Maximum number of events of one wait.
const EVENTS: usize = 512;

/// In calm traffic, the next wait follows at once after a wait with at least this many events; after
/// fewer, tokio-core waits.
const BUSY: usize = 4;

/// Maximum number of waits in a row before tokio-core gets a turn, in calm traffic. In dense traffic it
/// has one at each tick.
const ROUNDS: usize = 32;

type BoxedTask = Spawn<Box<dyn Future<Item = (), Error = ()>>>;

/// The reactor of one thread, which registers sockets and spawns tasks. Cheap to clone.
///
/// Everything that is made with it lives on the thread of its `Core`, and is dropped with the
/// `Core`.
#[derive(Clone)]
pub struct Handle {
    inner: Rc<EventLoop>,
}

struct EventLoop {
    core: CoreHandle,
    epoll: Epoll,
    sources: RefCell<Slab<Rc<SocketSource>>>,
    tasks: RefCell<Slab<Option<BoxedTask>>>,
    queue: Notifier<Queue>,
    batch: RefCell<Batch>,
    /// The core's epoll set, and the token of this one there. None without tokio-core's own loop.
    core_set: Cell<Option<(RawFd, u64)>>,
    /// `Handle::run` is running: the driver doesn't have to look at the epoll set.
    turned: Cell<bool>,
    closed: Cell<bool>,
    /// The payload of a critical task's panic, which ends `work`.
    critical_panic: RefCell<Option<Box<dyn Any + Send>>>,
}

/// Whether [`EventLoop::work`] waits for an event first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    No,
    /// Until one comes: of a source, or of the tick.
    ForEvent,
}

/// The result of [`EventLoop::work`].
#[derive(Clone, Copy, Debug)]
struct Worked {
    /// Nothing is left: no event, and no task that is due.
    idle: bool,
    /// Number of events of the first wait.
    events: usize,
    /// Whether one of all events was the tick's.
    tick: bool,
}

/// Buffers of one round, which the next one reuses.
struct Batch {
    events: Events,
    ready: Vec<usize>,
}

impl Handle {
    /// Starts a reactor on `core`'s loop.
    ///
    /// # Errors
    ///
    /// The error of epoll_create1(2) or timerfd_create(2), such as `EMFILE`.
    pub fn new(core: &CoreHandle) -> io::Result<Handle> {
        let epoll = Epoll::new()?;
        let tick = Tick::new(&epoll)?;
        let inner = Rc::new(EventLoop {
            core: core.clone(),
            epoll,
            sources: RefCell::new(Slab::new()),
            tasks: RefCell::new(Slab::new()),
            queue: Notifier::new(Queue::new(tick)),
            batch: RefCell::new(Batch {
                events: Events::with_capacity(EVENTS),
                ready: Vec::new(),
            }),
            core_set: Cell::new(None),
            turned: Cell::new(false),
            closed: Cell::new(false),
            critical_panic: RefCell::new(None),
        });
        core.spawn(Driver::new(&inner, core)?);
        Ok(Handle { inner })
    }

    /// Returns the handle of the `Core`, for timeouts and other features of tokio-core.
    pub fn core(&self) -> &CoreHandle {
        &self.inner.core
    }

    /// Runs `core`, which must be the one of this handle, until `future` resolves.
    ///
    /// # Panics
    ///
    /// If the future or a critical task panics.
    pub fn run<F>(&self, core: &mut Core, future: F) -> Result<F::Item, F::Error>
    where
        F: Future + 'static,
        F::Item: 'static,
        F::Error: 'static,
    {
        if !has_loop_of_its_own(core) {
            return core.run(future); // another thread wakes the driver there
        }
        let result = Rc::new(RefCell::new(None));
        self.spawn_critical(future.then({
            let result = result.clone();
            move |end| {
                *result.borrow_mut() = Some(end);
                Ok(())
            }
        }));
        let mut turns = Turns::new(&self.inner, core);
        let mut wait = Wait::No;
        loop {
            let worked = self.inner.work(wait);
            if let Some(end) = result.borrow_mut().take() {
                return end; // the driver takes over
            }
            wait = turns.next(worked);
        }
    }

    /// Runs `future` on this thread until it ends. Polls it before returning, so that an accepted
    /// client has its descriptors before the next one is accepted.
    ///
    /// If the `Core` was dropped, the future is dropped unpolled, as by tokio-core's `spawn`. A
    /// panic ends this future only, and is logged.
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

    /// Runs `future` like [`spawn`](Handle::spawn), but its panic continues in the code that runs
    /// the `Core`: for tasks that ptunnel can't serve without, such as a listener.
    pub(crate) fn spawn_critical<F>(&self, mut future: F)
    where
        F: Future<Item = (), Error = ()> + 'static,
    {
        let reactor = Rc::downgrade(&self.inner);
        self.spawn(future::poll_fn(move || {
            panic::catch_unwind(AssertUnwindSafe(|| future.poll())).unwrap_or_else(|panic| {
                if let Some(reactor) = reactor.upgrade() {
                    *reactor.critical_panic.borrow_mut() = Some(panic);
                    reactor.queue.notify_driver(); // the driver may not be running
                }
                Err(())
            })
        }));
    }

    /// Reserves a descriptor, to be dropped when one is needed.
    ///
    /// # Errors
    ///
    /// `EMFILE` or `ENFILE` if there is none.
    pub(crate) fn reserve_fd(&self) -> io::Result<ReservedFd> {
        self.inner.epoll.reserve()
    }

    /// Registers `io`, which is `ready` now.
    pub(super) fn register(&self, io: &impl AsRawFd, ready: Readiness) -> io::Result<Registration> {
        Registration::new(&self.inner, io, ready)
    }
}

debug_by_name!(Handle);

impl EventLoop {
    /// Waits for an event, if asked to. Then takes events and polls tasks, for a bounded number of
    /// rounds.
    fn work(&self, wait: Wait) -> Worked {
        let queue = &self.queue;
        // Not running yet: what another thread notifies meanwhile, the core learns.
        let events = self.take_events(wait);
        queue.set_running(true);
        let (mut count, mut tick) = (events, false);
        let idle = (0..ROUNDS).any(|round| {
            if round > 0 {
                count = self.take_events(Wait::No);
            }
            tick |= self.report_events();
            self.run_ready();
            // Where the next wait is in this set, too, it needn't follow at once.
            (count < BUSY || wait == Wait::ForEvent) && queue.is_empty()
        });
        queue.set_running(false);
        if let Some(panic) = self.critical_panic.borrow_mut().take() {
            panic::resume_unwind(panic);
        }
        // Another thread may have notified a task before `set_running`.
        let idle = idle && queue.is_empty();
        Worked { idle, events, tick }
    }

    /// Polls each task that is due once. Of the tasks that have yielded, it polls one: the others
    /// wait until the next events are taken, so that small messages come before bulk data.
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
            None => return, // the task has ended, and was notified once more
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

    /// Takes the events of the epoll set, and returns their number.
    fn take_events(&self, wait: Wait) -> usize {
        let events = &mut self.batch.borrow_mut().events;
        let taken = match wait {
            Wait::No => self.epoll.poll(events),
            Wait::ForEvent => self.queue.while_away(|is_idle| {
                if is_idle {
                    self.epoll.wait(events)
                } else {
                    self.epoll.poll(events)
                }
            }),
        };
        match taken {
            Ok(count) => count,
            // Another look, since the edge of an event may have passed.
            Err(ref e) if e.kind() == io::ErrorKind::Interrupted => BUSY,
            // The set and the buffer are valid, so any other error is a defect.
            Err(e) => panic!("epoll_wait: {}", e),
        }
    }

    /// Notifies the tasks of the events that were taken. Returns whether one was the tick's.
    fn report_events(&self) -> bool {
        let events = &self.batch.borrow().events;
        let sources = self.sources.borrow();
        let mut tick = false;
        for event in events.iter() {
            match sources.get(event.token as usize) {
                Some(source) => source.report(&event),
                None => tick |= event.token == Tick::TOKEN,
            }
        }
        tick
    }
}

#[cfg(test)]
mod tests;
