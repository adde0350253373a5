//! The delta itself, and the form in which it is stored.

use std::collections::BTreeMap;

use isthmus_cty::Number;
use isthmus_cty::json::Json;
use isthmus_proto::property::{Struct, Value as Property};
use thiserror::Error;

use crate::translate::property::{self, PropertyError, PropertyView};

/// How deep JSON may be nested: the limit of the parser of JSON.
const MAXIMUM_DEPTH: usize = 512;

/// How a property value becomes Terraform's JSON again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Delta {
    /// The value is its own JSON: text, number, boolean, null, or a list of such.
    #[default]
    Natural,
    /// Whatever the value is, this is the JSON.
    Replace(Json),
    /// The only element of a list, or none.
    Pluralize(Box<Self>),
    /// A map, and deltas of its elements.
    Map(BTreeMap<String, Self>),
    /// An object.
    Object(ObjectDelta),
    /// A list or set, and deltas of its elements.
    Array(BTreeMap<usize, Self>),
    /// An asset. Nothing that is bridged here has any.
    Asset,
    /// Text that stands for a number.
    Number,
}

/// How an object becomes JSON again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ObjectDelta {
    /// Properties that Terraform does not have.
    pub(super) ignored: Vec<String>,
    /// Terraform's name by Pulumi's, where the rule of names does not give it.
    pub(super) renamed: BTreeMap<String, String>,
    /// Deltas by Pulumi's names. One for a property that is not there adds it.
    pub(super) properties: BTreeMap<String, Delta>,
}

/// What is stored is no delta.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeltaError {
    /// A member of the wrong type.
    #[error("its {member:?} is not {expected}")]
    Member {
        /// The member's name.
        member: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// A special value that is none.
    #[error(transparent)]
    Property(#[from] PropertyError),
    /// A number that JSON has no form for.
    #[error("it holds a number that is infinite or not a number")]
    Number,
    /// Something that is not known yet, or another special value that is never stored.
    #[error("it holds a special value")]
    Special,
    /// Nested deeper than any state.
    #[error("it is nested too deeply")]
    TooDeep,
}

impl Delta {
    /// The form to store. `secrets`: mark what holds values.
    pub(super) fn to_property(&self, secrets: bool) -> Property {
        let plain = self.to_plain();
        if secrets { marked(plain) } else { plain }
    }

    /// Reads the stored form.
    pub(super) fn from_property(property: &Property) -> Result<Self, DeltaError> {
        let members = match property::unwrap(property)?.0 {
            PropertyView::Null => return Ok(Self::Natural),
            PropertyView::Object(members) => members,
            _ => return Err(DeltaError::Member { member: "delta", expected: "an object" }),
        };
        // Should there be several, the order is the one in which the Go bridge looks for them.
        if let Some(replace) = object(members, "replace")? {
            return replacement(replace).map(Self::Replace);
        }
        if let Some(pluralize) = object(members, "plu")? {
            let inner = pluralize.get("i").map(Self::from_property).transpose()?;
            return Ok(Self::Pluralize(Box::new(inner.unwrap_or_default())));
        }
        if let Some(map) = object(members, "map")? {
            return Ok(Self::Map(deltas(map, "el")?));
        }
        if let Some(object) = object(members, "obj")? {
            return ObjectDelta::from_struct(object).map(Self::Object);
        }
        if let Some(array) = object(members, "arr")? {
            let elements = deltas(array, "el")?.into_iter().map(|(index, delta)| match index.parse() {
                Ok(index) => Ok((index, delta)),
                Err(_) => Err(DeltaError::Member { member: "el", expected: "keyed by indices" }),
            });
            return Ok(Self::Array(elements.collect::<Result<_, _>>()?));
        }
        if object(members, "asset")?.is_some() {
            return Ok(Self::Asset);
        }
        if object(members, "num")?.is_some() {
            return Ok(Self::Number);
        }
        Ok(Self::Natural)
    }

    fn to_plain(&self) -> Property {
        let (name, members) = match self {
            Self::Natural => return Property::Null,
            Self::Replace(raw) => ("replace", replacement_members(raw)),
            Self::Pluralize(inner) => {
                // Unlike other empty deltas, this one is written.
                let inner = match inner.to_plain() {
                    Property::Null => Property::Struct(Struct::new()),
                    delta => delta,
                };
                ("plu", Struct::from([("i", inner)]))
            }
            Self::Map(elements) => {
                ("map", members_of("el", elements.iter().map(|(key, delta)| (key.clone(), delta))))
            }
            Self::Object(object) => ("obj", object.to_struct()),
            Self::Array(elements) => {
                ("arr", members_of("el", elements.iter().map(|(index, delta)| (index.to_string(), delta))))
            }
            Self::Asset => ("asset", Struct::new()),
            Self::Number => ("num", Struct::new()),
        };
        Property::Struct(Struct::from([(name, Property::Struct(members))]))
    }
}

impl ObjectDelta {
    fn to_struct(&self) -> Struct {
        let mut members = Struct::new();
        if !self.ignored.is_empty() {
            let ignored = self.ignored.iter().map(|name| Property::from(name.as_str()));
            members.insert("ignored", Property::List(ignored.collect()));
        }
        if !self.renamed.is_empty() {
            let renamed = self
                .renamed
                .iter()
                .map(|(name, terraform)| (name.clone(), Property::from(terraform.as_str())));
            members.insert("renamed", Property::Struct(renamed.collect()));
        }
        members.extend(members_of("ps", self.properties.iter().map(|(name, delta)| (name.clone(), delta))));
        members
    }

    fn from_struct(members: &Struct) -> Result<Self, DeltaError> {
        let mut ignored = Vec::new();
        match members.get("ignored").map(property::unwrap).transpose()? {
            None | Some((PropertyView::Null, _)) => {}
            Some((PropertyView::List(names), _)) => {
                for name in names {
                    ignored.push(text(name, "ignored")?);
                }
            }
            Some(_) => return Err(DeltaError::Member { member: "ignored", expected: "a list" }),
        }
        let mut renamed = BTreeMap::new();
        if let Some(names) = object(members, "renamed")? {
            for (name, terraform) in names.iter() {
                renamed.insert(name.to_owned(), text(terraform, "renamed")?);
            }
        }
        Ok(Self { ignored, renamed, properties: deltas(members, "ps")? })
    }
}

/// Marks what holds values. An object is taken to hold some if it has a member `replace`, even if that is the name of a
/// property: so the Go bridge does it.
fn marked(property: Property) -> Property {
    match property {
        Property::Struct(members) if members.contains_key("replace") => {
            property::secret(Property::Struct(members))
        }
        Property::Struct(members) => {
            Property::Struct(members.into_iter().map(|(name, member)| (name, marked(member))).collect())
        }
        other => other,
    }
}

/// A property's numbers are doubles. JSON that they cannot hold exactly is also written as text, in a member that the Go
/// bridge does not read: it then has what it would have had itself, and we lose nothing.
fn replacement_members(raw: &Json) -> Struct {
    let mut members = Struct::from([("raw", json_property(raw))]);
    if json_from_property(members.get("raw").unwrap_or(&Property::Null), 0).as_ref() != Ok(raw) {
        members.insert("exact", raw.to_string());
    }
    members
}

fn replacement(members: &Struct) -> Result<Json, DeltaError> {
    let raw = members.get("raw").unwrap_or(&Property::Null);
    let exact = match members.get("exact").map(property::unwrap).transpose()? {
        Some((PropertyView::String(exact), _)) => Json::parse(exact.as_bytes()).ok(),
        _ => None,
    };
    match exact {
        // Somebody who edits the state edits what is readable.
        Some(exact) if json_property(&exact) == property::without_secrets(raw)? => Ok(exact),
        _ => json_from_property(raw, 0),
    }
}

fn json_property(json: &Json) -> Property {
    match json {
        Json::Null => Property::Null,
        Json::Bool(value) => Property::Bool(*value),
        Json::Number(text) => match Number::from_decimal(text).map(|number| number.as_f64()) {
            Ok(number) if number.is_finite() => Property::Number(number),
            _ => Property::from(text.as_str()),
        },
        Json::String(text) => Property::from(text.as_str()),
        Json::Array(elements) => Property::List(elements.iter().map(json_property).collect()),
        Json::Object(members) => Property::Struct(
            members.iter().map(|(name, member)| (name.clone(), json_property(member))).collect(),
        ),
    }
}

/// Plain loops, because adapters would take several frames of the stack for each level.
fn json_from_property(property: &Property, depth: usize) -> Result<Json, DeltaError> {
    if depth > MAXIMUM_DEPTH {
        return Err(DeltaError::TooDeep);
    }
    Ok(match property::unwrap(property)?.0 {
        PropertyView::Null => Json::Null,
        PropertyView::Bool(value) => Json::Bool(value),
        PropertyView::Number(number) => Json::Number(number_text(number).ok_or(DeltaError::Number)?),
        PropertyView::String(text) => Json::String(text.to_owned()),
        PropertyView::List(properties) => {
            let mut elements = Vec::with_capacity(properties.len());
            for property in properties {
                elements.push(json_from_property(property, depth + 1)?);
            }
            Json::Array(elements)
        }
        PropertyView::Object(properties) => {
            let mut members = Vec::with_capacity(properties.len());
            for (name, property) in properties.iter() {
                members.push((name.to_owned(), json_from_property(property, depth + 1)?));
            }
            Json::Object(members)
        }
        _ => return Err(DeltaError::Special),
    })
}

/// A double as both bridges write it in JSON: the shortest decimal that identifies it, without an exponent.
pub(super) fn number_text(number: f64) -> Option<String> {
    number
        .is_finite()
        .then(|| Number::from_f64_exact(number).map(|number| number.to_decimal_text()))
        .flatten()
}

/// The members of `deltas` that say anything, under one name; nothing if none does.
fn members_of<'a>(name: &'static str, deltas: impl Iterator<Item = (String, &'a Delta)>) -> Struct {
    let members: Struct = deltas
        .filter(|(_, delta)| **delta != Delta::Natural)
        .map(|(key, delta)| (key, delta.to_plain()))
        .collect();
    if members.is_empty() { Struct::new() } else { Struct::from([(name, Property::Struct(members))]) }
}

fn deltas(members: &Struct, name: &'static str) -> Result<BTreeMap<String, Delta>, DeltaError> {
    let Some(deltas) = object(members, name)? else { return Ok(BTreeMap::new()) };
    // A plain loop, because adapters would take several frames of the stack for each level of a delta.
    let mut read = BTreeMap::new();
    for (key, delta) in deltas.iter() {
        read.insert(key.to_owned(), Delta::from_property(delta)?);
    }
    Ok(read)
}

fn object<'a>(members: &'a Struct, member: &'static str) -> Result<Option<&'a Struct>, DeltaError> {
    match members.get(member).map(property::unwrap).transpose()? {
        None | Some((PropertyView::Null, _)) => Ok(None),
        Some((PropertyView::Object(object), _)) => Ok(Some(object)),
        Some(_) => Err(DeltaError::Member { member, expected: "an object" }),
    }
}

fn text(property: &Property, member: &'static str) -> Result<String, DeltaError> {
    match property::unwrap(property)?.0 {
        PropertyView::String(text) => Ok(text.to_owned()),
        _ => Err(DeltaError::Member { member, expected: "text" }),
    }
}
