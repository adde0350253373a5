//! Entries of a journal file, before encryption.
//!
//! An entry names an operation by the file that it was begun in and its number there. So entries can be
//! copied to another file, and one process can settle another's operation. Numbers begin with 1; the
//! number 0 is the file itself.

use bytes::Bytes;

use crate::journal::intent::{FileId, OperationId};

/// An entry. Tags 5, 6, 8 and 9 had other meanings in earlier builds.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Entry {
    #[prost(oneof = "Step", tags = "1, 2, 3, 4, 7, 10")]
    pub(super) step: Option<Step>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Step {
    /// The provider is about to be called.
    #[prost(message, tag = "1")]
    Begun(Begun),
    /// An object was created; the caller is about to be answered.
    #[prost(message, tag = "2")]
    Made(Made),
    /// The outcome is unknown, and the caller is about to get that answer.
    #[prost(message, tag = "3")]
    Unknown(Unknown),
    /// Nothing of these is left to be reported.
    #[prost(message, tag = "4")]
    Settled(References),
    /// Something was noted of these.
    #[prost(message, tag = "10")]
    Marked(Marked),
    /// What a failed deletion has left; it is removed by settling it.
    #[prost(message, tag = "7")]
    Left(Left),
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
    pub(super) subject: String,
    /// The object's id; empty before it is created.
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
pub(super) struct Marked {
    #[prost(message, repeated, tag = "1")]
    pub(super) operations: Vec<Reference>,
    #[prost(uint32, tag = "2")]
    pub(super) mark: u32,
    /// Names the entry, so that a copy does not count twice.
    #[prost(fixed64, tag = "3")]
    pub(super) nonce: u64,
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
    /// Digest of the properties that the caller sent.
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
