//! The process on whose behalf work is done: this one, or the plugin of an engine that is served by a shared daemon.

mod machine;

use isthmus_platform::process::User;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use isthmus_common::Environment;
use isthmus_package::releases::PLUGIN_VERSION;
use isthmus_provider::schema_cache::{EnvironmentPrint, LaunchContext};

use crate::authorization::Identity;
use isthmus_context::project::Project;
use isthmus_context::project::backend::Backend;
use isthmus_context::settings::Settings;
use isthmus_trace::recording::Recording;

/// Variables that lead to what is one login's alone: keys of its agents, and where its traces go. A provider's schema does not
/// depend on them, and what its calls do may.
const OF_A_SESSION: [&str; 4] =
    ["SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "GPG_TTY", "OTEL_EXPORTER_OTLP_HEADERS"];

/// What has started a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartedBy {
    /// An engine, whose environment and working directory the process has.
    Engine,
    /// Something else; engines attach.
    Other,
}

/// The environment, the working directory and the settings of a process.
#[derive(Clone, Debug)]
pub struct ProcessContext {
    started_by: StartedBy,
    environment: Environment,
    /// What providers inherit, if it is not all of that.
    inherited: Option<Environment>,
    /// `None` if it was removed.
    working_directory: Option<PathBuf>,
    settings: Arc<Settings>,
    plugin_version: semver::Version,
    identity: Identity,
    /// Where its sessions are recorded.
    recording: Option<Arc<Recording>>,
}

impl ProcessContext {
    /// This process's, with the settings in its environment.
    pub fn own(started_by: StartedBy, settings: Arc<Settings>) -> Self {
        Self {
            started_by,
            environment: Environment::current(),
            inherited: None,
            working_directory: std::env::current_dir().ok(),
            settings,
            plugin_version: own_plugin_version(),
            identity: Identity::User(User::current()),
            recording: None,
        }
    }

    /// The same, with a recording of its sessions.
    pub fn recorded_by(self, recording: Arc<Recording>) -> Self {
        Self { recording: Some(recording), ..self }
    }

    /// Where its sessions are recorded.
    pub fn recording(&self) -> Option<&Arc<Recording>> {
        self.recording.as_ref()
    }

    /// That of the plugin whose engine a connection of this daemon serves. One on another machine has the variables and the
    /// working directory of this one.
    pub fn of_plugin(
        &self,
        started_by: StartedBy,
        environment: &Environment,
        working_directory: Option<PathBuf>,
        settings: Arc<Settings>,
        plugin_version: semver::Version,
        identity: Identity,
    ) -> Self {
        let (environment, working_directory) = match identity.is_remote() {
            true => {
                (machine::of_remote_plugin(environment, &self.environment), self.working_directory.clone())
            }
            false => (environment.clone(), working_directory),
        };
        Self {
            started_by,
            environment,
            inherited: None,
            working_directory,
            settings,
            plugin_version,
            identity,
            recording: None,
        }
    }

    /// That of an engine that has attached to this daemon without a plugin, and has sent no environment.
    pub fn of_attached_engine(&self, identity: Identity) -> Self {
        let inherited = Some(machine::without_plugin(&self.environment, &self.settings));
        Self { inherited, identity, ..self.clone() }
    }

    /// Who the process belongs to.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub fn started_by(&self) -> StartedBy {
        self.started_by
    }

    /// The version of the plugin as packages refer to it.
    pub fn plugin_version(&self) -> &semver::Version {
        &self.plugin_version
    }

    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    pub fn working_directory(&self) -> Option<&Path> {
        self.working_directory.as_deref()
    }

    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// A path as seen from the working directory.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.working_directory().map_or_else(|| path.to_owned(), |directory| directory.join(path))
    }

    /// The backend of the stacks of the engine that has started the process, if it can be found. Blocks on the file system.
    pub fn backend(&self) -> Option<Backend> {
        match self.started_by {
            // Its stacks are described by files on its own machine.
            _ if self.identity.is_remote() => None,
            StartedBy::Engine => Backend::find(&self.environment, self.working_directory()?),
            StartedBy::Other => None,
        }
    }

    /// The runtime of the project that the process works in, such as `go`, if its file names one. Blocks on the file system.
    pub fn runtime(&self) -> Option<String> {
        Project::around(self.working_directory()?)?.runtime()
    }

    /// The working directory of providers.
    pub fn provider_directory(&self) -> Option<PathBuf> {
        let chosen = self.settings.provider_directory.as_deref();
        chosen.map(|directory| self.resolve(directory)).or_else(|| self.working_directory.clone())
    }

    /// The variables that a provider inherits.
    pub fn provider_environment(&self) -> Environment {
        self.settings.provider_environment.of(self.inherited.as_ref().unwrap_or(&self.environment))
    }

    /// The warning for a provider of this type that uses a variable which it does not inherit.
    pub fn withheld_from(&self, provider_type: &str) -> Option<String> {
        self.settings.provider_environment.warning(&self.environment, provider_type)
    }

    /// What a provider inherits that its schema may depend on. `None` if the working directory was removed.
    pub(crate) fn launch_context(&self) -> Option<LaunchContext> {
        self.launch_context_with(|_| false)
    }

    /// What sessions that share a provider's process must have in common. `None` if the working directory was removed.
    pub(crate) fn shared_launch_context(&self) -> Option<LaunchContext> {
        self.launch_context_with(|name| OF_A_SESSION.iter().any(|of_session| name == *of_session))
    }

    fn launch_context_with(&self, counts: impl Fn(&OsStr) -> bool) -> Option<LaunchContext> {
        let is_chosen = |name: &OsStr| counts(name) || self.settings.provider_environment.names(name);
        let environment = EnvironmentPrint::of(&self.provider_environment(), is_chosen);
        Some(LaunchContext::new(environment, self.provider_directory()?))
    }
}

/// The version of the directory `resource-terraform-provider-vX` that the executable is in, or
/// [`PLUGIN_VERSION`].
pub fn own_plugin_version() -> semver::Version {
    std::env::current_exe().ok().and_then(|program| version_of_directory(&program)).unwrap_or(PLUGIN_VERSION)
}

fn version_of_directory(program: &Path) -> Option<semver::Version> {
    let directory = program.parent()?.file_name()?.to_str()?;
    semver::Version::parse(directory.strip_prefix("resource-terraform-provider-v")?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_plugin_directory() {
        let version = |path| version_of_directory(Path::new(path));
        assert_eq!(
            version(
                "/home/.pulumi/plugins/resource-terraform-provider-v1.2.0/pulumi-resource-terraform-provider"
            ),
            Some(semver::Version::new(1, 2, 0))
        );
        assert_eq!(version("/usr/bin/pulumi-resource-terraform-provider"), None);
    }
}
