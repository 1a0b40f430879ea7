//! A bound on how often a stream yields.

use std::time::Duration;
use std::{error, fmt};

use futures::{try_ready, Async, Future, Poll, Stream};

use crate::{clock, Delay, Error};

/// A stream whose items are at least `duration` apart.
#[must_use = "streams do nothing unless polled"]
#[derive(Debug)]
pub struct Throttle<T> {
    /// Until the next item may come.
    delay: Option<Delay>,
    duration: Duration,
    stream: T,
}

/// The error of a [`Throttle`].
#[derive(Debug)]
pub struct ThrottleError<T>(Kind<T>);

#[derive(Debug)]
enum Kind<T> {
    Stream(T),
    Timer(Error),
}

impl<T> Throttle<T> {
    /// Spaces out the items of `stream`.
    pub fn new(stream: T, duration: Duration) -> Throttle<T> {
        Throttle {
            delay: None,
            duration,
            stream,
        }
    }

    /// Returns the stream inside.
    pub fn get_ref(&self) -> &T {
        &self.stream
    }

    /// Returns the stream inside.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.stream
    }

    /// Returns the stream inside, without its bound.
    pub fn into_inner(self) -> T {
        self.stream
    }
}

impl<T: Stream> Stream for Throttle<T> {
    type Item = T::Item;
    type Error = ThrottleError<T::Error>;

    fn poll(&mut self) -> Poll<Option<T::Item>, ThrottleError<T::Error>> {
        if let Some(delay) = &mut self.delay {
            try_ready!(delay.poll().map_err(ThrottleError::from_timer_err));
        }
        self.delay = None;
        let item = try_ready!(self.stream.poll().map_err(ThrottleError::from_stream_err));
        if item.is_some() {
            self.delay = Some(Delay::new(clock::now() + self.duration));
        }
        Ok(Async::Ready(item))
    }
}

impl<T> ThrottleError<T> {
    /// Returns the error of the stream.
    pub fn from_stream_err(err: T) -> ThrottleError<T> {
        ThrottleError(Kind::Stream(err))
    }

    /// Returns the error of the timer.
    pub fn from_timer_err(err: Error) -> ThrottleError<T> {
        ThrottleError(Kind::Timer(err))
    }

    /// Returns the error of the stream.
    pub fn get_stream_error(&self) -> Option<&T> {
        match &self.0 {
            Kind::Stream(error) => Some(error),
            Kind::Timer(_) => None,
        }
    }

    /// Returns the error of the timer.
    pub fn get_timer_error(&self) -> Option<&Error> {
        match &self.0 {
            Kind::Stream(_) => None,
            Kind::Timer(error) => Some(error),
        }
    }

    /// Returns the error of the stream.
    pub fn into_stream_error(self) -> Option<T> {
        match self.0 {
            Kind::Stream(error) => Some(error),
            Kind::Timer(_) => None,
        }
    }

    /// Returns the error of the timer.
    pub fn into_timer_error(self) -> Option<Error> {
        match self.0 {
            Kind::Stream(_) => None,
            Kind::Timer(error) => Some(error),
        }
    }

    /// Returns whether this is the error of the stream.
    pub fn is_stream_error(&self) -> bool {
        !self.is_timer_error()
    }

    /// Returns whether this is the error of the timer.
    pub fn is_timer_error(&self) -> bool {
        matches!(self.0, Kind::Timer(_))
    }
}

impl<T: error::Error> fmt::Display for ThrottleError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Stream(error) => write!(f, "stream error: {error}"),
            Kind::Timer(error) => write!(f, "timer error: {error}"),
        }
    }
}

impl<T: error::Error + 'static> error::Error for ThrottleError<T> {
    fn description(&self) -> &str {
        if self.is_timer_error() {
            "timer error"
        } else {
            "stream error"
        }
    }

    fn cause(&self) -> Option<&dyn error::Error> {
        match &self.0 {
            Kind::Stream(error) => Some(error),
            Kind::Timer(error) => Some(error),
        }
    }
}
