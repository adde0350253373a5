//! Errors of the journal.

use super::files::error::JournalFilesError;
use crate::error::EncryptedStoreError;

/// The journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Its files cannot be used.
    #[error(transparent)]
    Files(#[from] JournalFilesError),
    /// The state store, which has the journal, cannot be used.
    #[error(transparent)]
    Store(#[from] EncryptedStoreError),
}
