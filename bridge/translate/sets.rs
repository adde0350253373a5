//! The order of sets, which Terraform has none of and Pulumi's lists have.
//!
//! A program writes a set as a list, and whoever compares two lists sees a difference where two sets have none. So a set is
//! shown in the order in which the program wrote it, or in which the state has it: what did not change stays where it is,
//! and a place means the same in program, state and preview.

use isthmus_cty::Value;
use isthmus_proto::property::{Struct, Value as Property};

use super::inputs::{Unknowns, value_from_property};
use super::property::{PropertyView, unwrap};
use crate::package::shape::{ObjectShape, Shape};

/// More comparisons than this are not made to find the elements of a set in a list.
const MAXIMUM_COMPARISONS: usize = 250_000;

/// `value`, an object of the shape, with the elements of its sets in the order that their lists have in `like`. It is for
/// showing only: values are compared and sent with their sets in Terraform's order.
pub fn in_order_of(value: &Value, shape: &ObjectShape, like: &Struct) -> Value {
    let mut value = value.clone();
    order_object(&mut value, shape, Some(like));
    value
}

fn order_object(value: &mut Value, shape: &ObjectShape, like: Option<&Struct>) {
    let Value::Object(attributes) = value else { return };
    for field in &shape.fields {
        if let Some(value) = attributes.get_mut(&field.terraform) {
            order(value, &field.shape, like.and_then(|like| like.get(&field.pulumi)));
        }
    }
}

fn order(value: &mut Value, shape: &Shape, like: Option<&Property>) {
    match (shape, value) {
        (Shape::Object(object), value) => order_object(value, object, bag_of(like)),
        // A block with something dynamic in it, which travels with a type of its own.
        (shape, Value::Dynamic(typed)) if !matches!(shape, Shape::Dynamic) => {
            order(&mut typed.1, shape, like);
        }
        (Shape::List(element), Value::List(values) | Value::Tuple(values)) => {
            let list = list_of(like);
            for (index, value) in values.iter_mut().enumerate() {
                order(value, element, list.get(index));
            }
        }
        (Shape::Map(element), Value::Map(entries) | Value::Object(entries)) => {
            let bag = bag_of(like);
            for (key, value) in entries {
                order(value, element, bag.and_then(|bag| bag.get(key)));
            }
        }
        (
            Shape::FlattenedList(element) | Shape::FlattenedSet(element),
            Value::List(values) | Value::Set(values) | Value::Tuple(values),
        ) => {
            for value in values {
                order(value, element, like);
            }
        }
        (Shape::Set(element), Value::Set(values)) => {
            let list = list_of(like);
            let places = places(list, values, element);
            let mut placed: Vec<(usize, Value)> = places.into_iter().zip(std::mem::take(values)).collect();
            placed.sort_by_key(|(place, _)| *place);
            for (place, mut value) in placed {
                order(&mut value, element, list.get(place));
                values.push(value);
            }
        }
        _ => {}
    }
}

/// Where in a program's (or the state's) list each element of a set stands. An element that is not in the list, because the
/// provider made it, has a place behind those that are, or one that nothing else has. Elements that are too many to be
/// found are where they are.
pub fn places(list: &[Property], elements: &[Value], shape: &Shape) -> Vec<usize> {
    if list.len().saturating_mul(elements.len()) > MAXIMUM_COMPARISONS {
        return (0..elements.len()).collect();
    }
    let candidates: Vec<Option<Value>> = list
        .iter()
        .map(|property| value_from_property(property, "", shape, Unknowns::Keep).ok().map(|read| read.value))
        .collect();
    let mut is_taken = vec![false; list.len()];
    let mut found: Vec<Option<usize>> = vec![None; elements.len()];
    // First those that are there to the letter, so that no other takes their place.
    for (element, found) in elements.iter().zip(&mut found) {
        let is_it = |(index, candidate): &(usize, &Option<Value>)| {
            !is_taken[*index] && candidate.as_ref() == Some(element) && element.is_wholly_known()
        };
        if let Some((index, _)) = candidates.iter().enumerate().find(is_it) {
            is_taken[index] = true;
            *found = Some(index);
        }
    }
    for (element, found) in elements.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
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
        *found = best;
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

fn bag_of(property: Option<&Property>) -> Option<&Struct> {
    match unwrap(property?) {
        Ok((PropertyView::Object(bag), _)) => Some(bag),
        _ => None,
    }
}

fn list_of(property: Option<&Property>) -> &[Property] {
    match property.map(unwrap) {
        Some(Ok((PropertyView::List(elements), _))) => elements,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Type;
    use isthmus_provider::schema::BlockNesting;

    use super::*;
    use crate::package::shape::{IdRule, ResourceShape};
    use crate::translate::outputs::{OutputOptions, outputs_from_state};
    use crate::translate::property::secret;
    use crate::translate::testing::{
        attribute, bag, block, computed, list, nested, object, object_value, resource,
    };

    fn firewall() -> ResourceShape {
        let port =
            block(vec![attribute("number", Type::Number), computed(attribute("id", Type::String))], vec![]);
        let rule = block(
            vec![attribute("label", Type::String), attribute("zone", Type::set(Type::String))],
            vec![nested("port", BlockNesting::Set, 0, port)],
        );
        resource(block(vec![], vec![nested("rule", BlockNesting::Set, 0, rule)]), IdRule::Missing)
    }

    fn rule(label: &str, ports: &[i64], zones: &[&str]) -> Value {
        let port = |number: &i64| {
            object_value(&[("number", (*number).into()), ("id", Value::string(format!("id of {number}")))])
        };
        object_value(&[
            ("label", label.into()),
            ("zone", Value::set(zones.iter().map(|zone| Value::from(*zone)))),
            ("port", Value::set(ports.iter().map(port))),
        ])
    }

    fn written(label: &str, ports: &[f64], zones: &[&str]) -> Property {
        let ports = ports.iter().map(|number| object(&[("number", Property::Number(*number))]));
        let zones = zones.iter().map(|zone| Property::from(*zone));
        object(&[
            ("label", label.into()),
            ("ports", list(&ports.collect::<Vec<_>>())),
            ("zones", list(&zones.collect::<Vec<_>>())),
        ])
    }

    /// The rules in their order, each as its label, its ports and its zones.
    fn shown(rules: &[Value], like: &Struct) -> Vec<String> {
        let shape = firewall();
        let value = object_value(&[("rule", Value::set(rules.to_vec()))]);
        let ordered = in_order_of(&value, &shape.object, like);
        let options = OutputOptions { keep_secrets: true, secrets: &[], unknowns: true };
        let outputs = outputs_from_state(&ordered, &shape, options).unwrap();
        let text = |value: &Property| format!("{value:?}");
        list_of(outputs.get("rules"))
            .iter()
            .map(|rule| {
                let rule = bag_of(Some(rule)).unwrap();
                let numbers = list_of(rule.get("ports")).iter().map(|port| bag_of(Some(port)).unwrap());
                let numbers: Vec<_> = numbers.map(|port| text(port.get("number").unwrap())).collect();
                let zones: Vec<_> = list_of(rule.get("zones")).iter().map(text).collect();
                format!("{} {} {}", text(rule.get("label").unwrap()), numbers.join(","), zones.join(","))
                    .replace("Number(", "")
                    .replace("String(", "")
                    .replace([')', '"'], "")
            })
            .collect()
    }

    #[test]
    fn a_set_is_shown_as_the_program_wrote_it_at_every_level() {
        let rules = [rule("a", &[22, 80, 443], &["x", "y"]), rule("b", &[1], &[])];
        assert_eq!(shown(&rules, &Struct::default()), ["a 22.0,443.0,80.0 x,y", "b 1.0 "]);
        let program = [written("b", &[1.0], &[]), written("a", &[443.0, 22.0, 80.0], &["y", "x"])];
        assert_eq!(shown(&rules, &bag(&[("rules", list(&program))])), ["b 1.0 ", "a 443.0,22.0,80.0 y,x"]);
        assert_eq!(
            shown(&rules, &bag(&[("rules", secret(list(&program)))])),
            ["b 1.0 ", "a 443.0,22.0,80.0 y,x"],
            "a secret list is a list"
        );
    }

    #[test]
    fn what_is_not_in_the_list_takes_the_place_that_is_left() {
        let program = bag(&[(
            "rules",
            list(&[written("c", &[3.0], &[]), written("b", &[2.0], &[]), written("a", &[1.0], &[])]),
        )]);
        let changed = [rule("a", &[1], &[]), rule("z", &[2], &[]), rule("c", &[3], &[])];
        assert_eq!(shown(&changed, &program), ["c 3.0 ", "z 2.0 ", "a 1.0 "]);
        let more = [rule("a", &[1], &[]), rule("b", &[2], &[]), rule("c", &[3], &[]), rule("d", &[4], &[])];
        assert_eq!(shown(&more, &program), ["c 3.0 ", "b 2.0 ", "a 1.0 ", "d 4.0 "]);
    }
}
