//! The providers of a state, each started for its first object.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::{Environment, blocking};
use isthmus_install::{
    AddressError, DEFAULT_HOST, InstallError, ProviderAddress, ProviderCache, VersionConstraint,
    find_executable,
};
use isthmus_known_secrets::KnownSecrets;
use semver::Version;

use super::super::super::legacy_plugin as lumi;
use crate::cli::output::warn;
use isthmus_context::home::{self};
use isthmus_context::settings::Settings;
use isthmus_package::catalogue::TERRAFORM_HOST;
use isthmus_package::parameters::EXECUTABLE_PREFIX;
use isthmus_session::daemon::{self, Chosen, Installation, InstallationError, Instance};
use isthmus_session::engine::EngineLog;
use isthmus_session::process_context::{ProcessContext, StartedBy};

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
    chosen: Chosen,
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
        let chosen = Chosen::in_directory(context.working_directory().unwrap_or(Path::new("")), &context);
        Self { files, packages, context, chosen, log: EngineLog::start(None), known: HashMap::new() }
    }

    /// The secrets of all objects so far, for redaction.
    pub(super) fn secrets(&self) -> &KnownSecrets {
        self.log.secrets()
    }

    /// Those of these addresses that only the state names.
    pub(super) fn only_of_state<'b>(&self, addresses: impl IntoIterator<Item = &'b str>) -> BTreeSet<String> {
        let named = addresses.into_iter().filter_map(|address| {
            let provider_type = provider_type(address);
            if option_for(self.files, address, provider_type).is_some() {
                return None;
            }
            match (self.cached(address), known_address(address)) {
                (Some((address, version)), _) => {
                    self.chosen.unless_chosen(&address.to_string(), &version.to_string())
                }
                (None, Ok(address)) if self.chosen.is_replaced(&address) => None,
                (None, _) => {
                    let file = lumi::provider(provider_type, None, std::env::var_os("PATH"))?;
                    Some(file.display().to_string())
                }
            }
        });
        named.collect()
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
        let provider_type = provider_type(address);
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
        if let Ok(address) = known_address(address)
            && let Some(overridden) = self.chosen.overridden(&address).map_err(unverified(&address))?
        {
            warn(&overridden.warning);
            return Ok(overridden.executable);
        }
        if let Some((address, version)) = self.cached(address) {
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
        let context = self.chosen.context_of(&address.to_string(), &version.to_string());
        let installer = Installation::configured(context).installer.map_err(Arc::new)?;
        let exactly = VersionConstraint::exactly(version);
        let installed = installer.install(address, &exactly, &|_| {}).await.map_err(unverified(address))?;
        installed.warnings.iter().for_each(|warning| warn(warning));
        Ok(installed.executable)
    }

    /// The locked version of a provider in the cache, or the newest one.
    fn cached(&self, address: &str) -> Option<(ProviderAddress, Version)> {
        let cache = ProviderCache::new(home::provider_cache(&Environment::current()).ok()?);
        let address = known_address(address).ok()?;
        let other =
            address.to_string().strip_prefix(TERRAFORM_HOST).map(|rest| format!("{DEFAULT_HOST}{rest}"));
        let other = other.and_then(|other| ProviderAddress::parse(&other).ok());
        [Some(address), other].into_iter().flatten().find_map(|address| {
            let locked = self.chosen.locked_version(&address).map(VersionConstraint::exactly);
            let found = cache.find(&address, &locked.unwrap_or_else(VersionConstraint::any)).ok()?;
            Some((address, found.version))
        })
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

fn provider_type(address: &str) -> &str {
    address.rsplit('/').next().unwrap_or(address)
}

fn unverified(address: &ProviderAddress) -> impl FnOnce(Box<InstallError>) -> Unavailable {
    |error| Unavailable::Unverified { address: address.to_string(), error: Arc::from(error) }
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
