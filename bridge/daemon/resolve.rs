//! From what was asked for to one provider: which package it makes, and how it comes to run.

use std::path::Path;

use isthmus_shim::install::{
    AddressError, ConstraintError, NotCached, ProviderAddress, ProviderCache, VersionConstraint,
};

use super::home::{self, NoProviderCache};
use super::reattach::{self, ReattachVariableError};
use super::start::{Program, ProviderSource};
use crate::package::catalogue::{Identity, IdentityError};
use crate::package::parameters::{
    Arguments, LOCAL_VERSION, LocalArguments, Parameter, ParameterSource, RemoteArguments, Source,
};

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
pub enum ResolveError {
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
    /// There is no folder to look in.
    #[error(transparent)]
    NoCache(#[from] NoProviderCache),
    /// The provider is not on this machine.
    #[error(
        "{0}, or name its file instead: `pulumi package add terraform-provider ./terraform-provider-{type}`",
        type = .0.address.provider_type()
    )]
    NotCached(Box<NotCached>),
}

/// Finds the provider. This reads folders.
pub(super) fn resolve(arguments: Arguments) -> Result<Resolved, ResolveError> {
    let Arguments { source, includes, excludes, provider_name, .. } = arguments;
    let parameter = |source| Parameter { source, includes, excludes, provider_name };
    match source {
        Source::Local(LocalArguments { path, .. }) => {
            let executable = isthmus_shim::install::find_executable(Path::new(&path));
            let identity = Identity::new(parameter(ParameterSource::Local { path }))?;
            let source = ProviderSource::in_file(&identity.provider_type, executable)?;
            Ok(Resolved { identity, source })
        }
        Source::Remote(RemoteArguments { name, version, .. }) => {
            let address = ProviderAddress::parse(&name)?;
            let (version, program) = find(&address, &version)?;
            let remote = ParameterSource::Remote { url: address.to_string(), version };
            let identity = Identity::new(parameter(remote))?;
            let source = ProviderSource { name: identity.provider_type.clone(), program };
            Ok(Resolved { identity, source })
        }
    }
}

/// The version and the program of a provider of a registry. One that runs already has no version that could be known, and so
/// satisfies every constraint.
fn find(address: &ProviderAddress, version: &str) -> Result<(String, Program), ResolveError> {
    if let Some(config) = reattach::running_at(address)? {
        return Ok((LOCAL_VERSION.to_owned(), Program::Running(config)));
    }
    let constraint = VersionConstraint::parse(version)?;
    let cache = ProviderCache::new(home::provider_cache()?);
    let found = cache.find(address, &constraint).map_err(ResolveError::NotCached)?;
    Ok((found.version.to_string(), Program::File(found.executable)))
}
