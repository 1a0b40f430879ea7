use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use futures::future::{ExecuteError, ExecuteErrorKind, Executor};
use futures::Future;
use tokio_executor::{SpawnError, TypedExecutor};

use crate::tasks::{Queue, Tasks};

/// Spawns onto a [`CurrentThread`](crate::CurrentThread), from any thread.
#[derive(Clone)]
pub struct Handle {
    queue: Arc<Queue>,
}

/// Spawns onto the executor that is polling on this thread.
#[derive(Debug, Clone)]
pub struct TaskExecutor {
    _stays_on_its_thread: PhantomData<Rc<()>>,
}

impl Handle {
    pub(crate) fn new(queue: Arc<Queue>) -> Handle {
        Handle { queue }
    }

    /// Starts a task.
    ///
    /// # Errors
    ///
    /// If the executor was dropped.
    pub fn spawn<F>(&self, future: F) -> Result<(), SpawnError>
    where
        F: Future<Item = (), Error = ()> + Send + 'static,
    {
        match Tasks::current() {
            Some(tasks) if Arc::ptr_eq(&tasks.queue, &self.queue) => {
                tasks.spawn(Box::new(future));
                Ok(())
            }
            _ => self.queue.spawn(Box::new(future)),
        }
    }

    /// Returns whether `spawn` is likely to succeed.
    ///
    /// # Errors
    ///
    /// If the executor was dropped.
    pub fn status(&self) -> Result<(), SpawnError> {
        self.queue.status()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl TaskExecutor {
    /// Returns what spawns onto whatever executor is polling on this thread when it is used.
    pub fn current() -> TaskExecutor {
        TaskExecutor {
            _stays_on_its_thread: PhantomData,
        }
    }

    /// Starts a task, which doesn't have to be `Send`.
    ///
    /// # Errors
    ///
    /// If no executor is polling.
    pub fn spawn_local(
        &mut self,
        future: Box<dyn Future<Item = (), Error = ()>>,
    ) -> Result<(), SpawnError> {
        let tasks = Tasks::current().ok_or_else(SpawnError::shutdown)?;
        tasks.spawn(future);
        Ok(())
    }
}

impl tokio_executor::Executor for TaskExecutor {
    fn spawn(
        &mut self,
        future: Box<dyn Future<Item = (), Error = ()> + Send>,
    ) -> Result<(), SpawnError> {
        self.spawn_local(future)
    }
}

impl<F> TypedExecutor<F> for TaskExecutor
where
    F: Future<Item = (), Error = ()> + 'static,
{
    fn spawn(&mut self, future: F) -> Result<(), SpawnError> {
        self.spawn_local(Box::new(future))
    }
}

impl<F> Executor<F> for TaskExecutor
where
    F: Future<Item = (), Error = ()> + 'static,
{
    fn execute(&self, future: F) -> Result<(), ExecuteError<F>> {
        match Tasks::current() {
            Some(tasks) => {
                tasks.spawn(Box::new(future));
                Ok(())
            }
            None => Err(ExecuteError::new(ExecuteErrorKind::Shutdown, future)),
        }
    }
}
