//! Intents: the operation, its later condition, and their encoding.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use bytes::Bytes;

use crate::error::Fault;
use crate::saved::{Envelope, Saved};
use crate::store::{RecordNumber, StoreKey};

/// Names a file of a journal.
pub(super) type FileId = [u8; 6];

/// Names an operation in a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperationId {
    /// One in the state store.
    InStore(RecordNumber),
    /// One in a file of a journal.
    InFile {
        /// The file that it was begun in.
        file: [u8; 6],
        /// Its number there, from 1; 0 is the file itself.
        number: u32,
    },
}

/// A text names no operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the id of an operation, which looks like 17 or 0123456789ab-17")]
pub struct InvalidOperationId;

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Creation.
    Create,
    /// Update.
    Update,
    /// Deletion.
    Delete,
}

/// An operation that is about to start.
#[derive(Clone, Debug)]
pub struct Intent {
    /// The operation.
    pub intention: OperationKind,
    /// The resource's key. The id is empty if there is none yet.
    pub key: StoreKey,
    /// The caller's name of it, for messages.
    pub subject: String,
    /// The prior object, if this side has it.
    pub prior: Option<Saved>,
    /// Opaque data of the caller.
    pub companion: Bytes,
}

/// An intent without an outcome.
#[derive(Clone, Debug)]
pub struct OpenIntent {
    /// Its id, for acknowledging it.
    pub id: OperationId,
    /// The operation.
    pub intent: Intent,
    /// Its start.
    pub since: SystemTime,
    /// The process that started it, for messages.
    pub holder: String,
    /// Its condition.
    pub condition: Condition,
    /// What was noted of it since.
    pub marks: Marks,
    /// The created object in the caller's encoding, if the caller stores it and the journal has it.
    pub object: Bytes,
}

/// Open intents, as far as the journal can be read.
#[derive(Debug, Default)]
pub struct OpenIntents {
    /// Whether there is a journal at all.
    pub has_journal: bool,
    /// Readable intents, oldest first.
    pub intents: Vec<OpenIntent>,
    /// What cannot be read: its operations are unknown.
    pub faults: Vec<JournalFault>,
}

/// A part of a journal that cannot be read, or something in its place: its operations are unknown.
#[derive(Clone, Debug)]
pub struct JournalFault {
    /// The intent or file, for acknowledging it; `None`: it concerns the whole journal.
    pub id: Option<OperationId>,
    /// Why.
    pub reason: String,
    /// What was noted of it.
    pub marks: Marks,
}

impl From<Fault> for JournalFault {
    fn from(fault: Fault) -> Self {
        let id = fault.number.map(OperationId::InStore);
        Self { id, reason: fault.reason, marks: Marks::default() }
    }
}

/// Condition of an open intent.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A process is working on it.
    InProgress,
    /// Its process has exited, or its lease has expired: the outcome is unknown.
    Interrupted,
    /// The object was created, but it is not known whether the response has arrived.
    Unconfirmed,
    /// It has ended, but its outcome is unknown or could not be stored.
    Ended {
        /// Details.
        text: String,
        /// The resulting object, if known.
        object: Option<Box<Saved>>,
    },
}

/// What is noted of an operation after it began. Callers give each number its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(pub u32);

impl Mark {
    /// The operation was reported. A report made before its object was known does not count afterwards.
    pub const REPORTED: Self = Self(1);
}

/// The marks of an operation, and how often each was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks(pub(super) BTreeMap<u32, u32>);

/// An intent before encryption. Tags 10, 11, 13 and 14 had other meanings in earlier builds.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Entry {
    #[prost(uint32, tag = "1")]
    pub(super) intention: u32,
    #[prost(string, tag = "2")]
    pub(super) subject: String,
    #[prost(message, optional, tag = "3")]
    pub(super) prior: Option<Envelope>,
    #[prost(bytes = "bytes", tag = "4")]
    pub(super) companion: Bytes,
    /// Milliseconds since 1970.
    #[prost(uint64, tag = "5")]
    pub(super) since: u64,
    #[prost(string, tag = "6")]
    pub(super) holder: String,
    #[prost(string, tag = "7")]
    pub(super) lease_name: String,
    #[prost(message, optional, tag = "8")]
    pub(super) ended: Option<Ended>,
    /// The id of the created object, while the response may not have arrived.
    #[prost(string, optional, tag = "9")]
    pub(super) unconfirmed: Option<String>,
    /// How often each [`Mark`] was made.
    #[prost(btree_map = "uint32, uint32", tag = "15")]
    pub(super) marks: BTreeMap<u32, u32>,
    /// The created object in the caller's encoding, if the caller stores it.
    #[prost(bytes = "bytes", tag = "12")]
    pub(super) object: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Ended {
    #[prost(string, tag = "1")]
    pub(super) text: String,
    #[prost(message, optional, tag = "2")]
    pub(super) object: Option<Envelope>,
}

impl OperationId {
    /// The number in the state store; `None` for one in a file.
    pub fn in_store(self) -> Option<RecordNumber> {
        match self {
            Self::InStore(number) => Some(number),
            Self::InFile { .. } => None,
        }
    }

    /// The file that it was begun in; `None` for one in the state store.
    pub(super) fn file(self) -> Option<FileId> {
        match self {
            Self::InStore(_) => None,
            Self::InFile { file, .. } => Some(file),
        }
    }

    /// Names a file itself.
    pub(super) fn of_file(file: [u8; 6]) -> Self {
        Self::InFile { file, number: 0 }
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InStore(number) => write!(formatter, "{}", number.0),
            Self::InFile { file, number: 0 } => formatter.write_str(&hex::encode(file)),
            Self::InFile { file, number } => write!(formatter, "{}-{number}", hex::encode(file)),
        }
    }
}

impl FromStr for OperationId {
    type Err = InvalidOperationId;

    fn from_str(text: &str) -> Result<Self, InvalidOperationId> {
        let in_file = |file: &str, number| {
            let mut bytes = [0; 6];
            hex::decode_to_slice(file, &mut bytes).map_err(|_| InvalidOperationId)?;
            Ok(Self::InFile { file: bytes, number })
        };
        // Also as the file is called.
        let text = text.strip_suffix(".journal").unwrap_or(text);
        match text.split_once('-') {
            Some((file, number)) => in_file(file, number.parse().map_err(|_| InvalidOperationId)?),
            None if text.len() == 12 => in_file(text, 0),
            None => text.parse().map(RecordNumber).map(Self::InStore).map_err(|_| InvalidOperationId),
        }
    }
}

impl OperationKind {
    /// Past participle, as in "it was created".
    pub fn done(self) -> &'static str {
        match self {
            Self::Create => "created",
            Self::Update => "updated",
            Self::Delete => "deleted",
        }
    }

    /// Noun, as in "the creation of it".
    pub fn noun(self) -> &'static str {
        match self {
            Self::Create => "creation",
            Self::Update => "update",
            Self::Delete => "deletion",
        }
    }

    pub(super) fn number(self) -> u32 {
        match self {
            Self::Create => 1,
            Self::Update => 2,
            Self::Delete => 3,
        }
    }

    /// Written by this program only; another number is from a newer version.
    pub(super) fn of(number: u32) -> Self {
        match number {
            1 => Self::Create,
            3 => Self::Delete,
            _ => Self::Update,
        }
    }
}

impl Marks {
    /// Whether a mark was made.
    pub fn has(&self, mark: Mark) -> bool {
        self.count(mark) > 0
    }

    /// How often a mark was made.
    pub fn count(&self, mark: Mark) -> u32 {
        self.0.get(&mark.0).copied().unwrap_or_default()
    }

    /// Adds a mark.
    pub fn add(&mut self, mark: Mark) {
        *self.0.entry(mark.0).or_default() += 1;
    }
}
