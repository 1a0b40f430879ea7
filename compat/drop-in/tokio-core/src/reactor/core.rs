//! The event loop.

use std::collections::VecDeque;
use std::fmt;
use std::future::{poll_fn, Future as _};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures::executor::{self, Spawn};
use futures::future::{ExecuteError, Executor};
use futures::{Async, Future};
use tokio::runtime::{self, Runtime};
use tokio::task::coop;
use tokio::time::{self, Sleep};

use super::queue::{Route, INBOX, MAIN};
use super::remote::Running;
use super::shared::Shared;
use super::tasks::Tasks;
use super::timers::now;
use super::{wait, Handle, Remote};

/// An event loop: runs futures, and watches sockets and timers for them.
///
/// It owns a current-thread runtime of tokio 1 and stays on the thread that made it. Nothing makes
/// progress but within [`run`](Core::run) and [`turn`](Core::turn). Dropping it drops its tasks;
/// sockets that other code holds stay open, and fail once they have to wait.
///
/// # Order
///
/// The loop goes in passes, as tokio-core 0.1.12's did. A pass asks the system once which sockets
/// and timers are ready, and then polls each task that was notified before, once, in the order of
/// the notifications. What is spawned or notified meanwhile waits for the next pass. The future of
/// [`run`](Core::run) is polled after the tasks. No task is held back by tokio 1's cooperative
/// budget.
///
/// # Inside of a tokio 1 runtime
///
/// [`run`](Core::run) and [`turn`](Core::turn) block their thread, so they panic on a thread that
/// is polling tasks of tokio 1, or of another `Core`. Libraries that own a `Core` go to
/// `tokio::task::spawn_blocking` or a separate thread. Code that has the choice makes its `Core`
/// [`on`](Core::on) the runtime, and awaits [`run_async`](Core::run_async) there.
pub struct Core {
    handle: Handle,
    reactor: Reactor,
    /// `None` when the runtime is the caller's, and once the loop is being dropped.
    runtime: Option<Runtime>,
}

/// An id of a [`Core`], unique within the process and never used again.
#[derive(Clone, Copy, Eq, PartialEq, Hash, Debug)]
pub struct CoreId(usize);

impl CoreId {
    pub(super) fn new(id: usize) -> CoreId {
        CoreId(id)
    }
}

impl Core {
    /// Creates an event loop.
    ///
    /// # Errors
    ///
    /// When the system grants no more descriptors; the loop takes three.
    pub fn new() -> io::Result<Core> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_unpark(wait::end)
            .build()?;
        let mut core = Core::on(runtime.handle());
        core.runtime = Some(runtime);
        Ok(core)
    }

    /// Creates an event loop on `runtime`, which watches its sockets and timers and belongs to the
    /// caller.
    ///
    /// Such a loop goes on while its [`run_async`](Core::run_async) is awaited, and only then.
    /// tokio-core had nothing like it: it is for programs whose `main` is already tokio 1's.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use futures::Future;
    /// use tokio_core::reactor::{Core, Timeout};
    ///
    /// # fn main() -> std::io::Result<()> {
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// # runtime.block_on(async {
    /// let mut core = Core::on(&tokio::runtime::Handle::current());
    /// let timeout = Timeout::new(Duration::from_millis(10), &core.handle())?;
    /// core.run_async(timeout.map(|()| println!("10 ms later"))).await
    /// # })
    /// # }
    /// ```
    pub fn on(runtime: &runtime::Handle) -> Core {
        let route = Route::open();
        let shared = Arc::new(Shared::new(runtime, route.queue()));
        let tasks = Rc::new(Tasks::new(route));
        Core {
            handle: Handle {
                remote: Remote::new(shared.clone()),
                tasks: Rc::downgrade(&tasks),
            },
            reactor: Reactor::new(route, shared, tasks),
            runtime: None,
        }
    }

    /// Returns a reference to this loop for use on its thread.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns the runtime that this loop is made of.
    ///
    /// It is tokio 1's, where tokio-core 0.1.18 returned tokio 0.1's: what is spawned onto it runs
    /// on this thread, within [`run`](Core::run) and [`turn`](Core::turn).
    ///
    /// # Panics
    ///
    /// If the loop was made [`on`](Core::on) a runtime of the caller's.
    pub fn runtime(&self) -> &Runtime {
        let runtime = self.runtime.as_ref();
        runtime.expect("Core::runtime of a Core::on a runtime: the caller has that")
    }

    /// Returns a reference to this loop for any thread.
    pub fn remote(&self) -> Remote {
        self.handle.remote.clone()
    }

    /// Runs `f`, and the tasks beside it, until `f` ends, and returns its outcome. Tasks that are
    /// left over go on at the next `run` or `turn`.
    ///
    /// # Panics
    ///
    /// With the panic of `f` or of a task. The loop and the other tasks stay usable; the task that
    /// panicked is dropped.
    ///
    /// Also on a thread that is polling tasks of tokio 1 or of another `Core`, and if the loop was
    /// made [`on`](Core::on) a runtime of the caller's.
    pub fn run<F>(&mut self, f: F) -> Result<F::Item, F::Error>
    where
        F: Future,
    {
        let mut main = Main::new(f);
        self.block_on("Core::run", |reactor, cx| reactor.poll(&mut main, cx))
    }

    /// Does what [`run`](Core::run) does without blocking the thread: for a loop that was made
    /// [`on`](Core::on) a runtime, awaited there.
    ///
    /// Each poll is one pass of the loop, then other tasks of tokio 1 have their turn. Dropping the
    /// future drops `f`, and pauses the tasks until the next call.
    ///
    /// # Panics
    ///
    /// With the panic of `f` or of a task; the loop and the other tasks stay usable.
    ///
    /// When it is polled while another `Core` runs on the thread, and for a loop that wasn't made
    /// [`on`](Core::on) a runtime: its sockets are on its own, which only `run` drives.
    pub async fn run_async<F>(&mut self, f: F) -> Result<F::Item, F::Error>
    where
        F: Future,
    {
        let Core {
            handle,
            reactor,
            runtime,
        } = self;
        assert!(
            runtime.is_none(),
            "Core::run_async was called on a Core with a runtime of its own: call Core::run, or make \
             the Core with Core::on"
        );
        let mut main = Main::new(f);
        let mut waker = None;
        let running = poll_fn(|cx| {
            let running = Running::enter(handle);
            assert!(
                running.is_some(),
                "Core::run_async was polled inside of a running Core: await it in a task of tokio 1"
            );
            // The alarm wakes only the task that has polled it.
            if !waker
                .as_ref()
                .is_some_and(|known| cx.waker().will_wake(known))
            {
                waker = Some(cx.waker().clone());
                reactor.armed = None;
            }
            reactor.poll(&mut main, cx)
        });
        coop::unconstrained(running).await
    }

    /// Makes one pass of the loop: waits for an event, for at most `max_wait` (without limit if
    /// `None`), and polls each ready task once. An event is a task that is ready, a timer that is
    /// due, or what the system reports of a socket, whether or not a task waits for it. Beside tasks
    /// of tokio 1 that are ready, only what a task waits for is sure to count.
    ///
    /// # Panics
    ///
    /// As [`run`](Core::run).
    pub fn turn(&mut self, max_wait: Option<Duration>) {
        let mut limit = None;
        let mut begun = false;
        let mut waiting = false;
        self.block_on("Core::turn", |reactor, cx| {
            if waiting {
                waiting = false;
                if !wait::cancel() {
                    // For some versions of tokio, the wake-up that ended the wait is an event by
                    // itself, which would end the next wait. A look without waiting takes it.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
            if begun {
                reactor.pass();
                return Poll::Ready(());
            }
            begun = true;
            waiting = reactor.rest(cx);
            if let Some(max_wait) = max_wait {
                let limit = limit.insert(Box::pin(time::sleep(max_wait)));
                // Also with a limit of zero, the system is asked first.
                if max_wait.is_zero() || limit.as_mut().poll(cx).is_ready() {
                    cx.waker().wake_by_ref();
                    waiting = false;
                }
            }
            if waiting {
                wait::begin(cx.waker());
            }
            Poll::Pending
        })
    }

    /// Returns the id of this loop.
    pub fn id(&self) -> CoreId {
        self.handle.id()
    }

    /// Calls `poll` at first, and then after each time that the runtime has looked at its sockets
    /// and timers and something was ready.
    fn block_on<R>(
        &mut self,
        what: &str,
        mut poll: impl FnMut(&mut Reactor, &mut Context<'_>) -> Poll<R>,
    ) -> R {
        let running = Running::enter(&self.handle);
        assert!(
            running.is_some() && !is_polled_by_tokio(),
            "{what} was called inside of a running {}, whose thread it would block: call it in \
             tokio::task::spawn_blocking or on a thread of its own, return the future to the caller \
             instead of running it here, or await Core::run_async",
            if running.is_some() {
                "tokio 1 runtime"
            } else {
                "Core"
            },
        );
        let Core {
            reactor, runtime, ..
        } = self;
        // The alarm was polled by a call that is over.
        reactor.armed = None;
        let Some(runtime) = runtime else {
            panic!("{what} was called on a Core that is on another runtime: await Core::run_async");
        };
        // Tasks of 0.1 expect to be polled until they have nothing left to do.
        runtime.block_on(coop::unconstrained(poll_fn(|cx| poll(reactor, cx))))
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let shared = &self.reactor.shared;
        shared.close();
        self.reactor.tasks.close();
        shared.timers.close();
        self.reactor.route.close();
        // Unlike its drop, this is allowed on threads of other runtimes.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl<F> Executor<F> for Core
where
    F: Future<Item = (), Error = ()> + 'static,
{
    fn execute(&self, future: F) -> Result<(), ExecuteError<F>> {
        self.handle.execute(future)
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("id", &self.id()).finish()
    }
}

/// The future of `Core::run`.
struct Main<F> {
    future: Spawn<F>,
    begun: bool,
}

impl<F> Main<F> {
    fn new(future: F) -> Main<F> {
        Main {
            future: executor::spawn(future),
            begun: false,
        }
    }
}

/// What a pass needs.
struct Reactor {
    route: &'static Route,
    shared: Arc<Shared>,
    tasks: Rc<Tasks>,
    /// Ids that the pass has still to look at. A panic leaves the rest to the next pass.
    ready: VecDeque<usize>,
    /// Ends the runtime's sleep when a timer is due.
    alarm: Option<Pin<Box<Sleep>>>,
    /// The instant that `alarm` waits for.
    armed: Option<Instant>,
}

impl Reactor {
    fn new(route: &'static Route, shared: Arc<Shared>, tasks: Rc<Tasks>) -> Reactor {
        Reactor {
            route,
            shared,
            tasks,
            ready: VecDeque::new(),
            alarm: None,
            armed: None,
        }
    }

    /// Makes a pass, then polls `main` if that was notified. It comes before the tasks that were
    /// spawned earlier, once.
    fn poll<F: Future>(
        &mut self,
        main: &mut Main<F>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<F::Item, F::Error>> {
        if !main.begun || self.pass() {
            main.begun = true;
            match main.future.poll_future_notify(&self.route, MAIN) {
                Ok(Async::Ready(item)) => return Poll::Ready(Ok(item)),
                Ok(Async::NotReady) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        self.rest(cx);
        Poll::Pending
    }

    /// Notifies timers that are due, and polls what is ready; returns whether the future of
    /// `Core::run` was notified.
    fn pass(&mut self) -> bool {
        self.shared.timers.fire();
        let queue = self.route.queue();
        queue.take(&mut self.ready);
        let mut main = false;
        for _ in 0..self.ready.len() {
            let Some(id) = self.ready.pop_front() else {
                break;
            };
            if !queue.release(id) {
                continue;
            }
            match id {
                MAIN => main = true,
                INBOX => self.run_jobs(),
                task => self.tasks.poll(task),
            }
        }
        main
    }

    fn run_jobs(&self) {
        let handle = Handle {
            remote: Remote::new(self.shared.clone()),
            tasks: Rc::downgrade(&self.tasks),
        };
        handle.run_jobs();
    }

    /// Arranges for the next pass: at once if something is ready, or when something will be. The
    /// runtime asks the system in either case. Returns whether there is nothing ready.
    fn rest(&mut self, cx: &mut Context<'_>) -> bool {
        let rests = self.ready.is_empty() && self.route.queue().sleep(cx.waker()) && self.arm(cx);
        if !rests {
            cx.waker().wake_by_ref();
        }
        rests
    }

    /// Sets the alarm for the earliest timer; returns false if that is due.
    fn arm(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(first) = self.shared.timers.first() else {
            return true;
        };
        // A later instant is set when the earlier one has passed: timers that are reset all the
        // time, as those of connections, cost nothing here.
        let now = now();
        if self.armed.is_some_and(|at| at > now && at <= first) {
            return true;
        }
        let alarm = match &mut self.alarm {
            Some(alarm) => {
                alarm.as_mut().reset(first.into());
                alarm
            }
            none => none.insert(Box::pin(time::sleep_until(first.into()))),
        };
        self.armed = Some(first);
        alarm.as_mut().poll(cx).is_pending()
    }
}

/// Whether this thread is in a poll of a tokio 1 runtime, where it must not block.
///
/// tokio has no function for it, but gives each poll a budget, and none to threads that may block. The
/// budget that this uses up is that of a task that is about to panic. A poll under
/// `tokio::task::unconstrained` isn't recognized; there, tokio panics with its own message.
fn is_polled_by_tokio() -> bool {
    if runtime::Handle::try_current().is_err() {
        return false;
    }
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..=u8::MAX {
        match coop::poll_proceed(&mut cx) {
            Poll::Ready(unit) => unit.made_progress(),
            Poll::Pending => return true,
        }
    }
    false
}
