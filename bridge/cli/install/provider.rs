//! `isthmus install PROVIDER`: installs a verified provider into the cache.
//!
//! With `--lock` it does what `tofu init` does for a project: the lock file determines the version
//! once it has one, and gets the checksums of the installed package; without, it uses only the
//! cache.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use isthmus_install::{
    Installed, Installer, LOCK_FILE_NAME, Platform, ProviderAddress, Verification, VersionConstraint,
};
use semver::Version;
use serde_json::json;

use super::error::ProviderError;
use super::locking::Locking;
use super::progress::Reporter;
use crate::cli::output::{detail, fail_as, print, warn};
use crate::cli::{json_root, runtime, verification};
use isthmus_context::project::document::PLUGIN;
use isthmus_context::settings::Settings;
use isthmus_package::parameters::is_path;
use isthmus_session::daemon::{Installation, InstallationError};
use isthmus_session::process_context::{ProcessContext, StartedBy};

#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Options {
    /// Lock the provider in the lock file, or install the version locked there.
    #[arg(long, requires = "provider", conflicts_with = "plugin")]
    lock: bool,
    /// Lock file (default: ISTHMUS_LOCK_FILE, or .terraform.lock.hcl).
    #[arg(long, value_name = "FILE", requires = "lock", conflicts_with = "plugin")]
    lock_file: Option<PathBuf>,
    /// Ignore the locked version and checksums, and lock the newest matching version.
    #[arg(long, requires = "lock", conflicts_with = "plugin")]
    upgrade: bool,
    /// Also lock the packages of this platform, such as darwin_arm64.
    #[arg(long = "platform", value_name = "OS_ARCH", requires = "lock", conflicts_with = "plugin", value_parser = platform)]
    platforms: Vec<Platform>,
    /// Write a JSON object: the version, its verification and the path.
    #[arg(long, requires = "provider", conflicts_with = "plugin")]
    json: bool,
}

/// Parses a platform argument.
pub(crate) fn platform(text: &str) -> Result<Platform, String> {
    Platform::parse(text)
        .ok_or_else(|| "it is written OS_ARCH, such as linux_amd64 or darwin_arm64".to_owned())
}

impl Options {
    pub(super) fn run(&self, provider: &str, version: Option<&str>, settings: &Arc<Settings>) -> ExitCode {
        match runtime::block_on(self.install(provider, version, settings))
            .map_err(ProviderError::from)
            .flatten()
        {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let text = isthmus_common::with_help(isthmus_common::error_chain(&error), error.help());
                fail_as(&text, error.code())
            }
        }
    }

    /// Installs, and prints the result.
    async fn install(
        &self,
        provider: &str,
        version: Option<&str>,
        settings: &Arc<Settings>,
    ) -> Result<(), ProviderError> {
        let address = address(provider)?;
        let constraint = version.map(VersionConstraint::parse).transpose()?;
        let installer = installer(settings)?.querying_again();
        if constraint.as_ref().is_none_or(|constraint| constraint.only_version().is_none()) {
            // An explicit installation uses the current list of versions.
            installer.forget_versions(&address);
        }
        if let Some(overridden) = installer.overridden(&address)? {
            warn(&overridden.warning);
            let executable = &overridden.executable;
            print(&if self.json {
                document(&address, None, None, executable)
            } else {
                format!("{}\n{}\n", address.for_display(), executable.display())
            });
            return Ok(());
        }
        let reporter = Reporter::new();
        let (installed, summary) = if self.lock {
            let locking = Locking::read(self.lock_path(settings), address.clone(), constraint, self.upgrade)?;
            let installer = installer.without_lock();
            let (installed, summary) = locking.install(&installer, &self.platforms, &reporter).await?;
            reporter.clear();
            (installed, summary)
        } else {
            let constraint = constraint.unwrap_or_else(VersionConstraint::any);
            (reporter.install(&installer, &address, &constraint).await?, String::new())
        };
        for warning in &installed.warnings {
            warn(warning);
        }
        let Installed { version, executable, verification, .. } = &installed;
        let verified = verification::shown(Some(verification));
        print(&if self.json {
            document(&address, Some(version), Some(verification), executable)
        } else {
            format!("{} {version}, {verified}\n{}\n{summary}", address.for_display(), executable.display())
        });
        Ok(())
    }

    fn lock_path(&self, settings: &Arc<Settings>) -> PathBuf {
        let configured = || settings.lock_file.clone();
        self.lock_file.clone().or_else(configured).unwrap_or_else(|| PathBuf::from(LOCK_FILE_NAME))
    }
}

/// The result as JSON. A development override has no version.
fn document(
    address: &ProviderAddress,
    version: Option<&Version>,
    verification: Option<&Verification>,
    executable: &Path,
) -> String {
    let members = json!({
        "address": address.to_string(),
        "version": version.map(ToString::to_string),
        "verification": verification.map(verification::as_json),
        "program": executable,
    });
    json_root::document("install", members)
}

/// Parses a provider argument; other kinds of arguments get their own error.
fn address(provider: &str) -> Result<ProviderAddress, ProviderError> {
    if is_path(provider) {
        return Err(ProviderError::File(provider.to_owned()));
    }
    if provider == PLUGIN {
        return Err(ProviderError::Plugin);
    }
    Ok(ProviderAddress::parse(provider)?)
}

/// The provider binary, installed on demand.
pub(crate) fn install_one(
    provider: &str,
    version: Option<&str>,
    settings: &Arc<Settings>,
) -> Result<PathBuf, ProviderError> {
    let address = ProviderAddress::parse(provider)?;
    let constraint = VersionConstraint::parse(version.unwrap_or_default())?;
    runtime::block_on(async {
        let installer = installer(settings)?;
        if let Some(overridden) = installer.overridden(&address)? {
            warn(&overridden.warning);
            return Ok(overridden.executable);
        }
        let installed = Reporter::new().install(&installer, &address, &constraint).await?;
        for warning in &installed.warnings {
            warn(warning);
        }
        Ok(installed.executable)
    })?
}

/// Installs as everything here does; what of the configuration has no effect is told.
pub(crate) fn installer(settings: &Arc<Settings>) -> Result<Installer, InstallationError> {
    let context = ProcessContext::own(StartedBy::Other, Arc::clone(settings));
    let Installation { installer, warnings } = Installation::configured(&context);
    warnings.iter().for_each(|warning| warn(warning));
    if let Ok(installer) = &installer {
        detail(|| format!("providers are installed into {}", installer.cache().root().display()));
    }
    installer
}
