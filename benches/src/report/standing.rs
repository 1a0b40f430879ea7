//! How a peer compares to another: whether their ratio differs from 1 by more than one peer differs from itself.

use serde::Serialize;

use crate::model::{Peer, Results, Spread};

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

/// How far a control differs from what it measures once more: to both sides, since which of two equal peers came out
/// ahead is chance. 0 without a control.
pub fn noise(results: &Results, figure: &str) -> f64 {
    let pair = |p: &Peer| results.ratio(figure, &p.name, p.again.as_ref()?);
    let far = |c: Spread| c.low.ln().abs().max(c.high.ln().abs());
    results.peers.iter().find_map(pair).map_or(0.0, far)
}

#[cfg(test)]
mod tests {
    use super::Standing::{Better, Level, Noise, Worse};
    use super::*;

    fn standing([low, median, high]: [f64; 3], noise: f64, less_is_better: bool) -> Standing {
        let count = 9;
        let ratio = Spread {
            median,
            low,
            high,
            count,
        };
        Standing::of(ratio, noise.ln(), less_is_better)
    }

    #[test]
    fn a_ratio_is_level_or_noise_or_has_a_better_side() {
        for (ratio, wanted) in [
            // Only an interval that contains 1 is level.
            ([0.60, 0.80, 1.02], Level),
            ([0.60, 0.80, 0.996], Better),
            ([0.60, 0.80, 0.99], Better),
            ([1.05, 1.12, 1.22], Worse),
            // Less than the control differs from itself is noise to both sides; 1 / 1.05 is 0.952.
            ([1.02, 1.03, 1.04], Noise),
            ([0.95, 0.96, 0.97], Noise),
            ([0.93, 0.94, 0.95], Better),
        ] {
            assert_eq!(standing(ratio, 1.05, true), wanted, "{ratio:?}");
        }
        assert_eq!(standing([1.2; 3], 1.0, false), Better);
    }
}
