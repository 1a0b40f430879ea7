use std::time::{Duration, Instant};

use futures::{Future, Poll};

use crate::timer::{self, Entry, Handle};
use crate::tokio_1::Sleep;
use crate::{clock, Error};

/// A future that is ready at an instant, to a millisecond.
///
/// It belongs to the timer of the thread that polls it first, or to that of the
/// [`Handle`](timer::Handle) that it was made with.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Delay {
    deadline: Instant,
    /// Of a `Timeout`, which starts again with each item.
    duration: Duration,
    waits: Waits,
}

#[derive(Debug)]
enum Waits {
    /// Nowhere yet.
    Not,
    OnTimer(Entry),
    OnTokio1(Sleep),
    /// The thread had no timer.
    Failed,
}

impl Delay {
    /// Returns a future that is ready at `deadline`.
    pub fn new(deadline: Instant) -> Delay {
        Delay::new_timeout(deadline, Duration::ZERO)
    }

    pub(crate) fn new_timeout(deadline: Instant, duration: Duration) -> Delay {
        Delay {
            deadline,
            duration,
            waits: Waits::Not,
        }
    }

    pub(crate) fn new_with_handle(deadline: Instant, handle: &Handle) -> Delay {
        let mut delay = Delay::new(deadline);
        delay.waits = Waits::on(handle, deadline);
        delay
    }

    /// Returns the instant at which this is ready.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns whether the timer has fired, or has ended.
    pub fn is_elapsed(&self) -> bool {
        match &self.waits {
            Waits::Not => false,
            Waits::OnTimer(entry) => entry.is_elapsed(),
            Waits::OnTokio1(sleep) => sleep.is_elapsed(),
            Waits::Failed => true,
        }
    }

    /// Moves this to another instant, whether it has fired or not. The task that waits for it stays
    /// registered.
    pub fn reset(&mut self, deadline: Instant) {
        self.deadline = deadline;
        match &mut self.waits {
            Waits::OnTimer(entry) => entry.reset(deadline),
            Waits::OnTokio1(sleep) => sleep.reset(deadline),
            Waits::Not | Waits::Failed => {}
        }
    }

    pub(crate) fn reset_timeout(&mut self) {
        self.reset(clock::now() + self.duration);
    }
}

impl Waits {
    fn on(handle: &Handle, deadline: Instant) -> Waits {
        match handle.resolve() {
            Some(timer::Source::Timer(timer)) => Waits::OnTimer(Entry::new(timer, deadline)),
            Some(timer::Source::Tokio1(runtime)) => Waits::OnTokio1(Sleep::new(runtime, deadline)),
            None => Waits::Failed,
        }
    }
}

impl Future for Delay {
    type Item = ();
    type Error = Error;

    fn poll(&mut self) -> Poll<(), Error> {
        if let Waits::Not = self.waits {
            self.waits = Waits::on(&Handle::current(), self.deadline);
        }
        match &mut self.waits {
            Waits::OnTimer(entry) => entry.poll(),
            Waits::OnTokio1(sleep) => sleep.poll(),
            Waits::Not | Waits::Failed => Err(Error::shutdown()),
        }
    }
}
