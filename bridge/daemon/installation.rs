//! How providers are installed here: by the user's CLI configuration of Terraform or OpenTofu, by this program's settings, and
//! into the cache that is shared with the Go bridge.

use std::path::Path;

use isthmus_install::{
    CliConfig, CliConfigError, Environment, FilesystemMirror, Installer, LockFile, LockFileError, Origins,
    ProviderCache, SignaturePolicy, Sources,
};

use crate::home::{self, NoProviderCache};
use crate::settings::{self, Settings};

/// An installer, and what is to be said of its configuration.
#[derive(Debug)]
pub(crate) struct Installation {
    /// It, or why it cannot be made.
    pub installer: Result<Installer, InstallationError>,
    /// What of the configuration has no effect. That is known, and may be the reason, where the installer cannot be made.
    pub warnings: Vec<String>,
}

/// It is not clear how providers are to be installed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallationError {
    /// There is no place for them.
    #[error(transparent)]
    NoCache(#[from] NoProviderCache),
    /// The CLI configuration cannot be understood.
    #[error(transparent)]
    Config(#[from] CliConfigError),
    /// The lock file cannot be understood.
    #[error(transparent)]
    Lock(#[from] LockFileError),
}

impl Installation {
    /// What the settings and the environment say, and files that they name. This reads files and directories.
    pub(crate) fn configured(settings: &Settings) -> Self {
        let mut warnings = Vec::new();
        let installer = Self::installer(settings, &mut warnings);
        Self { installer, warnings }
    }

    fn installer(settings: &Settings, warnings: &mut Vec<String>) -> Result<Installer, InstallationError> {
        let environment = Environment::current();
        let cache = ProviderCache::new(home::provider_cache()?);
        let config = CliConfig::load(&environment)?;
        warnings.extend(config.warnings.iter().map(ToString::to_string));
        let lock = settings.lock_file.clone();
        let here = std::env::current_dir().ok();
        let sources = sources(&config, &environment, here.as_deref(), lock.is_some());
        let origins = if settings.offline {
            Origins::offline(sources, format!("{} is set", settings::OFFLINE.name))
        } else {
            Origins::new(sources, &config, &environment)
        };
        warnings.extend(origins.warnings().iter().cloned());
        let mut installer = Installer::new(cache, origins, SignaturePolicy::from_environment());
        if let Some(path) = lock {
            let lock = LockFile::read(&path)?;
            warnings.extend(lock.warnings.iter().cloned());
            installer = installer.with_lock(lock, path);
        }
        Ok(installer)
    }
}

/// The user's sources. Without methods of his own, those go before them that his tools have filled: a project's own providers, and
/// the plugin cache, if it would count with OpenTofu too.
fn sources(config: &CliConfig, environment: &Environment, here: Option<&Path>, is_locked: bool) -> Sources {
    let implied = here.map(|here| environment.implied_mirrors(here)).unwrap_or_default();
    let mut sources = Sources::new(config, implied);
    if config.has_provider_installation() {
        return sources;
    }
    let counts = is_locked || config.plugin_cache_may_break_dependency_lock_file;
    if let Some(mirror) = FilesystemMirror::of_plugin_cache(config).filter(|_| counts) {
        sources = sources.with_first(mirror);
    }
    match here.and_then(|here| FilesystemMirror::of_project(here).if_there()) {
        Some(mirror) => sources.with_first(mirror),
        None => sources,
    }
}
