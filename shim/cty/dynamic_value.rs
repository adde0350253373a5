//! The `DynamicValue` of the plugin protocol: a value in MessagePack or JSON.

use super::json::{JsonError, from_json};
use super::msgpack::{self, decode};
use super::{Type, Value};

/// Why a `DynamicValue` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Its MessagePack is not a value of the type.
    #[error("the MessagePack of a value of type {own} cannot be read")]
    MessagePack {
        /// The requested type.
        own: Type,
        /// The cause.
        source: msgpack::DecodeError,
    },
    /// Its JSON is not a value of the type.
    #[error("the JSON of a value of type {own} cannot be read")]
    Json {
        /// The requested type.
        own: Type,
        /// The cause.
        source: JsonError,
    },
}

/// Decodes the two fields of a `DynamicValue` as Terraform does: MessagePack if present, else JSON,
/// else null.
///
/// # Errors
/// [`DecodeError`], when the bytes are no value of the type.
pub fn decode_dynamic(msgpack: &[u8], json: &[u8], own: &Type) -> Result<Value, DecodeError> {
    if !msgpack.is_empty() {
        decode(msgpack, own).map_err(|source| DecodeError::MessagePack { own: own.clone(), source })
    } else if !json.is_empty() {
        from_json(json, own).map_err(|source| DecodeError::Json { own: own.clone(), source })
    } else {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_pack_goes_before_json_and_nothing_is_null() {
        assert_eq!(decode_dynamic(&[0xc3], b"false", &Type::Bool), Ok(true.into()));
        assert_eq!(decode_dynamic(&[], b"false", &Type::Bool), Ok(false.into()));
        assert_eq!(decode_dynamic(&[], &[], &Type::Bool), Ok(Value::Null));
        assert!(matches!(
            decode_dynamic(&[0xa0], b"false", &Type::Bool),
            Err(DecodeError::MessagePack { .. })
        ));
        assert!(matches!(decode_dynamic(&[], b"[]", &Type::Bool), Err(DecodeError::Json { .. })));
    }
}
