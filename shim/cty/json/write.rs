//! Encoding of values as JSON, with the same bytes as go-cty.

use super::{JsonError, JsonReason, write_string};
use crate::{MAXIMUM_DEPTH, PathStep, Type, Value};

/// Encodes a value of a type as JSON: keys sorted, without spaces, numbers as decimal text without
/// an exponent.
///
/// # Errors
/// [`JsonError`], when the value contains unknowns or infinities, or does not conform to the type.
pub fn to_json(value: &Value, own: &Type) -> Result<String, JsonError> {
    let mut out = String::new();
    write(value, own, 0, &mut out).map_err(|error| error.arrived())?;
    Ok(out)
}

fn write(value: &Value, own: &Type, depth: usize, out: &mut String) -> Result<(), Box<JsonError>> {
    if depth > MAXIMUM_DEPTH {
        return Err(JsonReason::TooDeep.into());
    }
    match (value, own) {
        (Value::Unknown(_), _) => return Err(JsonReason::Unknown.into()),
        (Value::Null, _) => out.push_str("null"),
        (Value::Dynamic(both), Type::Dynamic) => {
            out.push_str("{\"value\":");
            write(&both.1, &both.0, depth + 1, out)?;
            out.push_str(",\"type\":");
            out.push_str(&both.0.to_json());
            out.push('}');
        }
        (Value::Bool(value), Type::Bool) => out.push_str(if *value { "true" } else { "false" }),
        (Value::Number(number), Type::Number) if number.is_infinite() => {
            return Err(JsonReason::Infinity.into());
        }
        (Value::Number(number), Type::Number) => out.push_str(&number.to_decimal_text()),
        (Value::String(text), Type::String) => write_string(text, out),
        (Value::List(elements), Type::List(element)) => {
            write_sequence(elements.iter().map(|value| (value, &**element)), depth, out)?;
        }
        (Value::Set(elements), Type::Set(element)) => {
            write_sequence(elements.iter().map(|value| (value, &**element)), depth, out)?;
        }
        (Value::Tuple(elements), Type::Tuple(types)) => {
            if elements.len() != types.len() {
                return Err(JsonReason::TupleLength { required: types.len(), given: elements.len() }.into());
            }
            write_sequence(elements.iter().zip(types.iter()), depth, out)?;
        }
        (Value::Map(elements), Type::Map(element)) => {
            out.push('{');
            for (index, (key, value)) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write(value, element, depth + 1, out)
                    .map_err(|error| error.inside(PathStep::Key(key.clone())))?;
            }
            out.push('}');
        }
        (Value::Object(attributes), Type::Object(object)) => {
            if !attributes.keys().eq(object.attributes.keys())
                && let Some(name) = attributes.keys().find(|name| !object.attributes.contains_key(*name))
            {
                return Err(JsonReason::UnsupportedAttribute(name.clone()).into());
            }
            out.push('{');
            // Both have the same order, and the value has no other names.
            let mut given = attributes.iter().peekable();
            for (index, (name, own)) in object.attributes.iter().enumerate() {
                let Some((_, value)) = given.next_if(|(found, _)| *found == name) else {
                    return Err(JsonReason::MissingAttribute(name.clone()).into());
                };
                if index > 0 {
                    out.push(',');
                }
                write_string(name, out);
                out.push(':');
                write(value, own, depth + 1, out)
                    .map_err(|error| error.inside(PathStep::Attribute(name.clone())))?;
            }
            out.push('}');
        }
        _ => return Err(JsonReason::Mismatch { required: own.clone(), found: value.kind() }.into()),
    }
    Ok(())
}

fn write_sequence<'a>(
    elements: impl Iterator<Item = (&'a Value, &'a Type)>,
    depth: usize,
    out: &mut String,
) -> Result<(), Box<JsonError>> {
    out.push('[');
    for (index, (value, own)) in elements.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(value, own, depth + 1, out).map_err(|error| error.inside(PathStep::Index(index)))?;
    }
    out.push(']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;

    #[test]
    fn what_json_has_no_form_for_is_refused_with_its_place() {
        let own = Type::map(Type::list(Type::Number));
        let with = |value: Value| to_json(&Value::map([("k", Value::list([value]))]), &own);
        assert_eq!(with(Value::unknown()).unwrap_err().to_string(), "[\"k\"][0]: the value is not known");
        assert_eq!(
            with(Value::Number(Number::INFINITY)).unwrap_err().to_string(),
            "[\"k\"][0]: an infinite number cannot be written as JSON"
        );
        assert_eq!(
            with("x".into()).unwrap_err().to_string(),
            "[\"k\"][0]: number required, but the value is string"
        );
        assert_eq!(with(Value::Null).unwrap(), "{\"k\":[null]}");
    }

    #[test]
    fn objects_have_exactly_the_attributes_of_their_type() {
        let own = Type::object([("a", Type::Bool)]);
        let message = |value: Value| to_json(&value, &own).unwrap_err().to_string();
        assert_eq!(message(Value::object::<&str>([])), "missing required attribute \"a\"");
        let more = Value::object([("a", Value::Null), ("b", Value::Null)]);
        assert_eq!(message(more), "unsupported attribute \"b\"");
    }
}
