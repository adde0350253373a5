//! Values as JSON: an alternative encoding of providers' responses, and the encoding of state.
//!
//! As in MessagePack, the type directs encoding and decoding, and a dynamic value is an object of
//! its `value` and its `type`. Unknown values and infinities cannot be encoded.

mod pretty;
mod read;
mod tree;
mod write;

pub use read::{from_json, from_tree};
pub use tree::{Json, JsonSyntaxError};
pub use write::to_json;

pub(super) use tree::write_string;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::{AttributePath, MAXIMUM_DEPTH, NumberError, PathStep, Type, TypeError};

/// Why JSON is no value of a type, or a value cannot be encoded as JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Path in the value.
    pub path: AttributePath,
    /// The reason.
    pub reason: JsonReason,
}

impl fmt::Display for JsonError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", super::at(&self.path), self.reason)
    }
}

impl Error for JsonError {
    /// The reason is in the text.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.reason.source()
    }
}

/// Why JSON or a value is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonReason {
    /// Not JSON.
    #[error("the document is not JSON")]
    Syntax(#[source] JsonSyntaxError),
    /// Another kind of value than that of the type.
    #[error("{0} is required")]
    Required(&'static str),
    /// Text that is not a number.
    #[error("a number is required")]
    Number(#[source] NumberError),
    /// A tuple of another length.
    #[error("a tuple of length {required} is required ({given} given)")]
    TupleLength {
        /// How many elements the type has.
        required: usize,
        /// The actual length.
        given: usize,
    },
    /// An attribute that the type does not have.
    #[error("unsupported attribute {0:?}")]
    UnsupportedAttribute(Arc<str>),
    /// A missing attribute of a value to be encoded.
    #[error("missing required attribute {0:?}")]
    MissingAttribute(Arc<str>),
    /// A dynamic value that is not an object of exactly its value and its type.
    #[error("a dynamic value must be an object with \"value\" and \"type\"")]
    DynamicPair,
    /// A dynamic value whose type cannot be read.
    #[error("the type of a dynamic value cannot be read")]
    Type(#[source] TypeError),
    /// A value to be encoded is of another kind than its type.
    #[error("{required} required, but the value is {found}")]
    Mismatch {
        /// The type.
        required: Type,
        /// The kind of the value.
        found: &'static str,
    },
    /// Unknown values cannot be encoded.
    #[error("the value is not known")]
    Unknown,
    /// Infinity cannot be encoded.
    #[error("an infinite number cannot be written as JSON")]
    Infinity,
    /// Nested too deeply.
    #[error("nested deeper than {MAXIMUM_DEPTH} levels")]
    TooDeep,
}

impl From<JsonReason> for Box<JsonError> {
    fn from(reason: JsonReason) -> Self {
        Self::new(JsonError { path: AttributePath::root(), reason })
    }
}

impl JsonError {
    /// An error's path is collected from its last step to its first.
    fn inside(mut self: Box<Self>, step: PathStep) -> Box<Self> {
        self.path.push(step);
        self
    }

    fn arrived(mut self) -> Self {
        self.path.0.reverse();
        self
    }
}
