//! From what was asked for to one provider: which package it makes, and how it comes to run.

use std::path::Path;
use std::sync::Arc;

use isthmus_common::blocking;
use isthmus_install::{
    AddressError, ConstraintError, InstallError, InstallEvent, Installed, ProviderAddress, VersionConstraint,
};

use super::installation::{Installation, InstallationError};
use super::progress_reporter::ProgressReporter;
use super::reattach::{self, ReattachVariableError};
use super::start::{self, Program, ProviderSource};
use crate::package::catalogue::{Identity, IdentityError};
use crate::package::parameters::{
    Arguments, LOCAL_VERSION, LocalArguments, Parameter, ParameterSource, RemoteArguments, Source,
};
use crate::settings::Settings;

/// A provider, fully determined.
#[derive(Debug)]
pub(super) struct Resolved {
    /// The package that it makes.
    pub(super) identity: Identity,
    /// How it comes to run.
    pub(super) source: ProviderSource,
}

/// What was asked for leads to no provider.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResolveError {
    /// The words name no provider.
    #[error("invalid provider name")]
    Name(#[from] AddressError),
    /// The words say nothing about versions.
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    /// A package cannot be made of this provider.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The variables about running providers are damaged.
    #[error(transparent)]
    Reattach(#[from] ReattachVariableError),
    /// It is not clear where from.
    #[error(transparent)]
    Installation(#[from] InstallationError),
    /// The provider cannot be installed.
    #[error("{}", isthmus_common::error_chain(error))]
    Install {
        /// Why not. It is told by this error itself.
        error: Box<InstallError>,
    },
}

fn not_had(error: Box<InstallError>) -> ResolveError {
    ResolveError::Install { error }
}

impl ResolveError {
    /// What to do about it, in lines of their own.
    pub(crate) fn help(&self) -> Vec<String> {
        let Self::Install { error } = self else { return Vec::new() };
        let mut lines = error.help();
        if let (InstallError::Unreachable { cached, .. }, Some(last)) = (&**error, lines.last_mut()) {
            last.push_str(&format!(
                ", or name its file: `pulumi package add terraform-provider ./terraform-provider-{}`",
                cached.address.provider_type()
            ));
        }
        lines
    }
}

/// Finds the provider, and installs it if it is not here. `tell` is called with lines for the user meanwhile, and what the user should
/// know in the end is added to `warnings`, also where this fails.
pub(super) async fn resolve(
    arguments: Arguments,
    settings: &Arc<Settings>,
    tell: &(dyn Fn(String) + Send + Sync),
    warnings: &mut Vec<String>,
) -> Result<Resolved, ResolveError> {
    let Arguments { source, includes, excludes, provider_name, .. } = arguments;
    let parameter = |source| Parameter { source, includes, excludes, provider_name };
    match source {
        Source::Local(LocalArguments { path, .. }) => {
            let file = path.clone();
            let executable = blocking(move || isthmus_install::find_executable(Path::new(&file))).await;
            warnings.extend(start::unverified(executable.clone()).await);
            let identity = Identity::new(parameter(ParameterSource::Local { path }))?;
            let source = ProviderSource::in_file(&identity.provider_type, executable)?;
            Ok(Resolved { identity, source })
        }
        Source::Remote(RemoteArguments { name, version, .. }) => {
            let address = ProviderAddress::parse(&name)?;
            let Found { version, program } = find(&address, &version, settings, tell, warnings).await?;
            let remote = ParameterSource::Remote { url: address.to_string(), version };
            let identity = Identity::new(parameter(remote))?;
            let source = ProviderSource { name: identity.provider_type.clone(), program };
            Ok(Resolved { identity, source })
        }
    }
}

struct Found {
    version: String,
    program: Program,
}

/// A provider of a registry. Of one that runs already, and of one that its developers have put somewhere, the version cannot be
/// known, and so it satisfies every constraint. What developers try in place of a version that a stack or an SDK names is taken for
/// that version, so that they go on with it.
async fn find(
    address: &ProviderAddress,
    version: &str,
    settings: &Arc<Settings>,
    tell: &(dyn Fn(String) + Send + Sync),
    warnings: &mut Vec<String>,
) -> Result<Found, ResolveError> {
    if let Some(config) = reattach::running_at(address)? {
        let version = LOCAL_VERSION.to_owned();
        return Ok(Found { version, program: Program::Running(config) });
    }
    let constraint = VersionConstraint::parse(version)?;
    let settings = Arc::clone(settings);
    let installation = blocking(move || Installation::configured(&settings)).await;
    warnings.extend(installation.warnings);
    let installer = installation.installer?;
    let (asked, wanted) = (installer.clone(), address.clone());
    if let Some(overridden) = blocking(move || asked.overridden(&wanted)).await.map_err(not_had)? {
        warnings.push(overridden.warning);
        let version = constraint.only_version().map_or_else(|| LOCAL_VERSION.to_owned(), ToString::to_string);
        return Ok(Found { version, program: Program::File(overridden.executable) });
    }
    let narrator = ProgressReporter::default();
    let listener = |event: InstallEvent| {
        if let Some(line) = narrator.line(&event) {
            tell(line);
        }
    };
    let Installed { version, executable, warnings: said, .. } =
        installer.install(address, &constraint, &listener).await.map_err(not_had)?;
    warnings.extend(said);
    Ok(Found { version: version.to_string(), program: Program::File(executable) })
}
