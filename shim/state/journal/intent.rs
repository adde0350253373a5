//! Intents: what is about to be done, what is known of it later, and how that is encrypted.

use std::time::SystemTime;

use bytes::Bytes;

use crate::error::Fault;
use crate::saved::{Envelope, Saved};
use crate::store::{RecordNumber, StoreKey};

/// What is about to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// An object is made.
    Create,
    /// An object is changed.
    Update,
    /// An object is deleted.
    Delete,
}

/// What is about to be done, and to what.
#[derive(Clone, Debug)]
pub struct Intent {
    /// What.
    pub intention: OperationKind,
    /// To what. The id is empty as long as there is none.
    pub key: StoreKey,
    /// What the engine calls it: a URN, or a name.
    pub subject: String,
    /// The object before, where this side knows it.
    pub prior: Option<Saved>,
    /// What the owner of the resource wants to find again with the intent; the journal does not look into it.
    pub companion: Bytes,
}

/// An intent whose end nobody has written down.
#[derive(Clone, Debug)]
pub struct OpenIntent {
    /// Its number, by which it can be dismissed.
    pub number: RecordNumber,
    /// What was about to be done.
    pub intent: Intent,
    /// When.
    pub since: SystemTime,
    /// Who was about to do it, for messages.
    pub holder: String,
    /// What is known of it.
    pub condition: Condition,
}

/// What was begun and has no end yet, as far as the journal can be read.
#[derive(Debug, Default)]
pub struct OpenIntents {
    /// What can be read, oldest first.
    pub intents: Vec<OpenIntent>,
    /// What cannot: nobody knows what was begun there.
    pub faults: Vec<Fault>,
}

/// What is known of an open intent.
#[derive(Clone, Debug)]
pub enum Condition {
    /// Somebody is at it.
    InProgress,
    /// Whoever was at it has ended, or is not heard of: nobody knows what happened.
    Interrupted,
    /// The object was made and is stored, but whoever made it ended before anybody could know that the engine was told.
    Unconfirmed,
    /// It has ended, but its outcome could not be put where it belongs, or nobody knows what it is.
    Ended {
        /// What is known of it.
        text: String,
        /// The object that it left, where that is known.
        object: Option<Box<Saved>>,
    },
}

/// An intent as it is encrypted.
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
    /// The id of the object that was made and stored, while nobody knows that the engine was told.
    #[prost(string, optional, tag = "9")]
    pub(super) unconfirmed: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Ended {
    #[prost(string, tag = "1")]
    pub(super) text: String,
    #[prost(message, optional, tag = "2")]
    pub(super) object: Option<Envelope>,
}

impl OperationKind {
    /// What is done, as in "it was created".
    pub fn done(self) -> &'static str {
        match self {
            Self::Create => "created",
            Self::Update => "updated",
            Self::Delete => "deleted",
        }
    }

    /// What doing it is called, as in "the creation of it".
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

    /// Only this program writes them; what a newer one has added is none of these.
    pub(super) fn of(number: u32) -> Self {
        match number {
            1 => Self::Create,
            3 => Self::Delete,
            _ => Self::Update,
        }
    }
}

impl OpenIntent {
    /// One sentence for whoever has to see to it.
    pub fn report(&self) -> String {
        let Intent { intention, key, subject, .. } = &self.intent;
        let noun = intention.noun();
        let what = match (subject.is_empty(), key.id.is_empty()) {
            (true, _) => key.to_string(),
            (false, true) => format!("{subject} ({} of package {})", key.type_name, key.package),
            (false, false) => format!("{subject} ({key})"),
        };
        match &self.condition {
            Condition::InProgress => format!("the {noun} of {what} is in progress ({})", self.holder),
            Condition::Interrupted => format!(
                "the {noun} of {what} was begun by {} and never ended: nobody knows whether it has happened",
                self.holder
            ),
            Condition::Unconfirmed => format!(
                "{what} was made by {} and is in the store, but that ended before it could know that the engine was told",
                self.holder
            ),
            Condition::Ended { text, .. } => {
                format!("the {noun} of {what}, begun by {}: {text}", self.holder)
            }
        }
    }
}
