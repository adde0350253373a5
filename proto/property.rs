//! The property bag: our own `google.protobuf.Struct`, `Value` and `ListValue`.
//!
//! The wire format is that of the well-known types. What differs from prost's own is what the engine's peers rely on:
//!
//! - properties keep the order in which they came, and may be nested as deeply as Go's library takes them in practice
//!   (prost stops at 33 levels of a bag), yet not without end: see [`MAX_DEPTH`];
//! - a value is an enum without an outer `Option`: one that has no kind on the wire is null;
//! - encoding measures each nested bag once, not once for each level that it lies under.

use std::collections::HashMap;
use std::mem;

mod codec;

#[cfg(test)]
mod tests;

/// How deeply bags and lists may be nested; the outermost counts as the first level.
///
/// Decoding, dropping, copying and comparing go down one call for each level, and so does everything that walks a bag.
/// A stack that overflows ends the process, and all resources' operations with it; so a bag that is any deeper is
/// answered with a clean error before it exists. Real programs stay below twenty levels. A test makes sure that this
/// depth fits the 2 MiB stack of a tokio worker without optimisation: decoding takes 1.3 MiB there, copying 0.8,
/// comparing 0.6, everything else less. Whoever walks bags by recursion has 2 KiB for each level.
pub const MAX_DEPTH: usize = 1000;

/// From how many properties on a bag keeps an index of their names. Below, looking at each is as fast, and most bags
/// are small; without any, a bag of a million names would take a million times a million steps to decode.
const INDEXED_FROM: usize = 64;

/// A bag of properties: `google.protobuf.Struct`, in the order of the wire.
///
/// No name is in it twice. Two bags are equal when they have equal values under equal names, in whichever order:
/// the engine's own maps have none.
#[derive(Clone, Default)]
pub struct Struct {
    fields: Vec<(String, Value)>,
    /// Position of each name in `fields`; only once there are many.
    #[expect(
        clippy::box_collection,
        reason = "bags are many and indexes are few: a map in place would double a bag"
    )]
    index: Option<Box<HashMap<String, usize>>>,
}

/// One value of a bag: `google.protobuf.Value`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Null; also what has no kind on the wire.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A number. NaN and infinities pass through, although JSON has none.
    Number(f64),
    /// A text.
    String(String),
    /// A list.
    List(Vec<Self>),
    /// A bag inside the bag.
    Struct(Struct),
}

/// A list on its own: `google.protobuf.ListValue`. Inside a [`Value`] it is a plain vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListValue {
    /// The values in their order.
    pub values: Vec<Value>,
}

impl Struct {
    /// Makes an empty bag.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many properties there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there are no properties.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The property of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.position(name).map(|position| &self.fields[position].1)
    }

    /// The property of this name, to be changed in place.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.position(name).map(|position| &mut self.fields[position].1)
    }

    /// Whether there is a property of this name; it may be null.
    pub fn contains_key(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// Sets a property. One that is there already keeps its place, and its old value is returned; a new one comes last.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let (name, value) = (name.into(), value.into());
        if let Some(position) = self.position(&name) {
            return Some(mem::replace(&mut self.fields[position].1, value));
        }
        if let Some(index) = &mut self.index {
            index.insert(name.clone(), self.fields.len());
        }
        self.fields.push((name, value));
        if self.index.is_none() && self.fields.len() >= INDEXED_FROM {
            let names = self.fields.iter().enumerate().map(|(position, (name, _))| (name.clone(), position));
            self.index = Some(Box::new(names.collect()));
        }
        None
    }

    /// Takes a property out; the others keep their order. The time it takes grows with the number of properties.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let position = self.position(name)?;
        self.index = None;
        Some(self.fields.remove(position).1)
    }

    /// The properties in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> + ExactSizeIterator {
        self.fields.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The properties in their order, the values to be changed in place.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&str, &mut Value)> + ExactSizeIterator {
        self.fields.iter_mut().map(|(name, value)| (name.as_str(), value))
    }

    /// The names in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.iter().map(|(name, _)| name)
    }

    /// The values in their order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.iter().map(|(_, value)| value)
    }

    fn position(&self, name: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(name).copied(),
            None => self.fields.iter().position(|(present, _)| present == name),
        }
    }
}

impl PartialEq for Struct {
    fn eq(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        // Mostly the order is the same. Where it is not, names are looked up in an index if the bag is large.
        let mut by_name: Option<HashMap<&str, &Value>> = None;
        self.fields.iter().zip(&other.fields).all(|((name, value), (same_place, candidate))| {
            if name == same_place {
                return value == candidate;
            }
            if other.index.is_some() || other.len() < INDEXED_FROM {
                return other.get(name) == Some(value);
            }
            let by_name = by_name.get_or_insert_with(|| other.iter().collect());
            by_name.get(name.as_str()) == Some(&value)
        })
    }
}

impl std::fmt::Debug for Struct {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

impl Extend<(String, Value)> for Struct {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, properties: I) {
        for (name, value) in properties {
            self.insert(name, value);
        }
    }
}

impl FromIterator<(String, Value)> for Struct {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(properties: I) -> Self {
        let mut bag = Self::new();
        bag.extend(properties);
        bag
    }
}

impl<const N: usize> From<[(&str, Value); N]> for Struct {
    fn from(properties: [(&str, Value); N]) -> Self {
        properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl IntoIterator for Struct {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.fields.into_iter()
    }
}

impl Value {
    /// Whether this is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The truth value, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The number, if this is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The bag, if this is one.
    pub fn as_struct(&self) -> Option<&Struct> {
        match self {
            Self::Struct(bag) => Some(bag),
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<Vec<Self>> for Value {
    fn from(values: Vec<Self>) -> Self {
        Self::List(values)
    }
}

impl From<Struct> for Value {
    fn from(bag: Struct) -> Self {
        Self::Struct(bag)
    }
}
