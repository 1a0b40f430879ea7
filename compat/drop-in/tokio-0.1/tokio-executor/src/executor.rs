use futures::Future;

use crate::SpawnError;

/// Runs boxed futures as tasks.
pub trait Executor {
    /// Starts a task.
    ///
    /// # Errors
    ///
    /// If the executor has ended, or has no room. The future is dropped.
    fn spawn(
        &mut self,
        future: Box<dyn Future<Item = (), Error = ()> + Send>,
    ) -> Result<(), SpawnError>;

    /// Returns whether `spawn` is likely to succeed. A guess: another thread may be faster.
    ///
    /// # Errors
    ///
    /// Those that `spawn` would return now.
    fn status(&self) -> Result<(), SpawnError> {
        Ok(())
    }
}

impl<E: Executor + ?Sized> Executor for Box<E> {
    fn spawn(
        &mut self,
        future: Box<dyn Future<Item = (), Error = ()> + Send>,
    ) -> Result<(), SpawnError> {
        (**self).spawn(future)
    }

    fn status(&self) -> Result<(), SpawnError> {
        (**self).status()
    }
}
