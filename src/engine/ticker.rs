//! The future that ticks a thread's timer while a limit is running, on any reactor's timers.
//!
//! ```text
//!   idle: no interval ──a limit starts──▶ ticking ──the last limit is dropped──▶ idle
//! ```

use std::io;
use std::time::{Duration, Instant};

use futures::{Async, Future, Poll, Stream};

use super::timer::TaskTimer;

/// Ticks a timer. Never resolves; fails if its interval does.
///
/// It has no interval while no limit is running, and a tick allocates nothing. Dropping it stops the
/// timer.
#[must_use = "futures do nothing unless polled"]
pub struct Ticker<I, M> {
    timer: TaskTimer,
    interval: Option<I>,
    make: M,
}

impl<I, M> Ticker<I, M>
where
    I: Stream<Error = io::Error>,
    M: Fn(Duration) -> io::Result<I>,
{
    /// Ticks `timer` with intervals of its period, which `make` returns, one at a time.
    pub fn new(timer: TaskTimer, make: M) -> Ticker<I, M> {
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
