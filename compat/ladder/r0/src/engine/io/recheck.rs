//! Repeated checks for conditions that tokio-core doesn't report.

use std::io;
use std::time::{Duration, Instant};

use futures::{Async, Future, Poll};
use tokio_core::reactor::Timeout;

use super::Handle;

/// A timer that is ready once each period. It runs from its first poll on.
#[derive(Default)]
pub(super) struct Recheck(Option<Box<Timeout>>);

impl Recheck {
    /// Is ready when a period is over; if not, the current task is notified when it is.
    ///
    /// # Errors
    ///
    /// The errors of tokio-core's `Timeout`, such as that its `Core` was dropped.
    pub(super) fn poll(&mut self, period: Duration, handle: &Handle) -> Poll<(), io::Error> {
        let timeout = match &mut self.0 {
            Some(timeout) => timeout,
            None => {
                let timeout = Timeout::new(period, handle.core())?;
                self.0.get_or_insert(Box::new(timeout))
            }
        };
        let polled = timeout.poll()?;
        if let Async::Ready(()) = polled {
            timeout.reset(Instant::now() + period);
        }
        Ok(polled)
    }

    /// Stops the timer until the next poll.
    pub(super) fn stop(&mut self) {
        self.0 = None;
    }
}
