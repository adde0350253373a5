//! Entries of a journal file, before encryption.
//!
//! An entry names an operation by the file that it was begun in and its number there. So entries can be
//! copied to another file, and one process can settle another's operation. Numbers begin with 1; the
//! number 0 is the file itself.

use bytes::Bytes;

use crate::journal::intent::{FileId, OperationId};

/// An entry.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Entry {
    #[prost(oneof = "Step", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9")]
    pub(super) step: Option<Step>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Step {
    /// The provider is about to be called.
    #[prost(message, tag = "1")]
    Begun(Begun),
    /// An object was created; the engine is about to be answered.
    #[prost(message, tag = "2")]
    Made(Made),
    /// The outcome is unknown, and the engine is about to be told so.
    #[prost(message, tag = "3")]
    Unknown(Unknown),
    /// Nothing of these is left to be told.
    #[prost(message, tag = "4")]
    Settled(References),
    /// These were reported.
    #[prost(message, tag = "5")]
    Shown(References),
    /// A run of their stack has passed without mentioning these.
    #[prost(message, tag = "6")]
    Passed(Passed),
    /// What a failed deletion has left; it is removed by settling it.
    #[prost(message, tag = "7")]
    Left(Left),
    /// The engine's run has ended in order, so that it presumably knows these.
    #[prost(message, tag = "8")]
    Ended(References),
    /// The engine creates the resources of these again: it may not know them after all.
    #[prost(message, tag = "9")]
    Doubted(References),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Reference {
    #[prost(bytes = "vec", tag = "1")]
    file: Vec<u8>,
    #[prost(uint32, tag = "2")]
    number: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct References {
    #[prost(message, repeated, tag = "1")]
    pub(super) operations: Vec<Reference>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Begun {
    #[prost(message, optional, tag = "1")]
    pub(super) operation: Option<Reference>,
    #[prost(uint32, tag = "2")]
    pub(super) kind: u32,
    #[prost(string, tag = "3")]
    pub(super) package: String,
    #[prost(string, tag = "4")]
    pub(super) type_name: String,
    #[prost(string, tag = "5")]
    pub(super) urn: String,
    /// The engine's id; empty before it is created.
    #[prost(string, tag = "6")]
    pub(super) id: String,
    /// Milliseconds since 1970.
    #[prost(uint64, tag = "7")]
    pub(super) since: u64,
    #[prost(uint32, tag = "8")]
    pub(super) process: u32,
    /// Opaque data of the caller.
    #[prost(bytes = "bytes", tag = "9")]
    pub(super) companion: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Made {
    #[prost(message, optional, tag = "1")]
    pub(super) operation: Option<Reference>,
    #[prost(string, tag = "2")]
    pub(super) id: String,
    /// The object, in the caller's encoding; empty if it is too large to be kept.
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) object: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Unknown {
    #[prost(message, optional, tag = "1")]
    pub(super) operation: Option<Reference>,
    #[prost(string, tag = "2")]
    pub(super) known: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Passed {
    #[prost(message, repeated, tag = "1")]
    pub(super) operations: Vec<Reference>,
    /// Names the run, so that a copy does not count twice.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) run: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Left {
    #[prost(message, optional, tag = "1")]
    pub(super) operation: Option<Reference>,
    #[prost(string, tag = "2")]
    pub(super) package: String,
    #[prost(string, tag = "3")]
    pub(super) type_name: String,
    #[prost(string, tag = "4")]
    pub(super) id: String,
    /// Digest of the properties that the engine sent.
    #[prost(bytes = "vec", tag = "5")]
    pub(super) sent: Vec<u8>,
    #[prost(bytes = "bytes", tag = "6")]
    pub(super) left: Bytes,
}

impl Reference {
    /// The operation; `None` if the bytes are no reference.
    pub(super) fn operation(&self) -> Option<OperationId> {
        Some(OperationId::InFile { file: FileId::try_from(&self.file[..]).ok()?, number: self.number })
    }

    /// `None` for an operation that is not in a file.
    pub(super) fn to(id: OperationId) -> Option<Self> {
        match id {
            OperationId::InFile { file, number } => Some(Self { file: file.to_vec(), number }),
            OperationId::InStore(_) => None,
        }
    }
}

impl References {
    pub(super) fn to(ids: impl IntoIterator<Item = OperationId>) -> Self {
        Self { operations: ids.into_iter().filter_map(Reference::to).collect() }
    }
}

impl From<Step> for Entry {
    fn from(step: Step) -> Self {
        Self { step: Some(step) }
    }
}
