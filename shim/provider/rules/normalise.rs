//! Values of absent blocks.
//!
//! Absent blocks are never null, except single ones. Providers on the legacy type system return
//! null, so their reads are normalized (core's `NormalizeObjectFromLegacySDK`). Core does not
//! normalize plans, applies and imports: it returns plans to the provider unchanged, and reads
//! applied or imported objects before it plans again.

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::{ObjectType, Type, Value};

use crate::schema::{AttributeType, Block, BlockNesting, NestedBlock};

/// An object of `block` without attributes and blocks.
pub fn empty_block(block: &Block) -> Value {
    let attributes = block.attributes.iter().map(|attribute| (attribute.name.clone(), Value::Null));
    let blocks = block.blocks.iter().map(|nested| (nested.name.clone(), absent_blocks(nested)));
    Value::Object(attributes.chain(blocks).collect())
}

/// The value of nested blocks if there are none.
pub(crate) fn absent_blocks(nested: &NestedBlock) -> Value {
    let is_wrapped = nested.implied_type == Type::Dynamic;
    match nested.nesting {
        BlockNesting::Single => Value::Null,
        BlockNesting::Group => empty_block(&nested.block),
        // Only the provider fills it: null leaves it to the provider, while an empty list would
        // request none.
        BlockNesting::List | BlockNesting::Set | BlockNesting::Map if nested.block.computed => Value::Null,
        BlockNesting::Set => Value::Set(Vec::new()),
        BlockNesting::List if is_wrapped => {
            Value::Dynamic(Box::new((Type::Tuple(Arc::from([])), Value::Tuple(Vec::new()))))
        }
        BlockNesting::List => Value::List(Vec::new()),
        BlockNesting::Map if is_wrapped => Value::Dynamic(Box::new((
            Type::Object(Arc::new(ObjectType::default())),
            Value::Object(BTreeMap::new()),
        ))),
        BlockNesting::Map => Value::Map(BTreeMap::new()),
    }
}

/// Replaces null blocks by core's values, in results of ReadResource only. Schemas that are not of
/// the legacy SDK are excluded: there a null block is a fault. Unknown blocks are excluded too,
/// because reads must not contain them.
pub(crate) fn normalise_blocks(block: &Block, value: Value) -> Value {
    if cannot_be_legacy(block) { value } else { normalise(block, value) }
}

fn normalise(block: &Block, value: Value) -> Value {
    let Value::Object(mut attributes) = value else { return value };
    for nested in &block.blocks {
        let Some(slot) = attributes.get_mut(&nested.name) else { continue };
        let written = std::mem::replace(slot, Value::Null);
        *slot = normalise_position(nested, written);
    }
    Value::Object(attributes)
}

fn normalise_position(nested: &NestedBlock, value: Value) -> Value {
    if nested.block.implied_type.is_dynamic_inside() {
        // The legacy SDK has no dynamic attributes.
        return value;
    }
    match (nested.nesting, value) {
        (BlockNesting::List | BlockNesting::Set | BlockNesting::Group, Value::Null) => absent_blocks(nested),
        (BlockNesting::Single | BlockNesting::Group, value) => normalise(&nested.block, value),
        (BlockNesting::List, Value::List(elements)) => {
            Value::List(elements.into_iter().map(|element| normalise(&nested.block, element)).collect())
        }
        (BlockNesting::Set, Value::Set(elements)) => {
            Value::set(elements.into_iter().map(|element| normalise(&nested.block, element)))
        }
        // Nor has it maps of blocks.
        (_, value) => value,
    }
}

/// Whether any of the schema's blocks has what the legacy SDK does not support.
fn cannot_be_legacy(block: &Block) -> bool {
    block.computed
        || block.attributes.iter().any(|attribute| match &attribute.attribute_type {
            AttributeType::Nested(_) => true,
            AttributeType::Plain(plain) => is_beyond_legacy(plain),
        })
        || block.blocks.iter().any(|nested| cannot_be_legacy(&nested.block))
}

/// Core's list: tuples and objects, maps of objects, and collections of collections of anything but
/// primitives.
fn is_beyond_legacy(plain: &Type) -> bool {
    let element = match plain {
        Type::Tuple(_) | Type::Object(_) => return true,
        Type::Bool | Type::Number | Type::String | Type::Dynamic => return false,
        Type::Map(element) if matches!(**element, Type::Object(_)) => return true,
        Type::List(element) | Type::Set(element) | Type::Map(element) => element,
    };
    match &**element {
        Type::List(inner) | Type::Set(inner) | Type::Map(inner) => !inner.is_primitive(),
        Type::Bool | Type::Number | Type::String | Type::Dynamic | Type::Object(_) | Type::Tuple(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Mode;
    use isthmus_proto::tfplugin6::schema::object::NestingMode as ObjectMode;

    use super::super::testing::object;
    use super::*;
    use crate::schema::testing::{attribute, block, compiled, nested_attribute, nested_block};

    fn text(name: &str) -> crate::schema::testing::AttributeMessage {
        attribute(name, "\"string\"", "o")
    }

    fn every_nesting() -> Block {
        let inner =
            || block(vec![text("a")], vec![nested_block("deep", Mode::List, block(vec![text("x")], vec![]))]);
        compiled(block(
            vec![text("name")],
            vec![
                nested_block("group", Mode::Group, inner()),
                nested_block("list", Mode::List, inner()),
                nested_block("map", Mode::Map, inner()),
                nested_block("set", Mode::Set, inner()),
                nested_block("single", Mode::Single, inner()),
            ],
        ))
    }

    #[test]
    fn an_object_without_blocks_has_empty_ones_and_null_single_ones() {
        assert_eq!(
            format!("{:?}", empty_block(&every_nesting())),
            r#"{"group": {"a": null, "deep": []}, "list": [], "map": map{}, "name": null, "set": {}, "single": null}"#
        );
    }

    #[test]
    fn absent_blocks_in_which_something_is_dynamic_are_empty_tuples_and_objects() {
        let dynamic = || block(vec![attribute("d", "\"dynamic\"", "o")], vec![]);
        let schema = compiled(block(
            vec![],
            vec![nested_block("list", Mode::List, dynamic()), nested_block("map", Mode::Map, dynamic())],
        ));
        assert_eq!(
            format!("{:?}", empty_block(&schema)),
            r#"{"list": (tuple: tuple[]), "map": (object: {})}"#
        );
    }

    #[test]
    fn absent_blocks_that_the_provider_fills_are_null() {
        let mut filled = block(vec![attribute("a", "\"string\"", "c")], vec![]);
        filled.computed = true;
        let schema = compiled(block(vec![], vec![nested_block("list", Mode::List, filled)]));
        assert_eq!(format!("{:?}", empty_block(&schema)), r#"{"list": null}"#);
    }

    #[test]
    fn null_blocks_of_the_legacy_sdk_become_what_core_takes_them_for() {
        let schema = every_nesting();
        for (given, expected) in [
            (r#"{"list": null, "set": null, "group": null, "single": null}"#, "{}"),
            (r#"{"map": null}"#, r#"{"map": null}"#),
            (r#"{"map": {"k": {"deep": null}}}"#, r#"{"map": {"k": {"deep": null}}}"#),
            (r#"{"list": [{"a": "1", "deep": null}]}"#, r#"{"list": [{"a": "1"}]}"#),
            (r#"{"set": [{"a": "1", "deep": null}]}"#, r#"{"set": [{"a": "1"}]}"#),
            (r#"{"single": {"deep": null}}"#, r#"{"single": {}}"#),
            (r#"{"group": {"deep": null}}"#, "{}"),
            (r#"{"list": [null]}"#, r#"{"list": [null]}"#),
            (r#"{"name": "?", "list": "?"}"#, r#"{"name": "?", "list": "?"}"#),
            ("null", "null"),
        ] {
            let normalised = normalise_blocks(&schema, object(&schema, given));
            assert_eq!(normalised, object(&schema, expected), "{given}");
        }
    }

    #[test]
    fn a_schema_that_cannot_come_from_the_legacy_sdk_is_left_alone() {
        for (name, attribute, is_legacy) in [
            ("a list of strings", attribute("x", r#"["list","string"]"#, "o"), true),
            ("a list of objects", attribute("x", r#"["list",["object",{"a":"bool"}]]"#, "c"), true),
            ("a map of lists of strings", attribute("x", r#"["map",["list","string"]]"#, "c"), true),
            ("something dynamic", attribute("x", "\"dynamic\"", "o"), true),
            ("an object", attribute("x", r#"["object",{"a":"bool"}]"#, "o"), false),
            ("a tuple", attribute("x", r#"["tuple",["bool"]]"#, "o"), false),
            ("a map of objects", attribute("x", r#"["map",["object",{"a":"bool"}]]"#, "o"), false),
            ("a list of lists of objects", attribute("x", r#"["list",["list",["object",{}]]]"#, "o"), false),
            ("a map of maps of lists", attribute("x", r#"["map",["map",["list","bool"]]]"#, "o"), false),
            ("a nested attribute", nested_attribute("x", ObjectMode::Single, "o", vec![text("a")]), false),
        ] {
            // The decisive attribute may be nested.
            let inner = block(vec![attribute], vec![]);
            let schema = compiled(block(vec![], vec![nested_block("list", Mode::List, inner)]));
            let normalised = normalise_blocks(&schema, object(&schema, r#"{"list": null}"#));
            // A block with a dynamic attribute is unchanged.
            let changes = is_legacy && !schema.implied_type.is_dynamic_inside();
            assert_eq!(normalised == object(&schema, "{}"), changes, "{name}: {normalised:?}");
        }
    }
}
