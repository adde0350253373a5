//! Conformance of a value to a type.

use super::concrete::are_of_one_type;
use super::{Type, Value};
use crate::{AttributePath, PathStep};

/// Why and where a value does not conform to a type. The text omits the value, which may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", crate::at(path))]
pub struct ConformError {
    /// Path in the value.
    pub path: AttributePath,
    /// The reason.
    pub reason: String,
}

impl Value {
    /// Checks that the value conforms to this type: null and unknown are of every type, an object
    /// must have exactly the attributes of its type, a value at a dynamic position must have its
    /// own type, and elements of a collection must be of one type even where they are dynamic.
    ///
    /// # Errors
    /// At the first path that does not conform.
    pub fn conforms(&self, constraint: &Type) -> Result<(), ConformError> {
        check(self, constraint, &mut AttributePath::root())
    }

    /// The kind of value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Unknown(_) => "an unknown value",
            Self::Bool(_) => "bool",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::List(_) => "list",
            Self::Set(_) => "set",
            Self::Map(_) => "map",
            Self::Object(_) => "object",
            Self::Tuple(_) => "tuple",
            Self::Dynamic(_) => "a value with its own type",
        }
    }
}

fn check(value: &Value, constraint: &Type, path: &mut AttributePath) -> Result<(), ConformError> {
    let of_one_type = match (value, constraint) {
        (Value::List(elements), Type::List(own)) | (Value::Set(elements), Type::Set(own)) => {
            are_of_one_type(elements, own)
        }
        (Value::Map(elements), Type::Map(own)) => are_of_one_type(elements.values(), own),
        _ => true,
    };
    if !of_one_type {
        return Err(ConformError {
            path: path.clone(),
            reason: "the elements must all be of one type".to_owned(),
        });
    }
    match (value, constraint) {
        (Value::Null | Value::Unknown(_), _)
        | (Value::Bool(_), Type::Bool)
        | (Value::Number(_), Type::Number)
        | (Value::String(_), Type::String) => Ok(()),
        (Value::Dynamic(both), Type::Dynamic) => check(&both.1, &both.0, path),
        (Value::List(elements), Type::List(own)) => {
            for (index, element) in elements.iter().enumerate() {
                within(path, PathStep::Index(index), |path| check(element, own, path))?;
            }
            Ok(())
        }
        (Value::Set(elements), Type::Set(own)) => {
            for element in elements {
                // The path of an element contains a copy of it, so it is only created for an error.
                if let Err(mut error) = check(element, own, &mut AttributePath::root()) {
                    let steps = std::mem::take(&mut error.path);
                    let step = PathStep::Element(Box::new(element.clone()));
                    error.path = path.iter().cloned().chain([step]).chain(steps).collect();
                    return Err(error);
                }
            }
            Ok(())
        }
        (Value::Map(elements), Type::Map(own)) => {
            for (key, element) in elements {
                within(path, PathStep::Key(key.clone()), |path| check(element, own, path))?;
            }
            Ok(())
        }
        (Value::Tuple(elements), Type::Tuple(types)) => {
            if elements.len() != types.len() {
                let reason = format!("{} elements are required, but got {}", types.len(), elements.len());
                return Err(ConformError { path: path.clone(), reason });
            }
            for (index, (element, own)) in elements.iter().zip(types.iter()).enumerate() {
                within(path, PathStep::Index(index), |path| check(element, own, path))?;
            }
            Ok(())
        }
        (Value::Object(attributes), Type::Object(object)) => {
            for (name, own) in &object.attributes {
                let Some(attribute) = attributes.get(name) else {
                    let reason = format!("missing required attribute {name:?}");
                    return Err(ConformError { path: path.clone(), reason });
                };
                within(path, PathStep::Attribute(name.clone()), |path| check(attribute, own, path))?;
            }
            match attributes.keys().find(|name| !object.attributes.contains_key(*name)) {
                None => Ok(()),
                Some(name) => {
                    let reason = format!("unsupported attribute {name:?}");
                    Err(ConformError { path: path.clone(), reason })
                }
            }
        }
        _ => {
            let reason = format!("{constraint} required, but received {}", value.kind());
            Err(ConformError { path: path.clone(), reason })
        }
    }
}

fn within<T>(path: &mut AttributePath, step: PathStep, work: impl FnOnce(&mut AttributePath) -> T) -> T {
    path.push(step);
    let result = work(path);
    path.pop();
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mismatch_is_reported_with_its_place() {
        let rule = Type::object([("port", Type::Number)]);
        let constraint = Type::object([("rule", Type::list(rule.clone())), ("peers", Type::set(rule))]);
        let with = |rule: Value, peer: Value| {
            Value::object([("rule", Value::list([rule])), ("peers", Value::set([peer]))])
        };
        let good = || Value::object([("port", 80.into())]);
        let bad = || Value::object([("port", "80".into())]);
        assert_eq!(with(good(), Value::unknown()).conforms(&constraint), Ok(()));
        let message = |value: Value| value.conforms(&constraint).unwrap_err().to_string();
        assert_eq!(message(with(bad(), good())), "rule[0].port: number required, but received string");
        assert_eq!(message(with(good(), bad())), "peers[…].port: number required, but received string");
        assert_eq!(
            message(with(Value::object::<&str>([]), good())),
            "rule[0]: missing required attribute \"port\""
        );
        let more = Value::object([("port", 1.into()), ("proto", Value::Null)]);
        assert_eq!(message(with(more, good())), "rule[0]: unsupported attribute \"proto\"");
        assert_eq!(message(Value::list([])), "object required, but received list");
    }

    #[test]
    fn a_dynamic_position_needs_a_value_with_its_own_type() {
        assert_eq!(Value::dynamic(Type::Bool, true.into()).conforms(&Type::Dynamic), Ok(()));
        assert_eq!(Value::Null.conforms(&Type::Dynamic), Ok(()));
        assert!(Value::from(true).conforms(&Type::Dynamic).is_err());
        let mixed =
            Value::list([Value::dynamic(Type::Bool, true.into()), Value::dynamic(Type::String, "x".into())]);
        let error = mixed.conforms(&Type::list(Type::Dynamic)).unwrap_err();
        assert_eq!(error.to_string(), "the elements must all be of one type");
        assert!(Value::Dynamic(Box::new((Type::Bool, "x".into()))).conforms(&Type::Dynamic).is_err());
    }

    #[test]
    fn tuples_have_the_length_of_their_type() {
        let pair = Type::tuple([Type::Bool, Type::String]);
        assert_eq!(Value::tuple([true.into(), "x".into()]).conforms(&pair), Ok(()));
        let error = Value::tuple([true.into()]).conforms(&pair).unwrap_err();
        assert_eq!(error.to_string(), "2 elements are required, but got 1");
    }
}
