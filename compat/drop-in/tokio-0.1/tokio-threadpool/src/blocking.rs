//! Blocking code in a task.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::task::{self, Task};
use futures::{try_ready, Async, Poll};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_executor::Enter;

use crate::pool::Pool;

/// The error of [`blocking()`] outside of a pool and of a multi-thread runtime of tokio 1.
pub struct BlockingError {
    _p: (),
}

/// How a thread runs blocking code.
pub type BlockingImpl = fn(&mut dyn FnMut()) -> Poll<(), BlockingError>;

/// Puts back what [`set_default`] has replaced when it is dropped.
pub struct DefaultGuard<'a> {
    prior: BlockingImpl,
    _lifetime: PhantomData<&'a ()>,
}

thread_local! {
    static CURRENT: Cell<BlockingImpl> = const { Cell::new(in_place) };
}

/// Runs `f`, which may block, on this thread, while another one takes over its other tasks.
///
/// Not ready, without a call of `f`, while as many tasks block as the pool allows; the task is
/// notified. In a task of a multi-thread runtime of tokio 1 there is no such limit.
///
/// # Errors
///
/// If the thread belongs to neither.
pub fn blocking<F, T>(f: F) -> Poll<T, BlockingError>
where
    F: FnOnce() -> T,
{
    let mut f = Some(f);
    let mut returned = None;
    let mut run = || returned = f.take().map(|f| f());
    try_ready!(CURRENT.get()(&mut run));
    Ok(Async::Ready(returned.expect("what runs it has run it")))
}

/// Runs the thread's blocking code in another way, until the guard is dropped.
pub fn set_default<'a>(blocking: BlockingImpl) -> DefaultGuard<'a> {
    DefaultGuard {
        prior: CURRENT.replace(blocking),
        _lifetime: PhantomData,
    }
}

/// Runs the thread's blocking code in another way while `f` runs.
pub fn with_default<F, R>(blocking: BlockingImpl, enter: &mut Enter, f: F) -> R
where
    F: FnOnce(&mut Enter) -> R,
{
    let _guard = set_default(blocking);
    f(enter)
}

fn in_place(f: &mut dyn FnMut()) -> Poll<(), BlockingError> {
    let pool = Pool::current();
    let permit = match &pool {
        Some(pool) => match pool.permits.take() {
            Some(permit) => Some(permit),
            None => return Ok(Async::NotReady),
        },
        None => match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => None,
            _ => return Err(BlockingError::new()),
        },
    };
    tokio::task::block_in_place(|| match tokio_executor::enter() {
        // It may run an executor of its own.
        Err(_) => tokio_executor::exit(f),
        Ok(enter) => {
            drop(enter);
            f();
        }
    });
    drop(permit);
    Ok(Async::Ready(()))
}

/// How many tasks may block at the same time.
pub(crate) struct Permits(Mutex<State>);

struct State {
    free: usize,
    waiting: Vec<Task>,
}

struct Permit<'a>(&'a Permits);

impl Permits {
    pub(crate) fn new(free: usize) -> Permits {
        Permits(Mutex::new(State {
            free,
            waiting: Vec::new(),
        }))
    }

    /// Returns a permit, or notifies the current task once there may be one.
    fn take(&self) -> Option<Permit<'_>> {
        let mut state = self.lock();
        if state.free == 0 {
            if !state.waiting.iter().any(Task::will_notify_current) {
                state.waiting.push(task::current());
            }
            return None;
        }
        state.free -= 1;
        Some(Permit(self))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.free += 1;
        // All of them, since some may be gone.
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.iter().for_each(Task::notify);
    }
}

impl BlockingError {
    /// Returns the error.
    #[doc(hidden)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> BlockingError {
        BlockingError { _p: () }
    }
}

impl fmt::Display for BlockingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[allow(deprecated)]
        f.write_str(self.description())
    }
}

impl fmt::Debug for BlockingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BlockingError")
            .field(&self.to_string())
            .finish()
    }
}

impl Error for BlockingError {
    fn description(&self) -> &str {
        "`blocking` annotation used from outside the context of a thread pool"
    }
}

impl fmt::Debug for DefaultGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DefaultGuard").finish_non_exhaustive()
    }
}

impl Drop for DefaultGuard<'_> {
    fn drop(&mut self) {
        let _ = CURRENT.try_with(|current| current.set(self.prior));
    }
}
