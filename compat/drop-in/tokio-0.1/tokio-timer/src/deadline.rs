//! What tokio-timer called [`Timeout`] before 0.2.6.
#![allow(deprecated)]

use std::time::Instant;
use std::{error, fmt};

use futures::{Future, Poll};

use crate::{timeout, Delay, Timeout};

/// A future that fails at an instant.
#[deprecated(since = "0.2.6", note = "use Timeout instead")]
#[derive(Debug)]
pub struct Deadline<T> {
    inner: Timeout<T>,
}

/// The error of a [`Deadline`].
#[deprecated(since = "0.2.6", note = "use Timeout instead")]
#[derive(Debug)]
pub struct DeadlineError<T>(timeout::Error<T>);

impl<T> Deadline<T> {
    /// Bounds a future by an instant.
    pub fn new(future: T, deadline: Instant) -> Deadline<T> {
        Deadline::new_with_delay(future, Delay::new(deadline))
    }

    pub(crate) fn new_with_delay(future: T, delay: Delay) -> Deadline<T> {
        Deadline {
            inner: Timeout::new_with_delay(future, delay),
        }
    }

    /// Returns what is inside.
    pub fn get_ref(&self) -> &T {
        self.inner.get_ref()
    }

    /// Returns what is inside.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }

    /// Returns what is inside, without its bound.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T> Future for Deadline<T>
where
    T: Future,
{
    type Item = T::Item;
    type Error = DeadlineError<T::Error>;

    fn poll(&mut self) -> Poll<T::Item, DeadlineError<T::Error>> {
        Future::poll(&mut self.inner).map_err(DeadlineError)
    }
}

impl<T> DeadlineError<T> {
    /// Returns the error of what is inside.
    pub fn inner(err: T) -> DeadlineError<T> {
        DeadlineError(timeout::Error::inner(err))
    }

    /// Returns whether this is the error of what is inside.
    pub fn is_inner(&self) -> bool {
        self.0.is_inner()
    }

    /// Returns the error of what is inside.
    pub fn into_inner(self) -> Option<T> {
        self.0.into_inner()
    }

    /// Returns the error of a time that is over.
    pub fn elapsed() -> DeadlineError<T> {
        DeadlineError(timeout::Error::elapsed())
    }

    /// Returns whether the time is over.
    pub fn is_elapsed(&self) -> bool {
        self.0.is_elapsed()
    }

    /// Returns the error of the timer.
    pub fn timer(err: crate::Error) -> DeadlineError<T> {
        DeadlineError(timeout::Error::timer(err))
    }

    /// Returns whether this is the error of the timer.
    pub fn is_timer(&self) -> bool {
        self.0.is_timer()
    }

    /// Returns the error of the timer.
    pub fn into_timer(self) -> Option<crate::Error> {
        self.0.into_timer()
    }
}

impl<T: fmt::Display> fmt::Display for DeadlineError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: error::Error> error::Error for DeadlineError<T> {
    fn description(&self) -> &str {
        self.0.description()
    }
}
