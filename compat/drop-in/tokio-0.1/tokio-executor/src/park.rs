//! How a thread waits for something to do.

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Blocks a thread until there is something to do.
pub trait Park {
    /// The handle that ends a wait.
    type Unpark: Unpark;

    /// The error of a wait.
    type Error;

    /// Returns a handle that ends the wait, from any thread.
    fn unpark(&self) -> Self::Unpark;

    /// Blocks the thread until `unpark` is called, or returns at once if it was called since the
    /// last wait. May also return without a reason.
    ///
    /// # Errors
    ///
    /// Those of the implementation.
    fn park(&mut self) -> Result<(), Self::Error>;

    /// Blocks the thread as [`park`](Park::park) does, for no longer than `duration`.
    ///
    /// # Errors
    ///
    /// Those of the implementation.
    fn park_timeout(&mut self, duration: Duration) -> Result<(), Self::Error>;
}

/// Ends the wait of a [`Park`].
pub trait Unpark: Sync + Send + 'static {
    /// Ends the wait, or the next one.
    fn unpark(&self);
}

impl Unpark for Box<dyn Unpark> {
    fn unpark(&self) {
        (**self).unpark();
    }
}

impl Unpark for Arc<dyn Unpark> {
    fn unpark(&self) {
        (**self).unpark();
    }
}

/// Blocks the thread that it was made on, and nothing more: no socket or timer is served meanwhile.
#[derive(Debug)]
pub struct ParkThread {
    _stays_on_its_thread: PhantomData<Rc<()>>,
}

/// The error of [`ParkThread`], which never fails.
#[derive(Debug)]
pub struct ParkError {
    _p: (),
}

/// Ends the wait of a [`ParkThread`].
#[derive(Clone, Debug)]
pub struct UnparkThread {
    token: Arc<Token>,
}

/// Whether a thread's next wait is over.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Token {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Token {
    /// Blocks until `set` is called, for no longer than `timeout`, and takes the token.
    pub fn wait(&self, timeout: Duration) {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut is_set, _) = self
            .changed
            .wait_timeout_while(is_set, timeout, |is_set| !*is_set)
            .unwrap_or_else(PoisonError::into_inner);
        *is_set = false;
    }

    /// Ends the wait, or the next one.
    pub fn set(&self) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }
}

thread_local! {
    // One for all of the thread, as the real crate has it.
    static TOKEN: Arc<Token> = Arc::default();
}

impl ParkThread {
    /// Returns a [`Park`] of this thread.
    pub fn new() -> ParkThread {
        ParkThread {
            _stays_on_its_thread: PhantomData,
        }
    }
}

impl Default for ParkThread {
    fn default() -> ParkThread {
        ParkThread::new()
    }
}

impl Park for ParkThread {
    type Unpark = UnparkThread;
    type Error = ParkError;

    fn unpark(&self) -> UnparkThread {
        UnparkThread {
            token: TOKEN.with(Arc::clone),
        }
    }

    fn park(&mut self) -> Result<(), ParkError> {
        self.park_timeout(Duration::MAX)
    }

    fn park_timeout(&mut self, duration: Duration) -> Result<(), ParkError> {
        TOKEN.with(|token| token.wait(duration));
        Ok(())
    }
}

impl Unpark for UnparkThread {
    fn unpark(&self) {
        self.token.set();
    }
}
