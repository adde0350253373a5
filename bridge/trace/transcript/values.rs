//! Terraform's values as they are shown, masked by their schema.

use std::sync::Arc;

use isthmus_common::counted;
use isthmus_cty::json::Json;
use isthmus_cty::{Refinements, Value};
use isthmus_provider::schema::{Attribute, AttributeType, Block, BlockNesting, ObjectNesting};

use super::Shown;
use super::masks::{Masks, Step};

/// The schema at a place in a value.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// An object of attributes and nested blocks, or a collection of such objects.
    Object {
        attributes: &'a [Attribute],
        block: Option<&'a Block>,
        /// A map of them: its keys are no attributes.
        is_map: bool,
    },
    /// A value whose type has no attributes with flags.
    Plain,
}

/// Walks a value and its schema.
struct Walk<'a> {
    masks: &'a Masks,
    path: Vec<Step>,
}

/// A value of a schema.
pub fn shown_value(value: &Value, block: &Block, masks: &Masks) -> Shown {
    Walk { masks, path: Vec::new() }.value(value, Place::block(block))
}

/// A value without a schema, such as an identity.
pub fn shown_untyped(value: &Value, masks: &Masks) -> Shown {
    Walk { masks, path: Vec::new() }.value(value, Place::Plain)
}

/// A stored state as JSON, which may be by an older schema than this. Where a schema has secrets, an attribute that it does not
/// have may be one by its older name.
pub fn shown_state(json: &Json, block: &Block, masks: &Masks) -> Shown {
    Walk { masks, path: Vec::new() }.json(json, Place::block(block))
}

impl<'a> Place<'a> {
    pub fn block(block: &'a Block) -> Self {
        Self::Object { attributes: &block.attributes, block: Some(block), is_map: false }
    }

    /// The schema of a member; `None` if the member is a secret.
    pub fn member(self, name: &str, is_stored: bool) -> Option<Self> {
        let Self::Object { attributes, block, is_map } = self else { return Some(Self::Plain) };
        if is_map {
            return Some(self.element());
        }
        if let Some(attribute) = attributes.iter().find(|attribute| *attribute.name == *name) {
            return match &attribute.attribute_type {
                _ if attribute.sensitive || attribute.write_only => None,
                AttributeType::Plain(_) => Some(Self::Plain),
                AttributeType::Nested(nested) => Some(Self::Object {
                    attributes: &nested.attributes,
                    block: None,
                    is_map: nested.nesting == ObjectNesting::Map,
                }),
            };
        }
        let nested = block.and_then(|block| block.blocks.iter().find(|nested| *nested.name == *name));
        match nested {
            Some(nested) => Some(Self::Object {
                attributes: &nested.block.attributes,
                block: Some(&nested.block),
                is_map: nested.nesting == BlockNesting::Map,
            }),
            None if is_stored && self.has_secrets() => None,
            None => Some(Self::Plain),
        }
    }

    /// The schema of an element of a collection.
    pub fn element(self) -> Self {
        match self {
            Self::Object { attributes, block, .. } => Self::Object { attributes, block, is_map: false },
            Self::Plain => Self::Plain,
        }
    }

    fn has_secrets(self) -> bool {
        match self {
            Self::Object { block: Some(block), .. } => block.has_secrets,
            Self::Object { attributes, block: None, .. } => attributes.iter().any(Attribute::has_secrets),
            Self::Plain => false,
        }
    }
}

impl Walk<'_> {
    fn value(&mut self, value: &Value, place: Place<'_>) -> Shown {
        if !value.is_null() && self.masks.is_secret(&self.path) {
            return Shown::Secret;
        }
        match value.inner() {
            Value::Null => Shown::Null,
            Value::Unknown(refinements) => {
                Shown::Unknown(refinements.as_deref().map(words).unwrap_or_default())
            }
            Value::Bool(value) => Shown::Bool(*value),
            Value::Number(number) => self.masks.number(number.to_decimal_text()),
            Value::String(text) => self.masks.text(text),
            Value::Set(_) if self.masks.is_partly_secret(&self.path) => Shown::Secret,
            Value::List(elements) | Value::Tuple(elements) | Value::Set(elements) => {
                let elements = elements.iter().enumerate();
                Shown::List(
                    elements
                        .map(|(index, element)| {
                            self.below(Step::Index(index), |walk| walk.value(element, place))
                        })
                        .collect(),
                )
            }
            // Its keys are secrets as well.
            Value::Map(members) if !members.is_empty() && self.are_all_secret(members.keys()) => {
                Shown::Secret
            }
            Value::Map(members) => {
                self.members(members.iter(), |walk, _, value| walk.value(value, place.element()))
            }
            Value::Object(members) => {
                self.members(members.iter(), |walk, name, value| match place.member(name, false) {
                    Some(place) => walk.value(value, place),
                    None if value.is_null() => Shown::Null,
                    None => Shown::Secret,
                })
            }
            // `inner` has unwrapped it.
            Value::Dynamic(_) => Shown::Null,
        }
    }

    fn members<'v>(
        &mut self,
        members: impl Iterator<Item = (&'v Arc<str>, &'v Value)>,
        show: impl Fn(&mut Self, &str, &Value) -> Shown,
    ) -> Shown {
        let members = members.map(|(name, value)| {
            let shown = self.below(Step::Name(name.to_string()), |walk| show(walk, name, value));
            (self.masks.redacted(name), shown)
        });
        Shown::Object(members.collect())
    }

    fn json(&mut self, json: &Json, place: Place<'_>) -> Shown {
        if *json != Json::Null && self.masks.is_secret(&self.path) {
            return Shown::Secret;
        }
        match json {
            Json::Null => Shown::Null,
            Json::Bool(value) => Shown::Bool(*value),
            Json::Number(text) => self.masks.number(text.clone()),
            Json::String(text) => self.masks.text(text),
            // It may be a set, into which no path leads.
            Json::Array(_) if self.masks.is_partly_secret(&self.path) => Shown::Secret,
            Json::Array(elements) => {
                let elements = elements.iter().enumerate();
                Shown::List(
                    elements
                        .map(|(index, element)| {
                            self.below(Step::Index(index), |walk| walk.json(element, place))
                        })
                        .collect(),
                )
            }
            Json::Object(members) => {
                let mut shown = Vec::with_capacity(members.len());
                for (name, value) in members {
                    let place = place.member(name, true);
                    let value = self.below(Step::Name(name.clone()), |walk| match place {
                        Some(place) => walk.json(value, place),
                        None if *value == Json::Null => Shown::Null,
                        None => Shown::Secret,
                    });
                    shown.push((self.masks.redacted(name), value));
                }
                Shown::Object(shown)
            }
        }
    }

    /// Whether all members of a map are secret by their paths.
    fn are_all_secret<'n>(&mut self, mut names: impl Iterator<Item = &'n Arc<str>>) -> bool {
        names.all(|name| {
            self.path.push(Step::Name(name.to_string()));
            let is_secret = self.masks.is_secret(&self.path);
            self.path.pop();
            is_secret
        })
    }

    fn below(&mut self, step: Step, show: impl FnOnce(&mut Self) -> Shown) -> Shown {
        self.path.push(step);
        let shown = show(self);
        self.path.pop();
        shown
    }
}

/// What is known of an unknown value.
fn words(refinements: &Refinements) -> String {
    let mut words = Vec::new();
    if refinements.null == Some(false) {
        words.push("not null".to_owned());
    }
    // A prefix may be that of a secret, which is not found by half of it.
    if refinements.string_prefix.is_some() {
        words.push("of a known prefix".to_owned());
    }
    let bounds = [("at least", &refinements.number_minimum), ("at most", &refinements.number_maximum)];
    for (word, bound) in bounds {
        if let Some((number, _)) = bound {
            words.push(format!("{word} {}", number.to_decimal_text()));
        }
    }
    let lengths = [("at least", refinements.length_minimum), ("at most", refinements.length_maximum)];
    for (word, length) in lengths {
        if let Some(length) = length {
            words.push(format!("{word} {}", counted(length, "element")));
        }
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Type;
    use isthmus_known_secrets::KnownSecrets;

    use super::*;
    use crate::transcript::Side;
    use isthmus_translate::testing::{attribute, block, nested, nested_attribute, sensitive};

    fn with_secret() -> Vec<Attribute> {
        vec![attribute("open", Type::String), sensitive(attribute("token", Type::String))]
    }

    fn schema() -> Block {
        let mut attributes = with_secret();
        attributes.push(nested_attribute("by_key", ObjectNesting::Map, with_secret()));
        attributes.push(nested_attribute("many", ObjectNesting::List, with_secret()));
        block(attributes, vec![nested("rule", BlockNesting::Map, 0, block(with_secret(), vec![]))])
    }

    fn shown(shown: &Shown) -> String {
        let mut lines = Vec::new();
        shown.add_lines(Side::Terraform, 0, &mut lines);
        lines.join("\n")
    }

    const MASKED: &str = "by_key:
  token:
    open: \"o\"
    token: (sensitive value)
many:
  - open: \"o\"
    token: (sensitive value)
open: \"o\"
rule:
  k:
    open: \"o\"
    token: (sensitive value)
token: (sensitive value)";

    #[test]
    fn what_the_schema_calls_sensitive_is_masked_at_every_depth() {
        let object = || Value::object([("open", Value::string("o")), ("token", Value::string("hunter2"))]);
        let value = Value::object([
            ("open", Value::string("o")),
            ("token", Value::string("hunter2")),
            // A key that is called as an attribute.
            ("by_key", Value::map([("token", object())])),
            ("many", Value::list([object()])),
            ("rule", Value::object([("k", object())])),
        ]);
        let masks = Masks::new(KnownSecrets::default());
        assert_eq!(shown(&shown_value(&value, &schema(), &masks)), MASKED);
    }

    #[test]
    fn a_stored_state_is_masked_as_a_value_and_where_it_is_older_too() {
        let object = r#"{"open":"o","token":"hunter2"}"#;
        let stored = |own: &str| {
            let text = format!(
                r#"{{"by_key":{{"token":{object}}},"many":[{object}],"open":"o","rule":{{"k":{object}}},{own}}}"#
            );
            let json = Json::parse(text.as_bytes()).expect("JSON");
            shown(&shown_state(&json, &schema(), &Masks::new(KnownSecrets::default())))
        };
        assert_eq!(stored(r#""token":"hunter2""#), MASKED);
        let older = MASKED.strip_suffix("token: (sensitive value)").expect("it ends with it");
        assert_eq!(stored(r#""password":"hunter2""#), format!("{older}password: (sensitive value)"));
    }

    #[test]
    fn what_is_known_of_an_unknown_value_is_shown() {
        let refinements = Refinements {
            null: Some(false),
            string_prefix: Some("hunter".into()),
            length_minimum: Some(1),
            ..Refinements::default()
        };
        let value = Value::object([("open", Value::Unknown(Some(Box::new(refinements))))]);
        assert_eq!(
            shown(&shown_value(&value, &schema(), &Masks::new(KnownSecrets::default()))),
            "open: (known after apply: not null, of a known prefix, at least 1 element)"
        );
    }
}
