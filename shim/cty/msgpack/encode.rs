//! Encoding.

use std::sync::Arc;

use super::{EncodeError, EncodeReason, refinements, writer};
use crate::value::are_of_one_type;
use crate::{MAXIMUM_DEPTH, ObjectType, PathStep, Type, Value};

/// Encodes a value of a type with the same bytes as go-cty: attributes and keys sorted, sets in
/// order, exactly the attributes of the type.
///
/// # Errors
/// [`EncodeError`], when the value does not conform to the type.
pub fn encode(value: &Value, own: &Type) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    write(value, own, 0, &mut out).map_err(|mut failure| {
        failure.path.0.reverse();
        *failure
    })?;
    Ok(out)
}

/// An error's path is collected from its last step to its first.
type Written = Result<(), Box<EncodeError>>;

fn write(value: &Value, own: &Type, depth: usize, out: &mut Vec<u8>) -> Written {
    if depth > MAXIMUM_DEPTH {
        return Err(EncodeReason::TooDeep.into());
    }
    match (value, own) {
        (Value::Null, _) => writer::nil(out),
        (Value::Unknown(None), _) => refinements::write_plain(out),
        (Value::Unknown(Some(known)), _) => match known.resolve(own) {
            Some(resolved) => return write(&resolved, own, depth, out),
            None => refinements::write(known, own, out)?,
        },
        (Value::Dynamic(both), Type::Dynamic) => {
            writer::array_head(2, out)?;
            writer::binary(both.0.to_json().as_bytes(), out)?;
            return write(&both.1, &both.0, depth + 1, out);
        }
        (other, Type::Dynamic) => return Err(EncodeReason::WithoutType(other.kind()).into()),
        (Value::Bool(value), Type::Bool) => writer::boolean(*value, out),
        (Value::Number(number), Type::Number) => writer::number(number, out)?,
        (Value::String(text), Type::String) => writer::string(text, out)?,
        (Value::List(elements), Type::List(element)) => {
            check_one_type(elements, element)?;
            writer::array_head(elements.len(), out)?;
            for (index, value) in elements.iter().enumerate() {
                write(value, element, depth + 1, out)
                    .map_err(|error| error.inside(PathStep::Index(index)))?;
            }
        }
        (Value::Set(elements), Type::Set(element)) => {
            check_one_type(elements, element)?;
            writer::array_head(elements.len(), out)?;
            for value in elements {
                write(value, element, depth + 1, out)
                    .map_err(|error| error.inside(PathStep::Element(Box::new(value.clone()))))?;
            }
        }
        (Value::Map(elements), Type::Map(element)) => {
            check_one_type(elements.values(), element)?;
            writer::map_head(elements.len(), out)?;
            for (key, value) in elements {
                writer::string(key, out)?;
                write(value, element, depth + 1, out)
                    .map_err(|error| error.inside(PathStep::Key(key.clone())))?;
            }
        }
        (Value::Tuple(elements), Type::Tuple(types)) => {
            if elements.len() != types.len() {
                return Err(EncodeReason::TupleLength { required: types.len(), given: elements.len() }.into());
            }
            writer::array_head(elements.len(), out)?;
            for (index, (value, element)) in elements.iter().zip(types.iter()).enumerate() {
                write(value, element, depth + 1, out)
                    .map_err(|error| error.inside(PathStep::Index(index)))?;
            }
        }
        (Value::Object(attributes), Type::Object(object)) => {
            return write_object(attributes, object, depth, out);
        }
        _ => return Err(EncodeReason::Mismatch { required: own.clone(), found: value.kind() }.into()),
    }
    Ok(())
}

fn check_one_type<'a>(elements: impl IntoIterator<Item = &'a Value>, element: &Type) -> Written {
    if are_of_one_type(elements, element) { Ok(()) } else { Err(EncodeReason::MixedElements.into()) }
}

/// Both maps have the same order, so they are traversed together.
fn write_object(
    attributes: &std::collections::BTreeMap<Arc<str>, Value>,
    object: &ObjectType,
    depth: usize,
    out: &mut Vec<u8>,
) -> Written {
    writer::map_head(object.attributes.len(), out)?;
    let mut given = attributes.iter().peekable();
    for (name, own) in &object.attributes {
        let value = match given.peek() {
            Some((found, value)) if *found == name => value,
            Some((found, _)) if *found < name => {
                return Err(EncodeReason::UnsupportedAttribute((*found).clone()).into());
            }
            _ => return Err(EncodeReason::MissingAttribute(name.clone()).into()),
        };
        writer::string(name, out)?;
        write(value, own, depth + 1, out).map_err(|error| error.inside(PathStep::Attribute(name.clone())))?;
        given.next();
    }
    match given.next() {
        Some((name, _)) => Err(EncodeReason::UnsupportedAttribute(name.clone()).into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_place() {
        let own = Type::object([("rule", Type::list(Type::object([("port", Type::Number)])))]);
        let with = |rule: Value| Value::object([("rule", Value::list([rule]))]);
        let message = |value: Value| encode(&value, &own).unwrap_err().to_string();
        assert_eq!(message(with(Value::object::<&str>([]))), "rule[0]: missing required attribute \"port\"");
        assert_eq!(
            message(with(Value::object([("port", "80".into())]))),
            "rule[0].port: number required, but the value is string"
        );
        let more = |extra: &str| with(Value::object([("port", 80.into()), (extra, Value::Null)]));
        assert_eq!(message(more("a")), "rule[0]: unsupported attribute \"a\"");
        assert_eq!(message(more("z")), "rule[0]: unsupported attribute \"z\"");
        assert_eq!(
            encode(&true.into(), &Type::Dynamic).unwrap_err().to_string(),
            "a value at a dynamic position must bring its own type, but this is bool"
        );
        let error = encode(&Value::tuple([]), &Type::tuple([Type::Bool])).unwrap_err();
        assert_eq!(error.to_string(), "1 elements are required, but got 0");
    }

    #[test]
    fn collections_of_dynamic_hold_one_type() {
        let text = || Value::dynamic(Type::String, "x".into());
        let flag = || Value::dynamic(Type::Bool, true.into());
        let dynamics = Type::list(Type::Dynamic);
        let same = [text(), Value::Null, text(), Value::unknown(), Value::dynamic(Type::String, Value::Null)];
        assert!(encode(&Value::list(same), &dynamics).is_ok());
        let mixed = encode(&Value::list([text(), flag()]), &dynamics).unwrap_err();
        assert_eq!(mixed.reason, EncodeReason::MixedElements);
        let map = encode(&Value::map([("a", text()), ("b", flag())]), &Type::map(Type::Dynamic)).unwrap_err();
        assert_eq!(map.reason, EncodeReason::MixedElements);
        let objects = Type::list(Type::object([("d", Type::Dynamic)]));
        let object = |inside: Value| Value::object([("d", inside)]);
        assert!(encode(&Value::list([object(text()), object(text())]), &objects).is_ok());
        assert!(encode(&Value::list([object(text()), object(Value::Null)]), &objects).is_err());
    }

    #[test]
    fn depth_is_bounded() {
        let (mut value, mut own) = (Value::from(true), Type::Bool);
        for _ in 0..MAXIMUM_DEPTH + 1 {
            value = Value::list([value]);
            own = Type::list(own);
        }
        assert_eq!(encode(&value, &own).unwrap_err().reason, EncodeReason::TooDeep);
    }
}
