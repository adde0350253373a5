//! How providers are installed here: by the user's CLI configuration of Terraform or OpenTofu, by this program's settings, and
//! into the cache that is shared with the Go bridge.

use std::path::{Path, PathBuf};

use isthmus_shim::install::web::WebClient;
use isthmus_shim::install::{
    CliConfig, CliConfigError, Environment, FilesystemMirror, Installer, LockFile, LockFileError,
    OciAuthority, Origins, ProviderCache, RegistryClient, SignaturePolicy, Sources,
};

use super::home::{self, NoProviderCache};
use crate::settings;

/// An installer, and what whoever uses it should know.
#[derive(Clone, Debug)]
pub struct Installation {
    /// It.
    pub installer: Installer,
    /// What of the configuration has no effect.
    pub warnings: Vec<String>,
}

/// It is not clear how providers are to be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
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
    /// What the environment says, and files that it names. This reads files and folders.
    ///
    /// # Errors
    /// When they cannot be understood.
    pub fn from_environment() -> Result<Self, InstallationError> {
        let environment = Environment::current();
        let cache = ProviderCache::new(home::provider_cache()?);
        let config = CliConfig::load(&environment)?;
        let mut warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
        let lock = settings::LOCK_FILE.read().map(PathBuf::from);
        let here = std::env::current_dir().ok();
        let sources = sources(&config, &environment, here.as_deref(), lock.is_some());
        let origins = if settings::OFFLINE.is_on() {
            Origins::offline(sources, format!("{} is set", settings::OFFLINE.name))
        } else {
            let authority = OciAuthority::new(&config, &environment);
            warnings.extend(authority.warnings.iter().cloned());
            let web = WebClient::configured(&config, &environment);
            Origins::new(sources, RegistryClient::new(web, config.hosts), authority)
        };
        let mut installer = Installer::new(cache, origins, SignaturePolicy::from_environment());
        if let Some(path) = lock {
            let lock = LockFile::read(&path)?;
            warnings.extend(lock.warnings.iter().cloned());
            installer = installer.with_lock(lock, path);
        }
        Ok(Self { installer, warnings })
    }
}

/// The user's sources. Without methods of his own, those go before them that his tools have filled: a project's own providers, and
/// the plugin cache, if it would count with OpenTofu too.
fn sources(config: &CliConfig, environment: &Environment, here: Option<&Path>, is_locked: bool) -> Sources {
    let implied = here.map(|here| environment.implied_mirrors(here)).unwrap_or_default();
    let mut sources = Sources::new(config, implied);
    if config.provider_installation.is_some() {
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
