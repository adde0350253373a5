//! Computing the delta, with the schema.

use std::collections::{BTreeMap, HashSet};

use isthmus_cty::Type;
use isthmus_cty::json::Json;
use isthmus_proto::property::{Struct, Value as Property};

use super::delta::{Delta, ObjectDelta, number_text};
use super::recover::{is_reserved, recover_object};
use crate::property::{self, PropertyView};
use isthmus_package::names::casing::pulumi_to_terraform;
use isthmus_package::shape::{Field, ObjectShape, Shape};

/// The block that SDKs add to resources with timeouts; the same name on both sides.
const TIMEOUTS: &str = "timeouts";

/// The delta between `outputs` and the JSON `raw` of the same state, without unknown values;
/// `shown` is `raw` with its sets in the order of `outputs`.
///
/// Rebuilding is verified; if it fails, the delta is the JSON.
pub(super) fn compute(outputs: &Struct, shown: &Json, raw: Json, shape: &ObjectShape) -> Delta {
    let has_timeouts = shape.terraform(TIMEOUTS).is_some_and(|field| field.pulumi == TIMEOUTS);
    let mut delta = match (shown, &raw) {
        (Json::Object(shown), Json::Object(raw)) => {
            let mut delta = object_delta(outputs, shown, shape, true);
            if let Some(delta) = &mut delta {
                replace_reordered(delta, shown, raw, shape);
            }
            delta
        }
        _ => None,
    };
    let mut raw = raw;
    // Timeouts that were not configured are not stored.
    if has_timeouts
        && !outputs.contains_key(TIMEOUTS)
        && let (Json::Object(members), Some(delta)) = (&mut raw, &mut delta)
    {
        members.retain(|(name, _)| name != TIMEOUTS);
        delta.properties.remove(TIMEOUTS);
    }
    match delta {
        Some(delta) if recover_object(outputs, &delta).as_ref() == Ok(&raw) => Delta::Object(delta),
        _ => Delta::Replace(raw),
    }
}

/// Puts into the delta whole what contains a set in another order than in `raw`.
fn replace_reordered(
    delta: &mut ObjectDelta,
    shown: &[(String, Json)],
    raw: &[(String, Json)],
    shape: &ObjectShape,
) {
    for ((name, shown), (_, raw)) in shown.iter().zip(raw).filter(|(shown, raw)| shown != raw) {
        let Some(field) = shape.terraform(name) else { continue };
        let of_field = delta.properties.entry(field.pulumi.clone()).or_default();
        match (of_field, &field.shape, shown, raw) {
            (Delta::Object(delta), Shape::Object(shape), Json::Object(shown), Json::Object(raw)) => {
                replace_reordered(delta, shown, raw, shape);
            }
            (delta, ..) => *delta = Delta::Replace(raw.clone()),
        }
    }
}

fn field_delta(property: &Property, raw: &Json, field: &Field) -> Delta {
    // A block with dynamic parts is a dynamic value.
    match field.implied_type {
        Type::Dynamic => Delta::Replace(raw.clone()),
        _ => value_delta(property, raw, &field.shape),
    }
}

fn value_delta(property: &Property, raw: &Json, shape: &Shape) -> Delta {
    efficient_delta(property, raw, shape).unwrap_or_else(|| Delta::Replace(raw.clone()))
}

fn efficient_delta(property: &Property, raw: &Json, shape: &Shape) -> Option<Delta> {
    let (view, _) = property::unwrap(property).ok()?;
    match (shape, view, raw) {
        (Shape::Dynamic, ..) => None,
        (_, PropertyView::Null, Json::Null) => Some(Delta::Natural),
        (Shape::String, PropertyView::String(text), Json::String(raw)) => {
            (text == raw).then_some(Delta::Natural)
        }
        (Shape::Bool, PropertyView::Bool(value), Json::Bool(raw)) => {
            (value == *raw).then_some(Delta::Natural)
        }
        (Shape::Number, PropertyView::Number(number), Json::Number(raw)) => {
            (number_text(number).as_ref() == Some(raw)).then_some(Delta::Natural)
        }
        (Shape::Number, PropertyView::String(text), Json::Number(raw)) => {
            (text == raw).then_some(Delta::Number)
        }
        (
            Shape::List(element)
            | Shape::Set(element)
            | Shape::FlattenedList(element)
            | Shape::FlattenedSet(element),
            view,
            Json::Array(raw),
        ) => match (view, raw.as_slice()) {
            (PropertyView::Null, []) => Some(Delta::Pluralize(Box::default())),
            (PropertyView::List(elements), raw) if elements.len() == raw.len() => {
                let deltas =
                    elements.iter().zip(raw).map(|(property, raw)| value_delta(property, raw, element));
                Some(Delta::Array(deltas.enumerate().filter(|(_, delta)| *delta != Delta::Natural).collect()))
            }
            (PropertyView::List(_), _) => None,
            (_, [only]) => Some(Delta::Pluralize(Box::new(value_delta(property, only, element)))),
            _ => None,
        },
        (Shape::Map(element), PropertyView::Object(entries), Json::Object(raw))
            if entries.len() == raw.len() =>
        {
            let mut deltas = BTreeMap::new();
            for (key, raw) in raw {
                match value_delta(entries.get(key)?, raw, element) {
                    Delta::Natural => {}
                    delta => {
                        deltas.insert(key.clone(), delta);
                    }
                }
            }
            Some(Delta::Map(deltas))
        }
        (Shape::Object(object), PropertyView::Object(properties), Json::Object(raw)) => {
            object_delta(properties, raw, object, false).map(Delta::Object)
        }
        _ => None,
    }
}

fn object_delta(
    properties: &Struct,
    raw: &[(String, Json)],
    shape: &ObjectShape,
    root: bool,
) -> Option<ObjectDelta> {
    let mut delta = ObjectDelta::default();
    let mut handled = HashSet::with_capacity(raw.len());
    for (name, raw) in raw {
        let field = shape.terraform(name)?;
        handled.insert(field.pulumi.as_str());
        let property = properties.get(&field.pulumi);
        let of_field = property.map(|property| match root && name == TIMEOUTS {
            true => timeouts_delta(property, raw, &field.shape),
            false => field_delta(property, raw, field),
        });
        add(&mut delta, &field.pulumi, name, of_field, raw);
    }
    let unhandled = |name: &&str| !is_reserved(name) && !handled.contains(name);
    delta.ignored = properties.keys().filter(unhandled).map(str::to_owned).collect();
    delta.ignored.sort_unstable();
    Some(delta)
}

/// Timeouts keep their names unchanged.
fn timeouts_delta(property: &Property, raw: &Json, shape: &Shape) -> Delta {
    let (Ok((PropertyView::Object(properties), _)), Json::Object(raw_members)) =
        (property::unwrap(property), raw)
    else {
        return value_delta(property, raw, shape);
    };
    let mut delta = ObjectDelta::default();
    for (name, raw) in raw_members {
        let of_member = properties.get(name).map(|property| match shape {
            Shape::Object(object) => match object.terraform(name) {
                Some(field) => field_delta(property, raw, field),
                None => Delta::Replace(raw.clone()),
            },
            Shape::Map(element) => value_delta(property, raw, element),
            _ => Delta::Replace(raw.clone()),
        });
        add(&mut delta, name, name, of_member, raw);
    }
    let unhandled = |name: &&str| !is_reserved(name) && !raw_members.iter().any(|(raw, _)| raw == name);
    delta.ignored = properties.keys().filter(unhandled).map(str::to_owned).collect();
    delta.ignored.sort_unstable();
    Delta::Object(delta)
}

/// Adds what a property needs; without a property, what adds `raw`.
///
/// The Go bridge adds null by a replacement, which is a secret, and an engine encrypts each secret
/// whenever it writes its state. Both bridges read the empty delta alike.
fn add(delta: &mut ObjectDelta, pulumi: &str, terraform: &str, of_property: Option<Delta>, raw: &Json) {
    if pulumi_to_terraform(pulumi) != terraform {
        delta.renamed.insert(pulumi.to_owned(), terraform.to_owned());
    }
    let of_property = match of_property {
        Some(Delta::Natural) => return,
        Some(of_property) => of_property,
        None if *raw == Json::Null => Delta::Natural,
        None => Delta::Replace(raw.clone()),
    };
    delta.properties.insert(pulumi.to_owned(), of_property);
}
