//! Installation of one provider, shared by the commands.

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
    NotLocked(#[from] isthmus_install::NotLocked),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error("failed to create a temporary directory")]
    Temporary(#[source] std::io::Error),
}

impl ProviderError {
    pub(crate) fn help(&self) -> Vec<String> {
        match self {
            Self::Install(error) => error.help(),
            _ => Vec::new(),
        }
    }
}

/// Configures the installer, and warns of configuration without effect.
pub(crate) fn installer(settings: &Settings) -> Result<Installer, InstallationError> {
    let Installation { installer, warnings } = Installation::configured(settings);
    warnings.iter().for_each(|warning| warn(warning));
    installer
}

/// Installs with a progress report, which is cleared at the end.
pub(super) async fn install(
    installer: &Installer,
    address: &ProviderAddress,
    constraint: &VersionConstraint,
    reporter: &Reporter,
) -> Result<Installed, Box<InstallError>> {
    let installed = installer.install(address, constraint, &|event| reporter.report(event)).await;
    reporter.clear();
    installed
}
