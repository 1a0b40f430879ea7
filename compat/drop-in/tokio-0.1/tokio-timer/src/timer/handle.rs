use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime;
use tokio_executor::Enter;

use super::queue::Queue;
#[allow(deprecated)]
use crate::{Deadline, Delay, Interval, Timeout};

/// Makes what waits for a timer.
#[derive(Clone)]
pub struct Handle {
    source: Option<Named>,
}

/// What a handle was made for. The default is to look at the first use.
#[derive(Clone)]
enum Named {
    Source(Source),
    /// The thread had no timer.
    Nothing,
}

/// What fires.
#[derive(Clone)]
pub(crate) enum Source {
    Timer(Arc<Queue>),
    Tokio1(runtime::Handle),
}

/// Removes what [`set_default`] has set when it is dropped.
#[derive(Debug)]
pub struct DefaultGuard {
    _p: (),
}

thread_local! {
    static CURRENT: RefCell<Option<Source>> = const { RefCell::new(None) };
}

impl Source {
    /// Returns the thread's timer, or else the tokio 1 runtime that it is in.
    fn current() -> Option<Source> {
        CURRENT
            .with_borrow(Option::clone)
            .or_else(|| Some(Source::Tokio1(runtime::Handle::try_current().ok()?)))
    }
}

impl Handle {
    pub(super) fn of_timer(queue: Arc<Queue>) -> Handle {
        Handle {
            source: Some(Named::Source(Source::Timer(queue))),
        }
    }

    /// Returns a handle of the thread's timer, or else of the tokio 1 runtime that the thread is in.
    /// On a thread that has neither, what it makes fails.
    pub fn current() -> Handle {
        Handle {
            source: Some(Source::current().map_or(Named::Nothing, Named::Source)),
        }
    }

    /// Returns what this handle is for, or the thread's timer.
    pub(crate) fn resolve(&self) -> Option<Source> {
        match &self.source {
            Some(Named::Source(source)) => Some(source.clone()),
            Some(Named::Nothing) => None,
            None => Source::current(),
        }
    }

    /// Returns a future that is ready at `deadline`.
    pub fn delay(&self, deadline: Instant) -> Delay {
        if self.source.is_none() {
            return Delay::new(deadline);
        }
        Delay::new_with_handle(deadline, self)
    }

    /// Bounds a future by an instant.
    #[doc(hidden)]
    #[deprecated(since = "0.2.11", note = "use timeout instead")]
    #[allow(deprecated)]
    pub fn deadline<T>(&self, future: T, deadline: Instant) -> Deadline<T> {
        Deadline::new_with_delay(future, self.delay(deadline))
    }

    /// Bounds a future by an instant.
    pub fn timeout<T>(&self, value: T, deadline: Instant) -> Timeout<T> {
        Timeout::new_with_delay(value, self.delay(deadline))
    }

    /// Returns a stream whose first tick is at `at`.
    ///
    /// # Panics
    ///
    /// If `duration` is zero.
    pub fn interval(&self, at: Instant, duration: Duration) -> Interval {
        Interval::new_with_delay(self.delay(at), duration)
    }
}

/// The thread's timer, at the first use.
impl Default for Handle {
    fn default() -> Handle {
        Handle { source: None }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

/// Makes `handle`'s timer the thread's while `f` runs.
///
/// # Panics
///
/// If the thread has one, or if `handle` has none.
pub fn with_default<F, R>(handle: &Handle, enter: &mut Enter, f: F) -> R
where
    F: FnOnce(&mut Enter) -> R,
{
    let _guard = set_default(handle);
    f(enter)
}

/// Makes `handle`'s timer the thread's, until the guard is dropped.
///
/// # Panics
///
/// If the thread has one, or if `handle` has none.
pub fn set_default(handle: &Handle) -> DefaultGuard {
    let Some(Named::Source(source)) = &handle.source else {
        panic!("`handle` does not reference a timer");
    };
    CURRENT.with_borrow_mut(|current| {
        assert!(
            current.is_none(),
            "default Tokio timer already set for execution context"
        );
        *current = Some(source.clone());
    });
    DefaultGuard { _p: () }
}

impl Drop for DefaultGuard {
    fn drop(&mut self) {
        let old = CURRENT.try_with(|current| current.borrow_mut().take());
        drop(old);
    }
}
