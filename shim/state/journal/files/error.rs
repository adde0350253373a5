//! Errors of the journal files.

use std::io;
use std::path::PathBuf;

use isthmus_common::NotRegular;

use crate::key_error::KeyError;

/// The journal files cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalFilesError {
    /// Its directory cannot be read or written.
    #[error(
        "the journal in {path} cannot be used; set ISTHMUS_HOME to a directory that can be written to, and see that the disk \
         has room",
        path = path.display()
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        #[source]
        error: io::Error,
    },
    /// The file of its keys is damaged.
    #[error(
        "the file {path} is damaged, so that nothing in the journal can be decrypted; restore it from a backup, or move the \
         directory away to begin anew, and compare the provider's objects with the stacks",
        path = path.display()
    )]
    DamagedKey {
        /// The file.
        path: PathBuf,
    },
    /// Something else is in the place of one of its files.
    #[error("the journal's file {path} cannot be used\nhelp: move away what is there", path = path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        error: NotRegular,
    },
    /// The user's key is missing or wrong.
    #[error(transparent)]
    Key(#[from] KeyError),
}
