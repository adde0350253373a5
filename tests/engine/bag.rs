//! Property bags as JSON, with their special values.

use isthmus_proto::property::{Struct, Value};
use serde_json::{Number, Value as Json, json};

/// The signature key of special values, and its value for secrets.
pub const SIGNATURE: &str = "4dabf18193072939515e22adb298388d";
const SECRET: &str = "1b47061264138c4ac30d75fd1eb44270";

/// The unknown value.
pub fn unknown() -> Json {
    json!("04da6b54-80e4-46f7-96ec-b56ff0331ba9")
}

/// A secret value.
pub fn secret(value: impl Into<Json>) -> Json {
    json!({ SIGNATURE: SECRET, "value": value.into() })
}

/// The bag of a JSON object.
pub fn bag(json: &Json) -> Struct {
    match value(json) {
        Value::Struct(bag) => bag,
        other => panic!("a bag is a JSON object, not {other:?}"),
    }
}

/// The JSON object of a bag. Whole numbers are integers, so that they equal those of `json!`.
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
    // Doubles represent all whole numbers up to this one.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number within 2^53")]
        return Number::from(number as i64);
    }
    Number::from_f64(number).expect("a finite number")
}
