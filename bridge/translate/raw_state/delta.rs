//! The delta and its stored form.

use std::collections::BTreeMap;

use isthmus_cty::Number;
use isthmus_cty::json::Json;
use isthmus_proto::property::{Struct, Value as Property};
use thiserror::Error;

use crate::property::{self, PropertyError, PropertyView};

/// Maximum depth: that of the JSON parser.
const MAXIMUM_DEPTH: usize = 512;

/// How a property value becomes Terraform's JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Delta {
    /// The value is its own JSON: string, number, boolean, null, or a list of these.
    #[default]
    Natural,
    /// This JSON, regardless of the value.
    Replace(Json),
    /// A flattened list with one element, or none.
    Pluralize(Box<Self>),
    /// A map, and deltas of its elements.
    Map(BTreeMap<String, Self>),
    Object(ObjectDelta),
    /// A list or set, and deltas of its elements.
    Array(BTreeMap<usize, Self>),
    /// An asset, which no bridged resource has.
    Asset,
    /// A string that represents a number.
    Number,
}

/// How an object becomes JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ObjectDelta {
    /// Properties that Terraform does not have.
    pub(super) ignored: Vec<String>,
    /// Terraform names that do not follow the rule, by Pulumi name.
    pub(super) renamed: BTreeMap<String, String>,
    /// Deltas by Pulumi name. One for a property that does not exist adds it: an empty one as null.
    pub(super) properties: BTreeMap<String, Delta>,
}

/// The stored delta is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeltaError {
    /// A member has the wrong type.
    #[error("its {member:?} is not {expected}")]
    Member {
        member: &'static str,
        /// The expected type.
        expected: &'static str,
    },
    #[error(transparent)]
    Property(#[from] PropertyError),
    #[error("it holds a number that is infinite or not a number")]
    Number,
    /// An unknown, or another special value that is never stored.
    #[error("it holds a special value")]
    Special,
    #[error("it is nested too deeply")]
    TooDeep,
}

impl Delta {
    /// The stored form. `secrets`: mark parts that contain values.
    pub(super) fn to_property(&self, secrets: bool) -> Property {
        let mut plain = self.to_plain();
        if secrets {
            mark(&mut plain);
        }
        plain
    }

    /// Parses the stored form.
    pub(super) fn from_property(property: &Property) -> Result<Self, DeltaError> {
        let members = match property::unwrap(property)?.0 {
            PropertyView::Null => return Ok(Self::Natural),
            PropertyView::Object(members) => members,
            _ => return Err(DeltaError::Member { member: "delta", expected: "an object" }),
        };
        // In the Go bridge's order, if there are several members.
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

    /// The stored form in another delta, where it is written also if it is empty.
    fn to_member(&self) -> Property {
        match self {
            Self::Natural => Property::Struct(Struct::new()),
            delta => delta.to_plain(),
        }
    }

    fn to_plain(&self) -> Property {
        let (name, members) = match self {
            Self::Natural => return Property::Null,
            Self::Replace(raw) => ("replace", replacement_members(raw)),
            Self::Pluralize(inner) => ("plu", Struct::from([("i", inner.to_member())])),
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

/// Marks parts that contain values: objects with a member `replace`, even if that is a property's
/// name, as in the Go bridge.
fn mark(property: &mut Property) {
    let Property::Struct(members) = property else { return };
    if members.contains_key("replace") {
        *property = property::secret(std::mem::take(property));
    } else {
        members.iter_mut().for_each(|(_, member)| mark(member));
    }
}

/// Numbers of properties are doubles. JSON that exceeds these is also stored as text, in a member
/// that the Go bridge ignores.
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
        // An edit of the state changes the readable part.
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

/// Plain loops: adapters would take several stack frames per level.
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

/// A double as both bridges write it in JSON: the shortest decimal that identifies it, without an
/// exponent.
pub(super) fn number_text(number: f64) -> Option<String> {
    number
        .is_finite()
        .then(|| Number::from_f64_exact(number).map(|number| number.to_decimal_text()))
        .flatten()
}

/// The members of `deltas`, under one name; nothing if there are none.
fn members_of<'a>(name: &'static str, deltas: impl Iterator<Item = (String, &'a Delta)>) -> Struct {
    let members: Struct = deltas.map(|(key, delta)| (key, delta.to_member())).collect();
    if members.is_empty() { Struct::new() } else { Struct::from([(name, Property::Struct(members))]) }
}

fn deltas(members: &Struct, name: &'static str) -> Result<BTreeMap<String, Delta>, DeltaError> {
    let Some(deltas) = object(members, name)? else { return Ok(BTreeMap::new()) };
    // A plain loop: adapters would take several stack frames per level of a delta.
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
