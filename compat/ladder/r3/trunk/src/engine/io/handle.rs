//! The `Core` of one thread, on a runtime of tokio 1 that the thread owns.

use std::any::Any;
use std::future::{poll_fn, Future};
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use futures::{future, Future as Future01};
use log::error;
use tokio::runtime::{self, Builder, Runtime};
use tokio::task::{spawn_local, LocalSet};
use tokio_core::reactor::{Core, Handle as CoreHandle};

use crate::error::Error;
use crate::os::panics::message;
use crate::os::sys::ReservedFd;
use crate::text::debug::debug_by_name;

/// Returns a runtime for this thread alone.
///
/// # Errors
///
/// `Error::other` if there are no descriptors for it.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::other("cannot start a reactor", e))
}

/// The handle of one thread's `Core`, which registers sockets and spawns tasks. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    core: Rc<CoreHandle>,
}

impl Handle {
    /// Runs the future that `start` makes on a new runtime, and the tasks that it has spawned until it
    /// ends; then they are dropped.
    ///
    /// # Errors
    ///
    /// `Error::other` if there are no descriptors for a runtime.
    ///
    /// # Panics
    ///
    /// If the future or a critical task panics.
    pub fn run<F: Future>(start: impl FnOnce(Handle) -> F) -> Result<F::Output, Error> {
        let runtime = runtime()?;
        let tasks = LocalSet::new();
        let work = async {
            let mut core = Core::on(&runtime::Handle::current());
            let work = start(Handle {
                core: Rc::new(core.handle()),
            });
            tokio::select! {
                end = work => end,
                _ = core.run_async(future::empty::<(), ()>()) => unreachable!("it never ends"),
            }
        };
        Ok(tasks.block_on(&runtime, work))
    }

    /// Returns the handle of the `Core`.
    pub fn core(&self) -> &CoreHandle {
        &self.core
    }

    /// Spawns a task, inside of [`run`](Handle::run). Its panic is logged, and ends nothing else.
    #[allow(clippy::disallowed_methods)] // its panic is caught
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let caught = caught(Box::pin(task));
        spawn_local(async {
            if let Err(panic) = caught.await {
                error!("a task panicked and was ended: {}", message(&*panic));
            }
        });
    }

    /// Spawns a future of 0.1 on the `Core`. Its panic continues in [`run`](Handle::run): for tasks
    /// that ptunnel can't serve without, such as a listener.
    pub(crate) fn spawn_critical<F>(&self, future: F)
    where
        F: Future01<Item = (), Error = ()> + 'static,
    {
        self.core().spawn(future);
    }

    /// Reserves a descriptor, to be dropped when one is needed.
    ///
    /// # Errors
    ///
    /// `EMFILE` or `ENFILE` if there is none.
    pub(crate) fn reserve_fd(&self) -> io::Result<ReservedFd> {
        ReservedFd::of(&io::stderr())
    }
}

/// The payload of a panic.
type Panic = Box<dyn Any + Send>;

/// Runs a task up to its end or its panic.
///
/// Boxed, since an argument of an `async fn` that is pinned inside takes its memory twice.
async fn caught(mut task: Pin<Box<dyn Future<Output = ()>>>) -> Result<(), Panic> {
    poll_fn(|cx| {
        let poll = || task.as_mut().poll(cx);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}

debug_by_name!(Handle);
