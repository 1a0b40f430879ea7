//! Ticks the clock for as long as somebody watches it, on the timers of whatever reactor.

use std::io;
use std::time::{Duration, Instant};

use futures::{Async, Future, Poll, Stream};

use super::timer::Clock;

/// Ticks a clock, and never ends but by an error of its timer.
///
/// While nothing is watched it holds no timer, and a tick allocates nothing. Dropped, it leaves the
/// clock to stand still.
#[must_use = "futures do nothing unless polled"]
pub struct Ticker<I, M> {
    clock: Clock,
    interval: Option<I>,
    make: M,
}

impl<I, M> Ticker<I, M>
where
    I: Stream<Error = io::Error>,
    M: Fn(Duration) -> io::Result<I>,
{
    /// Ticks `clock` with the intervals that `make` makes, one at a time, each of the period that
    /// it is given.
    pub fn new(clock: Clock, make: M) -> Ticker<I, M> {
        Ticker {
            clock,
            interval: None,
            make,
        }
    }
}

impl<I, M> Future for Ticker<I, M>
where
    I: Stream<Error = io::Error>,
    M: Fn(Duration) -> io::Result<I>,
{
    type Item = ();
    type Error = io::Error;

    fn poll(&mut self) -> Poll<(), io::Error> {
        loop {
            if self.clock.is_idle() {
                self.interval = None;
                return Ok(Async::NotReady);
            }
            let interval = match &mut self.interval {
                Some(interval) => interval,
                None => {
                    let interval = (self.make)(self.clock.period())?;
                    self.interval.get_or_insert(interval)
                }
            };
            match interval.poll()? {
                Async::Ready(_) => self.clock.tick(Instant::now()),
                Async::NotReady => return Ok(Async::NotReady),
            }
        }
    }
}
