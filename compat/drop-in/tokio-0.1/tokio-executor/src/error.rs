use std::error::Error;
use std::fmt;

/// The reason why an executor doesn't take a task.
#[derive(Debug)]
pub struct SpawnError {
    is_shutdown: bool,
}

impl SpawnError {
    /// Returns the error of an executor that has ended, or that there is none.
    pub fn shutdown() -> SpawnError {
        SpawnError { is_shutdown: true }
    }

    /// Returns the error of an executor that has no room.
    pub fn at_capacity() -> SpawnError {
        SpawnError { is_shutdown: false }
    }

    /// Returns whether the executor has ended, or whether there is none.
    pub fn is_shutdown(&self) -> bool {
        self.is_shutdown
    }

    /// Returns whether the executor has no room.
    pub fn is_at_capacity(&self) -> bool {
        !self.is_shutdown
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[allow(deprecated)]
        f.write_str(self.description())
    }
}

impl Error for SpawnError {
    fn description(&self) -> &str {
        if self.is_shutdown {
            "no executor takes the task: it was shut down, or the thread is in no runtime"
        } else {
            "the executor has no room for the task"
        }
    }
}
