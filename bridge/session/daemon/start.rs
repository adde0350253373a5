//! Starting a provider, or reattaching to a running one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use isthmus_common::{Environment, blocking};
use isthmus_install::{AlteredError, ProviderAddress, SignaturePolicy, Verification, check_program};
use isthmus_provider::plugin::{
    ExecutableError, Exit, Guardian, LaunchError, LaunchProblem, LaunchSpec, LogSink, OtherSessions, Plugin,
    ReattachConfig,
};
use isthmus_provider::schema::CatalogueError;
use isthmus_provider::{CallObserver, Diagnostic, KnownSchema, Provider, ProviderError, SchemaUpdate};

use super::reattach::{self, ReattachVariableError};
use super::session_log::SessionLog;
use super::{Calls, Daemon, provider_log};
use crate::engine::EngineLog;
use crate::observe::{ObservedProvider, ProviderName};
use crate::process_context::ProcessContext;
use isthmus_package::catalogue::Identity;
use isthmus_package::parameters::ParameterSource;

/// Terraform's variable that disables TLS to providers, if it is set to anything.
const DISABLE_TLS: &str = "TF_DISABLE_PLUGIN_TLS";

#[derive(Clone, Debug)]
pub struct ProviderSource {
    /// Name in messages: the provider's type, such as `random`.
    pub name: String,
    pub program: Program,
}

/// How to run a provider.
#[derive(Clone, Debug)]
pub enum Program {
    /// Start this file.
    File(PathBuf),
    /// Reattach to a running process.
    Running(ReattachConfig),
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Reattach(#[from] ReattachVariableError),
    /// The provider binary changed since it was installed.
    #[error(transparent)]
    Altered(#[from] AlteredError),
    /// It is not verified, and signatures are enforced.
    #[error("{} is not verified by a signature, and OPENTOFU_ENFORCE_GPG_VALIDATION is set", program.display())]
    Enforced { program: PathBuf },
    /// It cannot be started or connected to.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It does not return a schema.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// Its provider configuration schema is invalid; Terraform rejects such a provider as well.
    #[error("the provider {name} cannot be used")]
    Schema {
        name: String,
        #[source]
        source: CatalogueError,
    },
    /// It has ended, and was attached to: only who started it can start it again.
    #[error(
        "the provider {name} is gone, and is not started again, because isthmus attached to it and did not start it: {exit}"
    )]
    NotOurs { name: String, exit: Exit },
    /// It has ended, and so has the process that replaced it, before it answered a call.
    #[error(
        "the provider {name} is gone: {first}
It was started again, and ended before it answered a call: {second}"
    )]
    EndedAgain { name: String, first: Exit, second: Exit },
    /// It has ended, and could not be started again.
    #[error(
        "the provider {name} is gone: {exit}
It could not be started again"
    )]
    Replacement {
        name: String,
        exit: Exit,
        #[source]
        source: Box<Self>,
    },
    /// It was started again, and serves another schema than before.
    #[error(
        "its schema differs from that of the previous process, so the provider binary was replaced, or its environment was changed; run this again"
    )]
    OtherSchema,
}

impl StartError {
    /// Whether there is no file at the provider's path.
    pub(super) fn is_missing_file(&self) -> bool {
        let Self::Launch(error) = self else { return false };
        matches!(error.problem(), LaunchProblem::Executable(ExecutableError::Missing { .. }))
    }
}

impl ProviderSource {
    /// The provider of this address in a file, unless the environment names a running one.
    pub fn at(
        address: &ProviderAddress,
        executable: PathBuf,
        environment: &Environment,
    ) -> Result<Self, ReattachVariableError> {
        let running = reattach::running_at(address, environment)?;
        let program = running.map_or(Program::File(executable), Program::Running);
        Ok(Self { name: address.provider_type().to_owned(), program })
    }

    /// The provider of this type in a file, unless the environment names a running one.
    pub fn in_file(
        provider_type: &str,
        executable: PathBuf,
        environment: &Environment,
    ) -> Result<Self, ReattachVariableError> {
        let running = reattach::running_of_type(provider_type, environment)?;
        let program = running.map_or(Program::File(executable), Program::Running);
        Ok(Self { name: provider_type.to_owned(), program })
    }
}

/// Starts the provider and reads its schema. Its log goes to `log`.
pub async fn start(
    source: &ProviderSource,
    context: &ProcessContext,
    log: EngineLog,
    calls: &Calls,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(Provider, SchemaUpdate), StartError> {
    start_knowing(source, context, log, calls, KnownSchema::Nothing, warnings).await
}

/// The same with a schema that is known.
pub(super) async fn start_knowing(
    source: &ProviderSource,
    context: &ProcessContext,
    log: EngineLog,
    calls: &Calls,
    known: KnownSchema<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(Provider, SchemaUpdate), StartError> {
    let sink = provider_log::sink(context, log.clone(), calls.clone());
    let observer = provider_log::observer(context, log, calls.clone());
    start_logging(source, context, sink, observer, known, warnings).await
}

/// The same with its log in `sink`, and its calls in `observer`.
pub(super) async fn start_logging(
    source: &ProviderSource,
    context: &ProcessContext,
    sink: LogSink,
    observer: CallObserver,
    known: KnownSchema<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<(Provider, SchemaUpdate), StartError> {
    let plugin = match &source.program {
        Program::Running(config) => Plugin::reattach(source.name.clone(), config.clone(), sink).await?,
        Program::File(executable) => {
            verify(executable, context.environment()).await?;
            let mut spec = LaunchSpec::new(source.name.clone(), executable.clone());
            spec.mutual_tls = context.environment().value(DISABLE_TLS).is_none();
            spec.environment = context.provider_environment();
            spec.working_directory = context.provider_directory();
            spec.guardian = Guardian::own_executable();
            spec.other_sessions =
                if context.settings().kill_sessions { OtherSessions::Kill } else { OtherSessions::Leave };
            Plugin::launch(spec, sink).await?
        }
    };
    let (provider, update) = Provider::start(source.name.clone(), plugin, observer, known, warnings).await?;
    if let Err(fault) = provider.catalogue().provider() {
        provider.shutdown().await;
        return Err(StartError::Schema { name: source.name.clone(), source: fault });
    }
    Ok((provider, update))
}

/// Origin of a provider binary.
enum Provenance {
    /// Verified by a signature or a configured mirror, or in no cache: the user named it.
    Accepted,
    /// From a registry, without a signature.
    Unsigned,
    /// In the cache without verification, for this reason.
    Unverified(String),
}

/// Rejects a provider binary that changed since it was installed, and an unverified one where
/// signatures are enforced. Paths into the cache and links to it count too.
async fn verify(executable: &Path, environment: &Environment) -> Result<(), StartError> {
    let (file, variables) = (executable.to_owned(), environment.clone());
    match blocking(move || provenance(&file, &variables)).await? {
        Provenance::Accepted => Ok(()),
        Provenance::Unsigned | Provenance::Unverified(_) => {
            if SignaturePolicy::of(environment).enforce_validation {
                return Err(StartError::Enforced { program: executable.to_owned() });
            }
            Ok(())
        }
    }
}

/// The warning for an unverified provider binary in the cache that is named by its path.
/// Blocks on the file system.
pub fn unverified(executable: &Path, environment: &Environment) -> Option<String> {
    match provenance(executable, environment) {
        Ok(Provenance::Unverified(reason)) => {
            let shown = executable.display();
            Some(format!("{shown} is unverified: it was not installed by isthmus, and {reason}"))
        }
        // The start reports a changed binary itself.
        Ok(Provenance::Accepted | Provenance::Unsigned) | Err(_) => None,
    }
}

/// Blocks on the file system.
fn provenance(executable: &Path, environment: &Environment) -> Result<Provenance, AlteredError> {
    match check_program(executable)? {
        Some(Verification::Signed { .. } | Verification::Mirrored { .. }) => Ok(Provenance::Accepted),
        Some(Verification::Unsigned) => Ok(Provenance::Unsigned),
        Some(Verification::Unverified { reason, .. }) => Ok(Provenance::Unverified(reason.to_string())),
        None if is_in_cache(executable, environment) => {
            Ok(Provenance::Unverified("its origin was not queried; `isthmus install` verifies it".to_owned()))
        }
        None => Ok(Provenance::Accepted),
    }
}

/// Whether a file is in the provider cache, by its path or its canonical path. Blocks on the file
/// system.
fn is_in_cache(executable: &Path, environment: &Environment) -> bool {
    let Ok(cache) = isthmus_context::home::provider_cache(environment) else { return false };
    let is_below = |executable: &Path, cache: &Path| executable.starts_with(cache);
    is_below(executable, &cache)
        || executable
            .canonicalize()
            .is_ok_and(|executable| cache.canonicalize().is_ok_and(|cache| is_below(&executable, &cache)))
}

/// What the start of a provider needs to know of its session.
#[derive(Clone, Debug)]
pub(super) struct SessionScope {
    pub(super) daemon: Arc<Daemon>,
    /// Of the engine's plugin.
    pub(super) context: Arc<ProcessContext>,
    pub(super) log: Arc<SessionLog>,
}

impl SessionScope {
    /// The counters of a provider, in a shared daemon.
    pub(super) fn observed(&self, identity: &Identity) -> Option<Arc<ObservedProvider>> {
        Some(self.daemon.observation()?.provider(provider_name(identity)))
    }

    /// The calls of a provider, none of which has begun.
    pub(super) fn calls(&self, identity: &Identity) -> Calls {
        Calls::counted(self.observed(identity))
    }
}

/// A file of the user's is named by its type alone: its path is the user's.
fn provider_name(identity: &Identity) -> ProviderName {
    let address = match &identity.parameter.source {
        ParameterSource::Remote { url, .. } => url.clone(),
        ParameterSource::Local { .. } => format!("local/{}", identity.provider_type),
    };
    ProviderName { address, version: identity.provider_version().unwrap_or_default().to_owned() }
}
