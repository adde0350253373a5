//! Property bags as JSON, and the special values that they may hold.

use isthmus_proto::property::{Struct, Value};
use serde_json::{Number, Value as Json, json};

/// The key that marks a special value, and what it says of secrets.
pub const SIGNATURE: &str = "4dabf18193072939515e22adb298388d";
const SECRET: &str = "1b47061264138c4ac30d75fd1eb44270";

/// What stands for a value that is not known yet.
pub fn unknown() -> Json {
    json!("04da6b54-80e4-46f7-96ec-b56ff0331ba9")
}

/// A secret value.
pub fn secret(value: impl Into<Json>) -> Json {
    json!({ SIGNATURE: SECRET, "value": value.into() })
}

/// The bag that a JSON object stands for.
pub fn bag(json: &Json) -> Struct {
    match value(json) {
        Value::Struct(bag) => bag,
        other => panic!("a bag is a JSON object, not {other:?}"),
    }
}

/// The JSON object that a bag stands for. Whole numbers are written as such, so that they equal those of `json!`.
pub fn json_of(bag: &Struct) -> Json {
    Json::Object(bag.iter().map(|(name, value)| (name.to_owned(), json_of_value(value))).collect())
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => Value::Number(number.as_f64().expect("a number that a double can hold")),
        Json::String(text) => Value::String(text.clone()),
        Json::Array(values) => Value::List(values.iter().map(value).collect()),
        Json::Object(object) => {
            Value::Struct(object.iter().map(|(name, json)| (name.clone(), value(json))).collect())
        }
    }
}

fn json_of_value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Number(number) => Json::Number(json_number(*number)),
        Value::String(text) => Json::String(text.clone()),
        Value::List(values) => Json::Array(values.iter().map(json_of_value).collect()),
        Value::Struct(bag) => json_of(bag),
    }
}

fn json_number(number: f64) -> Number {
    // Up to here, doubles hold every whole number exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number within 2^53")]
        return Number::from(number as i64);
    }
    Number::from_f64(number).expect("a finite number")
}
