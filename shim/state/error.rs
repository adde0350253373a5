//! What can go wrong above a store: with its keys, and with what records hold.

use super::holder::LEASE;
use super::key_error::KeyError;
use super::record::RecordError;
use super::store::{RecordNumber, SealedRecord, StoreError, StoreKey};

/// A state store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncryptedStoreError {
    /// The store beneath failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The key is missing or wrong, or the record is damaged.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The record was decrypted, but is no object.
    #[error("the record of {key} in the store {store} cannot be read")]
    Record {
        /// Which record.
        key: Box<StoreKey>,
        /// Where.
        store: String,
        /// Why.
        #[source]
        error: RecordError,
    },
    /// The record was decrypted, but is no record.
    #[error(
        "the record of {key} in the store {store} cannot be read; use the version of isthmus that wrote it, or a newer one"
    )]
    Envelope {
        /// Which record.
        key: Box<StoreKey>,
        /// Where.
        store: String,
        /// Why.
        #[source]
        error: prost::DecodeError,
    },
    /// What is listed is not all that was kept.
    #[error(
        "the store {store} is damaged: {reason}; restore it from a backup, or export what can still be read"
    )]
    Incomplete {
        /// Where.
        store: String,
        /// What was found.
        reason: String,
    },
    /// Another process has changed the record since it was read.
    #[error("the record of {key} in the store {store} was changed by another process meanwhile; do it again")]
    Changed {
        /// Which record.
        key: Box<StoreKey>,
        /// Where.
        store: String,
    },
    /// Another process is changing the resource now.
    #[error(
        "{key} is being changed by another process ({holder}) right now; do it again when that has ended. If it ended \
         without saying so, its claim ends within {} s", LEASE.as_secs()
    )]
    Busy {
        /// Which resource.
        key: Box<StoreKey>,
        /// Who is changing it.
        holder: String,
    },
    /// Another process has taken over a change, because this one was not heard of for too long.
    #[error(
        "{key} was {done}, but its new state could not be stored in {store}: this process was not heard of for so long that \
         another one has taken the resource over. What came of it is kept with the intent, which stays open"
    )]
    Overtaken {
        /// Which resource.
        key: Box<StoreKey>,
        /// "created" or the like.
        done: &'static str,
        /// Where.
        store: String,
    },
    /// The keys were changed too often while something was being written.
    #[error("the keys of the store {store} are being changed; do it again when that has ended")]
    KeyRotationInProgress {
        /// Where.
        store: String,
    },
    /// A new key cannot take the place of the old one.
    #[error("the new key cannot be put in the place of the old one, which stays in use; do it again")]
    Publish {
        /// Why.
        #[source]
        error: std::io::Error,
    },
}

/// Something in a store that cannot be read.
#[derive(Debug)]
pub struct Fault {
    /// Which record; `None`: what is damaged is the database itself, and more than what is listed may be missing.
    pub number: Option<RecordNumber>,
    /// What it seems to be found by.
    pub key: Option<StoreKey>,
    /// What is wrong.
    pub reason: String,
}

impl Fault {
    /// A record that is not as it was written.
    pub(super) fn of_damaged(number: RecordNumber, key: Option<StoreKey>) -> Self {
        let reason = match &key {
            Some(key) => format!("the record of {key} is not as it was written"),
            None => format!("the record {} is not as it was written", number.0),
        };
        Self { number: Some(number), key, reason }
    }

    /// A database in which more may be missing.
    pub(super) fn of_database(reason: String) -> Self {
        Self { number: None, key: None, reason }
    }

    /// A record that cannot be read.
    ///
    /// # Errors
    /// With the very error, where it concerns all records.
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
