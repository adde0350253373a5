//! Sequences in files: each record behind its length, as protobuf's libraries delimit messages.
//!
//! A state's records are a key and an `Any`, with the numbers that Terraform's own messages have for them; a plan's are an
//! `Any` each. The two are told apart by how the first record starts: with a key, or with the address of a type.

use bytes::Bytes;
use isthmus_proto::tfstackdata1::PlanPriorStateElem;
use prost::Message as _;
use prost_types::Any;

use super::error::{Fault, Position, SequenceError};
use super::key::StateKey;

/// What stands before the name of every type.
pub(super) const TYPE_PREFIX: &str = "type.googleapis.com/tfstackdata1.";

/// One change of a state.
#[derive(Clone, Debug, PartialEq)]
pub struct StateRecord {
    /// What it is about.
    pub key: String,
    /// What is known of that now; `None`: there is nothing any more.
    pub content: Option<Any>,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Records of a state.
    State,
    /// Records of a plan.
    Plan,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum SequenceFile {
    /// Of a state.
    State(Vec<StateRecord>),
    /// Of a plan.
    Plan(Vec<Any>),
}

impl SequenceFile {
    /// What a file holds, by its first record; `None`: it is no sequence.
    pub fn kind_of(bytes: &[u8]) -> Option<Kind> {
        let mut rest = bytes;
        let length = prost::decode_length_delimiter(&mut rest).ok()?;
        let first = rest.get(..length)?;
        // Both have their text in field 1.
        let start = PlanPriorStateElem::decode(first).map(|record| record.key);
        let text = start.or_else(|_| Any::decode(first).map(|record| record.type_url)).ok()?;
        if text.starts_with(TYPE_PREFIX) {
            Some(Kind::Plan)
        } else {
            text.parse::<StateKey>().ok().map(|_| Kind::State)
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it is not records from the first byte to the last.
    pub fn read(bytes: &Bytes, kind: Kind) -> Result<Self, SequenceError> {
        let records = split(bytes)?.into_iter().enumerate();
        let fault = |number, error| SequenceError::at(number, "", Fault::Message(error));
        match kind {
            Kind::State => records
                .map(|(index, record)| {
                    let record =
                        PlanPriorStateElem::decode(record).map_err(|error| fault(index + 1, error))?;
                    Ok(StateRecord { key: record.key, content: record.raw })
                })
                .collect::<Result<_, _>>()
                .map(Self::State),
            Kind::Plan => records
                .map(|(index, record)| Any::decode(record).map_err(|error| fault(index + 1, error)))
                .collect::<Result<_, _>>()
                .map(Self::Plan),
        }
    }

    /// The file's bytes.
    pub fn write(&self) -> Vec<u8> {
        match self {
            Self::State(records) => {
                let records = records.iter().cloned();
                let message =
                    |record: StateRecord| PlanPriorStateElem { key: record.key, raw: record.content };
                records.flat_map(|record| message(record).encode_length_delimited_to_vec()).collect()
            }
            Self::Plan(records) => {
                records.iter().flat_map(prost::Message::encode_length_delimited_to_vec).collect()
            }
        }
    }
}

fn split(bytes: &Bytes) -> Result<Vec<Bytes>, SequenceError> {
    let mut records = Vec::new();
    let mut position = 0;
    while position < bytes.len() {
        let at = |fault| SequenceError { position: Position::Byte(position), fault: Box::new(fault) };
        let mut rest = &bytes[position..];
        let before = rest.len();
        let Ok(length) = prost::decode_length_delimiter(&mut rest) else {
            // At most ten bytes make up a length.
            return Err(at(if before < 10 { Fault::CutShort } else { Fault::Length }));
        };
        if length > rest.len() {
            return Err(at(Fault::CutShort));
        }
        let start = position + (before - rest.len());
        records.push(bytes.slice(start..start + length));
        position = start + length;
    }
    Ok(records)
}

/// The name of a record's type.
pub(super) fn type_of(record: &Any) -> Result<&str, Fault> {
    match record.type_url.strip_prefix(TYPE_PREFIX) {
        Some(name) if !name.is_empty() => Ok(name),
        _ if record.type_url.is_empty() => Err(Fault::NoType),
        _ => Err(Fault::Type { found: record.type_url.clone() }),
    }
}

/// A record's content, which is a message of a type that is known by now.
pub(super) fn content<Content: prost::Message + Default>(record: &Any) -> Result<Content, Fault> {
    Content::decode(Bytes::from(record.value.clone())).map_err(Fault::Message)
}

/// A message as a record.
pub(super) fn record(name: &str, message: &impl prost::Message) -> Any {
    Any { type_url: format!("{TYPE_PREFIX}{name}"), value: message.encode_to_vec() }
}
