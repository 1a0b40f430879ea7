use crate::SpawnError;

/// Runs futures of type `T` as tasks.
pub trait TypedExecutor<T> {
    /// Starts a task.
    ///
    /// # Errors
    ///
    /// If the executor has ended, or has no room. The future is dropped.
    fn spawn(&mut self, future: T) -> Result<(), SpawnError>;

    /// Returns whether `spawn` is likely to succeed. A guess: another thread may be faster.
    ///
    /// # Errors
    ///
    /// Those that `spawn` would return now.
    fn status(&self) -> Result<(), SpawnError> {
        Ok(())
    }
}

impl<E, T> TypedExecutor<T> for Box<E>
where
    E: TypedExecutor<T>,
{
    fn spawn(&mut self, future: T) -> Result<(), SpawnError> {
        (**self).spawn(future)
    }

    fn status(&self) -> Result<(), SpawnError> {
        (**self).status()
    }
}
