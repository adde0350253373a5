//! The clock of this machine, against those of registries.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::finding::{Finding, Judgement};
use super::registry::Answer;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::timestamp::{timestamp, two_units};

/// Cloud services refuse requests that were signed more than this long ago.
const MOST: Duration = Duration::from_secs(5 * 60);

/// January 1, 2026 in seconds of Unix time, before which this version was not written.
const WRITTEN: Duration = Duration::from_secs(1_767_225_600);

#[derive(Clone, Debug)]
pub(super) struct ClockReadings {
    now: SystemTime,
    /// The times of registries' clocks and of this machine's at that moment, by host.
    others: Vec<(String, SystemTime, SystemTime)>,
}

pub(super) fn gather(answers: &[Answer]) -> ClockReadings {
    let others = answers.iter().filter_map(|answer| {
        let (theirs, ours) = answer.dates()?;
        Some((answer.host().to_owned(), theirs, ours))
    });
    ClockReadings { now: SystemTime::now(), others: others.collect() }
}

pub(super) fn judge(facts: &ClockReadings) -> Judgement {
    let mut findings = Vec::new();
    if facts.now < UNIX_EPOCH + WRITTEN {
        let text = format!("the clock is at {}, before this version was released", timestamp(facts.now));
        findings.push(Finding::fault(ErrorCode::WrongClock, &text));
    }
    for (host, theirs, ours) in &facts.others {
        let (difference, direction) = match ours.duration_since(*theirs) {
            Ok(ahead) => (ahead, "ahead of"),
            Err(behind) => (behind.duration(), "behind"),
        };
        if difference > MOST && findings.is_empty() {
            let text = format!("the clock is {} {direction} the clock of {host}", two_units(difference));
            findings.push(Finding::fault(ErrorCode::WrongClock, &text));
        }
    }
    let compared = if facts.others.is_empty() { ", compared with no other clock" } else { "" };
    Judgement::new(format!("{}{compared}", timestamp(facts.now)), findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_of_minutes_is_a_fault_in_either_direction() {
        let now = UNIX_EPOCH + WRITTEN + Duration::from_secs(86_400);
        let judged = |now, theirs| {
            let facts = ClockReadings { now, others: vec![("a.example".to_owned(), theirs, now)] };
            judge(&facts).findings.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
        };
        let hour = Duration::from_secs(3600);
        assert_eq!(judged(now, now + MOST), [""; 0]);
        assert_eq!(judged(now, now - hour), ["the clock is 1 h 0 min ahead of the clock of a.example"]);
        assert_eq!(judged(now, now + hour), ["the clock is 1 h 0 min behind the clock of a.example"]);
        let before = judged(UNIX_EPOCH, UNIX_EPOCH);
        assert_eq!(before, ["the clock is at 1970-01-01T00:00:00.000Z, before this version was released"]);
    }
}
