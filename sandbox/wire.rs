//! Values and types as they travel: the codecs of `isthmus_cty`, under one error.

use bytes::Bytes;
use isthmus_cty::{Type, Value, json, msgpack};

/// Bytes that are no value of the type, or a value that has no such form.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    /// The client's MessagePack.
    #[error("the MessagePack is not a value of the type")]
    FromMessagePack(#[from] msgpack::DecodeError),
    /// A value of ours.
    #[error("the value has no MessagePack form")]
    ToMessagePack(#[from] msgpack::EncodeError),
    /// Either direction of JSON.
    #[error("JSON and the type do not fit")]
    Json(#[from] json::JsonError),
}

/// A value from MessagePack.
pub(crate) fn from_msgpack(bytes: &[u8], kind: &Type) -> Result<Value, WireError> {
    Ok(msgpack::decode(bytes, kind)?)
}

/// A value as MessagePack.
pub(crate) fn to_msgpack(value: &Value, kind: &Type) -> Result<Vec<u8>, WireError> {
    Ok(msgpack::encode(value, kind)?)
}

/// A value from JSON.
pub(crate) fn from_json(text: &[u8], kind: &Type) -> Result<Value, WireError> {
    Ok(json::from_json(text, kind)?)
}

/// A value as JSON.
pub(crate) fn to_json(value: &Value, kind: &Type) -> Result<Vec<u8>, WireError> {
    Ok(json::to_json(value, kind)?.into_bytes())
}

/// A type as schemas write it.
pub(crate) fn type_json(kind: &Type) -> Bytes {
    Bytes::from(kind.to_json())
}

/// An error with all that led to it, on one line.
pub(crate) fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut reason = error.source();
    while let Some(error) = reason {
        text = format!("{text}: {error}");
        reason = error.source();
    }
    text
}
