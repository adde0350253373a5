//! What can go wrong with a store.

use std::path::PathBuf;
use std::sync::Arc;

use super::store_key::StoreKey;

/// A store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The directory or file cannot be made.
    #[error("the store {path} cannot be made; set ISTHMUS_HOME to a directory that can be written to", path = path.display())]
    Create {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// The database refuses.
    #[error("the store {path} cannot be used ({doing})", path = path.display())]
    Database {
        /// Its file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// Why.
        #[source]
        error: Arc<rusqlite::Error>,
    },
    /// The file's own structure is broken.
    #[error(
        "the store {path} is damaged ({doing}); restore the file from a backup, or export what can still be read",
        path = path.display()
    )]
    Corrupt {
        /// Its file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What was found.
        #[source]
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server refuses, or cannot be reached.
    #[error("the store {location} cannot be used ({doing})")]
    Server {
        /// Where, without the password.
        location: String,
        /// What was being done.
        doing: &'static str,
        /// Why.
        #[source]
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The connection was lost at the one moment when nobody can tell whether the change has happened.
    #[error(
        "the connection to the store {location} was lost while a change was being written, and the store could not tell \
         afterwards whether it was; look at what the store has before doing it again"
    )]
    Unknown {
        /// Where, without the password.
        location: String,
        /// How it was lost.
        #[source]
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The address makes no sense.
    #[error("{reason}; ISTHMUS_STORE is a file, or an address such as postgres://user@host/database")]
    Address {
        /// What is wrong with it; without the address, which may have a password in it.
        reason: String,
    },
    /// The database belongs to something else, or to a newer version of this program.
    #[error(
        "the store {location} has format {found}, but this version knows formats up to {known}; use the version of isthmus \
         that wrote it, or a newer one"
    )]
    Format {
        /// Where.
        location: String,
        /// What it says of itself.
        found: i64,
        /// What this version can read.
        known: i64,
    },
    /// The file was removed, or another one put in its place, while it was open.
    #[error(
        "the state store {location} was removed or replaced while it was in use\nhelp: put it back, and start what uses it again"
    )]
    Removed {
        /// Where it was.
        location: String,
    },
    /// A SQLite file that this program has not created.
    #[error(
        "{location} is a database of another program, and is left as it is\nhelp: set ISTHMUS_STORE to another file"
    )]
    Foreign {
        /// Where.
        location: String,
    },
    /// A record's bytes are not those that were written.
    #[error(
        "the record of {key} in the store {location} is damaged: its bytes are not those that were written; restore the \
         store from a backup, or remove the resource from the engine's state and import it again"
    )]
    Damaged {
        /// Where.
        location: String,
        /// Which record.
        key: Box<StoreKey>,
    },
    /// The work broke off.
    #[error("the work on the store {location} broke off")]
    Interrupted {
        /// Where.
        location: String,
    },
}
