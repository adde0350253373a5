//! Bags, values and paths for tests, beside the schemas and shapes of the package crate.

use std::sync::Arc;

use isthmus_cty::{AttributePath, PathStep, Type, Value};
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_provider::schema::{Attribute, Block, BlockNesting, NestedBlock};

use super::property_path::PropertyPath;
pub use isthmus_package::testing::shapes::*;

pub fn object_value(fields: &[(&str, Value)]) -> Value {
    Value::Object(fields.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect())
}

pub fn bag(fields: &[(&str, Property)]) -> Struct {
    fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

pub fn object(fields: &[(&str, Property)]) -> Property {
    Property::Struct(bag(fields))
}

pub fn list(elements: &[Property]) -> Property {
    Property::List(elements.to_vec())
}

pub fn path(text: &str) -> PropertyPath {
    text.parse().expect("a property path")
}

/// `a.0.b`: numbers are indices, everything else attributes.
pub fn attribute_path(text: &str) -> AttributePath {
    let steps = text.split('.').filter(|step| !step.is_empty()).map(|step| match step.parse() {
        Ok(index) => PathStep::Index(index),
        Err(_) => PathStep::Attribute(step.into()),
    });
    AttributePath(steps.collect())
}

/// Parses a property bag from JSON.
pub fn properties(text: &str) -> Property {
    fn convert(json: &serde_json::Value) -> Property {
        match json {
            serde_json::Value::Null => Property::Null,
            serde_json::Value::Bool(value) => Property::Bool(*value),
            serde_json::Value::Number(number) => Property::Number(number.as_f64().expect("a finite number")),
            serde_json::Value::String(text) => Property::from(text.as_str()),
            serde_json::Value::Array(elements) => Property::List(elements.iter().map(convert).collect()),
            serde_json::Value::Object(members) => Property::Struct(
                members.iter().map(|(name, member)| (name.clone(), convert(member))).collect(),
            ),
        }
    }
    convert(&serde_json::from_str(text).expect("a JSON document"))
}

/// Choices derived from bytes, so that a failing case shrinks to few of them. Without bytes, every
/// choice is the first.
#[derive(Debug)]
pub struct Choices<'a>(pub(super) &'a [u8]);

impl Choices<'_> {
    /// A number below `end`.
    fn below(&mut self, end: u8) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                first % end
            }
            None => 0,
        }
    }

    /// A block with a few attributes and nested blocks of every kind.
    pub fn block(&mut self, depth: u8) -> Block {
        const NAMES: [&str; 7] = ["id", "name", "access_keys", "cache_", "http2_port", "UPPER", "timeouts"];
        let mut names = NAMES.iter();
        let attributes = names
            .by_ref()
            .take(usize::from(self.below(4)))
            .map(|name| {
                let attribute = attribute(name, self.attribute_type(2, true));
                Attribute { sensitive: self.below(3) == 1, ..attribute }
            })
            .collect();
        let nested_blocks = if depth == 0 { 0 } else { usize::from(self.below(4)) };
        let blocks = names
            .take(nested_blocks)
            .map(|name| {
                let block = self.block(depth - 1);
                let has_dynamic = block.implied_type.is_dynamic_inside();
                match self.below(6) {
                    0 => nested(name, BlockNesting::Single, 0, block),
                    1 => nested(name, BlockNesting::Group, 0, block),
                    2 => nested(name, BlockNesting::List, 1, block),
                    3 => nested(name, BlockNesting::Map, 0, block),
                    4 if !has_dynamic => nested(name, BlockNesting::Set, u64::from(self.below(2)), block),
                    _ => nested(name, BlockNesting::List, 0, block),
                }
            })
            .collect();
        block(attributes, blocks)
    }

    fn attribute_type(&mut self, depth: u8, dynamic: bool) -> Type {
        match self.below(if depth == 0 { 3 } else { 8 }) {
            0 => Type::String,
            1 => Type::Number,
            2 => Type::Bool,
            3 => Type::list(self.attribute_type(depth - 1, false)),
            4 => Type::set(self.attribute_type(depth - 1, false)),
            5 => Type::map(self.attribute_type(depth - 1, false)),
            6 => Type::object([("inner_name", self.attribute_type(depth - 1, false)), ("b", Type::String)]),
            _ if dynamic => Type::Dynamic,
            _ => Type::tuple([Type::String, self.attribute_type(depth - 1, false)]),
        }
    }

    /// A state (or complete configuration) of a block, with nulls only where core allows them.
    pub fn state(&mut self, block: &Block) -> Value {
        let attributes: Vec<_> = block
            .attributes
            .iter()
            .map(|attribute| {
                (Arc::clone(&attribute.name), self.value(attribute.attribute_type.implied_type()))
            })
            .collect();
        let blocks: Vec<_> =
            block.blocks.iter().map(|nested| (Arc::clone(&nested.name), self.blocks(nested))).collect();
        Value::Object(attributes.into_iter().chain(blocks).collect())
    }

    fn blocks(&mut self, nested: &NestedBlock) -> Value {
        let count = match nested.max_items {
            1 => self.below(2),
            _ => self.below(3),
        };
        let elements: Vec<Value> = (0..count).map(|_| self.state(&nested.block)).collect();
        let keyed = |elements: Vec<Value>| {
            elements.into_iter().enumerate().map(|(index, element)| (format!("key.{index}"), element))
        };
        let element_type = &nested.block.implied_type;
        match nested.nesting {
            BlockNesting::Single if count == 0 => Value::Null,
            BlockNesting::Single | BlockNesting::Group => self.state(&nested.block),
            BlockNesting::List if nested.implied_type == Type::Dynamic => Value::dynamic(
                Type::tuple(vec![element_type.clone(); elements.len()]),
                Value::tuple(elements),
            ),
            BlockNesting::Map if nested.implied_type == Type::Dynamic => {
                let types = (0..elements.len()).map(|index| (format!("key.{index}"), element_type.clone()));
                Value::dynamic(Type::object(types), Value::object(keyed(elements)))
            }
            BlockNesting::List => Value::List(elements),
            BlockNesting::Set => Value::set(elements),
            BlockNesting::Map => Value::map(keyed(elements)),
        }
    }

    fn value(&mut self, of: &Type) -> Value {
        const TEXTS: [&str; 4] = ["", "text", "1", "e\u{301}<&>"];
        const NUMBERS: [&str; 6] = ["0", "-1", "0.1", "1e21", "9007199254740993", "1e400"];
        if self.below(4) == 3 {
            return Value::Null;
        }
        let count = usize::from(self.below(3));
        match of {
            Type::String => Value::string(TEXTS[usize::from(self.below(4))]),
            Type::Number => Value::Number(NUMBERS[usize::from(self.below(6))].parse().expect("a number")),
            Type::Bool => Value::Bool(self.below(2) == 1),
            Type::List(element) => Value::list((0..count).map(|_| self.value(element))),
            Type::Set(element) => Value::set((0..count).map(|_| self.value(element)).collect::<Vec<_>>()),
            Type::Map(element) => {
                Value::map((0..count).map(|index| (format!("Key_{index}"), self.value(element))))
            }
            Type::Object(object) => {
                Value::object(object.attributes.iter().map(|(name, of)| (Arc::clone(name), self.value(of))))
            }
            Type::Tuple(elements) => Value::tuple(elements.iter().map(|of| self.value(of))),
            Type::Dynamic => {
                let own = self.attribute_type(2, false);
                let value = self.value(&own);
                Value::dynamic(own, value)
            }
        }
    }
}
