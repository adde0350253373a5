//! One budget: a figure, a limit, and a verdict.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::figures::Figures;
use crate::options::{Contestant, Section};

/// A figure that budgets limit, of all contestants that have it.
#[derive(Clone, Debug)]
pub(super) struct Quantity {
    pub(super) section: Section,
    /// What was measured, with its unit.
    pub(super) name: String,
    /// How many digits behind the point mean something.
    pub(super) digits: usize,
    pub(super) figures: Figures,
}

impl Quantity {
    /// Limits the ratio of isthmus' figure to that of another contestant.
    pub(super) fn ratio_to(&self, other: Contestant, limit: Limit) -> Budget {
        Budget::new(self, Some(other), self.figures.ratio(Contestant::Isthmus, other), limit)
    }

    /// Limits isthmus' figure itself.
    pub(super) fn value(&self, limit: Limit) -> Budget {
        Budget::new(self, None, self.figures.median(Contestant::Isthmus), limit)
    }
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Limit {
    fn is_held_by(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(limit) => write!(formatter, "≤ {limit}"),
            Self::AtLeast(limit) => write!(formatter, "≥ {limit}"),
        }
    }
}

/// Whether a budget is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Held,
    Missed,
    NotMeasured,
}

impl Verdict {
    fn of(value: Option<f64>, limit: Limit) -> Self {
        match value {
            None => Self::NotMeasured,
            Some(value) if limit.is_held_by(value) => Self::Held,
            Some(_) => Self::Missed,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Held => "held",
            Self::Missed => "**missed**",
            Self::NotMeasured => "not measured",
        })
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Held => "held",
            Self::Missed => "missed",
            Self::NotMeasured => "not measured",
        })
    }
}

/// A line of the table.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Budget {
    pub(super) section: Section,
    name: String,
    #[serde(skip)]
    digits: usize,
    figures: Figures,
    /// The contestant that isthmus is compared with; `None` if its own figure is limited.
    compared_with: Option<Contestant>,
    /// The ratio, or the figure. `None` if it was not measured.
    value: Option<f64>,
    limit: Limit,
    pub(super) verdict: Verdict,
}

impl Budget {
    fn new(quantity: &Quantity, compared_with: Option<Contestant>, value: Option<f64>, limit: Limit) -> Self {
        let Quantity { section, name, digits, figures } = quantity.clone();
        let verdict = Verdict::of(value, limit);
        Self { section, name, digits, figures, compared_with, value, limit, verdict }
    }

    pub(super) fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.name.clone()];
        cells.extend(Contestant::ALL.map(|contestant| self.figures.cell(contestant, self.digits)));
        let value = match (self.value, self.compared_with) {
            (None, _) => "–".to_owned(),
            (Some(ratio), Some(other)) => format!("{ratio:.3} × {}", other.title()),
            (Some(value), None) => format!("{value:.*}", self.digits),
        };
        cells.extend([value, self.limit.to_string(), self.verdict.to_string()]);
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turns::Turn;

    /// Milliseconds of isthmus and of the Go bridge.
    fn check(isthmus: Option<f64>, go_bridge: Option<f64>) -> Quantity {
        let turn = |contestant, measured| Turn { contestant, turn: 1, measured };
        let turns = [turn(Contestant::Isthmus, isthmus), turn(Contestant::GoBridge, go_bridge)];
        let figures = Figures::of(&turns, |value| *value);
        Quantity { section: Section::Calls, name: "Check p50, ms".to_owned(), digits: 1, figures }
    }

    #[test]
    fn a_ratio_at_its_limit_is_held_and_one_above_it_is_missed() {
        let ratio = |isthmus| {
            check(Some(isthmus), Some(10.0)).ratio_to(Contestant::GoBridge, Limit::AtMost(0.5)).verdict
        };
        assert_eq!(ratio(5.0), Verdict::Held);
        assert_eq!(ratio(5.1), Verdict::Missed);
    }

    #[test]
    fn of_some_figures_more_is_better() {
        let ratio = |isthmus| {
            check(Some(isthmus), Some(10.0)).ratio_to(Contestant::GoBridge, Limit::AtLeast(2.5)).verdict
        };
        assert_eq!(ratio(25.0), Verdict::Held);
        assert_eq!(ratio(24.9), Verdict::Missed);
    }

    #[test]
    fn what_was_not_measured_is_not_held() {
        let limit = Limit::AtMost(0.5);
        for quantity in [check(Some(0.0), None), check(None, Some(10.0)), check(None, None)] {
            assert_eq!(quantity.ratio_to(Contestant::GoBridge, limit).verdict, Verdict::NotMeasured);
        }
        assert_eq!(check(None, Some(10.0)).value(limit).verdict, Verdict::NotMeasured);
        assert_eq!(
            check(Some(0.1), Some(0.0)).ratio_to(Contestant::GoBridge, limit).verdict,
            Verdict::NotMeasured
        );
        assert_eq!(check(Some(0.1), None).value(limit).verdict, Verdict::Held);
    }

    #[test]
    fn a_line_shows_the_figures_the_ratio_and_the_limit() {
        let limit = Limit::AtMost(0.45);
        let cells = check(Some(1.0), Some(2.0)).ratio_to(Contestant::GoBridge, limit).cells();
        assert_eq!(cells, ["Check p50, ms", "1.0", "2.0", "–", "0.500 × Go bridge", "≤ 0.45", "**missed**"]);
        let cells = check(None, Some(2.0)).value(limit).cells();
        assert_eq!(cells, ["Check p50, ms", "–", "2.0", "–", "–", "≤ 0.45", "not measured"]);
    }
}
