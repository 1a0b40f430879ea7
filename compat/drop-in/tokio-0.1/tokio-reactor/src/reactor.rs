//! The event loop.

use std::fmt;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{self, Runtime};
use tokio_executor::park::{Park, Unpark};

use crate::handle::{set_fallback, Target};
use crate::shared::Shared;
use crate::{Background, Handle, SetFallbackError};

/// An event loop: watches sockets, and notifies the tasks that wait for them.
///
/// It owns a current-thread runtime of tokio 1, which runs while the reactor turns or parks, and with
/// it the timers and tasks of tokio 1 that belong to it. Dropping it ends the watch: a socket that has
/// to wait is woken and fails.
///
/// [`turn`](Reactor::turn) and the functions of [`Park`] block their thread, so they panic on a thread
/// that is polling tasks of tokio 1. A runtime of tokio 0.1 that is started there goes to
/// `tokio::task::spawn_blocking`.
pub struct Reactor {
    /// `None` once it is being dropped.
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
}

/// What [`Reactor::turn`] returns: nothing yet.
#[derive(Debug)]
pub struct Turn {
    _private: (),
}

impl Reactor {
    /// Creates an event loop.
    ///
    /// # Errors
    ///
    /// When the system grants no more descriptors; the loop takes three.
    pub fn new() -> io::Result<Reactor> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Reactor {
            shared: Shared::new(runtime.handle().clone()),
            runtime: Some(runtime),
        })
    }

    /// Returns a reference to this loop for any thread.
    pub fn handle(&self) -> Handle {
        Handle::to(Target::Reactor(Arc::downgrade(&self.shared)))
    }

    /// Makes this the reactor for sockets that have no other, in the whole process.
    ///
    /// # Errors
    ///
    /// When there is one already.
    pub fn set_fallback(&self) -> Result<(), SetFallbackError> {
        set_fallback(Target::Reactor(Arc::downgrade(&self.shared)))
    }

    /// Waits for an event of a socket that a task waits for, or for [`Unpark::unpark`] of a handle, for
    /// at most `max_wait` if that is given, rounded up to milliseconds. A call of `unpark` before it
    /// counts. The system is asked in each turn.
    ///
    /// # Errors
    ///
    /// Never.
    ///
    /// # Panics
    ///
    /// On a thread that is polling tasks of tokio 1.
    pub fn turn(&mut self, max_wait: Option<Duration>) -> io::Result<Turn> {
        let runtime = self.runtime.as_ref().expect("taken only by drop");
        runtime.block_on(self.shared.turn(max_wait));
        Ok(Turn { _private: () })
    }

    /// Returns whether no socket is under this loop's watch.
    pub fn is_idle(&self) -> bool {
        self.shared.sources.load(Ordering::SeqCst) == 0
    }

    /// Lets this loop run on a new thread, until the returned value is dropped.
    ///
    /// # Errors
    ///
    /// When the system grants no thread.
    pub fn background(self) -> io::Result<Background> {
        Background::new(self)
    }
}

impl Park for Reactor {
    type Unpark = Handle;
    type Error = io::Error;

    fn unpark(&self) -> Handle {
        self.handle()
    }

    fn park(&mut self) -> io::Result<()> {
        self.turn(None).map(drop)
    }

    fn park_timeout(&mut self, duration: Duration) -> io::Result<()> {
        self.turn(Some(duration)).map(drop)
    }
}

impl Unpark for Handle {
    fn unpark(&self) {
        self.wake();
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        // Unlike its drop, this is allowed on threads of other runtimes.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Reactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reactor")
    }
}
