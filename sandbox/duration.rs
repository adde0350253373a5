//! Durations in Go's notation.

use std::time::Duration;

/// Decimal numbers, each with ns, us, µs, ms, s, m or h: 250ms, 1h30m0s, 1.5s.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let mut nanoseconds: u128 = 0;
    let mut rest = text;
    loop {
        let is_number = |character: char| character.is_ascii_digit() || character == '.';
        let (number, behind) = rest.split_at(rest.find(|character| !is_number(character))?);
        let (unit, next) = behind.split_at(behind.find(is_number).unwrap_or(behind.len()));
        let unit: u128 = match unit {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60 * 1_000_000_000,
            "h" => 3_600 * 1_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let digits = u32::try_from(fraction.len()).ok().filter(|digits| *digits <= 9)?;
        let (whole, fraction): (u64, u64) = (whole.parse().ok()?, fraction.parse().ok()?);
        nanoseconds += u128::from(whole) * unit + u128::from(fraction) * unit / 10_u128.pow(digits);
        if next.is_empty() {
            return u64::try_from(nanoseconds).ok().map(Duration::from_nanos);
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_with_units() {
        assert_eq!(parse("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(parse("2h"), Some(Duration::from_secs(7200)));
        assert_eq!(parse("1h30m0s"), Some(Duration::from_secs(5400)));
        assert_eq!(parse("1.5s"), Some(Duration::from_millis(1500)));
        assert_eq!(parse("1m0.25s"), Some(Duration::from_millis(60_250)));
        for text in ["", "5", "s", "-1s", "1.s", ".s", "1.2.3s", "1 s", "1h30", "99999999999999999999s"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
