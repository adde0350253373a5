//! Write-only attributes: values in the configuration only.

use std::collections::BTreeSet;
use std::convert::Infallible;

use isthmus_cty::{AttributePath, PathStep, Value};

use crate::schema::{Attribute, AttributeType, Block};

/// Write-only attributes of `value` that are not null. A plan or a state must have none.
pub(crate) fn write_only_paths(block: &Block, value: &Value) -> Vec<AttributePath> {
    let mut found = Vec::new();
    visit_block(block, value, &mut AttributePath::default(), &mut |path| found.push(path.clone()));
    found
}

/// The value with null for each write-only attribute.
pub(crate) fn without_write_only(block: &Block, value: Value) -> Value {
    let found: BTreeSet<AttributePath> =
        write_only_paths(block, &value).into_iter().map(with_keys_as_attributes).collect();
    if found.is_empty() {
        return value;
    }
    let cleared = value.transform(&mut |path, part| {
        let is_write_only = found.contains(&with_keys_as_attributes(path.clone()));
        Ok::<_, Infallible>(if is_write_only { Value::Null } else { part })
    });
    match cleared {
        Ok(cleared) => cleared,
        Err(never) => match never {},
    }
}

/// A map of blocks is an object if it has a dynamic attribute, so both kinds of step are
/// equivalent.
fn with_keys_as_attributes(path: AttributePath) -> AttributePath {
    path.into_iter()
        .map(|step| match step {
            PathStep::Key(name) => PathStep::Attribute(name),
            step @ (PathStep::Attribute(_) | PathStep::Index(_) | PathStep::Element(_)) => step,
        })
        .collect()
}

fn visit_block(
    block: &Block,
    value: &Value,
    path: &mut AttributePath,
    found: &mut dyn FnMut(&AttributePath),
) {
    visit_attributes(&block.attributes, value, path, found);
    let Value::Object(values) = value else { return };
    for nested in &block.blocks {
        if let Some(inner) = values.get(&nested.name) {
            path.0.push(PathStep::Attribute(nested.name.clone()));
            each_element(inner, path, &mut |element, path| visit_block(&nested.block, element, path, found));
            path.0.pop();
        }
    }
}

fn visit_attributes(
    attributes: &[Attribute],
    value: &Value,
    path: &mut AttributePath,
    found: &mut dyn FnMut(&AttributePath),
) {
    let Value::Object(values) = value else { return };
    for attribute in attributes {
        let Some(inner) = values.get(&attribute.name) else { continue };
        path.0.push(PathStep::Attribute(attribute.name.clone()));
        if attribute.write_only {
            if !inner.is_null() {
                found(path);
            }
        } else if let AttributeType::Nested(nested) = &attribute.attribute_type {
            each_element(inner, path, &mut |element, path| {
                visit_attributes(&nested.attributes, element, path, found)
            });
        }
        path.0.pop();
    }
}

/// Visits the objects in a nested block or attribute.
pub(super) fn each_element(
    value: &Value,
    path: &mut AttributePath,
    visit: &mut dyn FnMut(&Value, &mut AttributePath),
) {
    let mut at = |step: PathStep, element: &Value| {
        path.push(step);
        visit(element, path);
        path.pop();
    };
    match value {
        Value::Object(_) => visit(value, path),
        Value::List(elements) => {
            elements.iter().enumerate().for_each(|(index, element)| at(PathStep::Index(index), element));
        }
        Value::Set(elements) => {
            elements.iter().for_each(|element| at(PathStep::Element(Box::new(element.clone())), element));
        }
        Value::Map(elements) => {
            elements.iter().for_each(|(key, element)| at(PathStep::Key(key.clone()), element));
        }
        // With a dynamic attribute, the list is a tuple, and the map an object.
        Value::Dynamic(wrapped) => match &wrapped.1 {
            Value::Tuple(elements) => {
                elements.iter().enumerate().for_each(|(index, element)| at(PathStep::Index(index), element));
            }
            Value::Object(elements) => {
                elements.iter().for_each(|(key, element)| at(PathStep::Key(key.clone()), element));
            }
            _ => {}
        },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Mode;
    use isthmus_proto::tfplugin6::schema::object::NestingMode as ObjectMode;

    use super::super::testing::object;
    use super::*;
    use crate::schema::testing::{attribute, block, compiled, nested_attribute, nested_block};

    fn schema() -> Block {
        let secret = || attribute("secret", "\"string\"", "ow");
        let inner = || block(vec![secret()], vec![]);
        let dynamic = || block(vec![attribute("any", "\"dynamic\"", "o"), secret()], vec![]);
        compiled(block(
            vec![
                attribute("name", "\"string\"", "o"),
                nested_attribute("items", ObjectMode::List, "o", vec![secret()]),
                nested_attribute("keyed", ObjectMode::Map, "o", vec![secret()]),
                nested_attribute("one", ObjectMode::Single, "o", vec![secret()]),
                secret(),
            ],
            vec![
                nested_block("group", Mode::Group, inner()),
                nested_block("list", Mode::List, inner()),
                nested_block("mapped", Mode::Map, dynamic()),
                nested_block("open", Mode::List, dynamic()),
                nested_block("single", Mode::Single, inner()),
            ],
        ))
    }

    #[test]
    fn write_only_values_are_found_wherever_they_are() {
        let schema = schema();
        for (given, expected) in [
            (r#"{"name": "n"}"#, ""),
            ("null", ""),
            (r#"{"secret": "s"}"#, "secret"),
            (r#"{"secret": "?"}"#, "secret"),
            (r#"{"items": [{}, {"secret": "s"}]}"#, "items[1].secret"),
            (r#"{"keyed": {"k": {"secret": "s"}}}"#, "keyed[\"k\"].secret"),
            (r#"{"one": {"secret": "s"}}"#, "one.secret"),
            (r#"{"one": "?", "list": "?"}"#, ""),
            (r#"{"group": {"secret": "s"}}"#, "group.secret"),
            (r#"{"list": [{"secret": "s"}, {"secret": "s"}]}"#, "list[0].secret list[1].secret"),
            (r#"{"single": {"secret": "s"}}"#, "single.secret"),
            (r#"{"open": [{"any": 1}, {"any": true, "secret": "s"}]}"#, "open[1].secret"),
            (r#"{"mapped": {"k": {"secret": "s"}}}"#, "mapped[\"k\"].secret"),
        ] {
            let value = object(&schema, given);
            let found: Vec<String> =
                write_only_paths(&schema, &value).iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" "), expected, "{given}");
            let without = without_write_only(&schema, value.clone());
            assert_eq!(write_only_paths(&schema, &without), [], "{given} became {without:?}");
            assert_eq!(without == value, found.is_empty(), "{given} became {without:?}");
        }
    }

    #[test]
    fn taking_write_only_values_out_leaves_the_rest() {
        let schema = schema();
        let value = object(&schema, r#"{"name": "n", "secret": "s", "open": [{"any": 1, "secret": "s"}]}"#);
        let expected = object(&schema, r#"{"name": "n", "open": [{"any": 1}]}"#);
        assert_eq!(without_write_only(&schema, value), expected);
    }
}
