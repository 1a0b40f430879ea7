//! Medians, quantiles, paired ratios and their intervals.

use serde::Serialize;

/// Quantile `q` of the values, interpolated between neighbours; none of no values.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = q.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (at.floor() as usize, at.ceil() as usize);
    Some(sorted[below] + (sorted[above] - sorted[below]) * at.fract())
}

pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// A median with the middle half of its values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
    pub count: usize,
}

impl Spread {
    /// The quartiles.
    pub fn of(values: &[f64]) -> Option<Spread> {
        Some(Spread {
            median: median(values)?,
            low: quantile(values, 0.25)?,
            high: quantile(values, 0.75)?,
            count: values.len(),
        })
    }

    /// The median with its 95 % bootstrap interval: the percentile method over resamples of the values.
    pub fn bootstrap(values: &[f64]) -> Option<Spread> {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        let medians: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| {
                let sample: Vec<f64> = values
                    .iter()
                    .map(|_| values[random(values.len())])
                    .collect();
                median(&sample)
            })
            .collect();
        Some(Spread {
            median: median(values)?,
            low: quantile(&medians, 0.025)?,
            high: quantile(&medians, 0.975)?,
            count: values.len(),
        })
    }
}

const RESAMPLES: usize = 2000;

/// `ours / theirs` of the rounds that both took part in.
pub fn paired_ratios(ours: &[(usize, f64)], theirs: &[(usize, f64)]) -> Vec<f64> {
    let mut ratios = Vec::new();
    for (round, value) in ours {
        if let Some((_, other)) = theirs.iter().find(|(r, _)| r == round) {
            if *other != 0.0 {
                ratios.push(value / other);
            }
        }
    }
    ratios
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(quantile(&[0.0, 10.0], 0.99), Some(9.9));
        assert_eq!(quantile(&[5.0], 0.999), Some(5.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_spread_is_the_middle_half() {
        let spread = Spread::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(
            (spread.low, spread.median, spread.high, spread.count),
            (2.0, 3.0, 4.0, 5)
        );
    }

    #[test]
    fn the_interval_holds_the_median_and_stays_inside_the_values() {
        let values = [0.9, 1.0, 1.1, 1.0, 0.95, 1.05, 3.0];
        let spread = Spread::bootstrap(&values).unwrap();
        assert!(0.9 <= spread.low && spread.low <= spread.median);
        assert!(spread.median <= spread.high && spread.high <= 3.0);
        assert_eq!(Spread::bootstrap(&values), Some(spread));
        let equal = Spread::bootstrap(&[2.0; 4]).unwrap();
        assert_eq!((equal.low, equal.high), (2.0, 2.0));
        assert_eq!(Spread::bootstrap(&[]), None);
    }

    #[test]
    fn ratios_pair_by_round() {
        let ours = [(0, 2.0), (1, 3.0), (3, 8.0)];
        let theirs = [(1, 6.0), (0, 1.0), (2, 5.0), (3, 0.0)];
        assert_eq!(paired_ratios(&ours, &theirs), [2.0, 0.5]);
    }
}
