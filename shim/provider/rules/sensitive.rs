//! Sensitive attributes of a schema, as paths into a value.
//!
//! Terraform and OpenTofu store these paths with the value, so that readers of a state can redact
//! it without the provider's schema.

use isthmus_cty::{AttributePath, PathStep, Value};

use super::write_only::each_element;
use crate::schema::{Attribute, AttributeType, Block, BlockNesting, ObjectNesting};

/// Sensitive paths of `value` by the schema, including null values. A set is sensitive as a whole
/// if it has elements and they contain anything sensitive, because no path leads into it.
pub fn sensitive_paths(block: &Block, value: &Value) -> Vec<AttributePath> {
    let mut found = Vec::new();
    visit_block(block, value, &mut AttributePath::default(), &mut found);
    found
}

/// Passes every secret part of `value` to `visit`: sensitive and write-only attributes. Without any
/// in the schema, the value is skipped.
pub(crate) fn each_secret(block: &Block, value: &Value, visit: &mut dyn FnMut(&Value)) {
    if !block.has_secrets {
        return;
    }
    each_secret_attribute(&block.attributes, value, visit);
    let Value::Object(values) = value.inner() else { return };
    for nested in block.blocks.iter().filter(|nested| nested.block.has_secrets) {
        let Some(inner) = values.get(&nested.name) else { continue };
        let is_one = matches!(nested.nesting, BlockNesting::Single | BlockNesting::Group);
        each_member(inner, is_one, &mut |element| each_secret(&nested.block, element, visit));
    }
}

fn each_secret_attribute(attributes: &[Attribute], value: &Value, visit: &mut dyn FnMut(&Value)) {
    let Value::Object(values) = value.inner() else { return };
    for attribute in attributes.iter().filter(|attribute| attribute.has_secrets()) {
        let Some(inner) = values.get(&attribute.name) else { continue };
        match &attribute.attribute_type {
            AttributeType::Nested(nested) if !(attribute.sensitive || attribute.write_only) => {
                each_member(inner, nested.nesting == ObjectNesting::Single, &mut |element| {
                    each_secret_attribute(&nested.attributes, element, visit);
                });
            }
            AttributeType::Nested(_) | AttributeType::Plain(_) => visit(inner),
        }
    }
}

/// The value itself if it is single, else its elements.
fn each_member(value: &Value, is_one: bool, visit: &mut dyn FnMut(&Value)) {
    match value.inner() {
        value if is_one => visit(value),
        Value::List(elements) | Value::Tuple(elements) => elements.iter().for_each(visit),
        Value::Set(elements) => elements.iter().for_each(visit),
        Value::Map(elements) | Value::Object(elements) => elements.values().for_each(visit),
        Value::Null
        | Value::Unknown(_)
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Dynamic(_) => {}
    }
}

fn visit_block(block: &Block, value: &Value, path: &mut AttributePath, found: &mut Vec<AttributePath>) {
    visit_attributes(&block.attributes, value, path, found);
    let Value::Object(values) = value else { return };
    for nested in &block.blocks {
        let Some(inner) = values.get(&nested.name) else { continue };
        path.push(PathStep::Attribute(nested.name.clone()));
        if let Value::Set(elements) = inner {
            if !elements.is_empty() && has_sensitive(&nested.block) {
                found.push(path.clone());
            }
        } else {
            each_element(inner, path, &mut |element, path| visit_block(&nested.block, element, path, found));
        }
        path.pop();
    }
}

fn visit_attributes(
    attributes: &[Attribute],
    value: &Value,
    path: &mut AttributePath,
    found: &mut Vec<AttributePath>,
) {
    let Value::Object(values) = value else { return };
    for attribute in attributes {
        let Some(inner) = values.get(&attribute.name) else { continue };
        path.push(PathStep::Attribute(attribute.name.clone()));
        match &attribute.attribute_type {
            _ if attribute.sensitive => found.push(path.clone()),
            AttributeType::Plain(_) => {}
            AttributeType::Nested(nested) => match inner {
                Value::Set(elements) => {
                    if !elements.is_empty() && has_sensitive_attribute(&nested.attributes) {
                        found.push(path.clone());
                    }
                }
                inner => each_element(inner, path, &mut |element, path| {
                    visit_attributes(&nested.attributes, element, path, found);
                }),
            },
        }
        path.pop();
    }
}

/// Whether anything in a block is sensitive.
pub fn has_sensitive(block: &Block) -> bool {
    has_sensitive_attribute(&block.attributes)
        || block.blocks.iter().any(|nested| has_sensitive(&nested.block))
}

fn has_sensitive_attribute(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let within = match &attribute.attribute_type {
            AttributeType::Nested(nested) => has_sensitive_attribute(&nested.attributes),
            AttributeType::Plain(_) => false,
        };
        attribute.sensitive || within
    })
}

#[cfg(test)]
mod tests {
    use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Mode;
    use isthmus_proto::tfplugin6::schema::object::NestingMode as ObjectMode;

    use super::*;
    use crate::schema::testing::{attribute, block, compiled, nested_attribute, nested_block};

    #[test]
    fn paths_lead_to_what_is_sensitive_and_end_at_sets() {
        let secret = || attribute("secret", "\"string\"", "os");
        let inner = || block(vec![attribute("open", "\"string\"", "o"), secret()], vec![]);
        let schema = compiled(block(
            vec![
                secret(),
                attribute("plain", "\"string\"", "o"),
                nested_attribute("list", ObjectMode::List, "o", vec![secret()]),
                nested_attribute("map", ObjectMode::Map, "o", vec![secret()]),
                nested_attribute("set", ObjectMode::Set, "o", vec![secret()]),
                nested_attribute("single", ObjectMode::Single, "os", vec![secret()]),
                nested_attribute("none", ObjectMode::Single, "o", vec![secret()]),
            ],
            vec![
                nested_block("blocks", Mode::List, inner()),
                nested_block("set_blocks", Mode::Set, inner()),
                nested_block(
                    "open_blocks",
                    Mode::Set,
                    block(vec![attribute("a", "\"string\"", "o")], vec![]),
                ),
            ],
        ));
        let object = || Value::object([("secret", Value::string("hunter2"))]);
        let value = Value::object([
            ("secret", Value::Null),
            ("plain", Value::string("x")),
            ("list", Value::list([object(), object()])),
            ("map", Value::map([("k", object())])),
            ("set", Value::set(vec![object()])),
            ("single", object()),
            ("none", Value::Null),
            ("blocks", Value::list([object()])),
            ("set_blocks", Value::set(vec![object()])),
            ("open_blocks", Value::set(vec![])),
        ]);
        let mut secrets = Vec::new();
        each_secret(&schema, &value, &mut |secret| secrets.push(secret.clone()));
        let hidden = || Value::string("hunter2");
        assert_eq!(
            secrets,
            [hidden(), hidden(), hidden(), Value::Null, hidden(), object(), hidden(), hidden()],
            "each by itself, in sets too"
        );

        let found: Vec<String> = sensitive_paths(&schema, &value).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "list[0].secret",
                "list[1].secret",
                "map[\"k\"].secret",
                "secret",
                "set",
                "single",
                "blocks[0].secret",
                "set_blocks"
            ]
        );
    }
}
