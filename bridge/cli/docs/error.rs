//! Why the reference of a provider cannot be shown.

use std::io;
use std::path::PathBuf;

use isthmus_package::catalogue::TokenError;
use isthmus_reference::MemberError;
use isthmus_session::daemon::SessionError;

#[derive(Debug, thiserror::Error)]
pub(super) enum DocsError {
    /// The provider cannot be installed or started, or has no schema.
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Member(#[from] MemberError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(
        "failed to write to {path}: it was not created by `isthmus docs`, and is not empty\nhelp: choose a new directory",
        path = .0.display()
    )]
    Foreign(PathBuf),
    #[error("failed to write {path}", path = .path.display())]
    Write {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("failed to listen on port {port}")]
    Listen {
        port: u16,
        #[source]
        error: io::Error,
    },
}

impl DocsError {
    /// The text for the user: error chain, help and warnings.
    pub(super) fn report(&self) -> String {
        match self {
            Self::Session(error) => error.report(),
            other => isthmus_common::error_chain(other),
        }
    }
}
