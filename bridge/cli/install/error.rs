//! What keeps a provider from being installed.

use isthmus_install::{AddressError, ConstraintError, InstallError, LockFileError, NotLocked, SumError};

use crate::cli::runtime::RuntimeError;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::project::document::PLUGIN;
use isthmus_session::daemon::InstallationError;
use isthmus_session::error_code::{of_configuration, of_installation};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ProviderError {
    #[error(
        "failed to install {0}: a file needs no installation\nhelp: name it where it is used: `pulumi package add terraform-provider {0}`"
    )]
    File(String),
    #[error(
        "failed to install {PLUGIN}: it is the plugin, not a provider\nhelp: `isthmus install --plugin` installs it"
    )]
    Plugin,
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    #[error(transparent)]
    Settings(#[from] InstallationError),
    #[error(transparent)]
    Install(#[from] Box<InstallError>),
    #[error(transparent)]
    LockFile(#[from] LockFileError),
    #[error(transparent)]
    Sum(#[from] SumError),
    #[error(transparent)]
    NotLocked(#[from] NotLocked),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error("failed to create a temporary directory")]
    Temporary(#[source] std::io::Error),
}

impl ProviderError {
    /// The code of its kind, if that has a page.
    pub(crate) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Settings(error) => Some(of_configuration(error)),
            Self::Install(error) => Some(of_installation(error)),
            Self::LockFile(LockFileError::Write { .. }) => None,
            Self::LockFile(_) => Some(ErrorCode::LockFileUnreadable),
            Self::NotLocked(_) => Some(ErrorCode::LockFileMismatch),
            Self::File(_)
            | Self::Plugin
            | Self::Address(_)
            | Self::Constraint(_)
            | Self::Sum(_)
            | Self::Runtime(_)
            | Self::Temporary(_) => None,
        }
    }

    pub(crate) fn help(&self) -> Vec<String> {
        match self {
            Self::Install(error) => error.help(),
            _ => Vec::new(),
        }
    }
}
