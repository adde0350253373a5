//! Values as JSON: what providers may answer instead of MessagePack, and what is stored in states.
//!
//! As in MessagePack the type directs both ways, and a dynamic value is an object of its `value` and its `type`. There is
//! no form for unknown values and infinities.

mod pretty;
mod read;
mod tree;
mod write;

pub use read::{from_json, from_tree};
pub use tree::{Json, JsonSyntaxError};
pub use write::to_json;

pub(super) use tree::write_string;

use std::sync::Arc;

use super::{AttributePath, MAXIMUM_DEPTH, NumberError, PathStep, Type, TypeError};

/// Why JSON is not a value of a type, or a value cannot be written as JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", super::at(path))]
pub struct JsonError {
    /// Where in the value.
    pub path: AttributePath,
    /// What is wrong there.
    #[source]
    pub reason: JsonReason,
}

/// What keeps JSON from being a value, or a value from being JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonReason {
    /// It is not JSON at all.
    #[error("the document is not JSON")]
    Syntax(#[source] JsonSyntaxError),
    /// Another kind of value than the type asks for.
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
        /// How many there are.
        given: usize,
    },
    /// An attribute that the type does not have.
    #[error("unsupported attribute {0:?}")]
    UnsupportedAttribute(Arc<str>),
    /// An attribute of the type that a value to be written lacks.
    #[error("missing required attribute {0:?}")]
    MissingAttribute(Arc<str>),
    /// A dynamic value that is not an object of exactly its value and its type.
    #[error("a dynamic value must be an object with \"value\" and \"type\"")]
    DynamicPair,
    /// A dynamic value whose type cannot be read.
    #[error("the type of a dynamic value cannot be read")]
    Type(#[source] TypeError),
    /// A value to be written is of another kind than its type.
    #[error("{required} required, but the value is {found}")]
    Mismatch {
        /// The type.
        required: Type,
        /// What the value is.
        found: &'static str,
    },
    /// JSON has no form for it.
    #[error("the value is not known")]
    Unknown,
    /// JSON has no form for it.
    #[error("an infinite number cannot be written as JSON")]
    Infinity,
    /// Deeper than any real value.
    #[error("nested deeper than {MAXIMUM_DEPTH} levels")]
    TooDeep,
}

impl From<JsonReason> for Box<JsonError> {
    fn from(reason: JsonReason) -> Self {
        Self::new(JsonError { path: AttributePath::root(), reason })
    }
}

impl JsonError {
    /// While it travels outwards, an error's path is collected from its last step to its first.
    fn inside(mut self: Box<Self>, step: PathStep) -> Box<Self> {
        self.path.push(step);
        self
    }

    fn arrived(mut self) -> Self {
        self.path.0.reverse();
        self
    }
}
