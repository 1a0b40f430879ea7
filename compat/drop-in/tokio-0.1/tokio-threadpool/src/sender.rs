use std::sync::Arc;

use futures::future::{self, ExecuteError, ExecuteErrorKind};
use futures::Future;
use tokio_executor::{Executor, SpawnError, TypedExecutor};

use crate::pool::{Boxed, Pool};

/// Spawns onto a [`ThreadPool`](crate::ThreadPool), from any thread.
#[derive(Debug, Clone)]
pub struct Sender {
    pub(crate) pool: Arc<Pool>,
}

impl Sender {
    /// Starts a task.
    ///
    /// # Errors
    ///
    /// If the pool is shut down.
    pub fn spawn<F>(&self, future: F) -> Result<(), SpawnError>
    where
        F: Future<Item = (), Error = ()> + Send + 'static,
    {
        self.pool.spawn(Box::new(future))
    }
}

impl Executor for Sender {
    fn status(&self) -> Result<(), SpawnError> {
        self.pool.status()
    }

    fn spawn(&mut self, future: Boxed) -> Result<(), SpawnError> {
        self.pool.spawn(future)
    }
}

impl Executor for &Sender {
    fn status(&self) -> Result<(), SpawnError> {
        self.pool.status()
    }

    fn spawn(&mut self, future: Boxed) -> Result<(), SpawnError> {
        self.pool.spawn(future)
    }
}

impl<T> TypedExecutor<T> for Sender
where
    T: Future<Item = (), Error = ()> + Send + 'static,
{
    fn status(&self) -> Result<(), SpawnError> {
        self.pool.status()
    }

    fn spawn(&mut self, future: T) -> Result<(), SpawnError> {
        self.pool.spawn(Box::new(future))
    }
}

impl<T> future::Executor<T> for Sender
where
    T: Future<Item = (), Error = ()> + Send + 'static,
{
    fn execute(&self, future: T) -> Result<(), ExecuteError<T>> {
        if self.pool.status().is_err() {
            return Err(ExecuteError::new(ExecuteErrorKind::Shutdown, future));
        }
        // Where it fails all the same, the pool was shut down meanwhile, which drops all tasks.
        let _ = self.spawn(future);
        Ok(())
    }
}
