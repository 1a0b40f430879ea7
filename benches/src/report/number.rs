//! Numbers as a person reads them.

/// Three significant digits, one more where 1.00 would hide on which side of 1 the value is, and thousands as they are.
pub fn number(value: f64) -> String {
    match value.abs() {
        a if a >= 100.0 => format!("{value:.0}"),
        a if a >= 10.0 => format!("{value:.1}"),
        a if (0.995..1.005).contains(&a) && a != 1.0 => format!("{value:.3}"),
        a if a >= 0.1 || a == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// As in "0.95–1.02".
pub fn range(low: f64, high: f64) -> String {
    format!("{}–{}", number(low), number(high))
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_have_three_digits() {
        let found = [2553.4, 20.31, 1.256, 0.9969, 1.0, 0.0123, 0.0].map(number);
        assert_eq!(found.join(" "), "2553 20.3 1.26 0.997 1.00 0.0123 0.00");
    }
}
