//! tokio-timer 0.2 on tokio 1.
//!
//! A [`Delay`], and what is made of it, waits on the thread's [`Timer`]. A thread that has none, and
//! is in a tokio 1 runtime, uses that runtime's clock.

#![warn(missing_docs, missing_debug_implementations)]

pub mod clock;
mod deadline;
mod delay;
pub mod delay_queue;
mod error;
mod interval;
pub mod throttle;
pub mod timeout;
pub mod timer;
mod tokio_1;

use std::time::{Duration, Instant};

#[doc(hidden)]
#[allow(deprecated)]
pub use self::deadline::{Deadline, DeadlineError};
pub use self::delay::Delay;
#[doc(inline)]
pub use self::delay_queue::DelayQueue;
pub use self::error::Error;
pub use self::interval::Interval;
#[doc(inline)]
pub use self::timeout::Timeout;
pub use self::timer::{with_default, Timer};

/// Returns a future that is ready once `duration` has passed from now.
pub fn sleep(duration: Duration) -> Delay {
    Delay::new(Instant::now() + duration)
}

/// Returns `duration` in whole milliseconds, rounded up.
fn ms_up(duration: Duration) -> u64 {
    ms_down(duration.saturating_add(Duration::from_nanos(999_999)))
}

/// Returns `duration` in whole milliseconds, rounded down.
fn ms_down(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
