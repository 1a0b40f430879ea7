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

    /// The median with an interval that holds the true one with a probability of 95 % or more, whatever the values'
    /// distribution: the innermost two that are equally far from both ends and suffice. Of fewer than six, all values.
    pub fn with_interval(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let outside = outside(values.len());
        Some(Spread {
            median: median(values)?,
            low: *sorted.get(outside)?,
            high: *sorted.iter().rev().nth(outside)?,
            count: values.len(),
        })
    }
}

/// How sure an interval must be.
const COVERAGE: f64 = 0.95;

/// How many of so many values may lie outside of an interval of their median, at each end.
fn outside(count: usize) -> usize {
    let more = (1..=count / 2).take_while(|&outside| coverage(count, outside) >= COVERAGE);
    more.last().unwrap_or(0)
}

/// The probability that the median lies between two of `count` values with `outside` of them beyond at each end: each
/// value is below the median with a probability of a half.
fn coverage(count: usize, outside: usize) -> f64 {
    let n = count as f64;
    let mut one = 0.5f64.powf(n);
    let mut beyond = 0.0;
    for below in 0..=outside {
        beyond += one;
        one *= (n - below as f64) / (below as f64 + 1.0);
    }
    1.0 - 2.0 * beyond
}

/// How many pairs the interval of a median needs to reach `resolution` to either side, such as 0.03 for 3 %, when ratios
/// vary as these do. None of fewer than two, or of a ratio that is not positive.
///
/// A median of `n` normal values has a standard error of 1.2533 `s / sqrt(n)`; `s` is that of the logarithms.
pub fn pairs_needed(ratios: &[f64], resolution: f64) -> Option<usize> {
    if ratios.len() < 2 || ratios.iter().any(|&ratio| ratio <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let variance =
        logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (logs.len() - 1) as f64;
    let half = 1.96 * 1.2533 * variance.sqrt() / resolution.ln_1p();
    Some((half * half).ceil() as usize)
}

/// `ours / theirs` of the rounds that both took part in. A round where theirs is 0 has no ratio and is left out, which the
/// caller must report: see `Results::zeros`.
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
    fn an_interval_is_as_narrow_as_it_may_be() {
        // Tables of the binomial distribution: 12 values, third to third last.
        let percent = |count, outside| (1000.0 * coverage(count, outside)).round() / 10.0;
        assert_eq!((percent(12, 2), percent(12, 3)), (96.1, 85.4));
        assert_eq!((percent(11, 1), percent(11, 2)), (98.8, 93.5));
        assert_eq!(percent(5, 0), 93.8);
        let counts = [1, 2, 5, 6, 8, 9, 11, 12, 15];
        assert_eq!(counts.map(outside), [0, 0, 0, 0, 0, 1, 1, 2, 3]);
    }

    #[test]
    fn what_lies_outside_of_an_interval_does_not_move_it() {
        let values = [3.0, 0.9, 1.0, 1.1, 1.0, 0.95, 1.05, 1.2, 0.1];
        let spread = Spread::with_interval(&values).unwrap();
        assert_eq!(
            (spread.low, spread.median, spread.high, spread.count),
            (0.9, 1.0, 1.2, 9)
        );
        let few = Spread::with_interval(&values[..3]).unwrap();
        assert_eq!((few.low, few.median, few.high), (0.9, 1.0, 3.0));
        assert_eq!(Spread::with_interval(&[]), None);
    }

    #[test]
    fn a_tenth_of_noise_needs_about_seventy_pairs_for_three_percent() {
        // Logarithms of 0.1 to both sides have a standard deviation of 0.1.
        let noisy = [0.1f64.exp(), (-0.1f64).exp()].repeat(500);
        assert_eq!(pairs_needed(&noisy, 0.03), Some(70));
        assert_eq!(pairs_needed(&[1.0, 1.0, 1.0], 0.03), Some(0));
        assert_eq!(pairs_needed(&[1.0], 0.03), None);
        assert_eq!(pairs_needed(&[1.0, 0.0], 0.03), None);
    }

    #[test]
    fn ratios_pair_by_round() {
        let ours = [(0, 2.0), (1, 3.0), (3, 8.0)];
        let theirs = [(1, 6.0), (0, 1.0), (2, 5.0), (3, 0.0)];
        assert_eq!(paired_ratios(&ours, &theirs), [2.0, 0.5]);
    }
}
