//! Why there is no answer from a Core.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

/// Why a [`Call`](super::Call) has no answer.
#[derive(Debug)]
pub enum Lost {
    /// The Core was dropped before the future ended. The future was dropped with it.
    Gone,
    /// The future panicked, or the closure that was to make it.
    Panicked(Panic),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Gone => f.write_str(
                "the tokio-core Core ended before it answered: it was dropped, or a task that was \
                 spawned beside the calls panicked (`CoreThread::shutdown` tells)",
            ),
            Lost::Panicked(panic) => panic.fmt(f),
        }
    }
}

impl Error for Lost {}

/// A panic that was caught on a Core's thread.
pub struct Panic {
    /// In a `Mutex` for `Sync`, which error types of today ask for.
    payload: Mutex<Box<dyn Any + Send>>,
}

impl Panic {
    pub(crate) fn new(payload: Box<dyn Any + Send>) -> Panic {
        Panic {
            payload: Mutex::new(payload),
        }
    }

    /// What `panic!` was called with.
    pub fn into_payload(self) -> Box<dyn Any + Send> {
        self.payload
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on panicking here, without calling the panic hook again.
    pub fn resume(self) -> ! {
        resume_unwind(self.into_payload())
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payload = self.payload.lock().unwrap_or_else(PoisonError::into_inner);
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        match message {
            Some(message) => write!(f, "a task on the tokio-core Core panicked: {message}"),
            None => f.write_str("a task on the tokio-core Core panicked"),
        }
    }
}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Panic({:?})", self.to_string())
    }
}

impl Error for Panic {}
