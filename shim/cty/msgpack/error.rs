//! What keeps values from being written, and bytes from being read.

use std::sync::Arc;

use crate::{AttributePath, MAXIMUM_DEPTH, NumberError, PathStep, Type, TypeError};

/// Why a value cannot be written as a value of its type, and where. This is a defect of whoever made the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", crate::at(path))]
pub struct EncodeError {
    /// Where in the value.
    pub path: AttributePath,
    /// What is wrong there.
    pub reason: EncodeReason,
}

/// What keeps a value from being written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeReason {
    /// The value is of another kind than its type.
    #[error("{required} required, but the value is {found}")]
    Mismatch {
        /// The type.
        required: Type,
        /// What the value is.
        found: &'static str,
    },
    /// At a dynamic position stands a value without a type of its own.
    #[error("a value at a dynamic position must bring its own type, but this is {0}")]
    WithoutType(&'static str),
    /// An object lacks an attribute of its type.
    #[error("missing required attribute {0:?}")]
    MissingAttribute(Arc<str>),
    /// An object has an attribute that its type lacks.
    #[error("unsupported attribute {0:?}")]
    UnsupportedAttribute(Arc<str>),
    /// A tuple has another length than its type.
    #[error("{required} elements are required, but got {given}")]
    TupleLength {
        /// How many elements the type has.
        required: usize,
        /// How many the value has.
        given: usize,
    },
    /// Elements of a collection whose dynamic parts differ in type.
    #[error("the elements must all be of one type")]
    MixedElements,
    /// Types within dynamic types within types, without end.
    #[error("nested deeper than {MAXIMUM_DEPTH} levels")]
    TooDeep,
    /// More than MessagePack can count.
    #[error("longer than 4 GiB")]
    TooLong,
}

impl From<EncodeReason> for Box<EncodeError> {
    fn from(reason: EncodeReason) -> Self {
        Self::new(EncodeError { path: AttributePath::root(), reason })
    }
}

impl EncodeError {
    pub(super) fn inside(mut self: Box<Self>, step: PathStep) -> Box<Self> {
        self.path.push(step);
        self
    }
}

/// Why bytes are not a value of a type: where in the bytes, and where in the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason} (byte {offset})", crate::at(path))]
pub struct DecodeError {
    /// Where the offending item starts, in bytes.
    pub offset: usize,
    /// Where in the value. An element of a set is named by its position in the bytes.
    pub path: AttributePath,
    /// What is wrong there.
    #[source]
    pub reason: DecodeReason,
}

/// What keeps bytes from being a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeReason {
    /// The bytes end within the value, or announce more than follows.
    #[error("the message ends within a value")]
    UnexpectedEnd,
    /// Another kind of item than the type asks for.
    #[error("{0} is required")]
    Required(&'static str),
    /// A number as text that is not a number.
    #[error("a number is required")]
    Number(#[source] NumberError),
    /// NaN, which is no number.
    #[error("a number is required, but this is not a number (NaN)")]
    NotANumber,
    /// Text that is not UTF-8.
    #[error("a string is not UTF-8")]
    InvalidUtf8,
    /// A tuple of another length.
    #[error("a tuple of length {required} is required ({given} given)")]
    TupleLength {
        /// How many elements the type has.
        required: usize,
        /// How many arrived.
        given: usize,
    },
    /// An object with too few or too many attributes.
    #[error("an object with {required} attributes is required ({given} given)")]
    AttributeCount {
        /// How many attributes the type has.
        required: usize,
        /// How many arrived.
        given: usize,
    },
    /// An attribute that the type does not have.
    #[error("unsupported attribute {0:?}")]
    UnsupportedAttribute(Arc<str>),
    /// An attribute that arrived twice.
    #[error("an attribute is given twice")]
    RepeatedAttribute,
    /// A dynamic value that is not a type and a value.
    #[error("a dynamic value must be an array of a type and a value")]
    DynamicPair,
    /// A dynamic value whose type cannot be read.
    #[error("the type of a dynamic value cannot be read")]
    Type(#[source] TypeError),
    /// An extension that is no unknown value.
    #[error("unsupported extension type {code} with {length} bytes")]
    UnsupportedExtension {
        /// Its type.
        code: i8,
        /// Its length in bytes.
        length: usize,
    },
    /// Refinements that are longer than they may be.
    #[error("the refinements of an unknown value have {0} bytes, more than the 1024 allowed")]
    OversizeRefinements(usize),
    /// Refinements that cannot be read.
    #[error("the refinements of an unknown value cannot be read: {0}")]
    Refinement(&'static str),
    /// Deeper than any real value.
    #[error("nested deeper than {MAXIMUM_DEPTH} levels")]
    TooDeep,
}
