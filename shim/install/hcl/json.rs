//! The JSON form, by `serde_json`. A member is a part of the text, which has its position; and the
//! members of an object are a list, because a repeated name represents several blocks.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Body, Content, Cursor, DEEPEST, Item, Key, Position, SyntaxError, Value, number};

pub(super) fn parse(text: &str) -> Result<Body, SyntaxError> {
    let root = serde_json::from_str(text).map_err(|error| {
        let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
        let before = line.as_bytes().get(..error.column().saturating_sub(1)).unwrap_or_default();
        let position = Position { line: error.line(), column: 1 };
        syntax_error(position.behind(&String::from_utf8_lossy(before)), &error)
    })?;
    Reader { text, cursor: Cursor::new(text) }.object(root, DEEPEST)
}

/// Without the position at the end of its message.
fn syntax_error(position: Position, error: &serde_json::Error) -> SyntaxError {
    let message = error.to_string();
    let reason = match message.split(" at line ").next().unwrap_or_default() {
        "key must be a string" => "expected a name in quotes; JSON has no comma behind the last member",
        reason => reason,
    };
    SyntaxError::new(position, reason.to_owned())
}

/// The names and values of an object, in their order.
struct Members<'t>(Vec<(&'t RawValue, &'t RawValue)>);

impl<'t> Deserialize<'t> for Members<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'t> Visitor<'t> for Object {
            type Value = Members<'t>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Longest name, in bytes; those of hosts have 253.
const LONGEST_NAME: usize = 1024;

struct Reader<'t> {
    text: &'t str,
    cursor: Cursor<'t>,
}

impl<'t> Reader<'t> {
    fn position(&mut self, part: &'t RawValue) -> Position {
        self.cursor.position(part.get().as_ptr().addr() - self.text.as_ptr().addr())
    }

    /// What a part holds. Its syntax is correct, except for what its type alone shows, such as half a
    /// surrogate pair.
    fn parsed<T: Deserialize<'t>>(&mut self, part: &'t RawValue) -> Result<T, SyntaxError> {
        let position = self.position(part);
        serde_json::from_str(part.get()).map_err(|error| syntax_error(position, &error))
    }

    /// A list of objects represents several blocks of one name.
    fn object(&mut self, part: &'t RawValue, depth: usize) -> Result<Body, SyntaxError> {
        let Members(members) = self.parsed(part)?;
        let mut items = Vec::new();
        for (name, value) in members {
            let name = Key { text: self.parsed(name)?, position: self.cursor.position };
            // Each block of a list has it.
            if name.text.len() > LONGEST_NAME {
                let reason = format!("this name is longer than {LONGEST_NAME} bytes");
                return Err(SyntaxError::new(name.position, reason));
            }
            let values = match self.value(value, depth)? {
                Value { content: Content::List(values), .. } if is_blocks(&values) => values,
                value => vec![value],
            };
            let item = |value| Item { name: name.clone(), labels: Vec::new(), is_assigned: false, value };
            items.extend(values.into_iter().map(item));
        }
        Ok(Body { items })
    }

    fn value(&mut self, part: &'t RawValue, depth: usize) -> Result<Value, SyntaxError> {
        let position = self.position(part);
        let below = || depth.checked_sub(1).ok_or(SyntaxError::too_deep(position));
        let content = match part.get().as_bytes() {
            [b'{', ..] => Content::Body(self.object(part, below()?)?),
            [b'[', ..] => {
                let depth = below()?;
                let parts: Vec<&RawValue> = self.parsed(part)?;
                let values = parts.into_iter().map(|part| self.value(part, depth));
                Content::List(values.collect::<Result<_, _>>()?)
            }
            [b'"', ..] => Content::String(self.parsed(part)?),
            b"true" => Content::Bool(true),
            b"false" => Content::Bool(false),
            b"null" => Content::Null,
            _ => number(part.get()).unwrap_or(Content::Fraction),
        };
        Ok(Value { position, content })
    }
}

fn is_blocks(values: &[Value]) -> bool {
    !values.is_empty() && values.iter().all(|value| matches!(value.content, Content::Body(_)))
}
