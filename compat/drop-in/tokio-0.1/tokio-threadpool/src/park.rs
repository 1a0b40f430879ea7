//! How a worker of tokio-threadpool waits. The workers of tokio 1 don't use it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_executor::park::{Park, Token, Unpark};

/// Blocks the thread that calls it, and nothing more.
#[derive(Debug)]
pub struct DefaultPark {
    token: Arc<Token>,
}

/// Ends the wait of a [`DefaultPark`].
#[derive(Debug)]
pub struct DefaultUnpark {
    token: Arc<Token>,
}

/// The error of [`DefaultPark`], which never fails.
#[derive(Debug)]
pub struct ParkError {
    _p: (),
}

impl DefaultPark {
    /// Returns a `Park` for any thread.
    pub fn new() -> DefaultPark {
        DefaultPark {
            token: Arc::default(),
        }
    }
}

impl Default for DefaultPark {
    fn default() -> DefaultPark {
        DefaultPark::new()
    }
}

impl Park for DefaultPark {
    type Unpark = DefaultUnpark;
    type Error = ParkError;

    fn unpark(&self) -> DefaultUnpark {
        DefaultUnpark {
            token: self.token.clone(),
        }
    }

    fn park(&mut self) -> Result<(), ParkError> {
        self.token.wait(Duration::MAX);
        Ok(())
    }

    fn park_timeout(&mut self, duration: Duration) -> Result<(), ParkError> {
        self.token.wait(duration);
        Ok(())
    }
}

impl Unpark for DefaultUnpark {
    fn unpark(&self) {
        self.token.set();
    }
}

impl fmt::Display for ParkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown park error")
    }
}

impl Error for ParkError {
    fn description(&self) -> &str {
        "unknown park error"
    }
}
