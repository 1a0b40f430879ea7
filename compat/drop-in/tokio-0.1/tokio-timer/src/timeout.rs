//! A bound on the time that a future, or an item of a stream, takes.

use std::time::{Duration, Instant};
use std::{error, fmt};

use futures::{Async, Future, Poll, Stream};

use crate::{clock, Delay};

/// A future that fails at an instant, or a stream that fails when an item takes too long.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Timeout<T> {
    value: T,
    delay: Delay,
}

/// The error of a [`Timeout`].
#[derive(Debug)]
pub struct Error<T>(Kind<T>);

#[derive(Debug)]
enum Kind<T> {
    Inner(T),
    Elapsed,
    Timer(crate::Error),
}

impl<T> Timeout<T> {
    /// Bounds a future, or each item of a stream. The time begins now; for the items after the
    /// first, with the item before.
    pub fn new(value: T, timeout: Duration) -> Timeout<T> {
        let delay = Delay::new_timeout(clock::now() + timeout, timeout);
        Timeout::new_with_delay(value, delay)
    }

    pub(crate) fn new_with_delay(value: T, delay: Delay) -> Timeout<T> {
        Timeout { value, delay }
    }

    /// Returns what is inside.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns what is inside.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns what is inside, without its bound.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: Future> Timeout<T> {
    /// Bounds a future by an instant.
    pub fn new_at(future: T, deadline: Instant) -> Timeout<T> {
        Timeout::new_with_delay(future, Delay::new(deadline))
    }
}

impl<T> Future for Timeout<T>
where
    T: Future,
{
    type Item = T::Item;
    type Error = Error<T::Error>;

    fn poll(&mut self) -> Poll<Self::Item, Self::Error> {
        if let Async::Ready(item) = self.value.poll().map_err(Error::inner)? {
            return Ok(Async::Ready(item));
        }
        match self.delay.poll().map_err(Error::timer)? {
            Async::NotReady => Ok(Async::NotReady),
            Async::Ready(()) => Err(Error::elapsed()),
        }
    }
}

impl<T> Stream for Timeout<T>
where
    T: Stream,
{
    type Item = T::Item;
    type Error = Error<T::Error>;

    fn poll(&mut self) -> Poll<Option<Self::Item>, Self::Error> {
        if let Async::Ready(item) = self.value.poll().map_err(Error::inner)? {
            if item.is_some() {
                self.delay.reset_timeout();
            }
            return Ok(Async::Ready(item));
        }
        match self.delay.poll().map_err(Error::timer)? {
            Async::NotReady => Ok(Async::NotReady),
            Async::Ready(()) => {
                self.delay.reset_timeout();
                Err(Error::elapsed())
            }
        }
    }
}

impl<T> Error<T> {
    /// Returns the error of what is inside.
    pub fn inner(err: T) -> Error<T> {
        Error(Kind::Inner(err))
    }

    /// Returns whether this is the error of what is inside.
    pub fn is_inner(&self) -> bool {
        matches!(self.0, Kind::Inner(_))
    }

    /// Returns the error of what is inside.
    pub fn into_inner(self) -> Option<T> {
        match self.0 {
            Kind::Inner(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the error of a time that is over.
    pub fn elapsed() -> Error<T> {
        Error(Kind::Elapsed)
    }

    /// Returns whether the time is over.
    pub fn is_elapsed(&self) -> bool {
        matches!(self.0, Kind::Elapsed)
    }

    /// Returns the error of the timer.
    pub fn timer(err: crate::Error) -> Error<T> {
        Error(Kind::Timer(err))
    }

    /// Returns whether this is the error of the timer.
    pub fn is_timer(&self) -> bool {
        matches!(self.0, Kind::Timer(_))
    }

    /// Returns the error of the timer.
    pub fn into_timer(self) -> Option<crate::Error> {
        match self.0 {
            Kind::Timer(error) => Some(error),
            _ => None,
        }
    }
}

impl<T: fmt::Display> fmt::Display for Error<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Inner(error) => error.fmt(f),
            Kind::Elapsed => "deadline has elapsed".fmt(f),
            Kind::Timer(error) => error.fmt(f),
        }
    }
}

impl<T: error::Error> error::Error for Error<T> {
    #[allow(deprecated)]
    fn description(&self) -> &str {
        match &self.0 {
            Kind::Inner(error) => error.description(),
            Kind::Elapsed => "deadline has elapsed",
            Kind::Timer(error) => error::Error::description(error),
        }
    }
}
