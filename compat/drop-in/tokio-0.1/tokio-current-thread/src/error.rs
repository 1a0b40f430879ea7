use std::error::Error;
use std::fmt;

use tokio_executor::EnterError;

/// The error of [`run`](crate::CurrentThread::run): the `Park` inside has failed.
#[derive(Debug)]
pub struct RunError {
    pub(crate) _p: (),
}

/// The error of [`run_timeout`](crate::CurrentThread::run_timeout).
#[derive(Debug)]
pub struct RunTimeoutError {
    pub(crate) timeout: bool,
}

/// The error of [`turn`](crate::CurrentThread::turn): the `Park` inside has failed.
#[derive(Debug)]
pub struct TurnError {
    pub(crate) _p: (),
}

/// The error of [`block_on`](crate::CurrentThread::block_on): that of the future, or none if the
/// `Park` inside has failed.
#[derive(Debug)]
pub struct BlockError<T> {
    pub(crate) inner: Option<T>,
}

impl RunTimeoutError {
    /// Returns whether the time is over, rather than that the `Park` inside has failed.
    pub fn is_timeout(&self) -> bool {
        self.timeout
    }
}

impl<T> BlockError<T> {
    /// Returns the error of the future.
    pub fn into_inner(self) -> Option<T> {
        self.inner
    }
}

impl From<EnterError> for RunTimeoutError {
    fn from(_: EnterError) -> RunTimeoutError {
        RunTimeoutError { timeout: false }
    }
}

impl<T> From<EnterError> for BlockError<T> {
    fn from(_: EnterError) -> BlockError<T> {
        BlockError { inner: None }
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Run error")
    }
}

impl fmt::Display for RunTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[allow(deprecated)]
        f.write_str(self.description())
    }
}

impl fmt::Display for TurnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turn error")
    }
}

impl<T> fmt::Display for BlockError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Block error")
    }
}

impl Error for RunError {
    fn description(&self) -> &str {
        "Run error"
    }
}

impl Error for RunTimeoutError {
    fn description(&self) -> &str {
        if self.timeout {
            "Run timeout error (timeout)"
        } else {
            "Run timeout error (not timeout)"
        }
    }
}

impl Error for TurnError {
    fn description(&self) -> &str {
        "Turn error"
    }
}

impl<T: fmt::Debug> Error for BlockError<T> {
    fn description(&self) -> &str {
        "Block error"
    }
}
