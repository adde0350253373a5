//! What is examined: this process's environment and settings, a project, and providers.

use std::path::PathBuf;
use std::sync::Arc;

use isthmus_common::Environment;
use isthmus_install::ProviderAddress;

use isthmus_context::settings::{self, InvalidSettings, Settings};
use isthmus_session::process_context::{ProcessContext, StartedBy};

/// What is examined.
#[derive(Clone, Debug)]
pub struct World {
    /// With the settings that are understood.
    pub context: Arc<ProcessContext>,
    /// Those that are not, a line for each.
    pub invalid: Vec<String>,
    /// The directory whose project is examined.
    pub directory: PathBuf,
    /// The providers that the user has named, besides those of the project.
    pub providers: Vec<ProviderAddress>,
    /// Whether what only the project names is started.
    pub(crate) starts_named: bool,
    /// Whether no connection to other machines is made.
    pub(crate) is_offline: bool,
}

impl World {
    /// This process's. Settings that are not understood count as not set, so that the other checks can be made.
    pub fn own(
        directory: PathBuf,
        providers: Vec<ProviderAddress>,
        starts_named: bool,
        is_offline: bool,
    ) -> Self {
        let (settings, invalid) = match Settings::from_environment() {
            Ok(settings) => (settings, Vec::new()),
            Err(invalid) => (without(&invalid), invalid.lines().to_vec()),
        };
        let is_offline = is_offline || settings.offline;
        let context = Arc::new(ProcessContext::own(StartedBy::Other, Arc::new(settings)));
        Self { context, invalid, directory, providers, starts_named, is_offline }
    }

    pub fn environment(&self) -> &Environment {
        self.context.environment()
    }

    pub fn settings(&self) -> &Arc<Settings> {
        self.context.settings()
    }
}

/// The settings without those that are named in what is wrong.
fn without(invalid: &InvalidSettings) -> Settings {
    let is_wrong = |name: &std::ffi::OsStr| {
        let wrong = settings::ALL.iter().filter(|setting| name == setting.name);
        wrong.into_iter().any(|setting| invalid.lines().iter().any(|line| line.contains(setting.name)))
    };
    let environment = Environment::current();
    let rest = environment.iter().filter(|(name, _)| !is_wrong(name));
    Settings::parse(rest.map(|(name, value)| (name.to_owned(), value.to_owned()))).unwrap_or_default()
}
