//! When requests are sent: each after the last reply, or each at its own time.

use std::time::{Duration, Instant};

/// When a run ends; what is in flight then is still awaited and counted.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// That many requests were sent.
    Sent(u64),
    /// No request is due any more.
    Elapsed(Duration),
}

impl Until {
    pub fn milliseconds(count: u64) -> Until {
        Until::Elapsed(Duration::from_millis(count))
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// Each connection sends when its last batch is answered.
    Closed,
    /// So many requests per second, more than 0, whatever becomes of them.
    Open { rate: f64 },
}

impl Pace {
    /// Returns when the next request is due after `sent` were sent, and how many may go with it; none at the end.
    pub fn next(
        self,
        until: Until,
        begun: Instant,
        sent: u64,
        now: Instant,
    ) -> Option<(Instant, u64)> {
        let (due, together) = match self {
            Pace::Closed => (now, u64::MAX),
            Pace::Open { rate } => (begun + intended(sent, rate), 1),
        };
        match until {
            Until::Sent(count) if sent < count => Some((due, together.min(count - sent))),
            Until::Elapsed(time) if due < begun + time => Some((due, together)),
            _ => None,
        }
    }
}

/// Returns the time of the n-th request since the first could be sent: one in each interval of `1 / rate`, at a place in
/// it that is drawn by hashing. So the rate is kept exactly, and nothing that has a beat is met in step.
fn intended(nth: u64, rate: f64) -> Duration {
    let mixed = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let random = (mixed ^ (mixed >> 32)) as f64 / u64::MAX as f64;
    Duration::from_secs_f64((nth as f64 + random) / rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_keeps_its_rate_in_each_part_of_it_and_has_no_beat() {
        let times: Vec<Duration> = (0..10_000).map(|n| intended(n, 1_000.0)).collect();
        assert!(times.is_sorted());
        for (n, time) in times.iter().enumerate() {
            let interval = Duration::from_millis(n as u64)..=Duration::from_millis(n as u64 + 1);
            assert!(interval.contains(time), "{n}: {time:?}");
        }
        let gaps: Vec<u128> = times
            .windows(2)
            .map(|w| (w[1] - w[0]).as_micros())
            .collect();
        let short = gaps.iter().filter(|&&gap| gap < 500).count();
        let long = gaps.iter().filter(|&&gap| gap > 1_500).count();
        assert!(
            short > 500 && long > 500,
            "{short} short gaps and {long} long ones"
        );
    }

    #[test]
    fn what_is_due_does_not_depend_on_what_was_answered_but_in_a_closed_loop() {
        let begun = Instant::now();
        let (now, end) = (
            begun + Duration::from_secs(3),
            Until::Elapsed(Duration::from_secs(1)),
        );
        let open = Pace::Open { rate: 10.0 };
        let (due, together) = open.next(end, begun, 9, now).unwrap();
        assert!(due < begun + Duration::from_secs(1) && together == 1);
        assert_eq!(open.next(end, begun, 10, now), None);
        assert_eq!(Pace::Closed.next(end, begun, 9, now), None);
        assert_eq!(
            Pace::Closed.next(Until::Sent(12), begun, 9, now),
            Some((now, 3))
        );
        assert_eq!(open.next(Until::Sent(9), begun, 9, now), None);
    }
}
