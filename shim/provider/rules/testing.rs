//! Values for the tests of the rules, in JSON.
//!
//! `"?"` is unknown. Missing attributes are null, and missing blocks absent, so that a test
//! contains only what it is about.

use isthmus_cty::{Number, Type, Value, normalize};
use serde_json::Value as Json;

use super::normalise::absent_blocks;
use super::{Violation, join_blocks};
use crate::schema::{Block, BlockNesting, NestedBlock};

/// Parses a value of `block`; `null` and `"?"` are possible too.
pub(crate) fn object(block: &Block, text: &str) -> Value {
    let json = serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    of_block(block, &json)
}

/// Violations in the form of the tables.
pub(super) fn lines(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join(" // ")
}

/// The rows of a table of cases, with cells separated by `|`. A line that begins with `|` continues
/// the previous row; one that begins with `#` is a comment.
pub(super) fn rows<const CELLS: usize>(table: &str) -> Vec<[&str; CELLS]> {
    let (mut starts, mut at) = (Vec::new(), 0);
    for line in table.split_inclusive('\n') {
        let text = line.trim();
        if !(text.is_empty() || text.starts_with(['|', '#'])) {
            starts.push(at);
        }
        at += line.len();
    }
    assert!(!starts.is_empty(), "a table has rows");
    let ends = starts.iter().skip(1).copied().chain([table.len()]);
    let row = |(start, end): (&usize, usize)| {
        let row = table[*start..end].split('#').next().unwrap_or_default();
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        <[&str; CELLS]>::try_from(cells).unwrap_or_else(|cells| panic!("{CELLS} cells: {cells:?}"))
    };
    starts.iter().zip(ends).map(row).collect()
}

fn of_block(block: &Block, json: &Json) -> Value {
    let Json::Object(members) = json else { return value(json, &block.implied_type) };
    for name in members.keys() {
        let is_there = block.attributes.iter().any(|attribute| *attribute.name == **name)
            || block.blocks.iter().any(|nested| *nested.name == **name);
        assert!(is_there, "the schema has no {name}");
    }
    let attributes = block.attributes.iter().map(|attribute| {
        let json = members.get(&*attribute.name).unwrap_or(&Json::Null);
        (attribute.name.clone(), value(json, attribute.attribute_type.implied_type()))
    });
    let blocks = block.blocks.iter().map(|nested| {
        let written = members.get(&*nested.name);
        (nested.name.clone(), written.map_or_else(|| absent_blocks(nested), |json| of_blocks(nested, json)))
    });
    Value::Object(attributes.chain(blocks).collect())
}

fn of_blocks(nested: &NestedBlock, json: &Json) -> Value {
    let block = &nested.block;
    let blocks = match (nested.nesting, json) {
        (BlockNesting::List, Json::Array(items)) => {
            Value::list(items.iter().map(|item| of_block(block, item)))
        }
        (BlockNesting::Set, Json::Array(items)) => Value::set(items.iter().map(|item| of_block(block, item))),
        (BlockNesting::Map, Json::Object(members)) => {
            Value::map(members.iter().map(|(key, member)| (key, of_block(block, member))))
        }
        (BlockNesting::Single | BlockNesting::Group, json) => return of_block(block, json),
        (_, json) => return value(json, &nested.implied_type),
    };
    if nested.implied_type == Type::Dynamic { join_blocks(blocks, &block.implied_type) } else { blocks }
}

fn value(json: &Json, own: &Type) -> Value {
    match (json, own) {
        (Json::Null, _) => Value::Null,
        (Json::String(text), _) if text == "?" => Value::unknown(),
        (json, Type::Dynamic) => {
            let own = type_of(json);
            let inner = value(json, &own);
            Value::dynamic(own, inner)
        }
        (Json::Bool(flag), Type::Bool) => Value::Bool(*flag),
        (Json::Number(number), Type::Number) => {
            Value::number(Number::from_decimal(&number.to_string()).expect("a number of JSON"))
        }
        (Json::String(text), Type::String) => Value::string(text),
        (Json::Array(items), Type::List(element)) => {
            Value::list(items.iter().map(|item| value(item, element)))
        }
        (Json::Array(items), Type::Set(element)) => Value::set(items.iter().map(|item| value(item, element))),
        (Json::Array(items), Type::Tuple(types)) => {
            Value::tuple(items.iter().zip(types.iter()).map(|(item, own)| value(item, own)))
        }
        (Json::Object(members), Type::Map(element)) => {
            Value::map(members.iter().map(|(key, member)| (key, value(member, element))))
        }
        (Json::Object(members), Type::Object(object)) => {
            for name in members.keys() {
                assert!(object.attributes.contains_key(&normalize(name)), "the type has no {name}");
            }
            Value::object(
                object
                    .attributes
                    .iter()
                    .map(|(name, own)| (name, value(members.get(&**name).unwrap_or(&Json::Null), own))),
            )
        }
        (json, own) => panic!("{json} is no {own}"),
    }
}

/// The type inferred from JSON.
fn type_of(json: &Json) -> Type {
    match json {
        Json::Null => Type::Dynamic,
        Json::Bool(_) => Type::Bool,
        Json::Number(_) => Type::Number,
        Json::String(text) if text == "?" => Type::Dynamic,
        Json::String(_) => Type::String,
        Json::Array(items) => Type::tuple(items.iter().map(type_of)),
        Json::Object(members) => {
            Type::object(members.iter().map(|(name, member)| (name.as_str(), type_of(member))))
        }
    }
}
