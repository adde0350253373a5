//! Decoding of values from JSON, as leniently as go-cty: numbers and booleans as strings and vice
//! versa, and missing attributes are null.

use std::collections::BTreeMap;

use super::{Json, JsonError, JsonReason};
use crate::{MAXIMUM_DEPTH, Number, PathStep, Type, Value, normalize};

/// Decodes a value of a type from a JSON document.
///
/// # Errors
/// [`JsonError`], when the document is no value of the type.
pub fn from_json(document: &[u8], own: &Type) -> Result<Value, JsonError> {
    let tree = Json::parse(document).map_err(|error| *Box::from(JsonReason::Syntax(error)))?;
    from_tree(&tree, own)
}

/// Decodes a value of a type from parsed JSON.
///
/// # Errors
/// [`JsonError`], when it is no value of the type.
pub fn from_tree(tree: &Json, own: &Type) -> Result<Value, JsonError> {
    read(tree, own, 0).map_err(|error| error.arrived())
}

type Read<T> = Result<T, Box<JsonError>>;

fn read(tree: &Json, own: &Type, depth: usize) -> Read<Value> {
    if depth > MAXIMUM_DEPTH {
        return Err(JsonReason::TooDeep.into());
    }
    match (tree, own) {
        (Json::Null, _) => Ok(Value::Null),
        (_, Type::Dynamic) => read_dynamic(tree, depth),
        (Json::Bool(value), Type::Bool) => Ok(Value::Bool(*value)),
        (Json::String(text), Type::Bool) => match text.as_str() {
            "true" | "1" => Ok(Value::Bool(true)),
            "false" | "0" => Ok(Value::Bool(false)),
            _ => Err(JsonReason::Required("a bool").into()),
        },
        (_, Type::Bool) => Err(JsonReason::Required("a bool").into()),
        (Json::Number(text) | Json::String(text), Type::Number) => {
            Number::from_decimal(text).map(Value::Number).map_err(|error| JsonReason::Number(error).into())
        }
        (_, Type::Number) => Err(JsonReason::Required("a number").into()),
        // The original text of a number: 12.50 becomes "12.50".
        (Json::String(text) | Json::Number(text), Type::String) => Ok(Value::string(text)),
        (Json::Bool(value), Type::String) => Ok(Value::string(if *value { "true" } else { "false" })),
        (_, Type::String) => Err(JsonReason::Required("a string").into()),
        (Json::Array(elements), Type::List(element)) => {
            read_elements(elements, element, depth).map(Value::List)
        }
        (_, Type::List(_)) => Err(JsonReason::Required("a list").into()),
        (Json::Array(elements), Type::Set(element)) => {
            read_elements(elements, element, depth).map(Value::set)
        }
        (_, Type::Set(_)) => Err(JsonReason::Required("a set").into()),
        (Json::Array(elements), Type::Tuple(types)) => {
            if elements.len() != types.len() {
                return Err(JsonReason::TupleLength { required: types.len(), given: elements.len() }.into());
            }
            let read_one = |(index, (element, own))| {
                read(element, own, depth + 1).map_err(|error| error.inside(PathStep::Index(index)))
            };
            elements.iter().zip(types.iter()).enumerate().map(read_one).collect::<Read<_>>().map(Value::Tuple)
        }
        (_, Type::Tuple(_)) => Err(JsonReason::Required("a tuple").into()),
        (Json::Object(members), Type::Map(element)) => {
            let mut elements = BTreeMap::new();
            for (key, member) in members {
                let key = normalize(key);
                let value = read(member, element, depth + 1)
                    .map_err(|error| error.inside(PathStep::Key(key.clone())))?;
                elements.insert(key, value);
            }
            Ok(Value::Map(elements))
        }
        (_, Type::Map(_)) => Err(JsonReason::Required("a map").into()),
        (Json::Object(members), Type::Object(object)) => {
            let mut attributes: BTreeMap<_, _> =
                object.attributes.keys().map(|name| (name.clone(), Value::Null)).collect();
            for (name, member) in members {
                let name = normalize(name);
                let Some(own) = object.attributes.get(&name) else {
                    return Err(JsonReason::UnsupportedAttribute(name).into());
                };
                let value = read(member, own, depth + 1)
                    .map_err(|error| error.inside(PathStep::Attribute(name.clone())))?;
                attributes.insert(name, value);
            }
            Ok(Value::Object(attributes))
        }
        (_, Type::Object(_)) => Err(JsonReason::Required("an object").into()),
    }
}

fn read_elements(elements: &[Json], own: &Type, depth: usize) -> Read<Vec<Value>> {
    let read_one = |(index, element)| {
        read(element, own, depth + 1).map_err(|error| error.inside(PathStep::Index(index)))
    };
    elements.iter().enumerate().map(read_one).collect()
}

fn read_dynamic(tree: &Json, depth: usize) -> Read<Value> {
    let Json::Object(members) = tree else { return Err(JsonReason::DynamicPair.into()) };
    let (mut own, mut value) = (None, None);
    for (name, member) in members {
        match name.as_str() {
            // The last one counts, and go-cty decodes those before it, too.
            "type" => own = Some(Type::from_json_tree(member).map_err(JsonReason::Type)?.without_optional()),
            "value" => value = Some(member),
            _ => return Err(JsonReason::DynamicPair.into()),
        }
    }
    let (Some(own), Some(value)) = (own, value) else { return Err(JsonReason::DynamicPair.into()) };
    let value = read(value, &own, depth + 1)?;
    Ok(Value::dynamic(own, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(json: &str, own: &str) -> Result<Value, String> {
        from_json(json.as_bytes(), &Type::from_json(own.as_bytes()).unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn scalars_are_read_leniently() {
        let number = |text: &str| Value::Number(Number::from_decimal(text).unwrap());
        for (json, own, expected) in [
            ("\"12\"", "\"number\"", number("12")),
            ("1e3", "\"number\"", number("1000")),
            ("123456789012345678901234567890.5", "\"number\"", number("123456789012345678901234567890.5")),
            ("12.50", "\"string\"", "12.50".into()),
            ("true", "\"string\"", "true".into()),
            ("\"true\"", "\"bool\"", true.into()),
            ("\"1\"", "\"bool\"", true.into()),
            ("\"0\"", "\"bool\"", false.into()),
            ("\"e\u{301}\"", "\"string\"", "\u{e9}".into()),
            ("null", "\"string\"", Value::Null),
        ] {
            assert_eq!(parsed(json, own), Ok(expected), "{json} as {own}");
        }
        for (json, own, expected) in [
            ("1", "\"bool\"", "a bool is required"),
            ("\"TRUE\"", "\"bool\"", "a bool is required"),
            ("\"0x10\"", "\"number\"", "a number is required"),
            ("true", "\"number\"", "a number is required"),
            ("[]", "\"string\"", "a string is required"),
            ("{}", "[\"list\",\"bool\"]", "a list is required"),
            ("[]", "[\"map\",\"bool\"]", "a map is required"),
            ("[}", "\"string\"", "the document is not JSON"),
        ] {
            assert_eq!(parsed(json, own), Err(expected.to_owned()), "{json} as {own}");
        }
    }

    #[test]
    fn attributes_not_mentioned_are_null_and_others_refused() {
        let own = r#"["object",{"a":"string","b":"number"}]"#;
        assert_eq!(parsed(r#"{"a":"x"}"#, own), Ok(Value::object([("a", "x".into()), ("b", Value::Null)])));
        assert_eq!(parsed(r#"{"a":"x","b":1,"c":2}"#, own), Err("unsupported attribute \"c\"".to_owned()));
        assert_eq!(
            parsed(r#"[{"a":"x","b":true}]"#, &format!(r#"["list",{own}]"#)),
            Err("[0].b: a number is required".to_owned())
        );
    }

    #[test]
    fn dynamic_values_bring_their_type() {
        let typed = Value::dynamic(Type::String, "x".into());
        assert_eq!(parsed(r#"{"value":"x","type":"string"}"#, "\"dynamic\""), Ok(typed.clone()));
        assert_eq!(parsed(r#"{"type":"string","value":"x"}"#, "\"dynamic\""), Ok(typed));
        assert_eq!(parsed("null", "\"dynamic\""), Ok(Value::Null));
        let typed_null = parsed(r#"{"value":null,"type":"string"}"#, "\"dynamic\"");
        assert_eq!(typed_null, Ok(Value::dynamic(Type::String, Value::Null)));
        let pair = Err("a dynamic value must be an object with \"value\" and \"type\"".to_owned());
        for wrong in [r#"{"value":1}"#, r#"{"type":"string"}"#, r#"{"value":1,"type":"string","x":0}"#, "7"] {
            assert_eq!(parsed(wrong, "\"dynamic\""), pair, "{wrong}");
        }
        let typed_twice = |first| format!(r#"{{"value":"x","type":{first},"type":"string"}}"#);
        assert_eq!(
            parsed(&typed_twice("\"bool\""), "\"dynamic\""),
            Ok(Value::dynamic(Type::String, "x".into()))
        );
        let wrong_type = Err("the type of a dynamic value cannot be read".to_owned());
        assert_eq!(parsed(&typed_twice("\"strung\""), "\"dynamic\""), wrong_type);
    }

    #[test]
    fn tuples_have_the_length_of_their_type() {
        let error = parsed("[1]", r#"["tuple",["number","bool"]]"#);
        assert_eq!(error, Err("a tuple of length 2 is required (1 given)".to_owned()));
    }

    #[test]
    fn values_nested_in_dynamic_types_are_bounded() {
        let mut json = "null".to_owned();
        for _ in 0..300 {
            json = format!(r#"{{"value":{json},"type":"dynamic"}}"#);
        }
        assert_eq!(parsed(&json, "\"dynamic\""), Err("nested deeper than 256 levels".to_owned()));
    }
}
