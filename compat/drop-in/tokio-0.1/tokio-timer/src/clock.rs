//! Where the time comes from.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tokio_executor::Enter;

use crate::timer;

/// A source of time, e.g. one that a test sets.
pub trait Now: Send + Sync + 'static {
    /// Returns the present instant.
    fn now(&self) -> Instant;
}

/// A handle of a source of time.
#[derive(Default, Clone)]
pub struct Clock {
    /// `None` is the system's clock: tokio 1's, which is the same unless it is paused.
    now: Option<Arc<dyn Now>>,
}

/// Removes what [`set_default`] has set when it is dropped.
#[derive(Debug)]
pub struct DefaultGuard {
    _p: (),
}

thread_local! {
    static CLOCK: RefCell<Option<Clock>> = const { RefCell::new(None) };
}

/// Returns the present instant of the thread's clock.
pub fn now() -> Instant {
    Clock::new().now()
}

impl Clock {
    /// Returns the thread's clock, or else the system's.
    pub fn new() -> Clock {
        CLOCK.with_borrow(|clock| clock.clone().unwrap_or_default())
    }

    /// Returns a clock that asks `now`.
    pub fn new_with_now<T: Now>(now: T) -> Clock {
        Clock {
            now: Some(Arc::new(now)),
        }
    }

    /// Returns the system's clock.
    pub fn system() -> Clock {
        Clock::default()
    }

    /// Returns the present instant.
    pub fn now(&self) -> Instant {
        match &self.now {
            Some(now) => now.now(),
            None => tokio::time::Instant::now().into_std(),
        }
    }
}

#[allow(deprecated)]
impl timer::Now for Clock {
    fn now(&mut self) -> Instant {
        Clock::now(self)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock")
            .field("is_system", &self.now.is_none())
            .finish()
    }
}

/// Makes `clock` the thread's while `f` runs.
///
/// # Panics
///
/// If the thread has one.
pub fn with_default<F, R>(clock: &Clock, enter: &mut Enter, f: F) -> R
where
    F: FnOnce(&mut Enter) -> R,
{
    let _guard = set_default(clock);
    f(enter)
}

/// Makes `clock` the thread's, until the guard is dropped.
///
/// # Panics
///
/// If the thread has one.
pub fn set_default(clock: &Clock) -> DefaultGuard {
    CLOCK.with_borrow_mut(|current| {
        assert!(
            current.is_none(),
            "default clock already set for execution context"
        );
        *current = Some(clock.clone());
    });
    DefaultGuard { _p: () }
}

impl Drop for DefaultGuard {
    fn drop(&mut self) {
        let old = CLOCK.try_with(|clock| clock.borrow_mut().take());
        drop(old);
    }
}
