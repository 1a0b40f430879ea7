//! A log line as one JSON object: RFC 8259, with the time as in RFC 3339.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::observe::logging::field::Fields;
use ptunnel_proto::text::json::{Object, Quoted};

/// Returns `{"time":…,"level":…,"message":…}`, with the fields after these members.
pub(super) fn line(level: &str, message: &str, fields: Fields) -> String {
    let mut object = Object::default();
    object.member("time", Quoted(&now()));
    object.member("level", Quoted(level));
    object.member("message", Quoted(message));
    for (name, value) in fields {
        object.member(name, value);
    }
    object.end()
}

/// Returns the current time as in RFC 3339.
pub(super) fn now() -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    time(since_epoch.unwrap_or_default())
}

/// Formats Unix time in UTC, to the millisecond.
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

/// Returns year, month and day of the Gregorian calendar, `days` after 1970-01-01.
///
/// Years start in March here, so that the leap day is the last of its year.
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
    use crate::observe::logging::field::FieldValue;

    #[test]
    fn dates_are_those_of_the_calendar() {
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
    fn fields_follow_the_message() {
        let fields = vec![
            ("client", FieldValue::Text("a \"b\"".into())),
            ("proxy", FieldValue::Null),
            ("via", FieldValue::List(vec!["q:1".into(), "r:2".into()])),
            ("upload", FieldValue::Number(7)),
            (
                "seconds",
                FieldValue::Duration(Duration::from_micros(12_480)),
            ),
        ];
        let line = line("info", "7 bytes", fields);
        let rest = line.split("Z\",").nth(1).unwrap();
        let expected = r#""level":"info","message":"7 bytes","client":"a \"b\"","proxy":null,"#;
        let expected =
            expected.to_string() + r#""via":["q:1","r:2"],"upload":7,"seconds":0.01248}"#;
        assert_eq!(rest, expected);
    }
}
