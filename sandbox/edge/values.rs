//! Conversion of values, paths, diagnostics and schemas to messages.

use std::sync::Arc;

use bytes::Bytes;
use isthmus_cty::{AttributePath, ObjectType, PathStep, Type, Value};
use tonic::Status;

use super::{message, own};
use crate::diagnostics::{Diagnostic, Diagnostics};
#[cfg(feature = "misbehaviour")]
use crate::misbehaviour::Encoding;
use crate::protocol::{Client, Feature, Minor};
use crate::provider::Provider;
use crate::resource::Answer;
#[cfg(feature = "misbehaviour")]
use crate::resource::Wrong;
use crate::resource_entry::ResourceEntry;
#[cfg(feature = "misbehaviour")]
use crate::resource_entry::loosened;
use crate::schema::{Block, Schema};
use crate::wire::{self, explain};

pub(super) type Answered<T> = Result<T, Status>;

pub(super) fn client_of(capabilities: Option<message::ClientCapabilities>) -> Client {
    capabilities.map_or_else(Client::default, |capabilities| Client {
        deferral: capabilities.deferral_allowed,
        write_only: capabilities.write_only_attributes_allowed,
        computed_blocks: own::takes_computed_blocks(&capabilities),
    })
}

/// Decodes a value; an absent or empty message is null.
pub(super) fn decode(value: Option<&message::DynamicValue>, kind: &Type) -> Answered<Value> {
    let decoded = match value {
        Some(value) if !value.msgpack.is_empty() => wire::from_msgpack(&value.msgpack, kind),
        Some(value) if !value.json.is_empty() => wire::from_json(&value.json, kind),
        _ => return Ok(Value::Null),
    };
    decoded.map_err(|error| Status::invalid_argument(explain(&error)))
}

/// `provider_meta` in the request as JSON, if any.
pub(super) fn meta_text(
    provider: &Provider,
    value: Option<&message::DynamicValue>,
) -> Answered<Option<String>> {
    let (Some(meta), Some(value)) = (provider.meta(), value) else {
        return Ok(value.map(|_| "unexpected".to_owned()));
    };
    let text = wire::to_json(&decode(Some(value), &meta.kind)?, &meta.kind);
    let text = text.map_err(|error| Status::internal(explain(&error)))?;
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

pub(super) fn encode(
    provider: &Provider,
    entry: &ResourceEntry,
    answer: Answer,
) -> Answered<Option<message::DynamicValue>> {
    #[cfg(feature = "misbehaviour")]
    let answer = match answer {
        Answer::State(state) if provider.misbehaviour().legacy => {
            Answer::State(loosened(&entry.schema.block, &state))
        }
        other => other,
    };
    encode_as(provider, answer, &entry.kind)
}

pub(super) fn encode_as(
    provider: &Provider,
    answer: Answer,
    kind: &Type,
) -> Answered<Option<message::DynamicValue>> {
    #[cfg(not(feature = "misbehaviour"))]
    let _ = provider;
    let encoded = match answer {
        #[cfg(feature = "misbehaviour")]
        Answer::State(value)
            if provider.misbehaviour().answer == Encoding::Json && value.is_wholly_known() =>
        {
            json_value(&value, kind)
        }
        Answer::State(value) => msgpack_value(&value, kind),
        #[cfg(feature = "misbehaviour")]
        Answer::Wrong(Wrong::Json(value)) if value.is_wholly_known() => json_value(&value, kind),
        #[cfg(feature = "misbehaviour")]
        Answer::Wrong(Wrong::Json(value)) => msgpack_value(&value, kind),
        #[cfg(feature = "misbehaviour")]
        Answer::Wrong(Wrong::Mistyped(value, kind)) => msgpack_value(&value, &kind),
        #[cfg(feature = "misbehaviour")]
        Answer::Wrong(Wrong::Bytes(msgpack)) => Ok(message::DynamicValue { msgpack, json: Bytes::new() }),
        #[cfg(feature = "misbehaviour")]
        Answer::Wrong(Wrong::Empty) => Ok(message::DynamicValue::default()),
        #[cfg(feature = "misbehaviour")]
        Answer::Wrong(Wrong::Absent) => return Ok(None),
    };
    encoded.map(Some).map_err(|error| Status::internal(explain(&error)))
}

#[cfg(feature = "misbehaviour")]
fn json_value(value: &Value, kind: &Type) -> Result<message::DynamicValue, wire::WireError> {
    Ok(message::DynamicValue { msgpack: Bytes::new(), json: wire::to_json(value, kind)?.into() })
}

pub(super) fn msgpack_value(value: &Value, kind: &Type) -> Result<message::DynamicValue, wire::WireError> {
    Ok(message::DynamicValue { msgpack: wire::to_msgpack(value, kind)?.into(), json: Bytes::new() })
}

pub(super) fn identity_type(entry: &ResourceEntry) -> Type {
    let attributes = entry.identity_attributes();
    let types = attributes.iter().map(|attribute| (Arc::from(attribute.name), attribute.implied_type()));
    Type::Object(Arc::new(ObjectType { attributes: types.collect(), ..Default::default() }))
}

pub(super) fn identity_data(
    entry: &ResourceEntry,
    identity: &Value,
) -> Answered<Option<message::ResourceIdentityData>> {
    let encoded = msgpack_value(identity, &identity_type(entry));
    let encoded = encoded.map_err(|error| Status::internal(explain(&error)))?;
    Ok(Some(message::ResourceIdentityData { identity_data: Some(encoded) }))
}

pub(super) fn identity_of(
    provider: &Provider,
    entry: &ResourceEntry,
    state: &Value,
    method: &str,
) -> Answered<Option<message::ResourceIdentityData>> {
    #[cfg(not(feature = "misbehaviour"))]
    let _ = method;
    #[cfg(feature = "misbehaviour")]
    if let Some(invalid) = &provider.misbehaviour().identity
        && !state.is_null()
        && let Some((value, kind)) = invalid.instead(method, entry.identity_of(state).as_ref())
    {
        let encoded = msgpack_value(&value, &kind).map_err(|error| Status::internal(explain(&error)))?;
        return Ok(Some(message::ResourceIdentityData { identity_data: Some(encoded) }));
    }
    match entry.identity_of(state) {
        Some(identity) if provider.minor().has(Feature::Identity) => identity_data(entry, &identity),
        _ => Ok(None),
    }
}

pub(super) fn identity_of_answer(
    provider: &Provider,
    entry: &ResourceEntry,
    answer: &Answer,
    method: &str,
) -> Answered<Option<message::ResourceIdentityData>> {
    match answer {
        Answer::State(state) => identity_of(provider, entry, state, method),
        #[cfg(feature = "misbehaviour")]
        Answer::Wrong(Wrong::Json(state)) => identity_of(provider, entry, state, method),
        #[cfg(feature = "misbehaviour")]
        Answer::Wrong(_) => Ok(None),
    }
}

/// Stored state as JSON. Of the flatmap of Terraform before 0.12, only top-level attributes are
/// supported; reading JSON is lenient about their types.
pub(super) fn stored_json(stored: Option<message::RawState>) -> Bytes {
    match stored {
        Some(stored) if stored.json.is_empty() && !stored.flatmap.is_empty() => {
            serde_json::json!(stored.flatmap).to_string().into()
        }
        Some(stored) => stored.json,
        None => Bytes::new(),
    }
}

pub(super) fn diagnostic_messages(diagnostics: Diagnostics) -> Vec<message::Diagnostic> {
    let message = |diagnostic: Diagnostic| message::Diagnostic {
        severity: diagnostic.severity.number(),
        summary: diagnostic.summary,
        detail: diagnostic.detail,
        attribute: diagnostic.path.as_ref().map(path_message),
    };
    diagnostics.0.into_iter().map(message).collect()
}

/// The path up to the first element of a set, which the protocol cannot express.
pub(super) fn path_message(path: &AttributePath) -> message::AttributePath {
    use message::attribute_path::Step;
    use message::attribute_path::step::Selector;
    let selectors = path.0.iter().map_while(|step| match step {
        PathStep::Attribute(name) => Some(Selector::AttributeName(name.to_string())),
        PathStep::Key(key) => Some(Selector::ElementKeyString(key.to_string())),
        PathStep::Index(index) => i64::try_from(*index).ok().map(Selector::ElementKeyInt),
        PathStep::Element(_) => None,
    });
    message::AttributePath { steps: selectors.map(|selector| Step { selector: Some(selector) }).collect() }
}

pub(super) fn schema_message(schema: &Schema, minor: Minor) -> message::Schema {
    message::Schema {
        version: schema.version,
        block: Some(block_message(&schema.block, schema.version, minor)),
    }
}

fn block_message(block: &Block, version: i64, minor: Minor) -> message::schema::Block {
    let nested = block.blocks.iter().map(|nested| {
        let mut own = block_message(&nested.block, 0, minor);
        if nested.computed {
            own::mark_computed(&mut own);
        }
        message::schema::NestedBlock {
            type_name: nested.name.to_owned(),
            block: Some(own),
            nesting: nested.nesting.number(),
            min_items: nested.minimum,
            max_items: nested.maximum,
        }
    });
    message::schema::Block {
        version,
        attributes: block
            .attributes
            .iter()
            .map(|attribute| own::attribute_message(attribute, minor))
            .collect(),
        block_types: nested.collect(),
        description: block.description.to_owned(),
        description_kind: message::StringKind::Markdown.into(),
        ..Default::default()
    }
}
