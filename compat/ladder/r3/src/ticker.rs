//! Ticks the root's clock: the root's `Ticker`, with the bridge's `Interval` for tokio-core's.

use std::io;
use std::time::Instant;

use futures01::{Async, Future as Future01, Poll as Poll01, Stream as Stream01};
use log::error;
use ptunnel::engine::Clock;
use ptunnel_compat::task::AsStd;
use ptunnel_compat::time::{Current, Interval};

/// Never ends. While nothing is watched it holds no timer, and a tick allocates nothing.
pub(crate) struct Ticker {
    clock: Clock,
    interval: Option<Interval>,
}

impl Ticker {
    /// Ticks `clock` for as long as this is polled.
    pub(crate) async fn run(clock: Clock) {
        let ticker = Ticker {
            clock,
            interval: None,
        };
        if let Err(e) = AsStd::new(ticker).await {
            error!("the clock stopped: {e}");
        }
    }
}

impl Future01 for Ticker {
    type Item = ();
    type Error = io::Error;

    fn poll(&mut self) -> Poll01<(), io::Error> {
        loop {
            if self.clock.is_idle() {
                self.interval = None;
                return Ok(Async::NotReady);
            }
            let interval = match &mut self.interval {
                Some(interval) => interval,
                None => {
                    let interval = Interval::new(self.clock.period(), &Current)?;
                    self.interval.insert(interval)
                }
            };
            match interval.poll()? {
                Async::Ready(_) => self.clock.tick(Instant::now()),
                Async::NotReady => return Ok(Async::NotReady),
            }
        }
    }
}
