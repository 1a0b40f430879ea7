//! Ticks the clock on tokio-core's timer, for as long as somebody watches it.

use std::io;
use std::time::Instant;

use futures::{Async, Future, Poll, Stream};
use tokio_core::reactor::{Handle as CoreHandle, Interval};

use super::clock::Clock;

/// Never ends. While nothing is watched it holds no timer.
pub(super) struct Ticker {
    clock: Clock,
    interval: Option<Interval>,
    core: CoreHandle,
}

impl Ticker {
    pub(super) fn new(clock: Clock, core: &CoreHandle) -> Ticker {
        Ticker {
            clock,
            interval: None,
            core: core.clone(),
        }
    }
}

impl Future for Ticker {
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
                    let interval = Interval::new(self.clock.period(), &self.core)?;
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
