//! What follows an import: a configuration made from the state, and reads that withhold what an API
//! never returns.

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::Value;

use crate::provider::Provider;
use crate::resource::{Answer, Outcome};
use crate::resource_entry::ResourceEntry;
use crate::schema::{Attribute, Block, Presence, Shape};

/// The configuration of a state: what can be set and does not equal its default.
pub(crate) fn config(block: &Block, state: &Value) -> Value {
    adapted(block, state, Value::Null, &|attribute, value, _| {
        let is_set = attribute.presence != Presence::Computed && attribute.default.as_ref() != Some(&value);
        if is_set { value } else { Value::Null }
    })
}

/// With `SANDBOX_SENSITIVE=withheld`, the outcome of a read with what `sent` has of sensitive
/// attributes.
pub(crate) fn withheld(
    provider: &Provider,
    entry: &ResourceEntry,
    outcome: Outcome,
    sent: &Value,
) -> Outcome {
    let state = match outcome.state {
        Answer::State(state) if provider.misbehaviour().withholds_sensitive => {
            let keep = |attribute: &Attribute, value, known: &Value| {
                if attribute.sensitive { known.clone() } else { value }
            };
            Answer::State(adapted(&entry.schema.block, &state, sent.clone(), &keep))
        }
        state => state,
    };
    Outcome { state, ..outcome }
}

type Adapt<'a> = &'a dyn Fn(&Attribute, Value, &Value) -> Value;

/// Every attribute of `value` adapted, given its counterpart in `other`. Elements of sets have none.
fn adapted(block: &Block, value: &Value, other: Value, adapt: Adapt<'_>) -> Value {
    elements(value, &other, &|value, other| {
        let Value::Object(members) = value else { return value.clone() };
        let mut members = attributes(&block.attributes, members, other, adapt);
        for nested in &block.blocks {
            if let Some(value) = members.get(nested.name) {
                let inner = adapted(&nested.block, value, member(other, nested.name), adapt);
                members.insert(Arc::from(nested.name), inner);
            }
        }
        Value::Object(members)
    })
}

fn attributes(
    of: &[Attribute],
    members: &BTreeMap<Arc<str>, Value>,
    other: &Value,
    adapt: Adapt<'_>,
) -> BTreeMap<Arc<str>, Value> {
    let mut members = members.clone();
    for attribute in of {
        let Some(value) = members.get(attribute.name) else { continue };
        let known = member(other, attribute.name);
        let value = match &attribute.shape {
            Shape::Plain(_) => value.clone(),
            Shape::Nested(_, inner) => elements(value, &known, &|value, other| match value {
                Value::Object(members) => Value::Object(attributes(inner, members, other, adapt)),
                value => value.clone(),
            }),
        };
        members.insert(Arc::from(attribute.name), adapt(attribute, value, &known));
    }
    members
}

/// The objects in a value, with their counterparts.
fn elements(value: &Value, other: &Value, adapt: &dyn Fn(&Value, &Value) -> Value) -> Value {
    match value {
        Value::List(elements) => {
            let at = |index: usize| match other {
                Value::List(others) => others.get(index).cloned().unwrap_or(Value::Null),
                _ => Value::Null,
            };
            Value::List(elements.iter().enumerate().map(|(index, value)| adapt(value, &at(index))).collect())
        }
        Value::Set(elements) => Value::set(elements.iter().map(|value| adapt(value, &Value::Null))),
        Value::Map(entries) => Value::Map(
            entries.iter().map(|(key, value)| (key.clone(), adapt(value, &member(other, key)))).collect(),
        ),
        value => adapt(value, other),
    }
}

fn member(of: &Value, name: &str) -> Value {
    match of {
        Value::Object(members) => members.get(name).cloned().unwrap_or(Value::Null),
        Value::Map(entries) => entries.get(name).cloned().unwrap_or(Value::Null),
        _ => Value::Null,
    }
}
