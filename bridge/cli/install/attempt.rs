//! One installation of a provider, as each command does it, and why it fails.

use isthmus_install::{
    AddressError, ConstraintError, InstallError, Installed, Installer, LockFileError, ProviderAddress,
    SumError, VersionConstraint,
};

use super::progress::Reporter;
use crate::cli::output::warn;
use crate::cli::runtime::RuntimeError;
use crate::daemon::{Installation, InstallationError};
use crate::project::document::PLUGIN;
use crate::settings::Settings;

/// A provider cannot be installed.
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
    /// The settings make no sense.
    #[error(transparent)]
    Settings(#[from] InstallationError),
    #[error(transparent)]
    Install(#[from] Box<InstallError>),
    #[error(transparent)]
    LockFile(#[from] LockFileError),
    #[error(transparent)]
    Sum(#[from] SumError),
    #[error(transparent)]
    NotLocked(#[from] isthmus_install::NotLocked),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// There is no place for archives.
    #[error("failed to create a temporary directory")]
    Temporary(#[source] std::io::Error),
}

impl ProviderError {
    /// What to do about it, in lines of their own.
    pub(crate) fn help(&self) -> Vec<String> {
        match self {
            Self::Install(error) => error.help(),
            _ => Vec::new(),
        }
    }
}

/// Installs as everything here does; what of the configuration has no effect is told.
pub(crate) fn installer(settings: &Settings) -> Result<Installer, InstallationError> {
    let Installation { installer, warnings } = Installation::configured(settings);
    warnings.iter().for_each(|warning| warn(warning));
    installer
}

/// Installs with a report of what is going on, of which nothing is left in the end.
pub(super) async fn install(
    installer: &Installer,
    address: &ProviderAddress,
    constraint: &VersionConstraint,
    reporter: &Reporter,
) -> Result<Installed, Box<InstallError>> {
    let installed = installer.install(address, constraint, &|event| reporter.tell(event)).await;
    reporter.clear();
    installed
}
