//! What becomes of the elements of a list or a set.

use std::collections::{BTreeMap, HashMap};

use isthmus_proto::property::Value as Property;
use isthmus_shim::cty::Value;

use crate::package::shape::Shape;
use crate::translate::inputs::{Unknowns, value_from_property};

/// What becomes of the element at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// There was none.
    Comes,
    /// There will be none.
    Goes,
    /// It becomes another one. Where the two are among the elements of their sides.
    Changes { prior: usize, planned: usize },
}

/// More comparisons than this are not made to line up two lists, or to find the elements of a set in a list: what is
/// shown is then longer than it must be, but not wrong.
const MAXIMUM_COMPARISONS: usize = 250_000;

/// Elements of lists keep their order: the longest common part stays, by index everything else.
pub(super) fn in_a_list(prior: &[Value], planned: &[Value]) -> BTreeMap<usize, Fate> {
    let common = |pairs: &mut dyn Iterator<Item = (&Value, &Value)>| {
        pairs.take_while(|(was, will_be)| is_unchanged(was, will_be)).count()
    };
    let shorter = prior.len().min(planned.len());
    let start = common(&mut prior.iter().zip(planned));
    let end = common(&mut prior.iter().rev().zip(planned.iter().rev())).min(shorter - start);
    let (before, after) = (&prior[start..prior.len() - end], &planned[start..planned.len() - end]);
    let mut goes = vec![true; before.len()];
    let mut comes = vec![true; after.len()];
    for (was, will_be) in longest_common_part(before, after) {
        goes[was] = false;
        comes[will_be] = false;
    }
    let indices = |marks: Vec<bool>| {
        marks.into_iter().enumerate().filter(|(_, marked)| *marked).map(move |(index, _)| index + start)
    };
    fates(indices(goes).map(|index| (index, index)), indices(comes).map(|index| (index, index)))
}

/// Elements of sets are themselves wherever they stand: what is on both sides stays, and the others are told by their
/// places (see [`places`]).
pub(super) fn in_a_set(sides: [&[Value]; 2], places: &[Vec<usize>; 2]) -> BTreeMap<usize, Fate> {
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

/// Where in a program's (or the state's) list each element of a set stands. An element that is not in the list, because the
/// provider made it, has a place behind those that are, or one that nothing else has.
pub(super) fn places(list: &[Property], elements: &[Value], shape: &Shape) -> Vec<usize> {
    if list.len().saturating_mul(elements.len()) > MAXIMUM_COMPARISONS {
        return (0..elements.len()).collect();
    }
    let candidates: Vec<Option<Value>> = list
        .iter()
        .map(|property| value_from_property(property, "", shape, Unknowns::Keep).ok().map(|read| read.value))
        .collect();
    let mut is_taken = vec![false; list.len()];
    let mut found: Vec<Option<usize>> = Vec::with_capacity(elements.len());
    for element in elements {
        let best = candidates
            .iter()
            .enumerate()
            .filter(|(index, _)| !is_taken[*index])
            .filter_map(|(index, candidate)| Some((agreement(candidate.as_ref()?, element)?, index)))
            // Of equals the first, as a reader would take it.
            .max_by_key(|(agreement, index)| (*agreement, std::cmp::Reverse(*index)))
            .map(|(_, index)| index);
        if let Some(index) = best {
            is_taken[index] = true;
        }
        found.push(best);
    }
    let mut free = (0..).filter(|index| !is_taken.get(*index).copied().unwrap_or(false));
    found.into_iter().map(|place| place.or_else(|| free.next()).unwrap_or(usize::MAX)).collect()
}

/// How many leaves of what a program wrote are in `element`; `None` if one is there with another value. What was not
/// written, or is unknown, may be anything.
fn agreement(written: &Value, element: &Value) -> Option<usize> {
    let (written, element) = (written.inner(), element.inner());
    if written.is_null() || !written.is_known() || !element.is_known() {
        return Some(0);
    }
    match (written.entries(), element.entries()) {
        (Some(entries), Some(others)) => {
            return entries.iter().try_fold(0, |sum, (name, value)| match others.get(name) {
                Some(other) => Some(sum + agreement(value, other)?),
                None => value.is_null().then_some(sum),
            });
        }
        (None, None) => {}
        _ => return None,
    }
    match (written.elements(), element.elements()) {
        (Some(ours), Some(others)) if ours.len() == others.len() => {
            if matches!(written, Value::Set(_)) {
                let agrees = |one: &Value| others.iter().filter_map(|other| agreement(one, other)).max();
                return ours.iter().try_fold(1, |sum, one| Some(sum + agrees(one)?));
            }
            ours.iter().zip(others).try_fold(1, |sum, (one, other)| Some(sum + agreement(one, other)?))
        }
        (None, None) => (written == element).then_some(1),
        _ => None,
    }
}

/// Each of `goes` and `comes` is a place and an index among the elements of its side.
fn fates(
    goes: impl Iterator<Item = (usize, usize)>,
    comes: impl Iterator<Item = (usize, usize)>,
) -> BTreeMap<usize, Fate> {
    let went: BTreeMap<usize, usize> = goes.collect();
    let mut fates: BTreeMap<usize, Fate> = went.keys().map(|place| (*place, Fate::Goes)).collect();
    for (place, planned) in comes {
        let fate = match went.get(&place) {
            Some(&prior) => Fate::Changes { prior, planned },
            None => Fate::Comes,
        };
        fates.insert(place, fate);
    }
    fates
}

/// The pairs of equal elements of the longest sequence that both have, in order.
fn longest_common_part(before: &[Value], after: &[Value]) -> Vec<(usize, usize)> {
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
