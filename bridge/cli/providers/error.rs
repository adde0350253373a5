//! Why a command on providers failed.

use std::io;
use std::path::PathBuf;

use isthmus_install::{AddressError, ConstraintError, InstallError, MirrorError, NoVersion};

use isthmus_context::error_code::ErrorCode;
use isthmus_context::home::NoProviderCache;
use isthmus_session::daemon::InstallationError;
use isthmus_session::error_code::{of_configuration, of_installation};

#[derive(Debug, thiserror::Error)]
pub(super) enum ProvidersError {
    #[error(transparent)]
    NoCache(#[from] NoProviderCache),
    #[error("failed to read the provider cache {path}", path = .path.display())]
    Read {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("{0:?} has no version\nhelp: write hashicorp/random@3.9.0")]
    Version(String),
    /// A version without its provider.
    #[error(
        "{0} is a version, not a provider\nhelp: join it to the provider's address, as in hashicorp/random@{0}"
    )]
    LoneVersion(semver::Version),
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    #[error(transparent)]
    Settings(#[from] InstallationError),
    #[error(transparent)]
    Install(#[from] Box<InstallError>),
    #[error(transparent)]
    NoVersion(Box<NoVersion>),
    #[error("failed to create a temporary directory")]
    Temporary(#[source] io::Error),
    /// A mirror has a directory in place of an archive.
    #[error("{path} is a directory, and only archives can be copied", path = .0.display())]
    Unpacked(PathBuf),
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    #[error("{provider} is not in the cache of providers {path}; `isthmus providers list` shows what is{}", meant(similar.as_deref()), path = .path.display())]
    Absent {
        /// As the user wrote it.
        provider: String,
        /// The most similar one that is in the cache.
        similar: Option<String>,
        /// The cache.
        path: PathBuf,
    },
}

fn meant(similar: Option<&str>) -> String {
    similar.map(|similar| format!("\nhelp: did you mean {similar}?")).unwrap_or_default()
}

impl ProvidersError {
    /// The code of its kind, if that has a page.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::NoCache(_) => Some(ErrorCode::NoHomeDirectory),
            Self::Read { .. } => Some(ErrorCode::DirectoryUnusable),
            Self::Settings(error) => Some(of_configuration(error)),
            Self::Install(error) => Some(of_installation(error)),
            Self::NoVersion(_) => Some(ErrorCode::UnknownVersion),
            _ => None,
        }
    }

    pub(super) fn help(&self) -> Vec<String> {
        match self {
            Self::Install(error) => error.help(),
            _ => Vec::new(),
        }
    }
}
