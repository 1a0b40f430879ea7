//! A histogram of the times that tunnels took to open.

use std::time::Duration;

/// Upper bounds of the buckets, in seconds, inclusive. One more bucket counts the longer times.
const BOUNDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

const BUCKETS: usize = BOUNDS.len() + 1;

/// Times from a client's connection to its open tunnel, counted in buckets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    buckets: [u64; BUCKETS],
    /// Sum of all times.
    pub(crate) sum: Duration,
}

impl Histogram {
    /// Counts a time.
    pub(super) fn record(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound);
        self.buckets[bucket.unwrap_or(BUCKETS - 1)] += 1;
        self.sum += time;
    }

    pub(crate) fn add(&mut self, other: &Histogram) {
        sum(&mut self.buckets, &other.buckets);
        self.sum += other.sum;
    }

    /// Returns what was counted since `earlier`, a previous state of this histogram.
    pub(crate) fn since(&self, earlier: &Histogram) -> Histogram {
        let mut rest = self.clone();
        for (rest, earlier) in rest.buckets.iter_mut().zip(&earlier.buckets) {
            *rest = rest.saturating_sub(*earlier);
        }
        rest.sum = rest.sum.checked_sub(earlier.sum).unwrap_or_default();
        rest
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Returns each bound, in seconds, with the number of times that don't exceed it.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let mut count = 0;
        BOUNDS
            .iter()
            .zip(&self.buckets)
            .map(move |(bound, bucket)| {
                count += bucket;
                (*bound, count)
            })
    }

    /// Estimates the quantile `q` (0 to 1) in seconds, as if times were spread evenly within each
    /// bucket. The result is at most the last bound; `None` when nothing was counted.
    pub(crate) fn quantile(&self, q: f64) -> Option<f64> {
        let wanted = q * self.count() as f64;
        let mut below = 0.0;
        let mut lower = 0.0;
        for (bound, bucket) in BOUNDS.iter().zip(&self.buckets) {
            let bucket = *bucket as f64;
            if bucket > 0.0 && below + bucket >= wanted {
                return Some(lower + (bound - lower) * (wanted - below) / bucket);
            }
            below += bucket;
            lower = *bound;
        }
        Some(lower).filter(|_| self.count() > 0)
    }
}

/// Adds `from` to `to`, element by element.
pub(super) fn sum(to: &mut [u64], from: &[u64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `le` in Prometheus means less or equal.
    #[test]
    fn a_time_on_a_bound_is_within_it() {
        for (index, bound) in BOUNDS.iter().enumerate() {
            let mut times = Histogram::default();
            times.record(Duration::from_secs_f64(*bound));
            assert_eq!(times.buckets[index], 1, "{}", bound);
        }
    }

    #[test]
    fn quantiles_lie_within_their_bucket() {
        let mut times = Histogram::default();
        assert_eq!(times.quantile(0.5), None);
        for _ in 0..90 {
            times.record(Duration::from_millis(4));
        }
        let before = times.clone();
        for _ in 0..10 {
            times.record(Duration::from_millis(400));
        }
        let median = times.quantile(0.5).unwrap();
        assert!(median > 0.0025 && median <= 0.005, "{}", median);
        let high = times.quantile(0.95).unwrap();
        assert!(high > 0.25 && high <= 0.5, "{}", high);
        let slow = times.since(&before);
        assert_eq!((slow.count(), slow.sum), (10, Duration::from_secs(4)));
        assert!(slow.quantile(0.01).unwrap() > 0.25);
        let cumulative: Vec<u64> = times.cumulative().map(|(_, count)| count).collect();
        assert_eq!(cumulative[1..9], [0, 90, 90, 90, 90, 90, 90, 100]);
        times.record(Duration::from_secs(60));
        assert_eq!(times.quantile(1.0), Some(30.0));
        assert_eq!(times.count(), 101);
    }
}
