use std::time::{Duration, Instant};

use futures::{try_ready, Future, Poll, Stream};

use crate::{clock, Delay, Error};

/// A stream of instants, a period apart. Ticks that were not taken come in a burst.
#[must_use = "streams do nothing unless polled"]
#[derive(Debug)]
pub struct Interval {
    delay: Delay,
    duration: Duration,
}

impl Interval {
    /// Returns a stream whose first tick is at `at`.
    ///
    /// # Panics
    ///
    /// If `duration` is zero.
    pub fn new(at: Instant, duration: Duration) -> Interval {
        Interval::new_with_delay(Delay::new(at), duration)
    }

    /// Returns a stream whose first tick is in `duration` from now.
    ///
    /// # Panics
    ///
    /// If `duration` is zero.
    pub fn new_interval(duration: Duration) -> Interval {
        Interval::new(clock::now() + duration, duration)
    }

    pub(crate) fn new_with_delay(delay: Delay, duration: Duration) -> Interval {
        assert!(duration > Duration::ZERO, "`duration` must be non-zero.");
        Interval { delay, duration }
    }
}

impl Stream for Interval {
    type Item = Instant;
    type Error = Error;

    fn poll(&mut self) -> Poll<Option<Instant>, Error> {
        try_ready!(self.delay.poll());
        let tick = self.delay.deadline();
        self.delay.reset(tick + self.duration);
        Ok(Some(tick).into())
    }
}
