//! A Core's handle for all threads.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use futures::future::{ExecuteError, Executor};
use futures::{Future, IntoFuture};

use super::shared::{Job, Shared};
use super::{CoreId, Handle};

thread_local! {
    /// The Core that runs on this thread.
    static CURRENT: RefCell<Option<Handle>> = const { RefCell::new(None) };
}

/// A reference to a [`Core`](super::Core) for any thread: spawns tasks.
///
/// Clones refer to the same `Core`. A `Remote` doesn't keep it alive.
#[derive(Clone)]
pub struct Remote {
    shared: Arc<Shared>,
}

impl Remote {
    pub(super) fn new(shared: Arc<Shared>) -> Remote {
        Remote { shared }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Calls `f` on the `Core`'s thread and spawns the future that it returns. `f` must be `Send`,
    /// the future need not be.
    ///
    /// On that thread, while the `Core` runs, `f` is called at once, after all closures that other
    /// threads have sent. On any other, the `Core` calls it in its next pass. When the `Core` is
    /// gone, `f` is dropped.
    pub fn spawn<F, R>(&self, f: F)
    where
        F: FnOnce(&Handle) -> R + Send + 'static,
        R: IntoFuture<Item = (), Error = ()>,
        R::Future: 'static,
    {
        if let Some(handle) = self.handle() {
            handle.run_jobs();
            handle.spawn(f(&handle).into_future());
            return;
        }
        let job: Job = Box::new(|handle| handle.spawn(f(handle).into_future()));
        self.shared.send(job);
    }

    /// Returns the id of the `Core`.
    pub fn id(&self) -> CoreId {
        CoreId::new(self.shared.id)
    }

    /// Returns the [`Handle`], if the `Core` is running on this thread.
    pub fn handle(&self) -> Option<Handle> {
        CURRENT.with_borrow(|current| {
            current
                .as_ref()
                .filter(|handle| handle.remote.shared.id == self.shared.id)
                .cloned()
        })
    }
}

impl<F> Executor<F> for Remote
where
    F: Future<Item = (), Error = ()> + Send + 'static,
{
    fn execute(&self, future: F) -> Result<(), ExecuteError<F>> {
        self.spawn(|_| future);
        Ok(())
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("id", &self.id()).finish()
    }
}

/// Marks a Core as the one that runs on this thread, for as long as it lives.
pub(super) struct Running;

impl Running {
    /// Returns `None` when a Core runs on this thread already.
    pub(super) fn enter(handle: &Handle) -> Option<Running> {
        CURRENT.with_borrow_mut(|current| {
            if current.is_some() {
                return None;
            }
            *current = Some(handle.clone());
            Some(Running)
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let handle = CURRENT.with_borrow_mut(Option::take);
        drop(handle);
    }
}
