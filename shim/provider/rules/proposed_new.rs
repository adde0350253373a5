//! The proposed new state: the configuration, with computed values of the prior state.
//!
//! Core's `objchange.ProposedNew`. A provider plans from it: a missing computed value looks like a
//! change.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::{Type, Value};

use super::dynamic_blocks::{join_blocks, split_blocks};
use super::normalise::empty_block;
use super::write_only::without_write_only;
use crate::schema::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting,
};

/// Merges `config` over `prior`. Null `prior`: a creation.
pub fn proposed_new(block: &Block, prior: &Value, config: &Value) -> Value {
    if config.is_null() && prior.is_null() {
        return Value::Null;
    }
    if prior.is_null() {
        return block_over(block, &empty_block(block), config);
    }
    block_over(block, prior, config)
}

/// The configuration with unknown computed values. Core plans data sources so that it cannot read
/// yet.
pub fn planned_from_config(block: &Block, config: &Value) -> Value {
    let planned =
        if config.is_null() { Value::Null } else { block_over(block, &Value::Unknown(None), config) };
    without_write_only(block, planned)
}

fn block_over(block: &Block, prior: &Value, config: &Value) -> Value {
    let Value::Object(configured) = config else {
        // Null or unknown. Only a single block can be, which is handled before.
        return prior.clone();
    };
    let mut proposed = attributes_over(&block.attributes, prior, configured);
    for nested in &block.blocks {
        let prior = attribute_of(prior, &nested.name);
        let config = configured.get(&nested.name).unwrap_or(&Value::Null);
        proposed.insert(nested.name.clone(), nested_block_over(nested, prior, config));
    }
    Value::Object(proposed)
}

fn attributes_over(
    attributes: &[Attribute],
    prior: &Value,
    configured: &BTreeMap<Arc<str>, Value>,
) -> BTreeMap<Arc<str>, Value> {
    attributes
        .iter()
        .map(|attribute| {
            let prior = attribute_of(prior, &attribute.name);
            let config = configured.get(&attribute.name).unwrap_or(&Value::Null);
            (attribute.name.clone(), attribute_over(attribute, prior, config))
        })
        .collect()
}

fn attribute_over(attribute: &Attribute, prior: &Value, config: &Value) -> Value {
    if attribute.computed && config.is_null() {
        return if was_configured(attribute, prior) { Value::Null } else { prior.clone() };
    }
    match &attribute.attribute_type {
        AttributeType::Nested(nested) => nested_attribute_over(nested, prior, config),
        AttributeType::Plain(_) => config.clone(),
    }
}

/// Whether the prior value of an optional and computed nested attribute contains a value that must
/// be from a configuration. Then its absence in the configuration is a removal.
fn was_configured(attribute: &Attribute, prior: &Value) -> bool {
    match &attribute.attribute_type {
        AttributeType::Nested(nested) if attribute.optional => contains_configured(nested, prior),
        AttributeType::Nested(_) | AttributeType::Plain(_) => false,
    }
}

fn contains_configured(nested: &NestedObject, value: &Value) -> bool {
    elements_of(value).into_iter().any(|element| {
        let Value::Object(values) = element else { return false };
        nested.attributes.iter().any(|attribute| {
            let value = values.get(&attribute.name).unwrap_or(&Value::Null);
            if value.is_null() {
                return false;
            }
            match &attribute.attribute_type {
                _ if !attribute.computed => true,
                AttributeType::Nested(inner) => contains_configured(inner, value),
                AttributeType::Plain(_) => false,
            }
        })
    })
}

/// The objects of a nested attribute's value, whatever its nesting.
fn elements_of(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(_) => vec![value],
        Value::List(elements) | Value::Set(elements) | Value::Tuple(elements) => elements.iter().collect(),
        Value::Map(elements) => elements.values().collect(),
        _ => Vec::new(),
    }
}

/// An element of a collection: a block, or the object of a nested attribute. They differ in the
/// handling of null.
#[derive(Clone, Copy)]
enum Element<'a> {
    Block(&'a Block),
    Object(&'a NestedObject),
}

impl Element<'_> {
    fn over(self, prior: &Value, config: &Value) -> Value {
        match self {
            Self::Block(block) => proposed_new(block, prior, config),
            Self::Object(nested) => object_over(nested, prior, config),
        }
    }

    /// Whether `prior` can be the result of `config`, computed values aside.
    fn matches(self, prior: &Value, config: &Value) -> bool {
        match self {
            Self::Block(block) => block_matches(block, prior, config),
            Self::Object(nested) => object_matches(&nested.attributes, prior, config),
        }
    }
}

fn object_over(nested: &NestedObject, prior: &Value, config: &Value) -> Value {
    match config {
        Value::Object(configured) => Value::Object(attributes_over(&nested.attributes, prior, configured)),
        Value::Unknown(_) => {
            let unknown = nested.attributes.iter().map(|each| (each.name.clone(), Value::Unknown(None)));
            let unknown: BTreeMap<Arc<str>, Value> = unknown.collect();
            Value::Object(attributes_over(&nested.attributes, prior, &unknown))
        }
        _ => config.clone(),
    }
}

fn nested_attribute_over(nested: &NestedObject, prior: &Value, config: &Value) -> Value {
    if matches!(config, Value::Unknown(_) | Value::Null) {
        return config.clone();
    }
    let element = Element::Object(nested);
    match nested.nesting {
        ObjectNesting::Single => object_over(nested, prior, config),
        ObjectNesting::List => list_over(element, prior, config),
        ObjectNesting::Set => set_over(element, prior, config),
        ObjectNesting::Map => map_over(element, prior, config),
    }
}

fn nested_block_over(nested: &NestedBlock, prior: &Value, config: &Value) -> Value {
    if !config.is_known() {
        return config.clone();
    }
    if nested.block.computed && config.is_null() {
        // An unconfigured block keeps the provider's value, like a computed attribute.
        return prior.clone();
    }
    let is_wrapped = nested.implied_type == Type::Dynamic;
    let element_type = &nested.block.implied_type;
    let unwrapped = |value| if is_wrapped { split_blocks(value, element_type) } else { Cow::Borrowed(value) };
    let (prior, config) = (unwrapped(prior), unwrapped(config));
    let element = Element::Block(&nested.block);
    let proposed = match nested.nesting {
        BlockNesting::Single if config.is_null() => Value::Null,
        BlockNesting::Single | BlockNesting::Group => proposed_new(&nested.block, &prior, &config),
        BlockNesting::List => list_over(element, &prior, &config),
        BlockNesting::Set => set_over(element, &prior, &config),
        BlockNesting::Map => map_over(element, &prior, &config),
    };
    if is_wrapped { join_blocks(proposed, element_type) } else { proposed }
}

fn list_over(element: Element<'_>, prior: &Value, config: &Value) -> Value {
    let Value::List(configured) = config else { return config.clone() };
    let merged = configured.iter().enumerate().map(|(index, config)| match prior {
        Value::List(elements) => match elements.get(index) {
            Some(prior) => element.over(prior, config),
            None => config.clone(),
        },
        Value::Unknown(_) => element.over(&Value::Unknown(None), config),
        _ => config.clone(),
    });
    Value::List(merged.collect())
}

fn map_over(element: Element<'_>, prior: &Value, config: &Value) -> Value {
    let Value::Map(configured) = config else { return config.clone() };
    let merged = configured.iter().map(|(key, config)| {
        let proposed = match prior {
            Value::Map(elements) => element.over(elements.get(key).unwrap_or(&Value::Null), config),
            Value::Unknown(_) => element.over(&Value::Unknown(None), config),
            _ => element.over(&Value::Null, config),
        };
        (key.clone(), proposed)
    });
    Value::Map(merged.collect())
}

fn set_over(element: Element<'_>, prior: &Value, config: &Value) -> Value {
    let Value::Set(configured) = config else { return config.clone() };
    let elements: &[Value] = if let Value::Set(elements) = prior { elements } else { &[] };
    let absent = if matches!(prior, Value::Unknown(_)) { Value::Unknown(None) } else { Value::Null };
    let mut used = vec![false; elements.len()];
    let merged = configured.iter().map(|config| {
        let found =
            (0..elements.len()).find(|index| !used[*index] && element.matches(&elements[*index], config));
        let prior = match found {
            Some(index) => {
                used[index] = true;
                &elements[index]
            }
            None => &absent,
        };
        element.over(prior, config)
    });
    Value::set(merged)
}

fn block_matches(block: &Block, prior: &Value, config: &Value) -> bool {
    if prior == config {
        return true;
    }
    let (Value::Object(before), Value::Object(configured)) = (prior, config) else { return prior.is_null() };
    attributes_match(&block.attributes, before, configured)
        && block.blocks.iter().all(|nested| {
            let null = Value::Null;
            let element_type = &nested.block.implied_type;
            let prior = split_blocks(before.get(&nested.name).unwrap_or(&null), element_type);
            let config = split_blocks(configured.get(&nested.name).unwrap_or(&null), element_type);
            prior == config
                || match nested.nesting {
                    BlockNesting::Set => false,
                    BlockNesting::Single | BlockNesting::Group => {
                        block_matches(&nested.block, &prior, &config)
                    }
                    BlockNesting::List | BlockNesting::Map => {
                        elements_match(Element::Block(&nested.block), &prior, &config)
                    }
                }
        })
}

fn object_matches(attributes: &[Attribute], prior: &Value, config: &Value) -> bool {
    if prior == config {
        return true;
    }
    match (prior, config) {
        (Value::Object(before), Value::Object(configured)) => {
            attributes_match(attributes, before, configured)
        }
        _ => prior.is_null(),
    }
}

fn attributes_match(
    attributes: &[Attribute],
    before: &BTreeMap<Arc<str>, Value>,
    configured: &BTreeMap<Arc<str>, Value>,
) -> bool {
    let null = Value::Null;
    attributes.iter().all(|attribute| {
        let prior = before.get(&attribute.name).unwrap_or(&null);
        let config = configured.get(&attribute.name).unwrap_or(&null);
        if prior == config {
            return true;
        }
        if matches!(attribute.attribute_type.implied_type(), Type::Set(_)) {
            // Elements of a nested set have no paths, so core gives up here.
            return false;
        }
        match &attribute.attribute_type {
            AttributeType::Plain(_) => attribute.computed && config.is_null(),
            AttributeType::Nested(nested) if nested.nesting == ObjectNesting::Single => {
                object_matches(&nested.attributes, prior, config)
            }
            AttributeType::Nested(nested) => elements_match(Element::Object(nested), prior, config),
        }
    })
}

/// Compares lists and maps element by element; both must have the same elements.
fn elements_match(element: Element<'_>, prior: &Value, config: &Value) -> bool {
    match (prior, config) {
        (Value::List(before), Value::List(configured)) => before
            .iter()
            .enumerate()
            .all(|(index, prior)| configured.get(index).is_some_and(|config| element.matches(prior, config))),
        (Value::Map(before), Value::Map(configured)) => before
            .iter()
            .all(|(key, prior)| configured.get(key).is_some_and(|config| element.matches(prior, config))),
        (Value::List(before), _) => before.is_empty(),
        (Value::Map(before), _) => before.is_empty(),
        _ => prior.is_null(),
    }
}

/// An attribute of an object that may be null or unknown.
fn attribute_of<'a>(object: &'a Value, name: &str) -> &'a Value {
    match object {
        Value::Object(attributes) => attributes.get(name).unwrap_or(&Value::Null),
        Value::Unknown(_) => &Value::Unknown(None),
        _ => &Value::Null,
    }
}

#[cfg(test)]
mod tests;
