//! Structure in the bytes of an input, so that mutations of one part do not destroy the others.

use isthmus_cty::Type;
use isthmus_cty::json::Json;
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as BlockNesting;
use isthmus_proto::tfplugin6::schema::object::NestingMode as ObjectNesting;
use isthmus_proto::tfplugin6::schema::{Attribute, Block, NestedBlock, Object};

/// The first line, and the rest.
pub(crate) fn line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}

/// A type from the first line, and the rest. The line is the type's JSON, as in seeds, or choices.
pub(crate) fn typed(bytes: &[u8]) -> (Type, &[u8]) {
    let (line, rest) = line(bytes);
    let own = Type::from_json(line).unwrap_or_else(|_| Choices(line).cty_type(4));
    (own.without_optional(), rest)
}

/// A property bag from its JSON.
pub(crate) fn bag(json: &[u8]) -> Option<Struct> {
    match property(&Json::parse(json).ok()?) {
        Property::Struct(bag) => Some(bag),
        _ => None,
    }
}

fn property(json: &Json) -> Property {
    match json {
        Json::Null => Property::Null,
        Json::Bool(value) => Property::Bool(*value),
        Json::Number(text) => Property::Number(text.parse().unwrap_or(f64::NAN)),
        Json::String(text) => Property::String(text.clone()),
        Json::Array(elements) => Property::List(elements.iter().map(property).collect()),
        Json::Object(members) => {
            Property::Struct(members.iter().map(|(name, member)| (name.clone(), property(member))).collect())
        }
    }
}

/// Choices derived from bytes. Without bytes, every choice is the first.
pub(crate) struct Choices<'a>(pub(crate) &'a [u8]);

impl Choices<'_> {
    fn below(&mut self, end: u8) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                first % end
            }
            None => 0,
        }
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    fn cty_type(&mut self, depth: u8) -> Type {
        match self.below(if depth == 0 { 4 } else { 9 }) {
            0 => Type::String,
            1 => Type::Number,
            2 => Type::Bool,
            3 => Type::Dynamic,
            4 => Type::list(self.cty_type(depth - 1)),
            5 => Type::set(self.cty_type(depth - 1)),
            6 => Type::map(self.cty_type(depth - 1)),
            7 => Type::tuple((0..self.below(4)).map(|_| self.cty_type(depth - 1)).collect::<Vec<_>>()),
            _ => {
                let count = usize::from(self.below(4));
                Type::object(
                    ["a", "b", "é"].into_iter().take(count).map(|name| (name, self.cty_type(depth - 1))),
                )
            }
        }
    }

    /// A schema's block with attributes and nested blocks of every kind.
    pub(crate) fn block(&mut self, depth: u8) -> Block {
        const NAMES: [&str; 8] =
            ["id", "name", "access_keys", "cache_", "http2_port", "UPPER", "timeouts", "tags"];
        let mut names = NAMES.into_iter();
        let attributes = names.by_ref().take(usize::from(self.below(5)));
        let attributes: Vec<Attribute> = attributes.map(|name| self.attribute(name, depth)).collect();
        let blocks = if depth == 0 { 0 } else { usize::from(self.below(4)) };
        let block_types = names.take(blocks).map(|name| {
            let nesting = [
                BlockNesting::Single,
                BlockNesting::List,
                BlockNesting::Set,
                BlockNesting::Map,
                BlockNesting::Group,
            ][usize::from(self.below(5))];
            NestedBlock {
                type_name: name.to_owned(),
                block: Some(self.block(depth - 1)),
                nesting: nesting.into(),
                min_items: 0,
                max_items: i64::from(self.below(3)),
            }
        });
        Block { block_types: block_types.collect(), attributes, ..Block::default() }
    }

    fn attribute(&mut self, name: &str, depth: u8) -> Attribute {
        let (optional, computed) = [(true, false), (true, true), (false, true)][usize::from(self.below(3))];
        let plain = Attribute {
            name: name.to_owned(),
            optional,
            computed,
            sensitive: self.below(4) == 3,
            ..Attribute::default()
        };
        if depth > 0 && self.below(4) == 3 {
            let nesting =
                [ObjectNesting::Single, ObjectNesting::List, ObjectNesting::Set, ObjectNesting::Map]
                    [usize::from(self.below(4))];
            let count = usize::from(self.below(3));
            let attributes = ["a", "inner_names"].into_iter().take(count);
            let attributes = attributes.map(|name| self.attribute(name, depth - 1)).collect();
            let nested = Object { attributes, nesting: nesting.into(), ..Object::default() };
            return Attribute { nested_type: Some(nested), ..plain };
        }
        // A write-only attribute is not in a state.
        let write_only = optional && !computed && self.flag() && self.flag();
        Attribute { r#type: self.cty_type(2).to_json().into_bytes().into(), write_only, ..plain }
    }
}
