//! Conversion of values between types, as Terraform converts configuration values to a schema's
//! types.
//!
//! Strings, numbers and booleans convert to one another, tuples to lists and sets, objects to maps
//! and other objects. Whether a conversion exists depends on the types alone, also for nulls and
//! unknowns; whether it succeeds may depend on the value.
//!
//! It is less strict than go-cty in one case: after a conversion to a collection of objects with
//! dynamic attributes, the elements may differ in these attributes' types. Such a type never comes
//! from a schema's blocks (they become tuples).

mod unify;

use std::collections::BTreeMap;
use std::sync::Arc;

use unify::{Safety, exists, unify};

use super::{AttributePath, Number, ObjectType, PathStep, Refinements, Type, Value};

/// Why a value cannot be converted, and where. The text omits the value, which may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", super::at(path))]
pub struct ConvertError {
    /// Path in the value.
    pub path: AttributePath,
    /// The reason.
    pub reason: ConvertReason,
}

/// Why a value cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertReason {
    /// There is no conversion between the types.
    #[error("{to} required, but have {from}")]
    NoConversion {
        /// The value's type.
        from: Type,
        /// The requested type.
        to: Type,
    },
    /// A string that is no number.
    #[error("a number is required")]
    Number,
    /// A string that is no boolean.
    #[error("a bool is required")]
    Bool,
    /// A string that is nearly a boolean.
    #[error("a bool is required; to convert from string, use lowercase \"{0}\"")]
    LowercaseBool(bool),
    /// A map lacks an attribute of an object type.
    #[error("map has no element for required attribute {0:?}")]
    MissingElement(Arc<str>),
    /// The elements of a collection have no common type.
    #[error("the elements have no type in common")]
    NoCommonType,
    /// The value does not conform to its type.
    #[error("the value is {found} although its type is {own}; this is a bug")]
    NotOfType {
        /// The kind of the value.
        found: &'static str,
        /// Its type.
        own: Type,
    },
}

/// Converts a value of type `from` to type `to`, which may have optional attributes and dynamic
/// parts. Values at dynamic positions are wrapped with their types.
///
/// # Errors
/// [`ConvertError`], when the types or the value do not allow it.
pub fn convert(value: &Value, from: &Type, to: &Type) -> Result<Value, ConvertError> {
    let attempt = || {
        if !is_convertible(from, to) {
            return Err(ConvertReason::NoConversion { from: from.clone(), to: to.clone() }.into());
        }
        converted(value, from, to)
    };
    attempt().map_err(|mut error: Box<ConvertError>| {
        error.path.0.reverse();
        *error
    })
}

/// Whether some value of type `from` can be converted to type `to`.
fn is_convertible(from: &Type, to: &Type) -> bool {
    exists(from, to, Safety::MayFail)
}

/// An error's path is collected from its last step to its first.
type Converted<T> = Result<T, Box<ConvertError>>;

impl From<ConvertReason> for Box<ConvertError> {
    fn from(reason: ConvertReason) -> Self {
        Self::new(ConvertError { path: AttributePath::root(), reason })
    }
}

impl ConvertError {
    fn inside(mut self: Box<Self>, step: PathStep) -> Box<Self> {
        self.path.push(step);
        self
    }
}

/// Converts between types with an existing conversion.
fn converted(value: &Value, from: &Type, to: &Type) -> Converted<Value> {
    if from == to {
        return Ok(value.clone());
    }
    match (value, from, to) {
        (Value::Dynamic(both), Type::Dynamic, _) => {
            if !is_convertible(&both.0, to) {
                return Err(ConvertReason::NoConversion { from: both.0.clone(), to: to.clone() }.into());
            }
            converted(&both.1, &both.0, to)
        }
        (_, _, Type::Dynamic) => Ok(Value::dynamic(from.clone(), value.clone())),
        (Value::Null, _, _) => Ok(Value::Null),
        (Value::Unknown(_), Type::Dynamic, _) => Ok(Value::unknown()),
        (Value::Unknown(known), _, _) => Ok(converted_unknown(known.as_deref(), from, to)),
        (Value::Number(number), Type::Number, Type::String) => Ok(Value::string(number.to_decimal_text())),
        (Value::Bool(value), Type::Bool, Type::String) => {
            Ok(Value::string(if *value { "true" } else { "false" }))
        }
        (Value::String(text), Type::String, Type::Number) => {
            Number::from_decimal(text).map(Value::Number).map_err(|_| ConvertReason::Number.into())
        }
        (Value::String(text), Type::String, Type::Bool) => string_to_bool(text),
        (Value::List(elements), Type::List(from), Type::List(to)) => {
            same_elements(elements, from, to).map(Value::List)
        }
        (Value::Set(elements), Type::Set(from), Type::List(to)) => {
            // Unknown elements may turn out equal, so the length is unknown.
            if elements.len() > 1 && value.has_unknown() {
                return Ok(Value::unknown());
            }
            same_elements(elements, from, to).map(Value::List)
        }
        (Value::List(elements), Type::List(from), Type::Set(to))
        | (Value::Set(elements), Type::Set(from), Type::Set(to)) => {
            same_elements(elements, from, to).map(Value::set)
        }
        (Value::Map(elements), Type::Map(from), Type::Map(to)) => elements
            .iter()
            .map(|(key, element)| {
                let element =
                    converted(element, from, to).map_err(|error| error.inside(PathStep::Key(key.clone())))?;
                Ok((key.clone(), element))
            })
            .collect::<Converted<_>>()
            .map(Value::Map),
        (Value::Tuple(elements), Type::Tuple(types), Type::List(element)) => {
            mixed_elements(elements, types, element).map(Value::List)
        }
        (Value::Tuple(elements), Type::Tuple(types), Type::Set(element)) => {
            mixed_elements(elements, types, element).map(Value::set)
        }
        (Value::Tuple(elements), Type::Tuple(from), Type::Tuple(to)) => elements
            .iter()
            .zip(from.iter().zip(to.iter()))
            .enumerate()
            .map(|(index, (element, (from, to)))| {
                converted(element, from, to).map_err(|error| error.inside(PathStep::Index(index)))
            })
            .collect::<Converted<_>>()
            .map(Value::Tuple),
        (Value::Object(attributes), Type::Object(from), Type::Object(to)) => {
            object_to_object(attributes, from, to)
        }
        (Value::Object(attributes), Type::Object(from), Type::Map(element)) => {
            object_to_map(attributes, from, element)
        }
        (Value::Map(elements), Type::Map(element), Type::Object(to)) => map_to_object(elements, element, to),
        _ => Err(ConvertReason::NotOfType { found: value.kind(), own: from.clone() }.into()),
    }
}

fn string_to_bool(text: &str) -> Converted<Value> {
    match text {
        "true" | "1" => Ok(Value::Bool(true)),
        "false" | "0" => Ok(Value::Bool(false)),
        _ if text.eq_ignore_ascii_case("true") => Err(ConvertReason::LowercaseBool(true).into()),
        _ if text.eq_ignore_ascii_case("false") => Err(ConvertReason::LowercaseBool(false).into()),
        _ => Err(ConvertReason::Bool.into()),
    }
}

fn same_elements(elements: &[Value], from: &Type, to: &Type) -> Converted<Vec<Value>> {
    let convert_one =
        |(index, element)| converted(element, from, to).map_err(|error| error.inside(PathStep::Index(index)));
    elements.iter().enumerate().map(convert_one).collect()
}

/// Converts elements of several types to elements of one collection; if its element type is
/// dynamic, to their common type.
fn mixed_elements(elements: &[Value], types: &[Type], element: &Type) -> Converted<Vec<Value>> {
    let common = common_element(types.iter(), element)?;
    let convert_one = |(index, (value, from))| {
        in_common(value, from, &common, element).map_err(|error| error.inside(PathStep::Index(index)))
    };
    elements.iter().zip(types).enumerate().map(convert_one).collect()
}

fn object_to_map(
    attributes: &BTreeMap<Arc<str>, Value>,
    from: &ObjectType,
    element: &Type,
) -> Converted<Value> {
    let common = common_element(from.attributes.values(), element)?;
    let mut elements = BTreeMap::new();
    for (name, own) in &from.attributes {
        let value = attributes.get(name).unwrap_or(&Value::Null);
        let value = in_common(value, own, &common, element)
            .map_err(|error| error.inside(PathStep::Attribute(name.clone())))?;
        elements.insert(name.clone(), value);
    }
    Ok(Value::Map(elements))
}

fn common_element<'a>(types: impl Iterator<Item = &'a Type> + Clone, element: &Type) -> Converted<Type> {
    match element {
        Type::Dynamic => unify(types).ok_or_else(|| ConvertReason::NoCommonType.into()),
        _ => Ok(element.clone()),
    }
}

/// Converts to the common type, and then to the declared element type.
fn in_common(value: &Value, from: &Type, common: &Type, declared: &Type) -> Converted<Value> {
    let value = converted(value, from, common)?;
    Ok(if matches!(declared, Type::Dynamic) { Value::dynamic(common.clone(), value) } else { value })
}

fn object_to_object(
    attributes: &BTreeMap<Arc<str>, Value>,
    from: &ObjectType,
    to: &ObjectType,
) -> Converted<Value> {
    let mut converted_attributes = BTreeMap::new();
    for (name, to_attribute) in &to.attributes {
        let value = match (attributes.get(name), from.attributes.get(name)) {
            (Some(value), Some(from_attribute)) => converted(value, from_attribute, to_attribute)
                .map_err(|error| error.inside(PathStep::Attribute(name.clone())))?,
            // A missing optional attribute.
            _ => Value::Null,
        };
        converted_attributes.insert(name.clone(), value);
    }
    Ok(Value::Object(converted_attributes))
}

fn map_to_object(elements: &BTreeMap<Arc<str>, Value>, element: &Type, to: &ObjectType) -> Converted<Value> {
    let mut attributes = BTreeMap::new();
    for (name, to_attribute) in &to.attributes {
        let value = match elements.get(name) {
            // An absent optional attribute may be of any type.
            Some(_) if !is_convertible(element, to_attribute) => {
                let reason = ConvertReason::NoConversion { from: element.clone(), to: to_attribute.clone() };
                return Err(Box::<ConvertError>::from(reason).inside(PathStep::Key(name.clone())));
            }
            Some(value) => converted(value, element, to_attribute)
                .map_err(|error| error.inside(PathStep::Key(name.clone())))?,
            None if to.optional.contains(name) => Value::Null,
            None => return Err(ConvertReason::MissingElement(name.clone()).into()),
        };
        attributes.insert(name.clone(), value);
    }
    Ok(Value::Object(attributes))
}

/// Refinements after conversion: not null, and the length.
fn converted_unknown(known: Option<&Refinements>, from: &Type, to: &Type) -> Value {
    let count = |length: usize| u64::try_from(length).ok();
    let (least, most) = match (from, to) {
        (Type::Object(from), Type::Map(_)) => (count(from.attributes.len()), count(from.attributes.len())),
        (Type::Tuple(from), Type::List(_)) => (count(from.len()), count(from.len())),
        // Elements may turn out equal, so at least one remains.
        (Type::Tuple(from), Type::Set(_)) => (count(from.len().min(1)), count(from.len())),
        _ if from.is_collection() && to.is_collection() => {
            let least = known.and_then(|known| known.length_minimum);
            let least = if matches!(to, Type::Set(_)) { least.map(|length| length.min(1)) } else { least };
            (least, known.and_then(|known| known.length_maximum))
        }
        _ => (None, None),
    };
    let after = Refinements {
        null: known.and_then(|known| known.null).filter(|null| !null),
        length_minimum: least.filter(|length| *length > 0),
        length_maximum: most,
        ..Refinements::default()
    };
    match after.resolve(to) {
        Some(resolved) => resolved,
        None => Value::Unknown((!after.is_empty()).then(|| Box::new(after))),
    }
}

#[cfg(test)]
mod tests;
