//! Encoding of values and types: the codecs of `isthmus_cty` with one error type.

use bytes::Bytes;
use isthmus_cty::{Type, Value, json, msgpack};

/// Bytes are no value of the type, or a value cannot be encoded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    /// Decoding MessagePack.
    #[error("the MessagePack is not a value of the type")]
    FromMessagePack(#[from] msgpack::DecodeError),
    /// Encoding MessagePack.
    #[error("the value has no MessagePack form")]
    ToMessagePack(#[from] msgpack::EncodeError),
    /// Either direction of JSON.
    #[error("JSON and the type do not fit")]
    Json(#[from] json::JsonError),
}

pub(crate) fn from_msgpack(bytes: &[u8], kind: &Type) -> Result<Value, WireError> {
    Ok(msgpack::decode(bytes, kind)?)
}

pub(crate) fn to_msgpack(value: &Value, kind: &Type) -> Result<Vec<u8>, WireError> {
    Ok(msgpack::encode(value, kind)?)
}

pub(crate) fn from_json(text: &[u8], kind: &Type) -> Result<Value, WireError> {
    Ok(json::from_json(text, kind)?)
}

pub(crate) fn to_json(value: &Value, kind: &Type) -> Result<Vec<u8>, WireError> {
    Ok(json::to_json(value, kind)?.into_bytes())
}

/// A type as in schemas.
pub(crate) fn type_json(kind: &Type) -> Bytes {
    Bytes::from(kind.to_json())
}

/// An error and its causes, on one line.
pub(crate) fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut reason = error.source();
    while let Some(error) = reason {
        text = format!("{text}: {error}");
        reason = error.source();
    }
    text
}
