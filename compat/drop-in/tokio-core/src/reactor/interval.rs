//! A timer that fires again and again.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use futures::{Async, Poll, Stream};

use super::timers::{now, Alarm};
use super::Handle;

/// A stream that yields `()` once a period and never ends.
///
/// The clock runs from the call of [`new`](Interval::new), and the first tick comes one period
/// later. Ticks that the program was too late for are skipped; later ones keep their phase, as in
/// tokio-core 0.1.12. (0.1.18 delivers missed ticks in a burst.) The resolution is a millisecond,
/// rounded up. The task that waits is notified while the `Core` runs; when that is gone, never.
///
/// # Errors
///
/// Never, once it is made.
#[must_use = "streams do nothing unless polled"]
pub struct Interval {
    alarm: Alarm,
    period: Duration,
}

impl Interval {
    /// Creates a timer that fires `dur` from now, and once a `dur` after that.
    ///
    /// # Errors
    ///
    /// When the `Core` of `handle` is gone.
    ///
    /// # Panics
    ///
    /// When `dur` is zero, or the clock ends before the first tick.
    pub fn new(dur: Duration, handle: &Handle) -> io::Result<Interval> {
        Interval::new_at(now() + dur, dur, handle)
    }

    /// Creates a timer that fires at `at`, and once a `dur` after that.
    ///
    /// # Errors
    ///
    /// When the `Core` of `handle` is gone.
    ///
    /// # Panics
    ///
    /// When `dur` is zero.
    pub fn new_at(at: Instant, dur: Duration, handle: &Handle) -> io::Result<Interval> {
        assert!(!dur.is_zero(), "an Interval needs a period above zero");
        let alarm = Alarm::new(at, handle)?;
        Ok(Interval { alarm, period: dur })
    }
}

impl Stream for Interval {
    type Item = ();
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Option<()>, io::Error> {
        let now = now();
        if self.alarm.poll(now).is_ready() {
            let next = next_tick(self.alarm.at(), now, self.period);
            self.alarm.reset(next);
            return Ok(Async::Ready(Some(())));
        }
        Ok(Async::NotReady)
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interval")
            .field("next", &self.alarm.at())
            .field("period", &self.period)
            .finish()
    }
}

/// Returns the first instant after `now` that lies a whole number of periods after `due`.
fn next_tick(due: Instant, now: Instant, period: Duration) -> Instant {
    let next = due + period;
    if next > now {
        return next;
    }
    let since_tick = now.duration_since(due).as_nanos() % period.as_nanos();
    let seconds = u64::try_from(since_tick / 1_000_000_000).expect("less than a period");
    let nanos = u32::try_from(since_tick % 1_000_000_000).expect("less than a second");
    now + (period - Duration::new(seconds, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn a_tick_that_is_in_time_is_followed_by_one_a_period_later() {
        let start = Instant::now();
        let next = next_tick(start + ms(1), start + ms(2), ms(10));
        assert_eq!(next, start + ms(11));
    }

    #[test]
    fn missed_ticks_are_skipped_and_the_phase_is_kept() {
        let start = Instant::now();
        let next = next_tick(start + ms(1), start + ms(1000), ms(10));
        assert_eq!(next, start + ms(1001));
        let next = next_tick(start + ms(7777), start + ms(8888), ms(100));
        assert_eq!(next, start + ms(8977));
    }

    #[test]
    fn a_tick_that_is_late_by_whole_periods_does_not_fire_again_at_once() {
        let start = Instant::now();
        let next = next_tick(start, start + ms(30), ms(10));
        assert_eq!(next, start + ms(40));
    }
}
