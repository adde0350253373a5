//! Durations in Go's notation, which every provider's library parses.

use std::time::Duration;

/// Go's longest duration: 2^63 - 1 nanoseconds, about 292 years.
const LONGEST: u64 = i64::MAX.unsigned_abs();

/// A duration from an engine's seconds; `None` for 0 and values that are no duration.
pub(super) fn of_seconds(seconds: f64) -> Option<Duration> {
    if seconds.is_nan() || seconds <= 0.0 {
        return None;
    }
    let longest = Duration::from_nanos(LONGEST);
    Some(Duration::try_from_secs_f64(seconds).map_or(longest, |time| time.min(longest)))
        .filter(|time| !time.is_zero())
}

/// As Go's `Duration.String`: 1h30m0s, 2m0s, 1.5s, 250ms. Below a second, the largest unit with an
/// integer part.
pub(super) fn text(time: Duration) -> String {
    let (nanoseconds, seconds) = (time.subsec_nanos(), time.as_secs());
    match (seconds, nanoseconds) {
        (0, 0) => "0s".to_owned(),
        (0, ..1_000) => format!("{nanoseconds}ns"),
        (0, ..1_000_000) => decimal(nanoseconds.into(), 3) + "µs",
        (0, _) => decimal(nanoseconds.into(), 6) + "ms",
        _ => {
            let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
            let rest = decimal(u64::from(nanoseconds) + seconds % 60 * 1_000_000_000, 9);
            match (hours, minutes) {
                (0, 0) => format!("{rest}s"),
                (0, _) => format!("{minutes}m{rest}s"),
                _ => format!("{hours}h{minutes}m{rest}s"),
            }
        }
    }
}

/// `value` divided by ten to the power of `digits`, without trailing zeros.
fn decimal(value: u64, digits: u32) -> String {
    let unit = 10_u64.pow(digits);
    let fraction = format!("{:0width$}", value % unit, width = digits as usize);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}", value / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (seconds, expected) in [
            (1.0, "1s"),
            (59.0, "59s"),
            (60.0, "1m0s"),
            (90.1, "1m30.1s"),
            (1.5, "1.5s"),
            (5400.0, "1h30m0s"),
            (3600.0, "1h0m0s"),
            (360_000.0, "100h0m0s"),
            (0.25, "250ms"),
            (0.0015, "1.5ms"),
            (0.000_002_5, "2.5µs"),
            (0.000_000_007, "7ns"),
            (1e30, "2562047h47m16.854775807s"),
            (f64::INFINITY, "2562047h47m16.854775807s"),
        ] {
            assert_eq!(of_seconds(seconds).map(text).as_deref(), Some(expected), "{seconds}");
        }
    }

    #[test]
    fn no_time_is_no_timeout() {
        for seconds in [0.0, -0.0, -1.0, f64::NAN, f64::NEG_INFINITY, 1e-12] {
            assert_eq!(of_seconds(seconds), None, "{seconds}");
        }
    }
}
