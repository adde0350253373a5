//! Errors of the encrypted store: of keys, and of the contents of records.

#![expect(missing_docs, reason = "the text of an error has its fields")]

use super::holder::LEASE;
use super::journal::files::error::JournalFilesError;
use super::key_error::KeyError;
use super::saved::RecordError;
use super::store::{RecordNumber, SealedRecord, StoreError, StoreKey};

impl EncryptedStoreError {
    /// Whether the store may be usable again later: its server cannot be reached.
    pub fn is_unreachable(&self) -> bool {
        let Self::Store(error) = self else { return false };
        matches!(
            error,
            StoreError::Server { .. } | StoreError::Unknown { .. } | StoreError::Interrupted { .. }
        )
    }
}

/// A failure of the state store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncryptedStoreError {
    /// The underlying store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The key is missing or wrong, or the record is damaged.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A decrypted record is no object.
    #[error("the record of {key} in the store {store} cannot be read")]
    Record {
        key: Box<StoreKey>,
        store: String,
        #[source]
        error: RecordError,
    },
    /// A decrypted record is no message.
    #[error(
        "the record of {key} in the store {store} cannot be read; use the version of isthmus that wrote it, or a newer one"
    )]
    Envelope {
        key: Box<StoreKey>,
        store: String,
        #[source]
        error: prost::DecodeError,
    },
    /// Records are missing or damaged.
    #[error(
        "the store {store} is damaged: {reason}; restore it from a backup, or export what can still be read"
    )]
    Incomplete { store: String, reason: String },
    /// Another process has changed the record since it was read.
    #[error("the record of {key} in the store {store} was changed by another process meanwhile; do it again")]
    Changed { key: Box<StoreKey>, store: String },
    /// Another process is changing the resource now.
    #[error(
        "{key} is being changed by another process ({holder}) right now; do it again when that has ended. If it ended \
         without saying so, its claim ends within {} s", LEASE.as_secs()
    )]
    Busy { key: Box<StoreKey>, holder: String },
    /// Another process has taken over the operation after the lease expired.
    #[error(
        "{key} was {done}, but its new state could not be stored in {store}: this process was silent for so long that \
         another one has taken the resource over. The intent stays open, with the outcome"
    )]
    Overtaken { key: Box<StoreKey>, done: &'static str, store: String },
    /// Another process is changing the keys, or they have changed too often during a write.
    #[error("the keys of the store {store} are being changed; do it again when that has ended")]
    KeyRotationInProgress { store: String },
    /// The keys of the journal files cannot be encrypted for the new key.
    #[error("the journal files cannot be encrypted with the new key; do it again")]
    Journal {
        #[source]
        error: Box<JournalFilesError>,
    },
    /// The new key cannot replace the old one.
    #[error("the new key cannot be put in the place of the old one, which stays in use; do it again")]
    Publish {
        #[source]
        error: std::io::Error,
    },
}

/// A record or database that cannot be read.
#[derive(Debug)]
pub struct Fault {
    /// The record; `None`: the database itself is damaged, and more records may be missing.
    pub number: Option<RecordNumber>,
    /// Its apparent key.
    pub key: Option<StoreKey>,
    /// Why.
    pub reason: String,
}

impl Fault {
    /// A damaged record.
    pub(super) fn of_damaged(number: RecordNumber, key: Option<StoreKey>) -> Self {
        let reason = match &key {
            Some(key) => format!("the record of {key} is damaged"),
            None => format!("the record {} is damaged", number.0),
        };
        Self { number: Some(number), key, reason }
    }

    /// A damaged database, in which more records may be missing.
    pub(super) fn of_database(reason: String) -> Self {
        Self { number: None, key: None, reason }
    }

    /// A record that cannot be read.
    ///
    /// # Errors
    /// Returns `error` if it concerns all records.
    pub(super) fn of(record: SealedRecord, error: EncryptedStoreError) -> Result<Self, EncryptedStoreError> {
        match error {
            EncryptedStoreError::Store(_) | EncryptedStoreError::Key(KeyError::WrongKey { .. }) => Err(error),
            error => Ok(Self {
                number: Some(record.place.number),
                key: Some(record.key),
                reason: isthmus_common::error_chain(&error),
            }),
        }
    }
}
