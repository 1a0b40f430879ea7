//! A Core's handle for its own thread.

use std::fmt;
use std::mem;
use std::rc::Weak;

use futures::future::{self, ExecuteError, Executor};
use futures::{Future, IntoFuture};
use tokio::runtime;

use super::shared::Shared;
use super::tasks::Tasks;
use super::{CoreId, Remote};

/// A reference to a [`Core`](super::Core) for use on its thread: spawns tasks and makes sockets
/// and timers.
///
/// Clones refer to the same `Core`. A handle doesn't keep it alive.
#[derive(Clone)]
pub struct Handle {
    pub(super) remote: Remote,
    pub(super) tasks: Weak<Tasks>,
}

impl Handle {
    /// Returns the runtime that the `Core` is made of.
    ///
    /// tokio-core 0.1.18 returned a reference to the reactor of tokio 0.1. Code that passes this on
    /// to tokio 0.1 doesn't compile; hand it to tokio 1, e.g. with `enter` around the making of a
    /// socket.
    ///
    /// # Panics
    ///
    /// When the `Core` is gone.
    pub fn new_tokio_handle(&self) -> runtime::Handle {
        match self.remote.shared().runtime() {
            Ok(runtime) => runtime,
            Err(gone) => panic!("{gone}"),
        }
    }

    /// Returns the reference for other threads.
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Spawns a future onto the `Core`. Its first poll is in the loop's next pass, after the tasks
    /// that were spawned or notified before. When the `Core` is gone, the future is dropped.
    ///
    /// # Panics
    ///
    /// Never; a panic of the future unwinds the call of `Core::run` or `Core::turn` that polls it.
    pub fn spawn<F>(&self, f: F)
    where
        F: Future<Item = (), Error = ()> + 'static,
    {
        if let Some(tasks) = self.tasks.upgrade() {
            tasks.spawn(Box::new(f));
        }
    }

    /// Spawns a future that may run on another thread.
    ///
    /// The first call starts one thread for each processor, each with its own `Core`. They end
    /// when this `Core` is dropped, and their tasks with them. When it is already gone, the future
    /// is dropped.
    ///
    /// # Panics
    ///
    /// When the threads can't be started. A panic of the future ends that future alone.
    pub fn spawn_send<F>(&self, f: F)
    where
        F: Future<Item = (), Error = ()> + Send + 'static,
    {
        self.remote.shared().spawn_send(f);
    }

    /// Spawns what `f` returns. `f` is called in the task, not by this function.
    pub fn spawn_fn<F, R>(&self, f: F)
    where
        F: FnOnce() -> R + 'static,
        R: IntoFuture<Item = (), Error = ()> + 'static,
    {
        self.spawn(future::lazy(f));
    }

    /// Returns the id of the `Core`.
    pub fn id(&self) -> CoreId {
        self.remote.id()
    }

    /// Calls the closures that other threads have sent. A panic leaves the rest to the next pass.
    pub(super) fn run_jobs(&self) {
        let shared = self.remote.shared();
        let ring = Ring(shared);
        while let Some(job) = shared.next_job() {
            job(self);
        }
        mem::forget(ring);
    }
}

/// Makes the Core look at its jobs again, after one has panicked.
struct Ring<'a>(&'a Shared);

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        self.0.ring();
    }
}

impl<F> Executor<F> for Handle
where
    F: Future<Item = (), Error = ()> + 'static,
{
    fn execute(&self, future: F) -> Result<(), ExecuteError<F>> {
        self.spawn(future);
        Ok(())
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("id", &self.id()).finish()
    }
}
