//! Values in messages.

use isthmus_cty::{self as cty, Type, Value};
use isthmus_proto::tfplugin6::DynamicValue;

use super::ProviderError;

/// Whether a value may have unknown parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknowns {
    Allowed,
    Refused,
}

/// Encodes a value as MessagePack: some providers support nothing else.
pub(crate) fn encode(
    value: &Value,
    value_type: &Type,
    operation: &'static str,
    type_name: &str,
) -> Result<Option<DynamicValue>, ProviderError> {
    let msgpack = cty::msgpack::encode(value, value_type).map_err(|error| ProviderError::InvalidValue {
        operation,
        type_name: type_name.to_owned(),
        reason: isthmus_common::error_chain(&error),
    })?;
    Ok(Some(DynamicValue { msgpack: msgpack.into(), json: bytes::Bytes::new() }))
}

/// Decodes a value in either encoding. Absent and empty ones are null.
pub(crate) fn decode(message: Option<&DynamicValue>, value_type: &Type) -> Result<Value, cty::DecodeError> {
    match message {
        None => Ok(Value::Null),
        Some(message) => cty::decode_dynamic(&message.msgpack, &message.json, value_type),
    }
}
