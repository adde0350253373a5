//! Messages of both sides in a recording: JSON by their descriptors, with values and bags in place of their encoded forms.
//!
//! What cannot be decoded is withheld, and a call with such a message is not replayed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use isthmus_cty::json::Json;
use isthmus_cty::{decode_dynamic, msgpack};
use isthmus_known_secrets::KnownSecrets;
use isthmus_proto::property::Struct;
use prost::Message as _;
use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage as _, Value,
};

use super::bags::{BagRule, read_bag, write_bag};
use super::placeholders::Placeholders;
use super::values::{ValueWriter, object, read_value};
use crate::transcript::values::Place;
use crate::transcript::{Masks, Schemas, bytes_of};

/// Bytes in base64.
const BYTES: &str = "$bytes";
/// Private data of a provider, as text.
const PRIVATE: &str = "$private";
/// The length of what is left out.
const WITHHELD: &str = "$withheld";
/// An identity in MessagePack, in base64.
const IDENTITY: &str = "$identity";
/// A stored state in JSON.
const STATE: &str = "$state";

/// Bytes that hold no value of a user: types of schemas, the parameter of a package, the seed of generated names.
const OPEN_BYTES: [&str; 4] = ["type", "value", "randomSeed", "resource_schemas"];

/// Texts that are withheld: settings of the engine's project, in which nothing is marked.
const SETTINGS: [&str; 2] = ["variables", "config"];

/// Whether a field is about the run of the engine, which has ended when it is replayed: addresses, and tokens for them.
fn is_of_the_run(field: &str) -> bool {
    ["_address", "_target", "_token", "monitorEndpoint", "stack_trace_handle"]
        .iter()
        .any(|end| field.ends_with(end))
}

/// Whose message it is, and what it is about.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    Engine(BagRule<'a>),
    Provider { method: &'a str, type_name: &'a str, schemas: Schemas<'a> },
}

/// How a provider's configuration is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Configuration {
    /// The message has none.
    None,
    /// With marks, as in Configure.
    Marked,
    /// Without: every value of it may be a secret.
    Unmarked,
}

/// Decodes a message.
pub(super) fn decode(message: &MessageDescriptor, bytes: &Bytes) -> Option<DynamicMessage> {
    DynamicMessage::decode(message.clone(), bytes.clone()).ok()
}

/// What is left out of a recording.
pub(super) fn withheld(length: usize) -> Json {
    object([(WITHHELD, Json::Number(length.to_string()))])
}

/// Bytes that hold no secret.
pub(super) fn open_bytes(bytes: &[u8]) -> Json {
    object([(BYTES, Json::String(BASE64.encode(bytes)))])
}

/// The bytes that [`open_bytes`] wrote.
pub(super) fn read_open_bytes(json: &Json) -> Option<Bytes> {
    match json.member(BYTES)? {
        Json::String(text) => BASE64.decode(text).ok().map(Bytes::from),
        _ => None,
    }
}

/// Writes messages.
pub(super) struct MessageWriter<'a> {
    pub subject: Subject<'a>,
    pub placeholders: &'a mut Placeholders,
    pub masks: &'a Masks,
    pub configuration: Configuration,
}

impl MessageWriter<'_> {
    pub(super) fn message(&mut self, message: &DynamicMessage) -> Json {
        let fields = message.fields().filter(|(field, _)| !is_of_the_run(field.name()));
        let fields: Vec<_> = fields.collect();
        Json::Object(
            fields
                .into_iter()
                .map(|(field, value)| (field.name().to_owned(), self.field(&field, value)))
                .collect(),
        )
    }

    fn field(&mut self, field: &FieldDescriptor, value: &Value) -> Json {
        match value {
            Value::List(elements) => {
                Json::Array(elements.iter().map(|element| self.field(field, element)).collect())
            }
            Value::Map(entries) => {
                let is_setting = SETTINGS.contains(&field.name());
                let mut members: Vec<_> = entries
                    .iter()
                    .map(|(key, value)| {
                        let key = key.as_str().unwrap_or_default();
                        let json = match value {
                            Value::String(text) if is_setting => {
                                Json::String(self.placeholders.text(text, true))
                            }
                            value => self.field(field, value),
                        };
                        (self.placeholders.message(key), json)
                    })
                    .collect();
                // Protobuf's maps have no order.
                members.sort_by(|(one, _), (other, _)| one.cmp(other));
                Json::Object(members)
            }
            Value::Message(message) => match message.descriptor().full_name() {
                "google.protobuf.Struct" => self.bag(message),
                name if name.ends_with(".DynamicValue") => self.dynamic_value(field.name(), message),
                name if name.ends_with(".RawState") => self.raw_state(message),
                _ => self.message(message),
            },
            Value::Bytes(bytes) if field.name().contains("private") => {
                object([(PRIVATE, Json::String(self.placeholders.private(bytes)))])
            }
            Value::Bytes(bytes) if OPEN_BYTES.contains(&field.name()) => open_bytes(bytes),
            Value::Bytes(bytes) => withheld(bytes.len()),
            Value::String(text) => Json::String(self.placeholders.message(text)),
            Value::Bool(value) => Json::Bool(*value),
            Value::EnumNumber(number) => {
                let kind = field.kind();
                let name = kind.as_enum().and_then(|kind| Some(kind.get_value(*number)?.name().to_owned()));
                name.map_or_else(|| Json::Number(number.to_string()), Json::String)
            }
            Value::I32(number) => Json::Number(number.to_string()),
            Value::I64(number) => Json::Number(number.to_string()),
            Value::U32(number) => Json::Number(number.to_string()),
            Value::U64(number) => Json::Number(number.to_string()),
            Value::F32(number) => Json::Number(number.to_string()),
            Value::F64(number) => Json::Number(number.to_string()),
        }
    }

    fn bag(&mut self, message: &DynamicMessage) -> Json {
        let encoded = message.encode_to_vec();
        match (Struct::decode(encoded.as_slice()), self.subject) {
            (Ok(bag), Subject::Engine(rule)) => write_bag(&bag, rule, self.placeholders),
            _ => withheld(encoded.len()),
        }
    }

    fn dynamic_value(&mut self, field: &str, message: &DynamicMessage) -> Json {
        let [msgpack, json] = ["msgpack", "json"].map(|name| bytes_of(message, name));
        let withheld = || withheld(msgpack.len() + json.len());
        let Subject::Provider { method, type_name, schemas } = self.subject else { return withheld() };
        if field == "identity_data" {
            // Identities have no sensitive attributes. One that repeats a secret is withheld.
            let Ok(value) = msgpack::decode_untyped(&msgpack) else { return withheld() };
            let own = &isthmus_cty::Type::Dynamic;
            let written =
                ValueWriter::new(self.placeholders, self.masks).value(&value, own, Some(Place::Plain));
            let nothing = KnownSecrets::default();
            let (mut none, masks) = (Placeholders::new(nothing.clone(), false), Masks::new(nothing));
            let is_open =
                written == ValueWriter::new(&mut none, &masks).value(&value, own, Some(Place::Plain));
            return if is_open {
                object([(IDENTITY, Json::String(BASE64.encode(&msgpack)))])
            } else {
                withheld()
            };
        }
        let Some(schema) = schemas.of(method, field, type_name) else { return withheld() };
        let own = &schema.block.implied_type;
        match decode_dynamic(&msgpack, &json, own) {
            Ok(value) => {
                let place =
                    (self.configuration != Configuration::Unmarked).then(|| Place::block(&schema.block));
                let mut writer = ValueWriter::new(self.placeholders, self.masks);
                writer.has_secret_keys = self.configuration != Configuration::None;
                writer.value(&value, own, place)
            }
            Err(_) => withheld(),
        }
    }

    fn raw_state(&mut self, message: &DynamicMessage) -> Json {
        let json = bytes_of(message, "json");
        let Subject::Provider { method, type_name, schemas } = self.subject else {
            return withheld(json.len());
        };
        let parsed = Json::parse(&json).ok().zip(schemas.0.resource(type_name).ok());
        match parsed {
            Some((stored, schema)) if method != "UpgradeResourceIdentity" => {
                let place = Place::block(&schema.block);
                object([(
                    STATE,
                    ValueWriter::new(self.placeholders, self.masks).state(&stored, place, false),
                )])
            }
            Some(_) | None => withheld(json.len()),
        }
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
                Value::List(elements.collect::<Option<_>>()?)
            }
            Json::Object(members) if field.is_map() => {
                let kind = field.kind().as_message()?.map_entry_value_field().kind();
                let entries = members.iter().map(|(key, value)| {
                    Some((MapKey::String(key.clone()), read_field(&field, &kind, value, subject)?))
                });
                Value::Map(entries.collect::<Option<_>>()?)
            }
            json => read_field(&field, &field.kind(), json, subject)?,
        };
        read.try_set_field(&field, value).ok()?;
    }
    Some(read)
}

fn read_field(field: &FieldDescriptor, kind: &Kind, json: &Json, subject: Subject<'_>) -> Option<Value> {
    if json.member(WITHHELD).is_some() {
        return None;
    }
    Some(match (kind, json) {
        (Kind::Message(message), json) => Value::Message(match message.full_name() {
            "google.protobuf.Struct" => {
                DynamicMessage::decode(message.clone(), read_bag(json)?.encode_to_vec().as_slice()).ok()?
            }
            name if name.ends_with(".DynamicValue") => {
                read_dynamic_value(message, field.name(), json, subject)?
            }
            name if name.ends_with(".RawState") => {
                let mut state = DynamicMessage::new(message.clone());
                state.set_field_by_name("json", Value::Bytes(json.member(STATE)?.to_string().into()));
                state
            }
            _ => read_message(message, json, subject)?,
        }),
        (Kind::Bytes, json) => Value::Bytes(match json.member(PRIVATE) {
            Some(Json::String(private)) => private.clone().into(),
            _ => read_open_bytes(json)?,
        }),
        (Kind::String, Json::String(text)) => Value::String(text.clone()),
        (Kind::Enum(kind), Json::String(name)) => Value::EnumNumber(kind.get_value_by_name(name)?.number()),
        (Kind::Bool, Json::Bool(value)) => Value::Bool(*value),
        (kind, Json::Number(text)) => match kind {
            Kind::Enum(_) => Value::EnumNumber(text.parse().ok()?),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(text.parse().ok()?),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(text.parse().ok()?),
            Kind::Uint32 | Kind::Fixed32 => Value::U32(text.parse().ok()?),
            Kind::Uint64 | Kind::Fixed64 => Value::U64(text.parse().ok()?),
            Kind::Float => Value::F32(text.parse().ok()?),
            Kind::Double => Value::F64(text.parse().ok()?),
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
    read.set_field_by_name("msgpack", Value::Bytes(encoded.into()));
    Some(read)
}
