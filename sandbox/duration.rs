//! Durations as configurations write them.

use std::time::Duration;

/// A whole number and ms, s, m or h.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let unit = text.find(|character: char| !character.is_ascii_digit())?;
    let (digits, unit) = text.split_at(unit);
    let count: u64 = digits.parse().ok()?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    count.checked_mul(milliseconds).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_whole_numbers_with_a_unit() {
        assert_eq!(parse("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(parse("2h"), Some(Duration::from_secs(7200)));
        for text in ["", "5", "s", "-1s", "1.5s", "1 s", "99999999999999999999s"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
