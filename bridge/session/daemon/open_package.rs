//! A package outside of any session: for a command that reads a provider's schema, or calls a
//! provider that is not configured.

use std::sync::Arc;

use super::instance::OwnProcess;
use super::resolve::{ResolveError, Resolved, resolve};
use super::start::{StartError, start};
use super::{Calls, Instance, ProviderProcess, ProviderSource};
use crate::engine::EngineLog;
use crate::error_code::of_start;
use crate::process_context::ProcessContext;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::project::names_file::NamesFile;
use isthmus_package::catalogue::{Identity, Package};
use isthmus_package::parameters::Arguments;
use isthmus_provider::Diagnostic;

/// The provider of a package cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum OpenPackageError {
    #[error("{}", isthmus_common::with_help(isthmus_common::error_chain(error), error.help()))]
    Resolve {
        /// Part of this error's text.
        error: ResolveError,
    },
    #[error("{}", ErrorCode::named_in(isthmus_common::error_chain(.0), of_start(.0)))]
    Start(
        /// Part of this error's text.
        StartError,
    ),
}

impl From<ResolveError> for OpenPackageError {
    fn from(error: ResolveError) -> Self {
        Self::Resolve { error }
    }
}

impl From<StartError> for OpenPackageError {
    fn from(error: StartError) -> Self {
        Self::Start(error)
    }
}

/// Installs the provider of a package, if necessary, and starts it. `names` has the names of the
/// package that the arguments do not have. Progress goes to `report`, warnings are added to
/// `warnings`.
pub async fn open_package(
    arguments: Arguments,
    names: Option<NamesFile>,
    context: &Arc<ProcessContext>,
    log: &EngineLog,
    report: &(dyn Fn(String) + Send + Sync),
    warnings: &mut Vec<String>,
) -> Result<Arc<Instance>, OpenPackageError> {
    let Resolved { identity, source } = resolve(arguments, names, context, report, warnings).await?;
    let mut diagnostics = Vec::new();
    let instance = Instance::start(identity, source, context, log, &mut diagnostics).await?;
    warnings.extend(diagnostics.iter().map(ToString::to_string));
    Ok(instance)
}

impl Instance {
    /// Starts a provider whose process no other session uses.
    pub async fn start(
        identity: Identity,
        source: ProviderSource,
        context: &Arc<ProcessContext>,
        log: &EngineLog,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Arc<Self>, StartError> {
        let calls = Calls::default();
        let (provider, _) = start(&source, context, log.clone(), &calls, warnings).await?;
        let package = Arc::new(Package::new(identity, Arc::clone(provider.catalogue())));
        let process = ProviderProcess::Own(OwnProcess::placed(provider, None));
        Ok(Arc::new(Self::new(package, process, source, calls, Arc::clone(context.settings()))))
    }
}
