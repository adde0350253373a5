//! Changes of the elements of a list or a set.

use std::collections::BTreeMap;

use isthmus_cty::Value;

/// The change at one index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementChange {
    Added,
    Removed,
    /// The indices of the element on both sides.
    Changed {
        prior: usize,
        planned: usize,
    },
}

/// Limit of comparisons to align two lists; beyond it, a diff may be longer than necessary but
/// stays correct.
const MAXIMUM_COMPARISONS: usize = 250_000;

/// Lists: the longest common subsequence stays, the rest is compared by index.
pub(super) fn in_a_list(prior: &[Value], planned: &[Value]) -> BTreeMap<usize, ElementChange> {
    let common = |pairs: &mut dyn Iterator<Item = (&Value, &Value)>| {
        pairs.take_while(|(was, will_be)| is_unchanged(was, will_be)).count()
    };
    let shorter = prior.len().min(planned.len());
    let start = common(&mut prior.iter().zip(planned));
    let end = common(&mut prior.iter().rev().zip(planned.iter().rev())).min(shorter - start);
    let (before, after) = (&prior[start..prior.len() - end], &planned[start..planned.len() - end]);
    let mut removed = vec![true; before.len()];
    let mut added = vec![true; after.len()];
    for (was, will_be) in longest_common_subsequence(before, after) {
        removed[was] = false;
        added[will_be] = false;
    }
    let indices = |marks: Vec<bool>| {
        marks.into_iter().enumerate().filter(|(_, marked)| *marked).map(move |(index, _)| index + start)
    };
    changes(indices(removed).map(|index| (index, index)), indices(added).map(|index| (index, index)))
}

/// Sets: elements on both sides stay, others are paired by index (see
/// [`isthmus_translate::set_matching::match_elements`]).
pub(super) fn in_a_set(sides: [&[Value]; 2], places: &[Vec<usize>; 2]) -> BTreeMap<usize, ElementChange> {
    let [prior, planned] = sides;
    let mut staying: BTreeMap<&Value, usize> = BTreeMap::new();
    for element in planned.iter().filter(|element| element.is_wholly_known()) {
        *staying.entry(element).or_default() += 1;
    }
    let mut stayed: BTreeMap<&Value, usize> = BTreeMap::new();
    let removed: Vec<(usize, usize)> = (0..prior.len())
        .filter(|index| match staying.get_mut(&prior[*index]) {
            Some(count) if *count > 0 => {
                *count -= 1;
                *stayed.entry(&prior[*index]).or_default() += 1;
                false
            }
            _ => true,
        })
        .map(|index| (places[0][index], index))
        .collect();
    let added = (0..planned.len())
        .filter(|index| match stayed.get_mut(&planned[*index]) {
            Some(count) if *count > 0 && planned[*index].is_wholly_known() => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .map(|index| (places[1][index], index));
    changes(removed.into_iter(), added)
}

/// Each item of `removed` and `added` is an index to report and one among the elements of its side.
fn changes(
    removed: impl Iterator<Item = (usize, usize)>,
    added: impl Iterator<Item = (usize, usize)>,
) -> BTreeMap<usize, ElementChange> {
    let removed: BTreeMap<usize, usize> = removed.collect();
    let mut changes: BTreeMap<usize, ElementChange> =
        removed.keys().map(|place| (*place, ElementChange::Removed)).collect();
    for (place, planned) in added {
        let fate = match removed.get(&place) {
            Some(&prior) => ElementChange::Changed { prior, planned },
            None => ElementChange::Added,
        };
        changes.insert(place, fate);
    }
    changes
}

/// The index pairs of the longest common subsequence, in order.
fn longest_common_subsequence(before: &[Value], after: &[Value]) -> Vec<(usize, usize)> {
    if before.len().saturating_mul(after.len()) > MAXIMUM_COMPARISONS {
        let unchanged = |index: &usize| is_unchanged(&before[*index], &after[*index]);
        let shorter = before.len().min(after.len());
        return (0..shorter).filter(unchanged).map(|index| (index, index)).collect();
    }
    let mut numbers = Numbers::default();
    let [before, after] =
        [before, after].map(|side| side.iter().map(|one| numbers.of(one)).collect::<Vec<_>>());
    let is_unchanged = |i: usize, j: usize| before[i].is_some() && before[i] == after[j];
    let width = after.len() + 1;
    // lengths[i][j]: of the longest common subsequence of before[i..] and after[j..].
    let mut lengths = vec![0u32; (before.len() + 1) * width];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            lengths[i * width + j] = if is_unchanged(i, j) {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < before.len() && j < after.len() {
        if is_unchanged(i, j) {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// Numbers in place of elements, which take longer to compare.
#[derive(Default)]
struct Numbers<'a>(BTreeMap<&'a Value, usize>);

impl<'a> Numbers<'a> {
    /// The number of all elements that are equal to this one. `None` if it is not wholly known: then it is
    /// unchanged from none.
    fn of(&mut self, element: &'a Value) -> Option<usize> {
        let next = self.0.len();
        element.is_wholly_known().then(|| *self.0.entry(element).or_insert(next))
    }
}

fn is_unchanged(was: &Value, will_be: &Value) -> bool {
    was == will_be && will_be.is_wholly_known()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_elements_that_stay_are_as_many_as_can_be_in_their_order() {
        let values = |letters: &str| -> Vec<Value> {
            letters.chars().map(|letter| Value::string(letter.to_string())).collect()
        };
        for (before, after, stay) in [
            ("abcd", "bxd", vec![(1, 0), (3, 2)]),
            ("abc", "cab", vec![(0, 1), (1, 2)]),
            ("xaxb", "ab", vec![(1, 0), (3, 1)]),
            ("ab", "xaxb", vec![(0, 1), (1, 3)]),
            ("aab", "aba", vec![(0, 0), (2, 1)]),
            ("ab", "xy", vec![]),
            ("", "a", vec![]),
        ] {
            let found = longest_common_subsequence(&values(before), &values(after));
            assert_eq!(found, stay, "{before} and {after}");
        }
    }
}
