//! Errors of stores.

#![expect(missing_docs, reason = "the text of an error has its fields")]

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use super::store_key::StoreKey;

impl StoreError {
    /// Whether another process has the database locked for longer than was waited for.
    pub fn is_locked(&self) -> bool {
        let Self::Database { error, .. } = self else { return false };
        let code = error.sqlite_error_code();
        matches!(code, Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked))
    }

    /// Whether its file system is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Create { error, .. } => {
                matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
            }
            Self::Database { error, .. } => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            _ => false,
        }
    }
}

/// A failure of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The directory or file cannot be created.
    #[error("the store {path} cannot be created; set ISTHMUS_HOME to a directory that can be written to", path = path.display())]
    Create {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
    /// Something else is in the place of the file.
    #[error(
        "the store {path} cannot be opened\nhelp: move away what is there, or set ISTHMUS_STORE to another file",
        path = path.display()
    )]
    Open {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
    /// The database returned an error.
    #[error("the store {path} cannot be used ({doing})", path = path.display())]
    Database {
        path: PathBuf,
        doing: &'static str,
        #[source]
        error: Arc<rusqlite::Error>,
    },
    /// The file's structure is damaged.
    #[error(
        "the store {path} is damaged ({doing}); restore the file from a backup, or export what can still be read",
        path = path.display()
    )]
    Corrupt {
        path: PathBuf,
        doing: &'static str,
        #[source]
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server returned an error, or cannot be reached.
    #[error("the store {location} cannot be used ({doing})")]
    Server {
        location: String,
        doing: &'static str,
        #[source]
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The connection was lost during a commit, whose outcome is unknown.
    #[error(
        "the connection to the store {location} was lost during the write of a change, so its outcome is unknown; check the \
         store before you repeat it"
    )]
    Unknown {
        location: String,
        #[source]
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The address is invalid.
    #[error("{reason}; ISTHMUS_STORE is a file, or an address such as postgres://user@host/database")]
    Address { reason: String },
    /// The database has another format.
    #[error(
        "the store {location} has format {found}, but this version knows formats up to {known}; use the version of isthmus \
         that wrote it, or a newer one"
    )]
    Format { location: String, found: i64, known: i64 },
    /// The file was removed or replaced while it was open.
    #[error(
        "the state store {location} was removed or replaced while it was in use\nhelp: put it back, and start what uses it again"
    )]
    Removed { location: String },
    /// A SQLite file of another program.
    #[error(
        "{location} is a database of another program, and is left as it is\nhelp: set ISTHMUS_STORE to another file"
    )]
    Foreign { location: String },
    /// A record is damaged.
    #[error(
        "the record of {key} in the store {location} is damaged: its bytes are not those that were written; restore the \
         store from a backup, or remove the resource from the engine's state and import it again"
    )]
    Damaged { location: String, key: Box<StoreKey> },
    /// The task was interrupted.
    #[error("the operation on the store {location} was interrupted")]
    Interrupted { location: String },
}
