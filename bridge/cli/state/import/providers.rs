//! The providers of a state, each started for its first object.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::{Environment, blocking};
use isthmus_install::{
    AddressError, DEFAULT_HOST, InstallError, ProviderAddress, ProviderCache, VersionConstraint,
    find_executable,
};
use isthmus_provider::KnownSecrets;
use semver::Version;

use crate::cli::output::warn;
use crate::daemon::{self, Installation, InstallationError, Instance};
use crate::engine::EngineLog;
use crate::home::{self};
use crate::lumirpc::plugin as lumi;
use crate::package::catalogue::TERRAFORM_HOST;
use crate::package::parameters::EXECUTABLE_PREFIX;
use crate::process_context::{ProcessContext, StartedBy};
use crate::settings::Settings;

const GRACE: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Unavailable {
    #[error(
        "the provider {address} is neither in the provider cache nor on PATH as {EXECUTABLE_PREFIX}{provider_type}; \
         install it with `isthmus install {address}`, or name its binary with --provider {provider_type}=FILE"
    )]
    NotFound { address: String, provider_type: String },
    #[error("the provider {address} cannot be started from {file}", file = .file.display())]
    Start {
        address: String,
        file: PathBuf,
        #[source]
        error: Arc<daemon::StartError>,
    },
    #[error("the provider {address} in the cache of providers cannot be verified")]
    Unverified {
        address: String,
        #[source]
        error: Arc<InstallError>,
    },
    #[error(transparent)]
    Installation(#[from] Arc<InstallationError>),
}

/// The providers started so far.
#[derive(Debug)]
pub(super) struct Providers<'a> {
    files: &'a [(String, String)],
    packages: &'a [(String, String)],
    context: Arc<ProcessContext>,
    log: EngineLog,
    known: HashMap<String, Result<Arc<Instance>, Unavailable>>,
}

impl<'a> Providers<'a> {
    /// `files` and `packages` are the user's options, by type or address.
    pub(super) fn new(
        files: &'a [(String, String)],
        packages: &'a [(String, String)],
        settings: &Arc<Settings>,
    ) -> Self {
        let context = Arc::new(ProcessContext::own(StartedBy::Other, Arc::clone(settings)));
        Self { files, packages, context, log: EngineLog::start(None), known: HashMap::new() }
    }

    /// The secrets of all objects so far, for redaction.
    pub(super) fn secrets(&self) -> &KnownSecrets {
        self.log.secrets()
    }

    /// The provider of this address, started but not configured.
    pub(super) async fn of(&mut self, address: &str) -> Result<Arc<Instance>, Unavailable> {
        if let Some(known) = self.known.get(address) {
            return known.clone();
        }
        let started = self.start(address).await;
        self.known.insert(address.to_owned(), started.clone());
        started
    }

    async fn start(&self, address: &str) -> Result<Arc<Instance>, Unavailable> {
        let provider_type = address.rsplit('/').next().unwrap_or(address);
        let file = self.file(address, provider_type).await?;
        let (named, context) = (file.clone(), Arc::clone(&self.context));
        if let Some(warning) = blocking(move || daemon::unverified(&named, context.environment())).await {
            warn(&warning);
        }
        let package = option_for(self.packages, address, provider_type).unwrap_or(provider_type);
        let known = known_address(address).ok();
        lumi::start(package, known, file.clone(), &self.context, &self.log)
            .await
            .map_err(|error| Unavailable::Start { address: address.to_owned(), file, error: Arc::new(error) })
    }

    async fn file(&self, address: &str, provider_type: &str) -> Result<PathBuf, Unavailable> {
        if let Some(file) = option_for(self.files, address, provider_type) {
            return Ok(find_executable(Path::new(file)));
        }
        if let Some((address, version)) = cached(address) {
            return self.verified(&address, &version).await;
        }
        lumi::provider(provider_type, None, std::env::var_os("PATH")).ok_or_else(|| Unavailable::NotFound {
            address: address.to_owned(),
            provider_type: provider_type.to_owned(),
        })
    }

    /// Verifies a provider in the cache by installing its exact version: one that isthmus did not
    /// install is compared with its origin.
    async fn verified(&self, address: &ProviderAddress, version: &Version) -> Result<PathBuf, Unavailable> {
        let installer = Installation::configured(&self.context).installer.map_err(Arc::new)?;
        let exactly = VersionConstraint::exactly(version);
        let installed = installer.install(address, &exactly, &|_| {}).await.map_err(|error| {
            Unavailable::Unverified { address: address.to_string(), error: Arc::from(error) }
        })?;
        installed.warnings.iter().for_each(|warning| warn(warning));
        Ok(installed.executable)
    }

    pub(super) async fn end(self) {
        for provider in self.known.into_values().flatten() {
            provider.end(GRACE).await;
        }
        self.log.flush().await;
    }
}

/// An address in a state. One from before Terraform 0.13 has only the type.
fn known_address(address: &str) -> Result<ProviderAddress, AddressError> {
    ProviderAddress::parse(address.strip_prefix("-/").unwrap_or(address))
}

/// The newest version of a provider in the cache.
fn cached(address: &str) -> Option<(ProviderAddress, Version)> {
    let cache = ProviderCache::new(home::provider_cache(&Environment::current()).ok()?);
    let any = VersionConstraint::parse("").ok()?;
    let address = known_address(address).ok()?;
    let other = address.to_string().strip_prefix(TERRAFORM_HOST).map(|rest| format!("{DEFAULT_HOST}{rest}"));
    let other = other.and_then(|other| ProviderAddress::parse(&other).ok());
    [Some(address), other].into_iter().flatten().find_map(|address| {
        let found = cache.find(&address, &any).ok()?;
        Some((address, found.version))
    })
}

/// The value of an option for a provider: by its address, or else by its type.
fn option_for<'a>(options: &'a [(String, String)], address: &str, provider_type: &str) -> Option<&'a str> {
    let by = |name: &str| options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    by(address).or_else(|| by(provider_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_more_than_a_type() {
        let options = [("random", "one"), ("a.com/b/random", "two")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(option_for(&options, "a.com/b/random", "random"), Some("two"));
        assert_eq!(option_for(&options, "a.com/c/random", "random"), Some("one"));
        assert_eq!(option_for(&options, "a.com/c/other", "other"), None);
    }
}
