//! Calls of a provider: captured as bytes while they are made, and decoded afterwards, when all secrets of the call are known.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use isthmus_cty::json::Json;
use isthmus_cty::{AttributePath, PathStep, decode_dynamic, msgpack};
use isthmus_provider::schema::{Catalogue, Schema};
use isthmus_provider::{CallMessages, CallObserver};
use prost_reflect::{DynamicMessage, FieldDescriptor, MapKey, MessageDescriptor, ReflectMessage as _, Value};

use super::methods::METHODS;
use super::values::{shown_state, shown_untyped, shown_value};
use super::{Masks, Shown};

/// The calls of a provider since they were taken last.
#[derive(Clone, Debug, Default)]
pub struct CapturedCalls(Arc<Mutex<Vec<CapturedCall>>>);

#[derive(Debug)]
struct CapturedCall {
    path: &'static str,
    request: Bytes,
    /// The response, or the status's code and text.
    response: Result<Bytes, String>,
}

/// A call of a provider, decoded and masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderCall {
    /// The method's name in the protocol in use.
    pub method: String,
    pub request: Shown,
    /// The response, or why there is none.
    pub response: Result<Shown, String>,
}

/// The schemas that values are decoded by.
#[derive(Clone, Copy, Debug)]
pub struct Schemas<'a>(pub &'a Catalogue);

impl Schemas<'_> {
    /// The schema of a value in a message, by the method and the type that it is about; `None` if it has none.
    pub fn of(self, method: &str, field: &str, type_name: &str) -> Option<Arc<Schema>> {
        let catalogue = self.0;
        match (method, field) {
            (_, "provider_meta") => catalogue.provider_meta(),
            ("Configure" | "ConfigureProvider" | "PrepareProviderConfig" | "ValidateProviderConfig", _) => {
                catalogue.provider().ok()
            }
            ("ReadDataSource" | "ValidateDataSourceConfig" | "ValidateDataResourceConfig", _) => {
                catalogue.data_source(type_name).ok()
            }
            (
                "ApplyResourceChange"
                | "GenerateResourceConfig"
                | "ImportResourceState"
                | "MoveResourceState"
                | "PlanResourceChange"
                | "ReadResource"
                | "UpgradeResourceState"
                | "ValidateResourceConfig"
                | "ValidateResourceTypeConfig",
                _,
            ) => catalogue.resource(type_name).ok(),
            _ => None,
        }
    }
}

impl CapturedCalls {
    /// Captures the calls that it observes.
    pub fn observer(&self) -> CallObserver {
        let calls = self.clone();
        CallObserver::default().with_messages(move |messages| calls.add(messages))
    }

    fn add(&self, messages: CallMessages<'_>) {
        let call = CapturedCall {
            path: messages.path,
            request: Bytes::copy_from_slice(messages.request),
            response: match messages.response {
                Ok(response) => Ok(Bytes::copy_from_slice(response)),
                Err(status) => Err(format!("{:?}: {}", status.code(), status.message())),
            },
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    /// Takes the calls that were captured, decoded.
    pub fn take(&self, schemas: Schemas<'_>, masks: &Masks) -> Vec<ProviderCall> {
        let calls = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        calls.into_iter().map(|call| call.decoded(schemas, masks)).collect()
    }
}

impl CapturedCall {
    fn decoded(self, schemas: Schemas<'_>, masks: &Masks) -> ProviderCall {
        let method = self.path.rsplit('/').next().unwrap_or_default();
        let types = METHODS.get(self.path);
        let request = types.and_then(|types| decode(&types.request, &self.request));
        let subject = Subject {
            method,
            type_name: request.as_ref().and_then(type_name).unwrap_or_default(),
            schemas,
            masks,
        };
        let shown = |message: Option<DynamicMessage>, length: usize| {
            message.map_or(Shown::Withheld(length), |message| subject.message(&message))
        };
        let request = shown(request, self.request.len());
        let response = match self.response {
            Ok(bytes) => {
                let message = types.and_then(|types| decode(&types.response, &bytes));
                Ok(shown(message, bytes.len()))
            }
            Err(text) => Err(masks.redacted(&text)),
        };
        ProviderCall { method: method.to_owned(), request, response }
    }
}

fn decode(message: &MessageDescriptor, bytes: &Bytes) -> Option<DynamicMessage> {
    DynamicMessage::decode(message.clone(), bytes.clone()).ok()
}

/// The resource type, or the like, that a request is about.
pub fn type_name(request: &DynamicMessage) -> Option<String> {
    let fields = ["type_name", "target_type_name"].into_iter();
    fields
        .filter_map(|name| request.get_field_by_name(name))
        .find_map(|value| value.as_str().map(str::to_owned))
}

/// What a call is about.
struct Subject<'a> {
    method: &'a str,
    type_name: String,
    schemas: Schemas<'a>,
    masks: &'a Masks,
}

impl Subject<'_> {
    fn message(&self, message: &DynamicMessage) -> Shown {
        let fields = message.fields();
        Shown::Object(
            fields.map(|(field, value)| (field.name().to_owned(), self.field(&field, value))).collect(),
        )
    }

    fn field(&self, field: &FieldDescriptor, value: &Value) -> Shown {
        match value {
            Value::List(elements) => {
                Shown::List(elements.iter().map(|element| self.field(field, element)).collect())
            }
            Value::Map(entries) => {
                let mut members: Vec<(String, Shown)> = entries
                    .iter()
                    .map(|(key, value)| (self.masks.redacted(&key_text(key)), self.field(field, value)))
                    .collect();
                // Protobuf's maps have no order.
                members.sort_by(|(one, _), (other, _)| one.cmp(other));
                Shown::Object(members)
            }
            Value::Message(message) => match message.descriptor().name() {
                "DynamicValue" => self.dynamic_value(field.name(), message),
                "RawState" => self.raw_state(message),
                "AttributePath" => Shown::Text(self.masks.redacted(&path_text(message))),
                _ => self.message(message),
            },
            Value::EnumNumber(number) => {
                let kind = field.kind();
                let name = kind.as_enum().and_then(|kind| kind.get_value(*number));
                name.map_or_else(
                    || Shown::Number(number.to_string()),
                    |value| Shown::text(value.name().to_lowercase()),
                )
            }
            Value::Bytes(bytes) => Shown::Withheld(bytes.len()),
            Value::String(text) => self.masks.text(text),
            Value::Bool(value) => Shown::Bool(*value),
            Value::I32(number) => Shown::Number(number.to_string()),
            Value::I64(number) => Shown::Number(number.to_string()),
            Value::U32(number) => Shown::Number(number.to_string()),
            Value::U64(number) => Shown::Number(number.to_string()),
            Value::F32(number) => Shown::Number(number.to_string()),
            Value::F64(number) => Shown::Number(number.to_string()),
        }
    }

    fn dynamic_value(&self, field: &str, message: &DynamicMessage) -> Shown {
        let [msgpack, json] = ["msgpack", "json"].map(|name| bytes_of(message, name));
        let length = msgpack.len() + json.len();
        if field == "identity_data" {
            // Terraform shows identities, and they have no sensitive attributes.
            let value = msgpack::decode_untyped(&msgpack);
            return value.map_or(Shown::Withheld(length), |value| shown_untyped(&value, self.masks));
        }
        let Some(schema) = self.schemas.of(self.method, field, &self.type_name) else {
            return Shown::Withheld(length);
        };
        match decode_dynamic(&msgpack, &json, &schema.block.implied_type) {
            Ok(value) => shown_value(&value, &schema.block, self.masks),
            // The operation reports why.
            Err(_) => Shown::Withheld(length),
        }
    }

    fn raw_state(&self, message: &DynamicMessage) -> Shown {
        let json = bytes_of(message, "json");
        let parsed = Json::parse(&json).ok().zip(self.schemas.0.resource(&self.type_name).ok());
        match parsed {
            Some((stored, schema)) if self.method != "UpgradeResourceIdentity" => {
                shown_state(&stored, &schema.block, self.masks)
            }
            Some(_) | None => Shown::Withheld(json.len()),
        }
    }
}

pub fn bytes_of(message: &DynamicMessage, field: &str) -> Bytes {
    let value = message.get_field_by_name(field);
    value.and_then(|value| value.as_bytes().cloned()).unwrap_or_default()
}

/// A path in Terraform's form.
fn path_text(path: &DynamicMessage) -> String {
    let steps = path.get_field_by_name("steps");
    let steps = steps.as_ref().and_then(|steps| steps.as_list()).unwrap_or_default();
    let steps = steps.iter().filter_map(Value::as_message).filter_map(|step| {
        // Of the selectors, one is set.
        let (field, value) = step.fields().next()?;
        match value {
            Value::String(name) if field.name() == "attribute_name" => {
                Some(PathStep::attribute(name.as_str()))
            }
            Value::String(key) => Some(PathStep::key(key.as_str())),
            Value::I64(index) => usize::try_from(*index).ok().map(PathStep::Index),
            _ => None,
        }
    });
    AttributePath(steps.collect()).to_string()
}

/// A key of a protobuf map.
pub fn key_text(key: &MapKey) -> String {
    match key {
        MapKey::String(key) => key.clone(),
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
    }
}
