//! Types of values in a provider's schema.

mod codec;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

pub use codec::TypeError;

/// A Terraform type, as it appears in a schema (`Attribute.type`) or beside a dynamic value.
///
/// Cloning is cheap: everything below the first level is shared. `Display` is Terraform's form in
/// messages (`list of string`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// `"bool"`
    Bool,
    /// `"number"`
    Number,
    /// `"string"`
    String,
    /// `"dynamic"`: the value brings its own type.
    Dynamic,
    /// `["list", T]`
    List(Arc<Self>),
    /// `["set", T]`
    Set(Arc<Self>),
    /// `["map", T]`
    Map(Arc<Self>),
    /// `["object", {"name": T}]`
    Object(Arc<ObjectType>),
    /// `["tuple", [T, …]]`
    Tuple(Arc<[Self]>),
}

/// The attributes of an object type, ordered by name as go-cty writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectType {
    /// Every attribute's type.
    pub attributes: BTreeMap<Arc<str>, Type>,
    /// Names that a *constraint* allows to be absent. Values' own types never have any; core strips them.
    pub optional: BTreeSet<Arc<str>>,
}

impl Type {
    /// A list of `element`.
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// A set of `element`.
    pub fn set(element: Self) -> Self {
        Self::Set(Arc::new(element))
    }

    /// A map of `element`.
    pub fn map(element: Self) -> Self {
        Self::Map(Arc::new(element))
    }

    /// An object with exactly these attributes.
    pub fn object<N: Into<Arc<str>>>(attributes: impl IntoIterator<Item = (N, Self)>) -> Self {
        let attributes = attributes.into_iter().map(|(name, attribute)| (name.into(), attribute)).collect();
        Self::Object(Arc::new(ObjectType { attributes, optional: BTreeSet::new() }))
    }

    /// A tuple of these elements.
    pub fn tuple(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::Tuple(elements.into_iter().collect())
    }

    /// Whether it is `bool`, `number` or `string`.
    pub fn is_primitive(&self) -> bool {
        matches!(self, Self::Bool | Self::Number | Self::String)
    }

    /// Whether it is a list, a set or a map.
    pub(crate) fn is_collection(&self) -> bool {
        matches!(self, Self::List(_) | Self::Set(_) | Self::Map(_))
    }

    /// Whether it is dynamic, or something inside it is.
    pub fn is_dynamic_inside(&self) -> bool {
        match self {
            Self::Dynamic => true,
            Self::Bool | Self::Number | Self::String => false,
            Self::List(element) | Self::Set(element) | Self::Map(element) => element.is_dynamic_inside(),
            Self::Object(object) => object.attributes.values().any(Self::is_dynamic_inside),
            Self::Tuple(elements) => elements.iter().any(Self::is_dynamic_inside),
        }
    }

    /// Whether some object type inside it has optional attributes.
    pub(crate) fn has_optional_inside(&self) -> bool {
        match self {
            Self::Dynamic | Self::Bool | Self::Number | Self::String => false,
            Self::List(element) | Self::Set(element) | Self::Map(element) => element.has_optional_inside(),
            Self::Object(object) => {
                !object.optional.is_empty() || object.attributes.values().any(Self::has_optional_inside)
            }
            Self::Tuple(elements) => elements.iter().any(Self::has_optional_inside),
        }
    }

    /// The same type without marks of optional attributes at any depth: the type that values have.
    #[must_use]
    pub fn without_optional(&self) -> Self {
        if !self.has_optional_inside() {
            return self.clone();
        }
        match self {
            Self::Dynamic | Self::Bool | Self::Number | Self::String => self.clone(),
            Self::List(element) => Self::list(element.without_optional()),
            Self::Set(element) => Self::set(element.without_optional()),
            Self::Map(element) => Self::map(element.without_optional()),
            Self::Object(object) => Self::object(
                object
                    .attributes
                    .iter()
                    .map(|(name, attribute)| (name.clone(), attribute.without_optional())),
            ),
            Self::Tuple(elements) => Self::tuple(elements.iter().map(Self::without_optional)),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => formatter.write_str("bool"),
            Self::Number => formatter.write_str("number"),
            Self::String => formatter.write_str("string"),
            Self::Dynamic => formatter.write_str("any type"),
            Self::List(element) => write_collection(formatter, "list", element),
            Self::Set(element) => write_collection(formatter, "set", element),
            Self::Map(element) => write_collection(formatter, "map", element),
            Self::Object(_) => formatter.write_str("object"),
            Self::Tuple(_) => formatter.write_str("tuple"),
        }
    }
}

impl ObjectType {
    /// The type of one attribute.
    pub fn attribute(&self, name: &str) -> Option<&Type> {
        self.attributes.get(name)
    }
}

fn write_collection(formatter: &mut fmt::Formatter<'_>, kind: &str, element: &Type) -> fmt::Result {
    match element {
        // Its elements may be anything, but all of them the same.
        Type::Dynamic => write!(formatter, "{kind} of any single type"),
        _ => write!(formatter, "{kind} of {element}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_named_in_terraforms_words() {
        assert_eq!(Type::list(Type::map(Type::String)).to_string(), "list of map of string");
        assert_eq!(Type::set(Type::object([("a", Type::Bool)])).to_string(), "set of object");
        assert_eq!(Type::Dynamic.to_string(), "any type");
        assert_eq!(Type::list(Type::Dynamic).to_string(), "list of any single type");
    }

    #[test]
    fn dynamic_is_found_at_any_depth() {
        let nested = Type::list(Type::object([("a", Type::tuple([Type::Bool, Type::Dynamic]))]));
        assert!(nested.is_dynamic_inside());
        assert!(!Type::list(Type::object([("a", Type::Bool)])).is_dynamic_inside());
    }
}
