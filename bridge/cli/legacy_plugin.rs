//! The plugin of one package for the legacy engine: `lumi-resource-PKG :PORT [FLAGS]`.
//!
//! That engine dials as soon as it has read the port and calls at once, so everything that can fail
//! happens before: reading its configuration, starting and configuring the provider, opening the
//! state store. The engine ends the plugin with SIGKILL and shows each line of stderr as an error,
//! so none is written.

use isthmus_platform::files::is_executable;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use isthmus_common::blocking;
use isthmus_install::ProviderAddress;
use isthmus_proto::property::Struct;
use isthmus_state::Intent;

use super::link::PROVIDER_LINK;
use super::output::{fail, fail_as};
use super::plugin::{PortError, announce, serve_until_ended};
use super::{limits, runtime};
use isthmus_context::error_code::ErrorCode;
use isthmus_context::home::OpenStoreError;
use isthmus_context::settings::{InvalidSettings, RECORD, Settings};
use isthmus_operations::resource::{self, OperationError, OperationWarnings};
use isthmus_package::parameters::EXECUTABLE_PREFIX;
use isthmus_platform::process::{Signals, Starter};
use isthmus_services::config;
use isthmus_services::lumirpc::identity;
use isthmus_services::serve::{Listener, ServeError};
use isthmus_session::daemon::{self, Daemon, Instance, ProviderSource};
use isthmus_session::engine::{Engine, EngineError, EngineLog, Generation};
use isthmus_session::error_code::{of_open_store, of_start};
use isthmus_session::process_context::{ProcessContext, StartedBy};

/// Prefix of the URNs of today's engines.
const URN: &str = "urn:pulumi:";

#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("missing engine address: an engine starts this program as `lumi-resource-{0} :PORT`")]
    NoEngine(String),
    #[error(
        "no provider for package {package}: none is linked, and {EXECUTABLE_PREFIX}{package} is not on PATH\nhelp: use \
         `isthmus link`, or set ISTHMUS_PROVIDER to the provider binary"
    )]
    NoProvider { package: String },
    #[error("failed to read the configuration of package {package}")]
    Engine {
        package: String,
        #[source]
        error: EngineError,
    },
    #[error("invalid engine address")]
    Address(#[source] EngineError),
    #[error("failed to start the provider of package {package}")]
    Provider {
        package: String,
        #[source]
        error: daemon::StartError,
    },
    #[error("invalid configuration {package}:config:\n{reasons}")]
    Config { package: String, reasons: String },
    #[error("failed to configure the provider of package {package}: {reason}")]
    Configure { package: String, reason: String },
    #[error("failed to open the state store")]
    EncryptedStore(#[source] OpenStoreError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Serves the package; `program` is the name that this executable was started by.
pub(crate) fn run(package: &str, program: &Path, arguments: &[OsString]) -> ExitCode {
    let starter = Starter::note();
    if let Err(error) = limits::ensure_open_files() {
        return fail(&error.to_string());
    }
    runtime::serve(async {
        match serve(package, program, engine_address(arguments), starter).await {
            Ok(code) => code,
            Err(error) => fail_as(&isthmus_common::error_chain(&error), error.code()),
        }
    })
}

impl StartError {
    /// The code of its kind, if that has a page.
    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Provider { error, .. } => of_start(error),
            Self::EncryptedStore(error) => Some(of_open_store(error)),
            _ => None,
        }
    }
}

async fn serve(
    package: &str,
    program: &Path,
    address: Option<String>,
    starter: Starter,
) -> Result<ExitCode, StartError> {
    let address = address.ok_or_else(|| StartError::NoEngine(package.to_owned()))?;
    let engine = Engine::new(&address, Generation::Lumi).map_err(StartError::Address)?;
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(invalid) => return refuse(invalid, EngineLog::start(Some(engine)), starter).await,
    };
    let variables = engine
        .read_locations(&format!("{package}:config/vars"))
        .await
        .map_err(|error| StartError::Engine { package: package.to_owned(), error })?;
    let log = EngineLog::start(Some(engine));
    for message in settings.warnings.iter().cloned() {
        log.warn(message);
    }
    if settings.record.is_some() {
        let message = format!("{} has no effect: only sessions of today's engines are recorded", RECORD.name);
        log.warn(message);
    }
    let path = std::env::var_os("PATH");
    let configured = settings.provider.clone().or_else(|| linked(program, path.as_deref()));
    let executable = provider(package, configured, path)
        .ok_or_else(|| StartError::NoProvider { package: package.to_owned() })?;
    let daemon = Daemon::new(log.clone(), StartedBy::Engine, Ok(settings));
    let instance = start(package, None, executable, daemon.context(), &log)
        .await
        .map_err(|error| StartError::Provider { package: package.to_owned(), error })?;
    daemon.serve_only(Arc::clone(&instance));
    let ready = async {
        configure(&instance, variables, &log).await?;
        daemon.state_store().await.map_err(StartError::EncryptedStore)?;
        // Intents of today's engines are reported to those.
        let is_ours = |intent: &Intent| intent.key.package == package && !intent.subject.starts_with(URN);
        daemon.report_open_intents(is_ours, &log).await;
        Ok::<_, StartError>(Listener::open().await?)
    };
    let listener = match ready.await {
        Ok(listener) => listener,
        Err(error) => {
            daemon.finish().await;
            return Err(error);
        }
    };
    // From now on it is held by those who use it.
    drop(instance);
    if let Err(error) = announce(listener.port()) {
        daemon.finish().await;
        return Err(error.into());
    }
    Ok(serve_until_ended(listener, None, &daemon, None, Some(starter), Signals::new()).await)
}

/// Serves, and answers every call with the invalid settings.
async fn refuse(invalid: InvalidSettings, log: EngineLog, starter: Starter) -> Result<ExitCode, StartError> {
    let listener = Listener::open().await?;
    announce(listener.port())?;
    let daemon = Daemon::new(log, StartedBy::Engine, Err(invalid));
    Ok(serve_until_ended(listener, None, &daemon, None, Some(starter), Signals::new()).await)
}

/// Starts a provider under the name of a package. Without an address it has the one of its path.
pub(crate) async fn start(
    package: &str,
    address: Option<ProviderAddress>,
    executable: PathBuf,
    context: &Arc<ProcessContext>,
    log: &EngineLog,
) -> Result<Arc<Instance>, daemon::StartError> {
    let (file, of) = (executable.clone(), Arc::clone(context));
    let find = move || {
        let address = address.or_else(|| isthmus_install::address_of(&file));
        (address, daemon::unverified(&file, of.environment()))
    };
    let (address, warning) = blocking(find).await;
    let identity = identity(package, address.as_ref(), &executable);
    for message in warning.into_iter().chain(context.withheld_from(&identity.provider_type)) {
        log.warn(message);
    }
    let source = match &address {
        Some(address) => ProviderSource::at(address, executable, context.environment())?,
        None => ProviderSource::in_file(&identity.provider_type, executable, context.environment())?,
    };
    let mut warnings = Vec::new();
    // This engine requests no schema and calls the provider at once, so a cached schema saves
    // nothing.
    let instance = Instance::start(identity, source, context, log, &mut warnings).await?;
    for warning in &warnings {
        let message = warning.to_string();
        log.warn(message);
    }
    Ok(instance)
}

/// The first argument that is no flag. The engine's logging flags follow it and have no effect
/// here.
fn engine_address(arguments: &[OsString]) -> Option<String> {
    arguments
        .iter()
        .map(|argument| argument.to_string_lossy())
        .find(|argument| !argument.starts_with('-'))
        .map(Into::into)
}

/// The provider linked by `isthmus link` beside the name that this executable was started by.
fn linked(program: &Path, path: Option<&OsStr>) -> Option<PathBuf> {
    let name = program.file_name()?;
    let is_bare = program.parent().is_none_or(|directory| directory.as_os_str().is_empty());
    let places: Vec<PathBuf> = if is_bare {
        std::env::split_paths(path?).map(|directory| directory.join(name)).collect()
    } else {
        vec![program.to_owned()]
    };
    // The first that exists, as the engine finds it.
    let found = places.into_iter().find(|place| place.symlink_metadata().is_ok())?;
    let mut link = found.into_os_string();
    link.push(PROVIDER_LINK);
    // A dangling link is reported when the provider is started.
    std::fs::read_link(PathBuf::from(link)).ok()
}

/// The provider binary: the configured one, or the first on the search path.
pub(crate) fn provider(
    package: &str,
    configured: Option<PathBuf>,
    path: Option<OsString>,
) -> Option<PathBuf> {
    if let Some(configured) = configured {
        return Some(isthmus_install::find_executable(&configured));
    }
    let name = format!("{EXECUTABLE_PREFIX}{package}");
    std::env::split_paths(path.as_deref().unwrap_or(OsStr::new("")))
        .map(|directory| isthmus_install::find_executable(&directory.join(&name)))
        .find(|file| file.is_file() && is_executable(file))
}

/// Validates the package's variables and configures the provider with them. A variable without a
/// value is null.
async fn configure(instance: &Instance, variables: Struct, log: &EngineLog) -> Result<(), StartError> {
    let package = || instance.package.identity().name.clone();
    let variables: Struct = variables.into_iter().filter(|(_, value)| !value.is_null()).collect();
    let mut warnings = OperationWarnings::default();
    let checked = config::check(instance, &instance.provider(), "", variables.clone(), &mut warnings).await;
    let outcome = match checked {
        Ok(checked) if !checked.failures.is_empty() => {
            let reasons = OperationError::Inputs(checked.failures).to_string();
            let reasons = instance.provider().secrets().redact(&reasons).into_owned();
            return Err(StartError::Config { package: package(), reasons });
        }
        Ok(_) => {
            config::configure(
                instance,
                &instance.provider(),
                config::Arguments::Properties(&variables),
                &mut warnings,
            )
            .await
        }
        Err(error) => Err(error),
    };
    if let Ok(shape) = instance.package.config_shape() {
        for warning in &warnings.diagnostics {
            let message = resource::describe(warning, &shape.object);
            log.warn(message);
        }
    }
    outcome.map_err(|error| {
        let reason = instance.provider().secrets().redact(&error.to_string()).into_owned();
        StartError::Configure { package: package(), reason }
    })
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn the_engine_is_found_before_its_flags() {
        let arguments = |arguments: &[&str]| arguments.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(engine_address(&arguments(&[":4000", "--logtostderr", "-v=9"])), Some(":4000".to_owned()));
        assert_eq!(engine_address(&arguments(&["--logtostderr"])), None);
    }

    #[test]
    fn a_linked_provider_is_found_beside_the_name_that_the_program_was_started_by() {
        let directories = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let path = std::env::join_paths(directories.iter().map(tempfile::TempDir::path)).expect("a path");
        let plugin = directories[1].path().join("lumi-resource-random");
        isthmus_platform::files::symlink("/opt/isthmus", &plugin).expect("a link");
        assert_eq!(linked(&plugin, None), None);
        let beside = directories[1].path().join("lumi-resource-random.provider");
        isthmus_platform::files::symlink("/opt/terraform-provider-random", beside).expect("a link");
        let provider = Some(PathBuf::from("/opt/terraform-provider-random"));
        assert_eq!(linked(&plugin, None), provider);
        assert_eq!(linked(Path::new("lumi-resource-random"), Some(&path)), provider, "by its bare name");
        assert_eq!(linked(Path::new("lumi-resource-time"), Some(&path)), None);
    }

    #[test]
    fn a_provider_is_the_configured_one_or_the_first_executable_on_the_path() {
        let directories = [(); 3].map(|()| tempfile::tempdir().expect("a directory"));
        let path = std::env::join_paths(directories.iter().map(tempfile::TempDir::path)).expect("a path");
        let file = |directory: usize| directories[directory].path().join("terraform-provider-random");
        assert_eq!(provider("random", None, Some(path.clone())), None);
        std::fs::write(file(1), "not executable").expect("a file");
        std::fs::write(file(2), "").expect("a file");
        isthmus_platform::files::set_mode(&file(2), 0o755).expect("a mode");
        assert_eq!(provider("random", None, Some(path.clone())), Some(file(2)));
        let configured = Some(PathBuf::from("/elsewhere/provider"));
        assert_eq!(provider("random", configured, Some(path)), Some(PathBuf::from("/elsewhere/provider")));
        assert_eq!(provider("random", None, None), None);
    }
}
