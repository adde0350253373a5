//! A value of a stack, and what of it is secret. It brings its type with it.

use isthmus_cty::{AttributePath, Type, Value, decode_dynamic};
use isthmus_proto::{tfplan, tfstackdata1};

use super::error::Fault;
use crate::saved::path_from_message;

/// A value and its sensitive parts.
#[derive(Clone, Debug, PartialEq)]
pub struct StacksValue {
    /// The value, with its type. In plans, parts of it may be unknown.
    pub value: Value,
    /// Which parts are secret.
    pub sensitive_paths: Vec<AttributePath>,
}

impl StacksValue {
    pub(super) fn read(message: tfstackdata1::DynamicValue, what: &str) -> Result<Self, Fault> {
        let value = message.value.filter(|value| !value.msgpack.is_empty());
        let value = value.ok_or_else(|| Fault::NoValue(what.to_owned()))?;
        Ok(Self {
            value: decode_dynamic(&value.msgpack, &[], &Type::Dynamic)
                .map_err(|error| Fault::Value { what: what.to_owned(), error })?,
            sensitive_paths: read_paths(message.sensitive_paths)?,
        })
    }
}

pub(super) fn read_paths(paths: Vec<tfplan::Path>) -> Result<Vec<AttributePath>, Fault> {
    paths.into_iter().map(path_from_message).collect::<Result<_, _>>().map_err(Fault::Path)
}
