//! Paths into property bags, in the notation of engines and users: `a.b`, `a[0].c`, `a["odd.key"]`,
//! `["root.key"].x`, `list[*].x`.
//!
//! The notation cannot escape a backslash, so a key that ends in one can be printed but not parsed;
//! engines have the same limit, and no Terraform name has a backslash.

use std::fmt;
use std::str::FromStr;

use isthmus_proto::property::{Struct, Value};
use thiserror::Error;

use super::property::{self, PropertyView};

/// A path into a property bag; the empty path is the bag itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PropertyPath(pub Vec<PropertyStep>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PropertyStep {
    /// A property of an object, or an element of a map.
    Name(String),
    /// An element of a list, counted from 0.
    Index(usize),
    /// Every element or property (`[*]`); only users write it.
    All,
}

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PropertyPathError {
    #[error("a property path starts with a name or an index")]
    LeadingPoint,
    #[error("a property path ends with a name or an index")]
    TrailingPoint,
    #[error("a quoted name in a property path lacks its closing quote")]
    MissingQuote,
    #[error("a bracket in a property path is not closed")]
    MissingBracket,
    #[error("between brackets, a property path has a number from 0, a star, or a name in double quotes")]
    InvalidIndex,
}

impl PropertyPath {
    /// The path of a top-level property.
    pub fn top(name: &str) -> Self {
        Self(vec![PropertyStep::Name(name.to_owned())])
    }

    /// The top-level property of the path, which is all that some of Pulumi's messages can name.
    pub fn top_level(&self) -> Option<&str> {
        match self.0.first() {
            Some(PropertyStep::Name(name)) => Some(name),
            Some(PropertyStep::Index(_) | PropertyStep::All) | None => None,
        }
    }

    /// The value at this path, unwrapping secrets; `None` if there is none or several.
    pub fn find<'a>(&self, bag: &'a Struct) -> Option<&'a Value> {
        let (first, rest) = self.0.split_first()?;
        let PropertyStep::Name(name) = first else { return None };
        rest.iter().try_fold(bag.get(name)?, |value, step| child(value, step))
    }

    /// Sets the value at this path, and returns whether its parent exists; lists do not grow.
    pub fn set(&self, bag: &mut Struct, value: Value) -> bool {
        let Some((last, parents)) = self.0.split_last() else { return false };
        match (find_mut(bag, parents), last) {
            (Some(Target::Bag(bag)), PropertyStep::Name(name)) => {
                bag.insert(name.clone(), value);
                true
            }
            (Some(Target::Value(parent)), step) => match (inside_mut(parent), step) {
                (Value::Struct(object), PropertyStep::Name(name)) => {
                    object.insert(name.clone(), value);
                    true
                }
                (Value::List(elements), PropertyStep::Index(index)) => match elements.get_mut(*index) {
                    Some(element) => {
                        *element = value;
                        true
                    }
                    None => false,
                },
                _ => false,
            },
            _ => false,
        }
    }

    /// Removes the value at this path; an element of a list becomes null, so that indices stay
    /// valid.
    pub fn delete(&self, bag: &mut Struct) -> Option<Value> {
        let (last, parents) = self.0.split_last()?;
        match (find_mut(bag, parents)?, last) {
            (Target::Bag(bag), PropertyStep::Name(name)) => bag.remove(name),
            (Target::Value(parent), step) => match (inside_mut(parent), step) {
                (Value::Struct(object), PropertyStep::Name(name)) => object.remove(name),
                (Value::List(elements), PropertyStep::Index(index)) => {
                    elements.get_mut(*index).map(std::mem::take)
                }
                _ => None,
            },
            (Target::Bag(_), PropertyStep::Index(_) | PropertyStep::All) => None,
        }
    }

    /// Whether `other` is at or below this path; [`PropertyStep::All`] in this path matches any
    /// step.
    pub fn contains(&self, other: &Self) -> bool {
        self.0.len() <= other.0.len()
            && self.0.iter().zip(&other.0).all(|(own, step)| *own == PropertyStep::All || own == step)
    }
}

impl FromStr for PropertyPath {
    type Err = PropertyPathError;

    fn from_str(text: &str) -> Result<Self, PropertyPathError> {
        let mut steps = Vec::new();
        let mut rest = text;
        if rest.starts_with('.') {
            return Err(PropertyPathError::LeadingPoint);
        }
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                // A dot before a bracket is superfluous, but providers have written it for years.
                if after.is_empty() {
                    return Err(PropertyPathError::TrailingPoint);
                }
                rest = after;
            } else if let Some(quoted) = rest.strip_prefix("[\"") {
                let (name, after) = parse_quoted(quoted)?;
                steps.push(name_or_all(name));
                rest = after.strip_prefix(']').ok_or(PropertyPathError::MissingBracket)?;
            } else if let Some(bracketed) = rest.strip_prefix('[') {
                let (inside, after) = bracketed.split_once(']').ok_or(PropertyPathError::MissingBracket)?;
                steps.push(match inside {
                    "*" => PropertyStep::All,
                    digits => {
                        PropertyStep::Index(digits.parse().map_err(|_| PropertyPathError::InvalidIndex)?)
                    }
                });
                rest = after;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                steps.push(name_or_all(rest[..end].to_owned()));
                rest = &rest[end..];
            }
        }
        Ok(Self(steps))
    }
}

impl fmt::Display for PropertyPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                PropertyStep::Name(name) if is_plain(name) && position == 0 => formatter.write_str(name)?,
                PropertyStep::Name(name) if is_plain(name) => write!(formatter, ".{name}")?,
                PropertyStep::Name(name) => write!(formatter, "[\"{}\"]", name.replace('"', "\\\""))?,
                PropertyStep::Index(index) => write!(formatter, "[{index}]")?,
                PropertyStep::All => formatter.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

/// The child of `value`, unwrapping secrets.
fn child<'a>(value: &'a Value, step: &PropertyStep) -> Option<&'a Value> {
    match (property::unwrap(value).ok()?.0, step) {
        (PropertyView::Object(object), PropertyStep::Name(name)) => object.get(name),
        (PropertyView::List(elements), PropertyStep::Index(index)) => elements.get(*index),
        _ => None,
    }
}

enum Target<'a> {
    Bag(&'a mut Struct),
    Value(&'a mut Value),
}

fn find_mut<'a>(bag: &'a mut Struct, steps: &[PropertyStep]) -> Option<Target<'a>> {
    let Some((first, rest)) = steps.split_first() else { return Some(Target::Bag(bag)) };
    let PropertyStep::Name(name) = first else { return None };
    let mut value = bag.get_mut(name)?;
    for step in rest {
        value = match (inside_mut(value), step) {
            (Value::Struct(object), PropertyStep::Name(name)) => object.get_mut(name)?,
            (Value::List(elements), PropertyStep::Index(index)) => elements.get_mut(*index)?,
            _ => return None,
        };
    }
    Some(Target::Value(value))
}

/// The value within secret and output wrappers.
pub fn inside_mut(value: &mut Value) -> &mut Value {
    let wrapped = matches!(
        property::classify(value),
        Ok(PropertyView::Secret(_) | PropertyView::Output { value: Some(_), .. })
    );
    if !wrapped {
        return value;
    }
    match value {
        Value::Struct(wrapper) => match wrapper.get_mut("value") {
            Some(inner) => inside_mut(inner),
            None => unreachable!("secrets and known outputs have a value"),
        },
        other => other,
    }
}

fn name_or_all(name: String) -> PropertyStep {
    if name == "*" { PropertyStep::All } else { PropertyStep::Name(name) }
}

/// The name up to the closing quote, and the rest after it.
fn parse_quoted(text: &str) -> Result<(String, &str), PropertyPathError> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let at = rest.find(['"', '\\']).ok_or(PropertyPathError::MissingQuote)?;
        name.push_str(&rest[..at]);
        if let Some(after) = rest[at..].strip_prefix("\\\"") {
            name.push('"');
            rest = after;
        } else if let Some(after) = rest[at..].strip_prefix('"') {
            return Ok((name, after));
        } else {
            name.push('\\');
            rest = &rest[at + 1..];
        }
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(text: &str) -> PropertyPath {
        text.parse().unwrap()
    }

    fn name(name: &str) -> PropertyStep {
        PropertyStep::Name(name.to_owned())
    }

    fn bag() -> Struct {
        let element = Value::Struct(Struct::from([("c", Value::from("deep"))]));
        Struct::from([
            ("a", Value::List(vec![element, property::secret(Value::List(vec![Value::from("hidden")]))])),
            ("root.key", Value::Struct(Struct::from([("x", Value::Bool(true))]))),
        ])
    }

    #[test]
    fn paths_read_as_users_write_them() {
        for (text, steps) in [
            ("", vec![]),
            ("a.b", vec![name("a"), name("b")]),
            ("a[0].c", vec![name("a"), PropertyStep::Index(0), name("c")]),
            ("a[\"odd.key\"]", vec![name("a"), name("odd.key")]),
            ("[\"root.key\"].x", vec![name("root.key"), name("x")]),
            ("a[\"quo\\\"te\"]", vec![name("a"), name("quo\"te")]),
            ("a[\"back\\slash\"]", vec![name("a"), name("back\\slash")]),
            ("a[*].b", vec![name("a"), PropertyStep::All, name("b")]),
            ("*", vec![PropertyStep::All]),
            ("[\"*\"]", vec![PropertyStep::All]),
            ("a.[0]", vec![name("a"), PropertyStep::Index(0)]),
            ("$dollar.ü", vec![name("$dollar"), name("ü")]),
        ] {
            assert_eq!(text.parse::<PropertyPath>(), Ok(PropertyPath(steps)), "{text}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for (text, error) in [
            (".a", PropertyPathError::LeadingPoint),
            ("a.", PropertyPathError::TrailingPoint),
            ("a[\"b", PropertyPathError::MissingQuote),
            ("a[\"b\\\"]", PropertyPathError::MissingQuote),
            ("a[\"b\"", PropertyPathError::MissingBracket),
            ("a[0", PropertyPathError::MissingBracket),
            ("a[-1]", PropertyPathError::InvalidIndex),
            ("a[x]", PropertyPathError::InvalidIndex),
            ("a[99999999999999999999999]", PropertyPathError::InvalidIndex),
        ] {
            assert_eq!(text.parse::<PropertyPath>(), Err(error), "{text}");
        }
    }

    #[test]
    fn values_are_found_set_and_deleted_through_secrets() {
        let mut bag = bag();
        assert_eq!(path("a[0].c").find(&bag), Some(&Value::from("deep")));
        assert_eq!(path("a[1][0]").find(&bag), Some(&Value::from("hidden")));
        assert_eq!(path("[\"root.key\"].x").find(&bag), Some(&Value::Bool(true)));
        assert_eq!(path("a[2]").find(&bag), None);
        assert_eq!(path("a.c").find(&bag), None);
        assert_eq!(path("a[*]").find(&bag), None);

        assert!(path("a[1][0]").set(&mut bag, Value::from("changed")));
        assert!(path("new").set(&mut bag, Value::Null));
        assert!(!path("a[7]").set(&mut bag, Value::Null));
        assert!(!path("missing.x").set(&mut bag, Value::Null));
        assert_eq!(path("a[1][0]").find(&bag), Some(&Value::from("changed")));

        assert_eq!(path("a[0].c").delete(&mut bag), Some(Value::from("deep")));
        assert_eq!(path("a[0].c").find(&bag), None);
        assert!(path("a[0]").delete(&mut bag).is_some());
        assert_eq!(path("a[0]").find(&bag), Some(&Value::Null));
        assert_eq!(path("new").delete(&mut bag), Some(Value::Null));
        assert_eq!(path("[0]").delete(&mut bag), None);
    }

    #[test]
    fn containment_is_by_prefix_and_stars() {
        assert!(path("a").contains(&path("a[0].b")));
        assert!(path("a[*].b").contains(&path("a[0].b")));
        assert!(!path("a[1]").contains(&path("a[0].b")));
        assert!(!path("a.b.c").contains(&path("a.b")));
        assert_eq!(path("a[0]").top_level(), Some("a"));
        assert_eq!(path("[0]").top_level(), None);
    }

    proptest! {
        #[test]
        fn printing_and_reading_round_trip(steps in prop::collection::vec(
            prop_oneof![
                "[a-zA-Z_.\\[\\]\" \\\\é]{0,8}"
                    .prop_filter("no escape exists", |name| !name.ends_with('\\'))
                    .prop_map(PropertyStep::Name),
                any::<usize>().prop_map(PropertyStep::Index),
                Just(PropertyStep::All),
            ],
            0..6,
        )) {
            let path = PropertyPath(steps);
            prop_assert_eq!(path.to_string().parse::<PropertyPath>(), Ok(path));
        }

        #[test]
        fn any_text_is_a_path_or_an_error(text in "[a\\[\\]\"\\\\.*0]{0,12}") {
            if let Ok(path) = text.parse::<PropertyPath>() {
                let cannot_be_quoted = |step: &PropertyStep| {
                    matches!(step, PropertyStep::Name(name) if name.ends_with('\\'))
                };
                prop_assume!(!path.0.iter().any(cannot_be_quoted));
                prop_assert_eq!(path.to_string().parse::<PropertyPath>(), Ok(path));
            }
        }
    }
}
