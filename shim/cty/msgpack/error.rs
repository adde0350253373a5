//! Errors of encoding and decoding.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::{AttributePath, MAXIMUM_DEPTH, NumberError, PathStep, Type, TypeError};

/// Why a value cannot be encoded as a value of its type, and where: a bug in this program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", crate::at(path))]
pub struct EncodeError {
    /// Path in the value.
    pub path: AttributePath,
    /// The reason.
    pub reason: EncodeReason,
}

/// Why a value cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeReason {
    /// The value is of another kind than its type.
    #[error("{required} required, but the value is {found}")]
    Mismatch {
        /// The type.
        required: Type,
        /// The kind of the value.
        found: &'static str,
    },
    /// A value without its own type at a dynamic position.
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
    /// Nested too deeply.
    #[error("nested deeper than {MAXIMUM_DEPTH} levels")]
    TooDeep,
    /// Too long for MessagePack.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Start of the invalid item, in bytes.
    pub offset: usize,
    /// Path in the value. An element of a set has its position in the bytes.
    pub path: AttributePath,
    /// The reason.
    pub reason: DecodeReason,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{} (byte {})", crate::at(&self.path), self.reason, self.offset)
    }
}

impl Error for DecodeError {
    /// The reason is in the text.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.reason.source()
    }
}

/// Why bytes cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeReason {
    /// The bytes end within the value, or a length exceeds the rest.
    #[error("the message ends within a value")]
    UnexpectedEnd,
    /// Another kind of item than that of the type.
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
        /// The actual length.
        given: usize,
    },
    /// An object with too few or too many attributes.
    #[error("an object with {required} attributes is required ({given} given)")]
    AttributeCount {
        /// How many attributes the type has.
        required: usize,
        /// The actual number.
        given: usize,
    },
    /// An attribute that the type does not have.
    #[error("unsupported attribute {0:?}")]
    UnsupportedAttribute(Arc<str>),
    /// A duplicate attribute.
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
    /// Refinements exceed the size limit.
    #[error("the refinements of an unknown value have {0} bytes, more than the 1024 allowed")]
    OversizeRefinements(usize),
    /// Invalid refinements.
    #[error("the refinements of an unknown value cannot be read: {0}")]
    Refinement(&'static str),
    /// Nested too deeply.
    #[error("nested deeper than {MAXIMUM_DEPTH} levels")]
    TooDeep,
}
