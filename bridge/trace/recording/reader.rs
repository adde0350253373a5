//! Messages in a recording, read as they were written.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use isthmus_cty::json::Json;
use isthmus_cty::{Number, Type, Value, msgpack};
use prost::Message as _;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value as FieldValue};

use super::bags::read_bag;
use super::format::{
    BYTES, DYNAMIC, IDENTITY, PRIVATE, STATE, TYPE, UNKNOWN, WITHHELD, escaped, is_of_the_run, unescaped,
};
use crate::walk::Subject;

/// The bytes in the clear of a recording.
pub(super) fn read_open_bytes(json: &Json) -> Option<Bytes> {
    match json.member(BYTES)? {
        Json::String(text) => BASE64.decode(text).ok().map(Bytes::from),
        _ => None,
    }
}

/// Reads a message that was written; `None` if something of it was withheld, or it is none.
pub(super) fn read_message(
    message: &MessageDescriptor,
    json: &Json,
    subject: Subject<'_>,
) -> Option<DynamicMessage> {
    let mut read = DynamicMessage::new(message.clone());
    let Json::Object(members) = json else { return None };
    // A recording of others is not to say where this process connects.
    for (name, json) in members.iter().filter(|(name, _)| !is_of_the_run(name)) {
        let field = message.get_field_by_name(name)?;
        let value = match json {
            Json::Array(elements) if field.is_list() => {
                let elements =
                    elements.iter().map(|element| read_field(&field, &field.kind(), element, subject));
                FieldValue::List(elements.collect::<Option<_>>()?)
            }
            Json::Object(members) if field.is_map() => {
                let kind = field.kind().as_message()?.map_entry_value_field().kind();
                let entries = members.iter().map(|(key, value)| {
                    Some((MapKey::String(key.clone()), read_field(&field, &kind, value, subject)?))
                });
                FieldValue::Map(entries.collect::<Option<_>>()?)
            }
            json => read_field(&field, &field.kind(), json, subject)?,
        };
        read.try_set_field(&field, value).ok()?;
    }
    Some(read)
}

fn read_field(field: &FieldDescriptor, kind: &Kind, json: &Json, subject: Subject<'_>) -> Option<FieldValue> {
    if json.member(WITHHELD).is_some() {
        return None;
    }
    Some(match (kind, json) {
        (Kind::Message(message), json) => FieldValue::Message(match message.full_name() {
            "google.protobuf.Struct" => {
                DynamicMessage::decode(message.clone(), read_bag(json)?.encode_to_vec().as_slice()).ok()?
            }
            name if name.ends_with(".DynamicValue") => {
                read_dynamic_value(message, field.name(), json, subject)?
            }
            name if name.ends_with(".RawState") => {
                let mut state = DynamicMessage::new(message.clone());
                state.set_field_by_name("json", FieldValue::Bytes(json.member(STATE)?.to_string().into()));
                state
            }
            _ => read_message(message, json, subject)?,
        }),
        (Kind::Bytes, json) => FieldValue::Bytes(match json.member(PRIVATE) {
            Some(Json::String(private)) => private.clone().into(),
            _ => read_open_bytes(json)?,
        }),
        (Kind::String, Json::String(text)) => FieldValue::String(text.clone()),
        (Kind::Enum(kind), Json::String(name)) => {
            FieldValue::EnumNumber(kind.get_value_by_name(name)?.number())
        }
        (Kind::Bool, Json::Bool(value)) => FieldValue::Bool(*value),
        (kind, Json::Number(text)) => match kind {
            Kind::Enum(_) => FieldValue::EnumNumber(text.parse().ok()?),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => FieldValue::I32(text.parse().ok()?),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => FieldValue::I64(text.parse().ok()?),
            Kind::Uint32 | Kind::Fixed32 => FieldValue::U32(text.parse().ok()?),
            Kind::Uint64 | Kind::Fixed64 => FieldValue::U64(text.parse().ok()?),
            Kind::Float => FieldValue::F32(text.parse().ok()?),
            Kind::Double => FieldValue::F64(text.parse().ok()?),
            Kind::Bool | Kind::String | Kind::Bytes | Kind::Message(_) => return None,
        },
        _ => return None,
    })
}

fn read_dynamic_value(
    message: &MessageDescriptor,
    field: &str,
    json: &Json,
    subject: Subject<'_>,
) -> Option<DynamicMessage> {
    let Subject::Provider { method, type_name, schemas } = subject else { return None };
    let encoded = match json.member(IDENTITY) {
        Some(Json::String(text)) => BASE64.decode(text).ok()?,
        Some(_) => return None,
        None => {
            let schema = schemas.of(method, field, type_name)?;
            let own = &schema.block.implied_type;
            msgpack::encode(&read_value(json, own)?, own).ok()?
        }
    };
    let mut read = DynamicMessage::new(message.clone());
    read.set_field_by_name("msgpack", FieldValue::Bytes(encoded.into()));
    Some(read)
}

/// Reads a value of a type; `None` if it is none.
fn read_value(json: &Json, own: &Type) -> Option<Value> {
    if let Some(known) = json.member(UNKNOWN) {
        return match known {
            Json::String(text) => msgpack::decode(&BASE64.decode(text).ok()?, own).ok(),
            _ => Some(Value::Unknown(None)),
        };
    }
    Some(match (json, own) {
        (Json::Null, _) => Value::Null,
        (Json::Object(_), Type::Dynamic) => {
            let own = Type::from_json(json.member(TYPE)?.to_string().as_bytes()).ok()?;
            let value = read_value(json.member(DYNAMIC)?, &own)?;
            Value::dynamic(own, value)
        }
        (Json::Bool(value), Type::Bool) => Value::Bool(*value),
        (Json::Number(text), Type::Number) => Value::Number(Number::from_decimal(text).ok()?),
        (Json::String(text), Type::String) => Value::string(text),
        (Json::Array(elements), Type::List(own)) => Value::List(read_all(elements, own)?),
        (Json::Array(elements), Type::Set(own)) => Value::set(read_all(elements, own)?),
        (Json::Array(elements), Type::Tuple(types)) if elements.len() == types.len() => {
            let elements = elements.iter().zip(types.iter());
            Value::Tuple(elements.map(|(element, own)| read_value(element, own)).collect::<Option<_>>()?)
        }
        (Json::Object(members), Type::Map(own)) => Value::Map(
            members
                .iter()
                .map(|(name, value)| Some((isthmus_cty::normalize(unescaped(name)), read_value(value, own)?)))
                .collect::<Option<_>>()?,
        ),
        (Json::Object(_), Type::Object(object)) => Value::Object(
            object
                .attributes
                .iter()
                .map(|(name, own)| {
                    let value =
                        json.member(&escaped(name)).map_or(Some(Value::Null), |value| read_value(value, own));
                    Some((Arc::clone(name), value?))
                })
                .collect::<Option<_>>()?,
        ),
        _ => return None,
    })
}

fn read_all(elements: &[Json], own: &Type) -> Option<Vec<Value>> {
    elements.iter().map(|element| read_value(element, own)).collect()
}

#[cfg(test)]
mod tests {
    use isthmus_cty::{AttributePath, PathStep, Refinements};
    use isthmus_known_secrets::KnownSecrets;

    use super::super::placeholders::Placeholders;
    use super::super::writer::Writer;
    use super::*;
    use crate::walk::{SecretPaths, Traced, ValueWalk};
    use isthmus_translate::testing::{attribute, block, sensitive};

    fn written(traced: Traced) -> Json {
        let mut placeholders = Placeholders::new(KnownSecrets::default(), false);
        Writer::new(&mut placeholders).write(&traced)
    }

    #[test]
    fn a_value_without_secrets_is_read_as_it_was_written() {
        let own = Type::object([
            ("number", Type::Number),
            ("unknown", Type::String),
            ("refined", Type::String),
            ("set", Type::set(Type::Bool)),
            ("map", Type::map(Type::String)),
            ("dynamic", Type::Dynamic),
            ("tuple", Type::tuple([Type::String, Type::Number])),
            ("null", Type::list(Type::String)),
        ]);
        let refined = Refinements { null: Some(false), ..Refinements::default() };
        let value = Value::object([
            ("number", Value::Number(Number::from_decimal("12345678901234567890.5").expect("a number"))),
            ("unknown", Value::Unknown(None)),
            ("refined", Value::Unknown(Some(Box::new(refined.clone())))),
            ("set", Value::set([Value::Bool(true)])),
            ("map", Value::map([("$unknown", Value::string("x")), ("b", Value::string("y"))])),
            ("dynamic", Value::dynamic(Type::list(Type::Bool), Value::list([Value::Bool(false)]))),
            ("tuple", Value::tuple([Value::string("t"), Value::Number(1.into())])),
            ("null", Value::Null),
        ]);
        let traced = ValueWalk::new(&SecretPaths::none()).plain(&value, &own);
        let json = written(Traced::Value(Box::new(traced)));
        let read =
            read_value(&Json::parse(json.to_string().as_bytes()).expect("JSON"), &own).expect("a value");
        assert_eq!(read, value, "{json}");
        let Some(Value::Unknown(Some(read))) = read.attribute("refined") else { panic!("{json}") };
        assert_eq!(**read, refined);
    }

    #[test]
    fn what_is_secret_has_placeholders() {
        let value = Value::map([("key", Value::list([Value::string("hunter2"), Value::string("hunter2")]))]);
        let own = Type::map(Type::list(Type::String));
        let traced = ValueWalk::new(&SecretPaths::none()).secret(&value, &own);
        let json = written(Traced::Value(Box::new(traced)));
        assert_eq!(json.to_string(), r#"{"secret-00001":["secret-00002","secret-00002"]}"#);
    }

    #[test]
    fn an_identity_is_withheld_where_the_program_marks_a_part_of_it() {
        let value =
            Value::object([("zone", Value::string("topsecretzone")), ("size", Value::Number(2.into()))]);
        let own = Type::object([("zone", Type::String), ("size", Type::Number)]);
        let msgpack = Bytes::from_static(b"...topsecretzone");
        for marked in ["zone", "size"] {
            let mut paths = SecretPaths::none();
            paths.add(&[AttributePath::default().join(PathStep::attribute(marked))]);
            let traced = ValueWalk::new(&paths).plain(&value, &own);
            let json = written(Traced::Identity(Box::new(traced), msgpack.clone()));
            assert_eq!(json.to_string(), r#"{"$withheld":16}"#, "{marked}");
        }
        let traced = ValueWalk::new(&SecretPaths::none()).plain(&value, &own);
        let json = written(Traced::Identity(Box::new(traced), msgpack));
        assert_eq!(json.to_string(), r#"{"$identity":"Li4udG9wc2VjcmV0em9uZQ=="}"#);
    }

    #[test]
    fn a_sensitive_attribute_of_a_state_is_replaced_where_its_object_looks_like_a_dynamic_value() {
        let attributes = vec![attribute("type", Type::String), sensitive(attribute("value", Type::String))];
        let state = Json::parse(br#"{"type":"string","value":"hunter2"}"#).expect("JSON");
        let traced = ValueWalk::new(&SecretPaths::none()).state(&state, &block(attributes, vec![]), false);
        let json = written(Traced::State(Box::new(traced)));
        assert_eq!(json.to_string(), r#"{"$state":{"type":"string","value":"secret-00001"}}"#);
    }
}
