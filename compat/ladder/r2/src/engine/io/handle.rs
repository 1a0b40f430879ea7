//! The `Core` of one thread, on a runtime of tokio 1 that the thread owns.

use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use futures::{future, Future as Future01};
use log::error;
use tokio::runtime::{self, Builder, Runtime};
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
        Ok(runtime()?.block_on(async {
            let mut core = Core::on(&runtime::Handle::current());
            let work = start(Handle {
                core: Rc::new(core.handle()),
            });
            tokio::select! {
                end = work => end,
                _ = core.run_async(future::empty::<(), ()>()) => unreachable!("it never ends"),
            }
        }))
    }

    /// Returns the handle of the `Core`.
    pub fn core(&self) -> &CoreHandle {
        &self.core
    }

    /// Runs `future` on this thread until it ends; its first poll is at the next turn of the `Core`. A
    /// panic ends this future only, and is logged.
    pub fn spawn<F>(&self, future: F)
    where
        F: Future01<Item = (), Error = ()> + 'static,
    {
        let guarded = AssertUnwindSafe(future).catch_unwind();
        self.core().spawn(guarded.then(|end| {
            if let Err(panic) = end {
                error!("a task panicked and was ended: {}", message(&*panic));
            }
            Ok(())
        }));
    }

    /// Runs `future` like [`spawn`](Handle::spawn), but its panic continues in the code that runs
    /// the `Core`: for tasks that ptunnel can't serve without, such as a listener.
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

debug_by_name!(Handle);
