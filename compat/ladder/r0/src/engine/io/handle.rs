//! tokio-core's handle, under the engine's names.

use std::io;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::time::Duration;

use futures::Future;
use log::error;
use tokio_core::reactor::{Core, Handle as CoreHandle, Interval};

use crate::os::panics::message;
use crate::os::sys::ReservedFd;
use crate::text::debug::debug_by_name;

/// The handle of one thread's `Core`, which registers sockets and spawns tasks. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    core: Rc<CoreHandle>,
}

impl Handle {
    /// Returns the handle of `core`'s loop.
    ///
    /// # Errors
    ///
    /// None: the root's handle, which the engine can use instead, opens a descriptor here.
    pub fn new(core: &CoreHandle) -> io::Result<Handle> {
        Ok(Handle {
            core: Rc::new(core.clone()),
        })
    }

    /// Returns the handle of the `Core`.
    pub fn core(&self) -> &CoreHandle {
        &self.core
    }

    /// Starts a timer that has an item after each period, on the reactor.
    pub fn interval(&self, period: Duration) -> io::Result<Interval> {
        Interval::new(period, &self.core)
    }

    /// Runs `core`, which must be the one of this handle, until `future` resolves.
    ///
    /// # Panics
    ///
    /// If the future or a critical task panics.
    pub fn run<F: Future>(&self, core: &mut Core, future: F) -> Result<F::Item, F::Error> {
        core.run(future)
    }

    /// Runs `future` on this thread until it ends; its first poll is at the next turn of the `Core`. A
    /// panic ends this future only, and is logged.
    pub fn spawn<F>(&self, future: F)
    where
        F: Future<Item = (), Error = ()> + 'static,
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
        F: Future<Item = (), Error = ()> + 'static,
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
