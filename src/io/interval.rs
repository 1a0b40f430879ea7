//! A timer with a fixed period.
//!
//! While one of tokio-core's timers is pending, each turn of its loop reads the clock and computes the
//! time that is left: 100 instructions. The loop gets a [`TimerDescriptor`] as it gets a socket.

use std::io;
use std::time::Duration;

use futures::{Async, Poll, Stream};

use super::reactor::{Readiness, Registration};
use super::Handle;
use ptunnel_core::os::sys::TimerDescriptor;

/// An item after each period; one for periods that were missed. The stream never ends.
#[derive(Debug)]
pub struct Interval {
    // Dropped first: the descriptor is deregistered before it is closed.
    registration: Registration,
    timer: TimerDescriptor,
}

impl Handle {
    /// Starts a timer that has an item after each period.
    ///
    /// # Errors
    ///
    /// `EMFILE` or `ENFILE` if there is no descriptor.
    pub fn interval(&self, period: Duration) -> io::Result<Interval> {
        let timer = TimerDescriptor::every(period)?;
        let registration = self.register(&timer, Readiness::NONE)?;
        Ok(Interval {
            registration,
            timer,
        })
    }
}

impl Stream for Interval {
    type Item = ();
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Option<()>, io::Error> {
        if let Async::NotReady = self.registration.poll_ready(Readiness::READ) {
            return Ok(Async::NotReady);
        }
        match self.timer.expirations() {
            Ok(_) => Ok(Async::Ready(Some(()))),
            Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.registration.would_block(Readiness::READ);
                Ok(Async::NotReady)
            }
            Err(e) => Err(e),
        }
    }
}
