//! Errors of keys and decryption.

#![expect(missing_docs, reason = "the text of an error has its fields")]

use std::path::PathBuf;

use isthmus_common::permissions::PermissionsError;

use super::store_key::StoreKey;

/// A key cannot be used, or a record cannot be decrypted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file cannot be read.
    #[error("the key file {path} cannot be read; put back the file that the store was encrypted with", path = path.display())]
    Read {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
    /// The file cannot be created.
    #[error("the key file {path} cannot be created; set ISTHMUS_HOME to a directory that can be written to", path = path.display())]
    Create {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
    /// Another user may change the file.
    #[error("key file refused")]
    Untrusted {
        #[source]
        error: PermissionsError,
    },
    /// The file or variable has another format.
    #[error("{place} must be 64 hexadecimal digits; put back what the store was encrypted with")]
    Malformed { place: String },
    /// Deriving the key failed.
    #[error("no key can be derived from the passphrase: {reason}")]
    Derivation { reason: String },
    /// The store has records, but the key is missing.
    #[error(
        "the store {store} has encrypted records, but the key file {path} is missing; put back the file that was beside \
         the store, or move the store away to begin anew",
        path = path.display()
    )]
    Missing { path: PathBuf, store: String },
    /// A shared store has records, but no key is configured.
    #[error(
        "the store {store} has encrypted records, and no key is set for it; set ISTHMUS_KEY_FILE, ISTHMUS_KEY or \
         ISTHMUS_PASSPHRASE to what it was encrypted with, the same on every machine that shares the store. If it was this \
         machine's own key file, put back {path}",
        path = path.display()
    )]
    NotSet { path: PathBuf, store: String },
    /// The store is encrypted with another key.
    #[error(
        "the store {store} was encrypted with another key than {origin}; use the key that it was encrypted with \
         (ISTHMUS_KEY_FILE, ISTHMUS_KEY or ISTHMUS_PASSPHRASE), the same one on every machine that shares the store"
    )]
    WrongKey { origin: String, store: String },
    /// The record is damaged.
    #[error(
        "the record of {key} in the store {store} is damaged: it cannot be decrypted with the key that it was encrypted \
         with; restore the store from a backup, or remove the resource from the engine's state and import it again"
    )]
    Damaged { key: Box<StoreKey>, store: String },
    /// The record's format is unknown to this version.
    #[error(
        "the record of {key} is encrypted in form {form}, which this version does not know; use the version of isthmus \
         that wrote it, or a newer one"
    )]
    Form { key: Box<StoreKey>, form: u8 },
}
