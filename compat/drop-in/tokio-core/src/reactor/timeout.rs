//! A timer that fires once.

use std::io;
use std::time::{Duration, Instant};

use futures::{Future, Poll};

use super::timers::{now, Alarm};
use super::Handle;

/// A future that resolves once an instant has passed.
///
/// The clock runs from the call of [`new`](Timeout::new), whether or not the future is polled.
/// Polled again after it resolved, it is ready again, until [`reset`](Timeout::reset). The
/// resolution is a millisecond, rounded up. Dropping it cancels the timer. It may be polled on any
/// thread. The task that waits is notified while the `Core` runs; when that is gone, never.
///
/// # Errors
///
/// Never, once it is made.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Timeout {
    alarm: Alarm,
}

impl Timeout {
    /// Creates a timer that fires `dur` from now.
    ///
    /// # Errors
    ///
    /// When the `Core` of `handle` is gone.
    ///
    /// # Panics
    ///
    /// When the clock ends before that instant.
    pub fn new(dur: Duration, handle: &Handle) -> io::Result<Timeout> {
        Timeout::new_at(now() + dur, handle)
    }

    /// Creates a timer that fires at `at`, or at once if that has passed.
    ///
    /// # Errors
    ///
    /// When the `Core` of `handle` is gone.
    pub fn new_at(at: Instant, handle: &Handle) -> io::Result<Timeout> {
        let alarm = Alarm::new(at, handle)?;
        Ok(Timeout { alarm })
    }

    /// Sets another instant, whether or not the timer has fired. A task that waits for it is not
    /// notified until it polls the timer again.
    pub fn reset(&mut self, at: Instant) {
        self.alarm.reset(at);
    }
}

impl Future for Timeout {
    type Item = ();
    type Error = io::Error;

    fn poll(&mut self) -> Poll<(), io::Error> {
        Ok(self.alarm.poll(now()))
    }
}
