//! The day of a run.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// Today's UTC date, as in 2026-11-21.
pub fn today() -> io::Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Ok(date(now.map_err(io::Error::other)?.as_secs()))
}

/// The UTC date of a time in seconds since 1970: days to civil, by Hinnant's algorithm.
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_across_leap_days_and_years() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_704_067_199), "2023-12-31");
        assert_eq!(date(1_704_067_200), "2024-01-01");
    }
}
