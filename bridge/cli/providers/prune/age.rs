//! Time since the last use: a number of hours, days or weeks.

use std::str::FromStr;
use std::time::{Duration, SystemTime};

const HOUR: u64 = 3600;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Age(Duration);

impl FromStr for Age {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FAULT: &str = "it is a number with h, d or w behind it (hours, days, weeks), such as 90d";
        let unit = match text.chars().next_back() {
            Some('h') => HOUR,
            Some('d') => 24 * HOUR,
            Some('w') => 7 * 24 * HOUR,
            _ => return Err(FAULT),
        };
        let count: u64 = text[..text.len() - 1].parse().map_err(|_| FAULT)?;
        count.checked_mul(unit).map(|seconds| Self(Duration::from_secs(seconds))).ok_or(FAULT)
    }
}

impl Age {
    /// Whether it has passed; never for an unknown last use.
    pub(super) fn has_passed(self, since: Option<SystemTime>, now: SystemTime) -> bool {
        since.and_then(|since| now.duration_since(since).ok()).is_some_and(|passed| passed > self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_a_unit() {
        for (text, hours) in [("12h", 12), ("90d", 90 * 24), ("4w", 4 * 7 * 24), ("0d", 0)] {
            assert_eq!(text.parse(), Ok(Age(Duration::from_secs(hours * HOUR))), "{text}");
        }
        for text in ["", "d", "90", "-1d", "1.5d", "1y", "é", "99999999999999999999d", "9999999999999999999w"]
        {
            assert!(text.parse::<Age>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_may_have_been_used_lately_is_not_old() {
        let now = SystemTime::now();
        let day: Age = "1d".parse().expect("an age");
        let before = |hours| Some(now - Duration::from_secs(hours * HOUR));
        assert!(day.has_passed(before(25), now) && !day.has_passed(before(23), now));
        assert!(!day.has_passed(None, now) && !day.has_passed(Some(now + Duration::from_secs(HOUR)), now));
    }
}
