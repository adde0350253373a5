//! Times and durations as text.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Formats a time as RFC 3339, in UTC, with milliseconds. Years are counted from March, so that the leap day is
/// the last of its year, and in eras of 400 years, which all have the same length.
pub fn timestamp(time: SystemTime) -> String {
    const DAY: u128 = 24 * 60 * 60 * 1000;
    const DAYS_OF_ERA: u128 = 146_097;
    /// Days from March 1 of year 0 to January 1, 1970.
    const DAYS_BEFORE_1970: u128 = 719_468;
    let milliseconds = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let days = milliseconds / DAY + DAYS_BEFORE_1970;
    let (era, day) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u128::from(month <= 2);
    let time = milliseconds % DAY;
    let (hour, minute) = (time / 3_600_000, time / 60_000 % 60);
    let (second, millisecond) = (time / 1000 % 60, time % 1000);
    format!("{year:04}-{month:02}-{day_of_month:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

/// The two largest units of a duration.
pub fn two_units(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units() {
        let shown = |seconds| two_units(Duration::from_secs(seconds));
        let expected = ["5 s", "2 min 5 s", "2 h 1 min", "2 d 2 h"];
        assert_eq!([shown(5), shown(125), shown(7_260), shown(180_000)], expected);
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (milliseconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_001, "2024-02-29T23:59:59.001Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_millis(milliseconds);
            assert_eq!(timestamp(time), expected);
        }
    }
}
