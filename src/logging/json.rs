//! A log line as one JSON object: RFC 8259, with the time as in RFC 3339.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::escape::Quoted;
use crate::field;

/// `{"time":…,"level":…,"message":…}`, and after these what the line names.
pub(super) fn line(level: &str, marked: &str) -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let (message, fields) = field::split(marked);
    let mut object = String::from("{\"time\":");
    object.push_str(&Quoted(&time(since_epoch.unwrap_or_default())).to_string());
    for (name, value) in &[("level", level), ("message", &message)] {
        member(&mut object, name, value);
    }
    for (name, value) in fields {
        member(&mut object, name, value);
    }
    object.push('}');
    object
}

fn member(object: &mut String, name: &str, value: &str) {
    // Writing to a `String` cannot fail.
    let _ = write!(object, ",{}:", Quoted(name));
    if is_number(value) {
        object.push_str(value);
    } else {
        let _ = write!(object, "{}", Quoted(value));
    }
}

/// Bytes and seconds: digits, perhaps with a fraction, and no zero in front that JSON forbids.
fn is_number(text: &str) -> bool {
    let mut parts = text.splitn(2, '.');
    let whole = parts.next().unwrap_or_default();
    let is_digits = |text: &str| {
        !text.is_empty() && text.len() < 16 && text.bytes().all(|b| b.is_ascii_digit())
    };
    is_digits(whole) && (whole == "0" || !whole.starts_with('0')) && parts.all(is_digits)
}

/// In UTC, to the millisecond.
fn time(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        year,
        month,
        day,
        seconds / 3_600 % 24,
        seconds / 60 % 60,
        seconds % 60,
        since_epoch.subsec_millis()
    )
}

/// Year, month and day so many days after 1970-01-01, in the Gregorian calendar.
///
/// Years begin in March here, so that the leap day is the last of its year.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    const DAYS_FROM_0000_03_01: u64 = 719_468;
    let days = days + DAYS_FROM_0000_03_01;
    let (era, day_of_era) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let first_day = 365 * year_of_era + year_of_era / 4 - year_of_era / 100;
    let day_of_year = day_of_era - first_day;
    // Five months have 153 days, from March on and from August on.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (400 * era + year_of_era + year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, shown) in &[
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_868_799, "2000-02-29T23:59:59.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_709_210_096, "2024-02-29T12:34:56.000Z"),
            (1_798_761_599, "2026-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(time(Duration::from_secs(*seconds)), *shown);
        }
        assert!(time(Duration::from_millis(1_007)).ends_with("01.007Z"));
    }

    #[test]
    fn only_numbers_are_numbers() {
        for number in &["0", "7", "12.48", "0.25", "123456789012345"] {
            assert!(is_number(number), "{}", number);
        }
        for text in &[
            "", ".", "1.", ".5", "01", "1e5", "-1", "1.2.3", "::1", "12s",
        ] {
            assert!(!is_number(text), "{}", text);
        }
    }

    #[test]
    fn what_a_line_names_follows_its_message() {
        let line = line(
            "info",
            "\u{1c}client\u{1f}a:1\u{1c}: \u{1c}upload\u{1f}7\u{1c} bytes",
        );
        let rest = line.split("Z\",").nth(1).unwrap();
        let expected = r#""level":"info","message":"a:1: 7 bytes","client":"a:1","upload":7}"#;
        assert_eq!(rest, expected);
    }
}
