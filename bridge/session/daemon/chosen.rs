//! The providers that the user has chosen.
//!
//! A provider is a program that runs as this user. A state, a stack export and an SDK are files of others, which may name any
//! program: a provider of a registry, or a file. So what only such a file names is neither downloaded nor started by a command
//! before the user has confirmed it. Chosen is what the command line names, which is the commands' own to know, and what is
//! known here: what the project's lock file has in that version, a development override of the CLI configuration, and what
//! runs already and is attached to.

use std::path::Path;
use std::sync::Arc;

use isthmus_install::{InstallError, Installer, LOCK_FILE_NAME, LockFile, Overridden, ProviderAddress};
use semver::Version;

use super::installation::Installation;
use super::reattach;
use crate::process_context::ProcessContext;
use isthmus_context::settings::Settings;

/// What chooses providers, except the command line.
#[derive(Debug)]
pub struct Chosen {
    context: Arc<ProcessContext>,
    /// The lock file of the settings, or of the directory.
    lock: Option<LockFile>,
    /// The same context with this lock file, for what it has.
    locked: Arc<ProcessContext>,
    /// Knows the overrides. `None` if the configuration cannot be read, by which the installation fails.
    installer: Option<Installer>,
}

impl Chosen {
    /// `directory` is the one whose lock file counts, unless the settings name another. Blocks on the file system.
    pub fn in_directory(directory: &Path, context: &Arc<ProcessContext>) -> Self {
        let settings = context.settings();
        let path = match &settings.lock_file {
            Some(path) => context.resolve(path),
            None => directory.join(LOCK_FILE_NAME),
        };
        // One that cannot be read chooses nothing.
        let lock = LockFile::read(&path).ok();
        let locked = Settings { lock_file: Some(path), ..Settings::clone(settings) };
        Self {
            locked: Arc::new(ProcessContext::own(context.started_by(), Arc::new(locked))),
            lock,
            installer: Installation::configured(context).installer.ok(),
            context: Arc::clone(context),
        }
    }

    /// The context to install a provider of a registry in. One that is chosen by the lock file must have its checksums.
    pub fn context_of(&self, address: &str, version: &str) -> &Arc<ProcessContext> {
        let address = ProviderAddress::parse(address);
        let is_locked = address.is_ok_and(|address| self.is_locked(&address, Some(version)));
        if is_locked { &self.locked } else { &self.context }
    }

    /// The version in the lock file.
    pub fn locked_version(&self, address: &ProviderAddress) -> Option<&Version> {
        Some(&self.lock.as_ref()?.provider(address)?.version)
    }

    /// Whether a provider of a registry is chosen, in this version.
    pub fn has(&self, address: &ProviderAddress, version: Option<&str>) -> bool {
        self.is_locked(address, version) || self.is_replaced(address)
    }

    /// Whether a development override, or a process that runs already, is used in its place.
    pub fn is_replaced(&self, address: &ProviderAddress) -> bool {
        // An override that is not there is an error of the installation.
        !matches!(self.overridden(address), Ok(None))
            || matches!(reattach::running_at(address, self.context.environment()), Ok(Some(_)))
    }

    /// The development override of a provider.
    pub fn overridden(&self, address: &ProviderAddress) -> Result<Option<Overridden>, Box<InstallError>> {
        self.installer.as_ref().map_or(Ok(None), |installer| installer.overridden(address))
    }

    fn is_locked(&self, address: &ProviderAddress, version: Option<&str>) -> bool {
        let locked = self.locked_version(address);
        locked.is_some_and(|locked| version.is_none_or(|version| locked.to_string() == version))
    }

    /// A provider of a registry for a list, unless it is chosen. Invalid addresses are not started.
    pub fn unless_chosen(&self, address: &str, version: &str) -> Option<String> {
        let address = ProviderAddress::parse(address).ok()?;
        let version = Some(version).filter(|version| !version.is_empty());
        let shown = format!("{} {}", address.for_display(), version.unwrap_or("(the newest version)"));
        (!self.has(&address, version)).then_some(shown)
    }
}
