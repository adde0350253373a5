//! Matches the elements of a set with those of a program's list, so that outputs have the list's order.
//!
//! A set has no order, so elements are matched by value, never by position: first equal ones, then the
//! most similar. The pairs that a preview compares are from the prior and the planned set
//! (`bridge/operations/resource/diff/elements.rs`).

use std::collections::BTreeMap;

use isthmus_cty::Value;
use isthmus_proto::property::Value as Property;

use super::inputs::{Unknowns, value_from_property};
use isthmus_package::shape::Shape;

/// Limit of comparisons to match the elements of a set with a list.
const MAXIMUM_COMPARISONS: usize = 250_000;

/// The index in a program's (or the state's) list of each element of a set. An element that is not
/// in the list, because the provider added it, gets an index after those, or an unused one. If
/// there are too many elements, each keeps its index.
pub fn match_elements(list: &[Property], elements: &[Value], shape: &Shape) -> Vec<usize> {
    if list.len().saturating_mul(elements.len()) > MAXIMUM_COMPARISONS {
        return (0..elements.len()).collect();
    }
    let candidates: Vec<Option<Value>> = list
        .iter()
        .map(|property| value_from_property(property, "", shape, Unknowns::Keep).ok().map(|read| read.value))
        .collect();
    let mut is_taken = vec![false; list.len()];
    let mut found: Vec<Option<usize>> = vec![None; elements.len()];
    // Equal elements first, so that no other takes their index. The first of several is the last here.
    let mut equal: BTreeMap<&Value, Vec<usize>> = BTreeMap::new();
    for (index, candidate) in candidates.iter().enumerate().rev() {
        if let Some(candidate) = candidate {
            equal.entry(candidate).or_default().push(index);
        }
    }
    for (element, found) in elements.iter().zip(&mut found) {
        if element.is_wholly_known()
            && let Some(index) = equal.get_mut(element).and_then(Vec::pop)
        {
            is_taken[index] = true;
            *found = Some(index);
        }
    }
    for (element, found) in elements.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
        let best = candidates
            .iter()
            .enumerate()
            .filter(|(index, _)| !is_taken[*index])
            .filter_map(|(index, candidate)| Some((matching_leaves(candidate.as_ref()?, element)?, index)))
            // The first of several equal ones.
            .max_by_key(|(matching_leaves, index)| (*matching_leaves, std::cmp::Reverse(*index)))
            .map(|(_, index)| index);
        if let Some(index) = best {
            is_taken[index] = true;
        }
        *found = best;
    }
    let mut free = (0..).filter(|index| !is_taken.get(*index).copied().unwrap_or(false));
    found.into_iter().map(|place| place.or_else(|| free.next()).unwrap_or(usize::MAX)).collect()
}

/// How many leaves of the program's value `element` contains; `None` if a leaf has another value.
/// Unset and unknown leaves match anything.
fn matching_leaves(written: &Value, element: &Value) -> Option<usize> {
    let (written, element) = (written.inner(), element.inner());
    if written.is_null() || !written.is_known() || !element.is_known() {
        return Some(0);
    }
    match (written.entries(), element.entries()) {
        (Some(entries), Some(others)) => {
            return entries.iter().try_fold(0, |sum, (name, value)| match others.get(name) {
                Some(other) => Some(sum + matching_leaves(value, other)?),
                None => value.is_null().then_some(sum),
            });
        }
        (None, None) => {}
        _ => return None,
    }
    match (written.elements(), element.elements()) {
        (Some(ours), Some(others)) if ours.len() == others.len() => {
            if matches!(written, Value::Set(_)) {
                let agrees =
                    |one: &Value| others.iter().filter_map(|other| matching_leaves(one, other)).max();
                return ours.iter().try_fold(1, |sum, one| Some(sum + agrees(one)?));
            }
            ours.iter().zip(others).try_fold(1, |sum, (one, other)| Some(sum + matching_leaves(one, other)?))
        }
        (None, None) => (written == element).then_some(1),
        _ => None,
    }
}
