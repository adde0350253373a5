//! Configuration of the installer: the user's CLI configuration of Terraform or OpenTofu, the
//! settings, and the cache that is shared with the Go bridge.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use isthmus_common::Environment;
use isthmus_install::{
    CliConfig, CliConfigError, FilesystemMirror, InstallEvent, Installer, LockFile, LockFileError, Origins,
    ProviderCache, SignaturePolicy, Sources, implied_mirrors,
};

use crate::process_context::ProcessContext;
use isthmus_context::home::{self, NoProviderCache};
use isthmus_context::settings;

/// An installer, and warnings about its configuration.
#[derive(Debug)]
pub struct Installation {
    pub installer: Result<Installer, InstallationError>,
    /// Parts of the configuration without effect; also set if there is no installer, as they may be
    /// the reason.
    pub warnings: Vec<String>,
}

/// The installer cannot be configured.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    #[error(transparent)]
    NoCache(#[from] NoProviderCache),
    #[error(transparent)]
    Config(#[from] CliConfigError),
    #[error(transparent)]
    Lock(#[from] LockFileError),
}

impl Installation {
    /// Reads settings, environment and the files that they name. Blocks on the file system.
    pub fn configured(context: &ProcessContext) -> Self {
        let mut warnings = Vec::new();
        let installer = Self::installer(context, &mut warnings);
        Self { installer, warnings }
    }

    fn installer(
        context: &ProcessContext,
        warnings: &mut Vec<String>,
    ) -> Result<Installer, InstallationError> {
        let (settings, environment) = (context.settings(), context.environment());
        let cache = ProviderCache::new(home::provider_cache(environment)?);
        let config = CliConfig::load(environment)?;
        warnings.extend(config.warnings.iter().map(ToString::to_string));
        let lock = settings.lock_file.as_deref().map(|path| context.resolve(path));
        // A project on another machine has its providers there.
        let here = context.working_directory().filter(|_| !context.identity().is_remote());
        let sources = sources(&config, environment, here, lock.is_some());
        let origins = if settings.offline {
            Origins::offline(sources, format!("{} is set", settings::OFFLINE.name))
        } else {
            Origins::new(sources, &config, environment)
        };
        warnings.extend(origins.warnings().iter().cloned());
        let mut installer = Installer::new(cache, origins, SignaturePolicy::of(environment));
        if let Some(path) = lock {
            let lock = LockFile::read(&path)?;
            warnings.extend(lock.warnings.iter().cloned());
            installer = installer.with_lock(lock, path);
        }
        Ok(installer)
    }
}

/// The configured sources. Without a `provider_installation` block, a project's own providers come
/// first, then the plugin cache if OpenTofu would use it too.
fn sources(config: &CliConfig, environment: &Environment, here: Option<&Path>, is_locked: bool) -> Sources {
    let implied = here.map(|here| implied_mirrors(environment, here)).unwrap_or_default();
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

/// Interval between lines about one download.
const INTERVAL: Duration = Duration::from_secs(10);

/// Makes lines of the events of an installation.
#[derive(Debug, Default)]
pub struct ProgressReporter {
    /// The current download, and when its last line was emitted.
    downloading: Mutex<Option<(String, Instant)>>,
}

impl ProgressReporter {
    /// The line about an event, if it has one.
    pub fn line(&self, event: &InstallEvent) -> Option<String> {
        let mut downloading = self.downloading.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            InstallEvent::Waiting { address, version } => {
                Some(format!("waiting for another process that installs {} {version}", address.for_display()))
            }
            InstallEvent::Downloading { address, version, server } => {
                let what = format!("{} {version}", address.for_display());
                let line = format!("downloading {what} from {server}");
                *downloading = Some((what, Instant::now()));
                Some(line)
            }
            InstallEvent::Progress(progress) => {
                let (what, reported) =
                    downloading.as_mut().filter(|(_, reported)| reported.elapsed() >= INTERVAL)?;
                *reported = Instant::now();
                Some(format!("downloading {what}: {progress}"))
            }
            InstallEvent::Installed { address, version, verification } => {
                *downloading = None;
                Some(format!("installed {} {version}, {verification}", address.for_display()))
            }
        }
    }
}
