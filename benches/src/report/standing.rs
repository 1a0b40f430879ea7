//! How a peer compares to another: whether their ratio differs from 1 by more than one peer differs from itself.

use serde::Serialize;

use super::results::{Peer, Results};
use super::stats::Spread;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// The ratio is better than 1 for the figure above the line.
    Better,
    Worse,
    /// The interval contains 1.
    Level,
    /// It doesn't, but the ratio is no farther from 1 than that of a peer measured twice.
    Noise,
}

impl Standing {
    /// `noise` is how far from 1 a control's interval reaches, as the absolute value of a logarithm. One sample has no
    /// interval.
    pub fn of(ratio: Spread, noise: f64, less_is_better: bool) -> Standing {
        if ratio.low <= 1.0 && ratio.high >= 1.0 {
            Standing::Level
        } else if ratio.median.ln().abs() <= noise {
            Standing::Noise
        } else if (ratio.median < 1.0) == less_is_better {
            Standing::Better
        } else {
            Standing::Worse
        }
    }
}

impl Results {
    /// How far a control differs from what it measures once more: to both sides, since which of two equal peers came out
    /// ahead is chance. 0 without a control.
    pub fn noise(&self, figure: &str) -> f64 {
        let pair = |p: &Peer| self.ratio(figure, &p.name, p.again.as_ref()?);
        let far = |c: Spread| c.low.ln().abs().max(c.high.ln().abs());
        self.peers.iter().find_map(pair).map_or(0.0, far)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(low: f64, median: f64, high: f64) -> Standing {
        let ratio = Spread {
            median,
            low,
            high,
            count: 9,
        };
        Standing::of(ratio, 1.05f64.ln(), true)
    }

    #[test]
    fn only_an_interval_that_contains_one_is_level() {
        assert_eq!(standing(0.60, 0.80, 1.02), Standing::Level);
        assert_eq!(standing(0.60, 0.80, 0.996), Standing::Better);
        assert_eq!(standing(0.60, 0.80, 0.99), Standing::Better);
        assert_eq!(standing(1.05, 1.12, 1.22), Standing::Worse);
    }

    #[test]
    fn less_than_the_control_differs_from_itself_is_noise_to_both_sides() {
        assert_eq!(standing(1.02, 1.03, 1.04), Standing::Noise);
        // 1 / 1.05 is 0.952.
        assert_eq!(standing(0.95, 0.96, 0.97), Standing::Noise);
        assert_eq!(standing(0.93, 0.94, 0.95), Standing::Better);
    }

    #[test]
    fn of_a_rate_more_is_better() {
        let ratio = Spread {
            median: 1.2,
            low: 1.2,
            high: 1.2,
            count: 1,
        };
        assert_eq!(Standing::of(ratio, 0.0, false), Standing::Better);
    }
}
