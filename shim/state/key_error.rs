//! What can be wrong with a key, or with what it is to decrypt.

use std::path::PathBuf;

use isthmus_common::permissions::PermissionsError;

use super::store_key::StoreKey;

/// A key cannot be used, or something cannot be read with it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file cannot be read.
    #[error("the key file {path} cannot be read; put back the file that the store was encrypted with", path = path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// The file cannot be made.
    #[error("the key file {path} cannot be made; set ISTHMUS_HOME to a directory that can be written to", path = path.display())]
    Create {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// Another user may change the file.
    #[error("key file refused")]
    Untrusted {
        /// Why.
        #[source]
        error: PermissionsError,
    },
    /// There is something else in its place.
    #[error("{place} must be 64 hexadecimal digits; put back what the store was encrypted with")]
    Malformed {
        /// The file or the variable.
        place: String,
    },
    /// No key can be derived.
    #[error("no key can be derived from the passphrase: {reason}")]
    Derivation {
        /// Why.
        reason: String,
    },
    /// The store has records, but the key is gone.
    #[error(
        "the store {store} has encrypted records, but the key file {path} is missing; put back the file that was beside \
         the store, or move the store away to begin anew",
        path = path.display()
    )]
    Missing {
        /// Which file.
        path: PathBuf,
        /// Which store.
        store: String,
    },
    /// The store is shared and has records, and no key is set for it.
    #[error(
        "the store {store} has encrypted records, and no key is set for it; set ISTHMUS_KEY_FILE, ISTHMUS_KEY or \
         ISTHMUS_PASSPHRASE to what it was encrypted with, the same on every machine that shares the store. If it was this \
         machine's own key file, put back {path}",
        path = path.display()
    )]
    NotSet {
        /// Which file there would be without a setting.
        path: PathBuf,
        /// Which store.
        store: String,
    },
    /// The store was encrypted with another key.
    #[error(
        "the store {store} was encrypted with another key than {origin}; use the key that it was encrypted with \
         (ISTHMUS_KEY_FILE, ISTHMUS_KEY or ISTHMUS_PASSPHRASE), the same one on every machine that shares the store"
    )]
    WrongKey {
        /// Where the key came from.
        origin: String,
        /// Which store.
        store: String,
    },
    /// The record is not what was sealed.
    #[error(
        "the record of {key} in the store {store} is damaged: it cannot be decrypted with the key that it was encrypted \
         with; restore the store from a backup, or remove the resource from the engine's state and import it again"
    )]
    Damaged {
        /// Which record.
        key: Box<StoreKey>,
        /// Which store.
        store: String,
    },
    /// The record was sealed in a form that this version does not know.
    #[error(
        "the record of {key} is encrypted in form {form}, which this version does not know; use the version of isthmus \
         that wrote it, or a newer one"
    )]
    Form {
        /// Which record.
        key: Box<StoreKey>,
        /// Its form.
        form: u8,
    },
}
