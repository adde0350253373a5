//! One figure of each contestant: the median of its repetitions, their least and their most.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::options::Contestant;
use crate::turns::Turn;

/// The figures of those contestants that have one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Figures(BTreeMap<Contestant, Figure>);

impl Figures {
    /// Takes one value from each turn that has it.
    pub(crate) fn of<T>(turns: &[Turn<T>], value: impl Fn(&T) -> Option<f64>) -> Self {
        let mut values: BTreeMap<Contestant, Vec<f64>> = BTreeMap::new();
        for turn in turns {
            if let Some(value) = value(&turn.measured) {
                values.entry(turn.contestant).or_default().push(value);
            }
        }
        let figures =
            values.into_iter().filter_map(|(contestant, values)| Some((contestant, Figure::of(values)?)));
        Self(figures.collect())
    }

    /// The median of a contestant's figure.
    pub(crate) fn median(&self, contestant: Contestant) -> Option<f64> {
        self.0.get(&contestant).map(|figure| figure.median)
    }

    /// The first contestant's median divided by the second one's. `None` if one of them has no figure, or if the second
    /// one's is zero.
    pub(crate) fn ratio(&self, of: Contestant, to: Contestant) -> Option<f64> {
        let (of, to) = (self.median(of)?, self.median(to)?);
        (to > 0.0).then(|| of / to)
    }

    /// A contestant's cell in a table, with so many digits behind the point.
    pub(crate) fn cell(&self, contestant: Contestant, digits: usize) -> String {
        match self.0.get(&contestant) {
            None => "–".to_owned(),
            Some(Figure { median, least, most }) if least == most => format!("{median:.digits$}"),
            Some(Figure { median, least, most }) => {
                format!("{median:.digits$} ({least:.digits$}–{most:.digits$})")
            }
        }
    }
}

/// One contestant's figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Figure {
    /// The median of the repetitions.
    median: f64,
    /// The smallest of them.
    least: f64,
    /// The largest of them.
    most: f64,
}

impl Figure {
    /// `None` without values.
    fn of(values: Vec<f64>) -> Option<Self> {
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        Some(Self { median: median(values)?, least, most })
    }
}

/// The median. Of an even number of values, it is the mean of the two in the middle. `None` without values.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        Some(f64::midpoint(*values.get(middle.checked_sub(1)?)?, *values.get(middle)?))
    } else {
        values.get(middle).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_median_and_the_spread() {
        let odd = Figure::of(vec![3.0, 1.0, 9.0]).unwrap();
        assert_eq!(odd, Figure { median: 3.0, least: 1.0, most: 9.0 });
        let even = Figure::of(vec![4.0, 1.0, 2.0, 9.0]).unwrap();
        assert_eq!(even, Figure { median: 3.0, least: 1.0, most: 9.0 });
        assert_eq!(Figure::of(Vec::new()), None);
    }

    #[test]
    fn there_is_no_ratio_to_nothing() {
        let figures = |floor: Option<f64>| {
            let turn = |contestant, measured| Turn { contestant, turn: 1, measured };
            let turns = [turn(Contestant::Isthmus, Some(2.0)), turn(Contestant::Floor, floor)];
            Figures::of(&turns, |value| *value)
        };
        assert_eq!(figures(Some(4.0)).ratio(Contestant::Isthmus, Contestant::Floor), Some(0.5));
        assert_eq!(figures(Some(0.0)).ratio(Contestant::Isthmus, Contestant::Floor), None);
        assert_eq!(figures(None).ratio(Contestant::Isthmus, Contestant::Floor), None);
    }
}
