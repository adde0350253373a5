//! What becomes of the elements of a list or a set.

use std::collections::{BTreeMap, HashMap};

use isthmus_cty::Value;

/// What becomes of the element at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementChange {
    /// There was none.
    Comes,
    /// There will be none.
    Goes,
    /// It becomes another one. Where the two are among the elements of their sides.
    Changes { prior: usize, planned: usize },
}

/// More comparisons than this are not made to line up two lists: what is shown is then longer than it must be, but not
/// wrong.
const MAXIMUM_COMPARISONS: usize = 250_000;

/// Elements of lists keep their order: the longest common part stays, by index everything else.
pub(super) fn in_a_list(prior: &[Value], planned: &[Value]) -> BTreeMap<usize, ElementChange> {
    let common = |pairs: &mut dyn Iterator<Item = (&Value, &Value)>| {
        pairs.take_while(|(was, will_be)| is_unchanged(was, will_be)).count()
    };
    let shorter = prior.len().min(planned.len());
    let start = common(&mut prior.iter().zip(planned));
    let end = common(&mut prior.iter().rev().zip(planned.iter().rev())).min(shorter - start);
    let (before, after) = (&prior[start..prior.len() - end], &planned[start..planned.len() - end]);
    let mut goes = vec![true; before.len()];
    let mut comes = vec![true; after.len()];
    for (was, will_be) in longest_common_subsequence(before, after) {
        goes[was] = false;
        comes[will_be] = false;
    }
    let indices = |marks: Vec<bool>| {
        marks.into_iter().enumerate().filter(|(_, marked)| *marked).map(move |(index, _)| index + start)
    };
    fates(indices(goes).map(|index| (index, index)), indices(comes).map(|index| (index, index)))
}

/// Elements of sets are themselves wherever they stand: what is on both sides stays, and the others are told by their
/// places (see [`crate::translate::set_matching::match_elements`]).
pub(super) fn in_a_set(sides: [&[Value]; 2], places: &[Vec<usize>; 2]) -> BTreeMap<usize, ElementChange> {
    let [prior, planned] = sides;
    let mut staying: HashMap<&Value, usize> = HashMap::with_capacity(planned.len());
    for element in planned.iter().filter(|element| element.is_wholly_known()) {
        *staying.entry(element).or_default() += 1;
    }
    let mut stayed: HashMap<&Value, usize> = HashMap::new();
    let goes: Vec<(usize, usize)> = (0..prior.len())
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
    let comes = (0..planned.len())
        .filter(|index| match stayed.get_mut(&planned[*index]) {
            Some(count) if *count > 0 && planned[*index].is_wholly_known() => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .map(|index| (places[1][index], index));
    fates(goes.into_iter(), comes)
}

/// Each of `goes` and `comes` is a place and an index among the elements of its side.
fn fates(
    goes: impl Iterator<Item = (usize, usize)>,
    comes: impl Iterator<Item = (usize, usize)>,
) -> BTreeMap<usize, ElementChange> {
    let went: BTreeMap<usize, usize> = goes.collect();
    let mut fates: BTreeMap<usize, ElementChange> =
        went.keys().map(|place| (*place, ElementChange::Goes)).collect();
    for (place, planned) in comes {
        let fate = match went.get(&place) {
            Some(&prior) => ElementChange::Changes { prior, planned },
            None => ElementChange::Comes,
        };
        fates.insert(place, fate);
    }
    fates
}

/// The pairs of equal elements of the longest sequence that both have, in order.
fn longest_common_subsequence(before: &[Value], after: &[Value]) -> Vec<(usize, usize)> {
    if before.len().saturating_mul(after.len()) > MAXIMUM_COMPARISONS {
        let unchanged = |index: &usize| is_unchanged(&before[*index], &after[*index]);
        let shorter = before.len().min(after.len());
        return (0..shorter).filter(unchanged).map(|index| (index, index)).collect();
    }
    let width = after.len() + 1;
    // lengths[i][j]: of the longest common part of before[i..] and after[j..].
    let mut lengths = vec![0u32; (before.len() + 1) * width];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            lengths[i * width + j] = if is_unchanged(&before[i], &after[j]) {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < before.len() && j < after.len() {
        if is_unchanged(&before[i], &after[j]) {
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

fn is_unchanged(was: &Value, will_be: &Value) -> bool {
    was == will_be && will_be.is_wholly_known()
}
