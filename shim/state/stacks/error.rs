//! What is wrong with a sequence, and where.

#![expect(missing_docs, reason = "the text of an error has its fields")]

use std::error::Error;
use std::fmt;

use isthmus_cty::{DecodeError as ValueError, msgpack};
use prost::DecodeError;

use super::key::StateKeyError;
use crate::addresses::AddressSyntaxError;
use crate::saved::RecordError;

/// A sequence cannot be used.
#[derive(Debug)]
pub struct SequenceError {
    /// Which record.
    pub position: Position,
    /// What is wrong with it.
    pub fault: Box<Fault>,
}

impl fmt::Display for SequenceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.position, self.fault)
    }
}

impl Error for SequenceError {
    /// The fault is in the text.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.fault.source()
    }
}

/// A place in a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// A record, counted from 1, and what it seems to be: its key or its type.
    Record { number: usize, what: String },
    /// The bytes of a file from this one on.
    Byte(usize),
    /// Behind the last record.
    End,
}

/// What is wrong with a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A file ends within a record.
    #[error("the file ends within a record; it was cut short")]
    CutShort,
    /// A length that no record has.
    #[error("this is not the length of a record; the file is not a sequence, or was damaged")]
    Length,
    /// It is not what its type says.
    #[error("the record cannot be decoded; it was damaged")]
    Message(#[source] DecodeError),
    /// It is of no type at all.
    #[error(
        "the record says nothing of its type, which would be `type.googleapis.com/tfstackdata1.` and a name"
    )]
    NoType,
    /// It is of a type that has no place there.
    #[error("a record of type {found} has no place here; it was written by another release of Terraform")]
    Type { found: String },
    /// Its key cannot be read.
    #[error("its key cannot be read")]
    Key(#[from] StateKeyError),
    /// Its key asks for refusal.
    #[error(
        "keys of kind {0} are not known and must not be passed over; it was written by a newer release of Terraform"
    )]
    MandatoryKey(String),
    /// A key of a state occurs twice within a plan.
    #[error("the state that the plan was made from has this key twice")]
    KeyTwice,
    /// An object that cannot be used.
    #[error("the saved object cannot be used")]
    Object(#[from] RecordError),
    /// A value that cannot be read.
    #[error("the value of {what} cannot be read")]
    Value {
        what: String,
        #[source]
        error: ValueError,
    },
    /// A value of a resource's type that cannot be read.
    #[error("the value of {what} cannot be read")]
    UntypedValue {
        what: String,
        #[source]
        error: msgpack::DecodeError,
    },
    /// A value without content.
    #[error("{0} has no value")]
    NoValue(String),
    /// A path that cannot be read.
    #[error("a path cannot be read: {0}")]
    Path(&'static str),
    /// An address that cannot be read.
    #[error(transparent)]
    Address(#[from] AddressSyntaxError),
    /// No key of a deposed object.
    #[error("{0:?} is not the key of a deposed object, which has eight hexadecimal digits")]
    Deposed(String),
    /// An instance where a component is meant.
    #[error("{0} is an instance of a component, where the component is meant")]
    Instance(String),
    /// A plan of another release.
    #[error(
        "the plan was made by Terraform {found}, and is only good for that release; this is read as Terraform {wanted}"
    )]
    Version { found: String, wanted: String },
    /// Nothing says which release made the plan.
    #[error("the plan has no header, so a part of it is missing")]
    NoHeader,
    /// A number that stands for nothing.
    #[error("{value} stands for no {what}")]
    Number { what: &'static str, value: i32 },
    /// No time.
    #[error("{0:?} is not a time as RFC 3339 has it")]
    Time(String),
    /// A component is announced twice.
    #[error("the component {0} is announced a second time")]
    ComponentTwice(String),
    /// A change of something that was not announced.
    #[error("the change belongs to the component {0}, which no earlier record announces")]
    NoComponent(String),
    /// A change says two things.
    #[error("the change names two {0}: its own, and another one of its container")]
    Inconsistent(&'static str),
    /// A record lacks a part.
    #[error("the record has no {0}")]
    Missing(&'static str),
    /// A change with too few or too many values.
    #[error("a change by {action} has {found} values, but must have {wanted}")]
    Values { action: &'static str, found: usize, wanted: usize },
    /// Something stays that depends on something that goes.
    #[error(
        "the component {component} stays, but depends on {dependency}, which is deleted; such a plan cannot be carried out"
    )]
    KeptDependent { component: String, dependency: String },
}

impl SequenceError {
    pub(super) fn at(number: usize, what: impl Into<String>, fault: impl Into<Fault>) -> Self {
        Self { position: Position::Record { number, what: what.into() }, fault: Box::new(fault.into()) }
    }
}

impl Fault {
    /// Whether the record is of a kind that only other releases know.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Self::MandatoryKey(_) | Self::Type { .. })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record { number, what } if what.is_empty() => write!(formatter, "record {number}"),
            Self::Record { number, what } => write!(formatter, "record {number} ({})", shown(what)),
            Self::Byte(offset) => write!(formatter, "byte {offset}"),
            Self::End => formatter.write_str("at the end"),
        }
    }
}

/// Keys and types come from outside, and may be anything.
fn shown(text: &str) -> String {
    const LONGEST: usize = 120;
    text.chars().take(LONGEST).flat_map(char::escape_debug).collect()
}
