//! Values, with go-cty's semantics.

mod concrete;
mod conform;
mod order;
mod refined;
mod walk;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::{Number, ObjectType, Refinements, Type};

pub(super) use concrete::are_of_one_type;
pub use conform::ConformError;

/// A Terraform value; its [`Type`] is known from the context.
///
/// Equality (`==`) is semantic: numbers by value, sets without order, refinements of unknowns
/// ignored. It is *not* Terraform's three-valued equality: an unknown equals an unknown here.
///
/// `Debug` shows everything, secrets included: it is for tests.
#[derive(Clone)]
pub enum Value {
    /// Null of any type.
    Null,
    /// An unknown value, with its refinements, if any.
    Unknown(Option<Box<Refinements>>),
    /// A boolean.
    Bool(bool),
    /// A number of any size.
    Number(Number),
    /// A string in NFC: construct it with [`Value::string`].
    String(Arc<str>),
    /// A list's elements.
    List(Vec<Self>),
    /// A set's distinct elements in go-cty's order: construct it with [`Value::set`].
    Set(Vec<Self>),
    /// A map's elements.
    Map(BTreeMap<Arc<str>, Self>),
    /// Every attribute of an object type.
    Object(BTreeMap<Arc<str>, Self>),
    /// A tuple's elements.
    Tuple(Vec<Self>),
    /// The value of a dynamic position with its own type: construct it with [`Value::dynamic`].
    /// Never nested directly in another one, and never null or unknown of dynamic type: those are
    /// plain [`Value::Null`] and [`Value::Unknown`].
    Dynamic(Box<(Type, Self)>),
}

/// Normalises text to NFC, the form of all of Terraform's strings, keys and names.
pub fn normalize(text: &str) -> Arc<str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return text.into();
    }
    text.nfc().collect::<String>().into()
}

impl Value {
    /// A string, normalised to NFC.
    pub fn string(text: impl AsRef<str>) -> Self {
        Self::String(normalize(text.as_ref()))
    }

    /// An unknown without refinements.
    pub const fn unknown() -> Self {
        Self::Unknown(None)
    }

    /// A number.
    pub fn number(number: impl Into<Number>) -> Self {
        Self::Number(number.into())
    }

    /// A list of these elements.
    pub fn list(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::List(elements.into_iter().collect())
    }

    /// A tuple of these elements.
    pub fn tuple(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::Tuple(elements.into_iter().collect())
    }

    /// A map. Keys are normalised to NFC; of equal keys the last counts.
    pub fn map<K: AsRef<str>>(elements: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(elements.into_iter().map(|(key, element)| (normalize(key.as_ref()), element)).collect())
    }

    /// An object. Names are normalised to NFC; of equal names the last counts.
    pub fn object<K: AsRef<str>>(attributes: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Object(attributes.into_iter().map(|(name, value)| (normalize(name.as_ref()), value)).collect())
    }

    /// The object of that type whose attributes are all null.
    pub fn null_object(object: &ObjectType) -> Self {
        Self::Object(object.attributes.keys().map(|name| (name.clone(), Self::Null)).collect())
    }

    /// The value of a dynamic position, of type `own`.
    ///
    /// Nested wrappers are resolved into the type, so that each value has one form: an object `{d:
    /// dynamic}` whose `d` is the string "x" becomes an object `{d: string}`. Null and unknown of
    /// the dynamic type stay plain.
    pub fn dynamic(own: Type, value: Self) -> Self {
        if matches!((&own, &value), (Type::Dynamic, _) | (_, Self::Dynamic(_))) {
            return value;
        }
        if !own.is_dynamic_inside() {
            return Self::Dynamic(Box::new((own, value)));
        }
        let concrete = value.concrete_type(&own);
        let value = value.unwrapped(&concrete);
        Self::Dynamic(Box::new((concrete, value)))
    }

    /// The value; of a dynamic one the wrapped value.
    pub fn inner(&self) -> &Self {
        match self {
            Self::Dynamic(both) => &both.1,
            _ => self,
        }
    }

    /// Whether it is null, of any type.
    pub fn is_null(&self) -> bool {
        matches!(self.inner(), Self::Null)
    }

    /// Whether the value itself is known. Null is known.
    pub fn is_known(&self) -> bool {
        !matches!(self.inner(), Self::Unknown(_))
    }

    /// Whether it contains no unknowns.
    pub fn is_wholly_known(&self) -> bool {
        match self {
            Self::Unknown(_) => false,
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => true,
            Self::List(elements) | Self::Set(elements) | Self::Tuple(elements) => {
                elements.iter().all(Self::is_wholly_known)
            }
            Self::Map(elements) | Self::Object(elements) => elements.values().all(Self::is_wholly_known),
            Self::Dynamic(both) => both.1.is_wholly_known(),
        }
    }

    /// Whether it contains unknowns.
    pub(crate) fn has_unknown(&self) -> bool {
        !self.is_wholly_known()
    }

    /// The text of a string that is known and not null.
    pub fn as_str(&self) -> Option<&str> {
        match self.inner() {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// A boolean that is known and not null.
    pub fn as_bool(&self) -> Option<bool> {
        match self.inner() {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// A number that is known and not null.
    pub fn as_number(&self) -> Option<&Number> {
        match self.inner() {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The elements of a list, set or tuple.
    pub fn elements(&self) -> Option<&[Self]> {
        match self.inner() {
            Self::List(elements) | Self::Set(elements) | Self::Tuple(elements) => Some(elements),
            _ => None,
        }
    }

    /// The elements of a map, or the attributes of an object.
    pub fn entries(&self) -> Option<&BTreeMap<Arc<str>, Self>> {
        match self.inner() {
            Self::Map(entries) | Self::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// One attribute of an object.
    pub fn attribute(&self, name: &str) -> Option<&Self> {
        match self.inner() {
            Self::Object(attributes) => attributes.get(name),
            _ => None,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Number(integer.into())
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

/// A compact form for tests. It includes secrets, and so is not for users or logs.
impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Unknown(None) => formatter.write_str("?"),
            Self::Unknown(Some(refinements)) => write!(formatter, "?{refinements:?}"),
            Self::Bool(value) => value.fmt(formatter),
            Self::Number(number) => fmt::Debug::fmt(number, formatter),
            Self::String(text) => fmt::Debug::fmt(&**text, formatter),
            Self::List(elements) => formatter.debug_list().entries(elements).finish(),
            Self::Set(elements) => formatter.debug_set().entries(elements).finish(),
            Self::Map(elements) => {
                formatter.write_str("map")?;
                formatter.debug_map().entries(elements).finish()
            }
            Self::Object(attributes) => formatter.debug_map().entries(attributes).finish(),
            Self::Tuple(elements) => {
                formatter.write_str("tuple")?;
                formatter.debug_list().entries(elements).finish()
            }
            Self::Dynamic(both) => write!(formatter, "({}: {:?})", both.0, both.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_keys_and_names_are_brought_into_nfc() {
        assert_eq!(Value::string("e\u{301}"), Value::string("\u{e9}"));
        assert_eq!(Value::map([("e\u{301}", Value::Null)]), Value::map([("\u{e9}", Value::Null)]));
        assert!(Value::object([("e\u{301}", Value::Null)]).attribute("\u{e9}").is_some());
    }

    #[test]
    fn what_is_unknown_is_found_at_any_depth() {
        let value = Value::list([Value::object([("a", Value::dynamic(Type::String, Value::unknown()))])]);
        assert!(value.is_known() && value.has_unknown());
        assert!(!Value::dynamic(Type::String, Value::unknown()).is_known());
        assert!(Value::dynamic(Type::String, Value::Null).is_null());
    }

    #[test]
    fn a_dynamic_value_has_one_form() {
        let own = Type::object([("d", Type::Dynamic), ("n", Type::Dynamic)]);
        let wrapped = Value::object([("d", Value::dynamic(Type::String, "x".into())), ("n", Value::Null)]);
        let Value::Dynamic(both) = Value::dynamic(own, wrapped) else { panic!("not dynamic") };
        assert_eq!(both.0, Type::object([("d", Type::String), ("n", Type::Dynamic)]));
        assert_eq!(both.1, Value::object([("d", "x".into()), ("n", Value::Null)]));
        let once = Value::dynamic(Type::Bool, true.into());
        assert_eq!(Value::dynamic(Type::Dynamic, once.clone()), once);
        assert!(matches!(Value::dynamic(Type::Dynamic, Value::Null), Value::Null));
    }
}
