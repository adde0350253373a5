//! Resolution of a parameterization: the package's identity, and how to run its provider.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use isthmus_common::blocking;
use isthmus_install::{
    AddressError, ConstraintError, InstallError, InstallEvent, Installed, ProviderAddress, VersionConstraint,
};
use isthmus_provider::plugin::{ExecutableError, inspect};

use super::installation::{Installation, InstallationError, ProgressReporter};
use super::reattach::{self, ReattachVariableError};
use super::start::{self, Program, ProviderSource};
use crate::error_code::{of_configuration, of_installation};
use crate::process_context::ProcessContext;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::project::names_file::{NamesFile, NamesFileError};
use isthmus_package::catalogue::{Identity, IdentityError};
use isthmus_package::parameters::{
    Arguments, LOCAL_VERSION, LocalArguments, Parameter, ParameterSource, RemoteArguments, Source,
};

#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) identity: Identity,
    pub(super) source: ProviderSource,
}

/// The parameterization cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("invalid provider name")]
    Name(#[from] AddressError),
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Names(#[from] NamesFileError),
    #[error(transparent)]
    Reattach(#[from] ReattachVariableError),
    #[error(transparent)]
    Installation(#[from] InstallationError),
    /// A directory in the place of a provider binary.
    #[error("{} is not a provider", path.display())]
    Directory {
        path: PathBuf,
        #[source]
        source: ExecutableError,
    },
    /// The provider cannot be installed.
    #[error("{}", isthmus_common::error_chain(error))]
    Install {
        /// Part of this error's text.
        error: Box<InstallError>,
    },
}

fn install_error(error: Box<InstallError>) -> ResolveError {
    ResolveError::Install { error }
}

impl ResolveError {
    /// Advice, in help lines: what the error has itself, and where its kind is described.
    pub fn help(&self) -> Vec<String> {
        self.advice().into_iter().chain(self.code().map(ErrorCode::reference)).collect()
    }

    /// The code of its kind.
    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Installation(error) => Some(of_configuration(error)),
            Self::Install { error } => Some(of_installation(error)),
            Self::Names(_) => Some(ErrorCode::ProjectUnreadable),
            Self::Directory { .. } => Some(ErrorCode::ProviderFileUnusable),
            Self::Name(_) | Self::Constraint(_) | Self::Identity(_) | Self::Reattach(_) => None,
        }
    }

    fn advice(&self) -> Vec<String> {
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

/// Resolves the provider and installs it if necessary. `file` has the names of the package that the
/// arguments do not have. Progress goes to `report`; warnings are added to `warnings`, also on
/// failure.
pub(super) async fn resolve(
    arguments: Arguments,
    file: Option<NamesFile>,
    context: &Arc<ProcessContext>,
    report: &(dyn Fn(String) + Send + Sync),
    warnings: &mut Vec<String>,
) -> Result<Resolved, ResolveError> {
    let Arguments { source, includes, excludes, provider_name, names, .. } = arguments;
    let identify = |source| {
        let parameter = Parameter { source, includes, excludes, provider_name, names };
        let mut identity = Identity::new(parameter)?;
        if let Some(package) = file.as_ref().and_then(|file| file.package(&identity.name)) {
            identity.parameter.names = package.choices();
            let excluded = package.exclude.iter().filter(|name| !identity.parameter.excludes.contains(name));
            let excluded: Vec<_> = excluded.cloned().collect();
            identity.parameter.excludes.extend(excluded);
        }
        Ok::<_, IdentityError>(identity)
    };
    match source {
        Source::Local(LocalArguments { path, .. }) => {
            let (file, of) = (context.resolve(Path::new(&path)), Arc::clone(context));
            // One piece of work: a start of a known provider consists of little else.
            let find = move || {
                let executable = isthmus_install::find_executable(&file);
                let warning = start::unverified(&executable, of.environment());
                let directory = executable.is_dir().then(|| inspect(&executable).err()).flatten();
                (executable, warning, directory)
            };
            let (executable, warning, directory) = blocking(find).await;
            warnings.extend(warning);
            // It cannot even give the package its name.
            if let Some(source) = directory {
                return Err(ResolveError::Directory { path: executable, source });
            }
            let identity = identify(ParameterSource::Local { path })?;
            let source = ProviderSource::in_file(&identity.provider_type, executable, context.environment())?;
            Ok(Resolved { identity, source })
        }
        Source::Remote(RemoteArguments { name, version, .. }) => {
            let address = ProviderAddress::parse(&name)?;
            let Found { version, program } = find(&address, &version, context, report, warnings).await?;
            let remote = ParameterSource::Remote { url: address.to_string(), version };
            let identity = identify(remote)?;
            let source = ProviderSource { name: identity.provider_type.clone(), program };
            Ok(Resolved { identity, source })
        }
    }
}

struct Found {
    version: String,
    program: Program,
}

/// Resolves a provider of a registry. The version of one that runs already or is a development
/// override is unknown, so it satisfies every constraint. An override in place of an exact version,
/// of a stack or an SDK, counts as that version, so that these can be used with it.
async fn find(
    address: &ProviderAddress,
    version: &str,
    context: &Arc<ProcessContext>,
    report: &(dyn Fn(String) + Send + Sync),
    warnings: &mut Vec<String>,
) -> Result<Found, ResolveError> {
    if let Some(config) = reattach::running_at(address, context.environment())? {
        let version = LOCAL_VERSION.to_owned();
        return Ok(Found { version, program: Program::Running(config) });
    }
    let constraint = VersionConstraint::parse(version)?;
    let context = Arc::clone(context);
    let installation = blocking(move || Installation::configured(&context)).await;
    warnings.extend(installation.warnings);
    let installer = installation.installer?;
    let (lookup, wanted) = (installer.clone(), address.clone());
    if let Some(overridden) = blocking(move || lookup.overridden(&wanted)).await.map_err(install_error)? {
        warnings.push(overridden.warning);
        let version = constraint.only_version().map_or_else(|| LOCAL_VERSION.to_owned(), ToString::to_string);
        return Ok(Found { version, program: Program::File(overridden.executable) });
    }
    let progress = ProgressReporter::default();
    let listener = |event: InstallEvent| {
        if let Some(line) = progress.line(&event) {
            report(line);
        }
    };
    let Installed { version, executable, warnings: found, .. } =
        installer.install(address, &constraint, &listener).await.map_err(install_error)?;
    warnings.extend(found);
    Ok(Found { version: version.to_string(), program: Program::File(executable) })
}
