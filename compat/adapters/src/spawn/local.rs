//! Look-alikes of tokio-core's `Handle` and `Remote`, over tokio 1's `LocalSet`.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::error::Error;
use std::fmt;
use std::future::{poll_fn, Future};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::pin::{pin, Pin};
use std::rc::{Rc, Weak};
use std::task::Poll;

use futures01::future::{self, ExecuteError, ExecuteErrorKind, Executor};
use futures01::{Future as Future01, IntoFuture};
use tokio::runtime;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use crate::task::AsStd;
#[cfg(feature = "time")]
use crate::time::OnRuntime;

/// A thread's `!Send` tasks: what a tokio-core `Core` was to its handles.
///
/// It has no runtime; [`run_until`](Local::run_until) lends it the one it is awaited in,
/// for as long as that takes. Tasks that are left over stay, and go on at the next `run_until`.
///
/// *Cost*: a task is tokio's allocation and three of the bridge's. *Cancellation*: dropping the
/// `Local` drops all its tasks; dropping the future of `run_until` pauses them. *Ownership*:
/// sockets belong to the tasks that hold them, as ever.
///
/// ```
/// use futures01::Future as _;
/// use tokio_core_compat::{spawn::Local, task::AsStd};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let local = Local::new(&tokio::runtime::Handle::current());
/// let handle = local.handle();
///
/// let (tx, rx) = futures01::unsync::oneshot::channel();
/// handle.spawn_fn(move || tx.send("from a task that is not Send").map_err(drop));
/// assert_eq!(local.run_until(AsStd::new(rx)).await, Ok("from a task that is not Send"));
/// # }
/// ```
pub struct Local {
    shared: Rc<Shared>,
    handle: Handle,
}

struct Shared {
    tasks: LocalSet,
    /// The first panic of a task, on its way out of `run_until`. It needs no wake-up: tasks run nowhere
    /// else, so the poll that takes it is under way.
    panic: Cell<Option<Box<dyn Any + Send>>>,
}

thread_local! {
    /// The `Local`s that are being run on this thread, innermost last.
    static RUNNING: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

impl Local {
    /// Makes an empty one. Timers made with its handles run on `runtime`.
    pub fn new(runtime: &runtime::Handle) -> Local {
        let shared = Rc::new(Shared {
            tasks: LocalSet::new(),
            panic: Cell::new(None),
        });
        let (sent, mut inbox) = mpsc::unbounded_channel::<Job>();
        let handle = Handle {
            shared: Rc::downgrade(&shared),
            runtime: runtime.clone(),
            remote: Remote { sent },
        };
        // Through the weak handle, lest the tasks keep their own set alive. The handle keeps the
        // inbox open in turn, so this task lasts as long as the set.
        let here = handle.clone();
        shared.tasks.spawn_local(async move {
            while let Some(job) = inbox.recv().await {
                here.guard(|| job(&here));
            }
        });
        Local { shared, handle }
    }

    /// A handle that stays on this thread.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// A handle that any thread may use.
    pub fn remote(&self) -> Remote {
        self.handle.remote.clone()
    }

    /// Runs `future`, and the tasks beside it, until `future` ends.
    ///
    /// # Panics
    ///
    /// With the panic of a task, at the next opportunity; the other tasks stay as they are. Of two
    /// in one turn it is the first; the second is in the panic message alone.
    pub async fn run_until<F: Future>(&self, future: F) -> F::Output {
        let mut running = pin!(self.shared.tasks.run_until(future));
        poll_fn(|cx| {
            let _here = Running::enter(self.handle());
            let polled = running.as_mut().poll(cx);
            if let Some(panic) = self.shared.panic.take() {
                resume_unwind(panic);
            }
            polled
        })
        .await
    }
}

/// Timers run on the runtime that it was made with.
#[cfg(feature = "time")]
impl OnRuntime for Local {
    fn runtime(&self) -> runtime::Handle {
        self.handle.runtime()
    }
}

/// For as long as it lives, [`Remote::handle`] finds this handle.
struct Running;

impl Running {
    fn enter(handle: Handle) -> Running {
        RUNNING.with_borrow_mut(|running| running.push(handle));
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let left = RUNNING.with_borrow_mut(Vec::pop);
        drop(left);
    }
}

/// The look-alike of `tokio_core::reactor::Handle`: spawns onto the thread that made its [`Local`].
///
/// *Cost*: a clone is a few counters; a task is tokio's allocation and three of the bridge's.
/// *Cancellation*: dropping a handle changes nothing; the tasks go with the [`Local`], which no
/// handle keeps. *Ownership*: sockets belong to the tasks that hold them.
#[derive(Clone)]
pub struct Handle {
    shared: Weak<Shared>,
    runtime: runtime::Handle,
    remote: Remote,
}

impl Handle {
    /// Spawns a 0.1 future; when the [`Local`] is gone, drops it without a word.
    pub fn spawn<F>(&self, future: F)
    where
        F: Future01<Item = (), Error = ()> + 'static,
    {
        let _ = self.try_spawn(future);
    }

    /// Spawns what `f` returns. `f` is called in the task, not here.
    pub fn spawn_fn<F, R>(&self, f: F)
    where
        F: FnOnce() -> R + 'static,
        R: IntoFuture<Item = (), Error = ()> + 'static,
    {
        self.spawn(future::lazy(f));
    }

    /// Spawns a 0.1 future.
    ///
    /// # Errors
    ///
    /// The future, when the [`Local`] is gone.
    pub fn try_spawn<F>(&self, future: F) -> Result<(), Gone<F>>
    where
        F: Future01<Item = (), Error = ()> + 'static,
    {
        let Some(shared) = self.shared.upgrade() else {
            return Err(Gone(future));
        };
        let mut task = AsStd::new(future);
        let here = self.clone();
        shared.tasks.spawn_local(poll_fn(move |cx| {
            here.guard(|| Pin::new(&mut task).poll(cx).map(|_| ()))
                .unwrap_or(Poll::Ready(()))
        }));
        Ok(())
    }

    /// Spawns a std future; when the [`Local`] is gone, drops it without a word.
    ///
    /// *Cost*: tokio's allocation alone.
    pub fn spawn_std<F: Future<Output = ()> + 'static>(&self, future: F) {
        let _ = self.try_spawn_std(future);
    }

    /// Spawns a std future.
    ///
    /// # Errors
    ///
    /// The future, when the [`Local`] is gone.
    pub fn try_spawn_std<F: Future<Output = ()> + 'static>(
        &self,
        future: F,
    ) -> Result<(), Gone<F>> {
        let Some(shared) = self.shared.upgrade() else {
            return Err(Gone(future));
        };
        let here = self.clone();
        shared.tasks.spawn_local(async move {
            let mut task = pin!(future);
            poll_fn(|cx| {
                here.guard(|| task.as_mut().poll(cx))
                    .unwrap_or(Poll::Ready(()))
            })
            .await;
        });
        Ok(())
    }

    /// The handle for other threads.
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// tokio's own handle of the runtime that the [`Local`] is on.
    pub fn tokio_handle(&self) -> &runtime::Handle {
        &self.runtime
    }

    /// Calls `f` and hands a panic to [`Local::run_until`].
    fn guard<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(f)) {
            Ok(value) => Some(value),
            Err(panic) => {
                let shared = self.shared.upgrade().expect("runs within the set");
                // In this order: to drop the second may panic as well.
                let (first, second) = match shared.panic.take() {
                    Some(first) => (first, Some(panic)),
                    None => (panic, None),
                };
                shared.panic.set(Some(first));
                drop(second);
                None
            }
        }
    }
}

/// Timers run on the runtime of its [`Local`].
#[cfg(feature = "time")]
impl OnRuntime for Handle {
    fn runtime(&self) -> runtime::Handle {
        self.tokio_handle().clone()
    }
}

impl<F> Executor<F> for Handle
where
    F: Future01<Item = (), Error = ()> + 'static,
{
    fn execute(&self, future: F) -> Result<(), ExecuteError<F>> {
        self.try_spawn(future)
            .map_err(|Gone(f)| ExecuteError::new(ExecuteErrorKind::Shutdown, f))
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

type Job = Box<dyn FnOnce(&Handle) + Send>;

/// The look-alike of `tokio_core::reactor::Remote`: spawns onto the thread of a [`Local`], from any
/// other. The closure crosses over and must be `Send`; the future that it makes need not be.
///
/// A closure is always queued. tokio-core called it on the spot when already on the right thread.
///
/// *Cost*: a clone is a counter; a call is a box for the closure and a message, and the task that it
/// makes costs what a [`Handle`]'s does. *Cancellation*: as with a [`Handle`]; a closure whose turn
/// never comes is dropped with the [`Local`]. *Ownership*: what the closure holds crosses over with
/// it; a socket in it stays with the reactor that it was registered with.
#[derive(Clone)]
pub struct Remote {
    sent: mpsc::UnboundedSender<Job>,
}

impl Remote {
    /// Spawns the future that `f` makes over there; when the [`Local`] is gone, drops `f` without a
    /// word.
    pub fn spawn<F, R>(&self, f: F)
    where
        F: FnOnce(&Handle) -> R + Send + 'static,
        R: IntoFuture<Item = (), Error = ()>,
        R::Future: 'static,
    {
        let _ = self.try_spawn(f);
    }

    /// Spawns the future that `f` makes over there. `Ok` means that `f` is in the queue; it is
    /// dropped with the queue when the [`Local`] goes before its turn.
    ///
    /// # Errors
    ///
    /// When the [`Local`] is gone.
    pub fn try_spawn<F, R>(&self, f: F) -> Result<(), Gone<()>>
    where
        F: FnOnce(&Handle) -> R + Send + 'static,
        R: IntoFuture<Item = (), Error = ()>,
        R::Future: 'static,
    {
        let job: Job = Box::new(move |handle| handle.spawn(f(handle).into_future()));
        self.sent.send(job).map_err(|_| Gone(()))
    }

    /// Spawns the std future that `f` makes over there; when the [`Local`] is gone, drops `f` without
    /// a word.
    pub fn spawn_std<F, R>(&self, f: F)
    where
        F: FnOnce(&Handle) -> R + Send + 'static,
        R: Future<Output = ()> + 'static,
    {
        let job: Job = Box::new(move |handle| handle.spawn_std(f(handle)));
        let _ = self.sent.send(job);
    }

    /// The [`Handle`], if this is the thread of the [`Local`] and it is running.
    pub fn handle(&self) -> Option<Handle> {
        RUNNING.with_borrow(|running| {
            running
                .iter()
                .rev()
                .find(|h| h.remote.sent.same_channel(&self.sent))
                .cloned()
        })
    }
}

impl<F> Executor<F> for Remote
where
    F: Future01<Item = (), Error = ()> + Send + 'static,
{
    fn execute(&self, future: F) -> Result<(), ExecuteError<F>> {
        if self.sent.is_closed() {
            return Err(ExecuteError::new(ExecuteErrorKind::Shutdown, future));
        }
        self.spawn(|_| future);
        Ok(())
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}

/// The other side is gone; what was to be spawned comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Gone<F>(pub F);

impl<F> fmt::Debug for Gone<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gone")
    }
}

impl<F> fmt::Display for Gone<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the spawn::Local of this handle was dropped: keep it alive for as long as tasks are \
             to run",
        )
    }
}

impl<F> Error for Gone<F> {}
