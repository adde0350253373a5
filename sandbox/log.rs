//! The log on stderr in the format of hclog, which go-plugin's clients parse.

use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Debug,
    Info,
    Warn,
    #[cfg(feature = "misbehaviour")]
    Error,
}

/// Writes one line. A failure to write is ignored.
pub(crate) fn write(level: Level, message: &str, fields: &[(&str, &str)]) {
    let line = render(level, message, fields, SystemTime::now());
    drop(std::io::stderr().lock().write_all(line.as_bytes()));
}

fn render(level: Level, message: &str, fields: &[(&str, &str)], now: SystemTime) -> String {
    let level = match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        #[cfg(feature = "misbehaviour")]
        Level::Error => "error",
    };
    let mut object = Map::new();
    let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let fixed = [
        ("@level", level.to_owned()),
        ("@message", message.to_owned()),
        ("@module", "sandbox".to_owned()),
        ("@timestamp", timestamp(since_epoch)),
    ];
    let given = fields.iter().map(|(name, value)| (*name, (*value).to_owned()));
    for (name, value) in fixed.into_iter().chain(given) {
        object.insert(name.to_owned(), Value::String(value));
    }
    format!("{}\n", Value::Object(object))
}

/// The time in hclog's layout, `2006-01-02T15:04:05.000000Z`. Computed here, because it is the only
/// date in the crate.
fn timestamp(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let micros = since_epoch.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_json_object_with_the_names_of_hclog() {
        let now = UNIX_EPOCH + Duration::new(1_709_210_096, 250_000);
        let line = render(Level::Warn, "two\nlines", &[("object", "n1")], now);
        assert_eq!(
            line,
            "{\"@level\":\"warn\",\"@message\":\"two\\nlines\",\"@module\":\"sandbox\",\
             \"@timestamp\":\"2024-02-29T12:34:56.000250Z\",\"object\":\"n1\"}\n"
        );
    }
}
