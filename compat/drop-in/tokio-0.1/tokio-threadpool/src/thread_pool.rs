use std::sync::Arc;

use futures::sync::oneshot;
use futures::{Future, Poll};

use crate::pool::{Lifecycle, Pool};
use crate::{Builder, Sender, Shutdown};

/// A pool of threads that run tasks: a tokio 1 runtime.
///
/// Dropping it drops its tasks, and waits until its threads have ended.
#[derive(Debug)]
pub struct ThreadPool {
    /// `None` once it is shut down.
    sender: Option<Sender>,
}

/// The result of a future that runs on a [`ThreadPool`]. Dropping it ends the task.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct SpawnHandle<T, E>(oneshot::SpawnHandle<T, E>);

impl ThreadPool {
    /// Starts a pool with a thread for each CPU.
    ///
    /// # Panics
    ///
    /// If the system has no thread or no descriptor left.
    pub fn new() -> ThreadPool {
        Builder::new().build()
    }

    pub(crate) fn of(pool: Arc<Pool>) -> ThreadPool {
        ThreadPool {
            sender: Some(Sender { pool }),
        }
    }

    /// Starts a task.
    ///
    /// # Panics
    ///
    /// If the pool was shut down through a clone of its sender.
    pub fn spawn<F>(&self, future: F)
    where
        F: Future<Item = (), Error = ()> + Send + 'static,
    {
        self.sender().spawn(future).unwrap();
    }

    /// Starts a task, and returns a future of its result.
    pub fn spawn_handle<F>(&self, future: F) -> SpawnHandle<F::Item, F::Error>
    where
        F: Future + Send + 'static,
        F::Item: Send + 'static,
        F::Error: Send + 'static,
    {
        SpawnHandle(oneshot::spawn(future, self.sender()))
    }

    /// Returns what spawns onto this pool.
    pub fn sender(&self) -> &Sender {
        self.sender.as_ref().expect("only a shutdown takes it")
    }

    /// Returns what spawns onto this pool.
    pub fn sender_mut(&mut self) -> &mut Sender {
        self.sender.as_mut().expect("only a shutdown takes it")
    }

    /// Ends the pool once it has no task. Until then it takes more.
    pub fn shutdown_on_idle(self) -> Shutdown {
        self.end(Lifecycle::UntilIdle, false)
    }

    /// Ends the pool once its tasks have ended. It takes no more.
    pub fn shutdown(self) -> Shutdown {
        self.end(Lifecycle::Closed, false)
    }

    /// Drops the pool's tasks, each at the end of its poll, and ends it.
    pub fn shutdown_now(self) -> Shutdown {
        self.end(Lifecycle::Closed, true)
    }

    fn end(mut self, lifecycle: Lifecycle, now: bool) -> Shutdown {
        let sender = self.sender.take().expect("only a shutdown takes it");
        sender.pool.shutdown(lifecycle, now);
        Shutdown::new(sender.pool.end.clone())
    }
}

impl Default for ThreadPool {
    fn default() -> ThreadPool {
        ThreadPool::new()
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        if let Some(Sender { pool }) = self.sender.take() {
            pool.shutdown(Lifecycle::Closed, true);
            Shutdown::new(pool.end.clone()).block();
        }
    }
}

impl<T, E> Future for SpawnHandle<T, E> {
    type Item = T;
    type Error = E;

    fn poll(&mut self) -> Poll<T, E> {
        self.0.poll()
    }
}
