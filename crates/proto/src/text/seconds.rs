//! Durations as text.

use std::fmt;
use std::time::Duration;

/// A configured duration: `10s`, `0.25s`.
pub struct Seconds(pub Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.0.as_secs_f64())
    }
}

/// A measured duration, for humans: `0.43ms`, `12.4ms`, `12.48s`; at least `0.01ms`.
pub struct Took(pub Duration);

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= Duration::from_secs(1) {
            let whole = Duration::from_millis(self.0.as_millis() as u64);
            return write!(f, "{}s", Decimal(whole));
        }
        let milliseconds = (self.0.as_secs_f64() * 1e3).max(0.01);
        let digits = match milliseconds {
            much if much >= 99.95 => 0,
            some if some >= 9.995 => 1,
            _ => 2,
        };
        write!(f, "{:.*}ms", digits, milliseconds)
    }
}

/// Seconds for programs: a decimal number with at most six digits after the point, without the
/// rounding errors of a binary fraction.
pub struct Decimal(pub Duration);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0.as_secs(), self.0.subsec_micros());
        if fraction == 0 {
            return write!(f, "{}", whole);
        }
        let digits = format!("{:06}", fraction);
        write!(f, "{}.{}", whole, digits.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_duration_is_never_zero() {
        for (microseconds, shown) in &[
            (0, "0.01ms"),
            (4, "0.01ms"),
            (430, "0.43ms"),
            (4_312, "4.31ms"),
            (12_400, "12.4ms"),
            (99_960, "100ms"),
            (412_000, "412ms"),
            (12_480_900, "12.48s"),
            (61_002_000, "61.002s"),
        ] {
            let took = Took(Duration::from_micros(*microseconds));
            assert_eq!(took.to_string(), *shown);
        }
    }

    /// Regression: a quantile was printed as 0.0009000000000000001.
    #[test]
    fn a_decimal_has_no_rounding_errors() {
        for (seconds, shown) in &[
            (0.0, "0"),
            (0.0009000000000000001, "0.0009"),
            (12.48, "12.48"),
            (3.0, "3"),
            (0.1 + 0.2, "0.3"),
        ] {
            let time = Duration::from_secs_f64(*seconds);
            assert_eq!(Decimal(time).to_string(), *shown);
        }
    }
}
