//! Ticks the timer for as long as somebody watches it, on the timers of whatever reactor.

use std::io;
use std::time::{Duration, Instant};

use futures::{Async, Future, Poll, Stream};

use super::timer::Timer;

/// Ticks a timer, and never ends but by an error of its timer.
///
/// While nothing is countdown it holds no timer, and a tick allocates nothing. Dropped, it leaves the
/// timer to stand still.
#[must_use = "futures do nothing unless polled"]
pub struct Ticker<I, M> {
    timer: Timer,
    interval: Option<I>,
    make: M,
}

impl<I, M> Ticker<I, M>
where
    I: Stream<Error = io::Error>,
    M: Fn(Duration) -> io::Result<I>,
{
    /// Ticks `timer` with the intervals that `make` makes, one at a time, each of the period that
    /// it is given.
    pub fn new(timer: Timer, make: M) -> Ticker<I, M> {
        Ticker {
            timer,
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
            if self.timer.is_idle() {
                self.interval = None;
                return Ok(Async::NotReady);
            }
            let interval = match &mut self.interval {
                Some(interval) => interval,
                None => {
                    let interval = (self.make)(self.timer.period())?;
                    self.interval.get_or_insert(interval)
                }
            };
            match interval.poll()? {
                Async::Ready(_) => self.timer.tick(Instant::now()),
                Async::NotReady => return Ok(Async::NotReady),
            }
        }
    }
}
