//! The process on whose behalf work is done: this one, or the plugin of an engine that is served by a shared daemon.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use isthmus_common::Environment;
use isthmus_provider::schema_cache::{EnvironmentPrint, LaunchContext};

use crate::project::backend::Backend;
use crate::settings::Settings;

/// What has started a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartedBy {
    /// An engine, whose environment and working directory the process has.
    Engine,
    /// Something else; engines attach.
    Other,
}

/// The environment, the working directory and the settings of a process.
#[derive(Clone, Debug)]
pub(crate) struct ProcessContext {
    started_by: StartedBy,
    environment: Environment,
    /// `None` if it was removed.
    working_directory: Option<PathBuf>,
    settings: Arc<Settings>,
}

impl ProcessContext {
    /// This process's, with the settings in its environment.
    pub(crate) fn own(started_by: StartedBy, settings: Arc<Settings>) -> Self {
        let working_directory = std::env::current_dir().ok();
        Self { started_by, environment: Environment::current(), working_directory, settings }
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) fn working_directory(&self) -> Option<&Path> {
        self.working_directory.as_deref()
    }

    pub(crate) fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// A path as seen from the working directory.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        self.working_directory().map_or_else(|| path.to_owned(), |directory| directory.join(path))
    }

    /// The backend of the stacks of the engine that has started the process, if it can be found. Blocks on the file system.
    pub(crate) fn backend(&self) -> Option<Backend> {
        match self.started_by {
            StartedBy::Engine => Backend::find(&self.environment, self.working_directory()?),
            StartedBy::Other => None,
        }
    }

    /// What a provider inherits. `None` if the working directory was removed.
    pub(crate) fn launch_context(&self) -> Option<LaunchContext> {
        Some(LaunchContext::new(EnvironmentPrint::of(&self.environment), self.working_directory.clone()?))
    }
}
