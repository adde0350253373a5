//! Failures of `isthmus recover`, and their help.

use std::path::PathBuf;
use std::process::ExitCode;

use isthmus_operations::resource::JournalError;
use isthmus_state::{EncryptedStoreError, OperationId};

use crate::cli::state::StateError;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::home::{OpenStoreError, StateDirectoryError};
use isthmus_session::error_code::{of_encrypted_store, of_journal, of_open_store};

/// Exit code if there is no such operation.
const NO_SUCH_OPERATION: u8 = 3;

#[derive(Debug, thiserror::Error)]
pub(super) enum RecoverError {
    #[error(transparent)]
    Open(#[from] OpenStoreError),
    #[error(transparent)]
    Directory(#[from] StateDirectoryError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Store(#[from] EncryptedStoreError),
    #[error(transparent)]
    File(#[from] StateError),
    #[error("{} is not an output of `pulumi stack export`", file.display())]
    Export {
        file: PathBuf,
        #[source]
        error: serde_json::Error,
    },
    #[error("no operation {0} is open\nhelp: `isthmus recover` lists the open ones")]
    NoSuchOperation(OperationId),
    #[error("the operation {0} is in progress\nhelp: it can be dismissed when its process has ended")]
    InProgress(OperationId),
    #[error(
        "the operation {0} cannot be imported: the id of its object is not known\nhelp: look at the provider, and name the \
         id: `isthmus recover import-file {0} --id ID`"
    )]
    NotMade(OperationId),
    #[error(
        "the operation {id} cannot be imported without the parent of its resource\nhelp: name its URN, which is of type {wanted}: \
         `isthmus recover import-file {id} --parent URN`; `pulumi stack --show-urns` has it"
    )]
    Parent { id: OperationId, wanted: String },
    #[error("{}", other_parent(*id, wanted.as_deref()))]
    OtherParent { id: OperationId, wanted: Option<String> },
    #[error("--id is for one operation, a creation")]
    IdOfSeveral,
    #[error(
        "the operation {0} cannot be imported: it has created nothing\nhelp: `isthmus recover` has the command for it"
    )]
    NoCreation(OperationId),
}

fn other_parent(id: OperationId, wanted: Option<&str>) -> String {
    match wanted {
        Some(wanted) => {
            format!(
                "--parent is for one operation, and names a URN of its parent's type; for {id} it is {wanted}"
            )
        }
        None => format!("the resource of operation {id} has no parent\nhelp: leave out --parent"),
    }
}

impl RecoverError {
    /// The code of its kind, if that has a page.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Open(error) => Some(of_open_store(error)),
            Self::Journal(error) => Some(of_journal(error)),
            Self::Store(error) => Some(of_encrypted_store(error)),
            _ => None,
        }
    }

    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Self::NoSuchOperation(_) => ExitCode::from(NO_SUCH_OPERATION),
            _ => ExitCode::FAILURE,
        }
    }
}
