//! Installation of providers: from an address to a verified binary in the cache.
//!
//! An exact version in the cache needs no network. Otherwise the newest matching version of the
//! configured origins is installed; a registry's version list is cached for a while. When origins
//! cannot be queried, the newest matching version in the cache is used, with a warning. A lock file
//! has precedence over all of this.
//!
//! Installations are atomic: the package is downloaded and unpacked in a staging directory and
//! renamed, under the version's lock. A killed process leaves only the staging directory, which the
//! next holder of the lock removes. A version in the cache without a record was not installed by
//! isthmus: it is downloaded and compared. If no origin can be reached, or none has it, it is
//! started with a warning, each time; after any other failure it is not started ([`FailureClass`]).

mod delivery;
mod error;
mod events;
mod memory;
mod origins;
mod other_registry;
mod place;
mod policy;
mod project_lock;
mod published_hashes;
mod similar_provider;

use std::path::{Path, PathBuf};
use std::time::Duration;

use isthmus_common::blocking;
use isthmus_common::permissions::create_directories;
use semver::Version;

use crate::cache::lock::DirectoryLock;
use crate::cache::record::{Record, seconds};
use crate::cache::staging::{Staging, remove_abandoned};
use crate::cache::{CachedProvider, NotCached};
use crate::diagnosis::Probe;
use crate::failure::FailureClass;
use crate::registry::{Listing, choose};
use crate::{
    FileSum, LockFile, PackageForm, Platform, ProviderAddress, ProviderCache, UnverifiedReason, Verification,
    VersionConstraint,
};

pub use delivery::Delivery;
use delivery::Receiver;
pub use error::InstallError;
pub(crate) use events::Listener;
pub use events::{InstallEvent, Installed};
pub use origins::Origins;
pub use origins::Overridden;
use place::{Place, Placed};
pub use policy::SignaturePolicy;
use project_lock::ProjectLock;

/// How long unverified providers are not queried again: an engine starts a plugin several times in
/// one run, and a query in a network that drops all packets takes half a minute.
const ASK_AGAIN: Duration = Duration::from_secs(15 * 60);

/// Installs providers.
#[derive(Clone, Debug)]
pub struct Installer {
    cache: ProviderCache,
    origins: Origins,
    policy: SignaturePolicy,
    lock: Option<ProjectLock>,
    /// Whether unverified providers are queried again at once.
    queries_again: bool,
}

impl Installer {
    /// Installs from these origins into a cache.
    pub fn new(cache: ProviderCache, origins: Origins, policy: SignaturePolicy) -> Self {
        Self { cache, origins, policy, lock: None, queries_again: false }
    }

    /// Queries unverified providers again, however recent the last query was.
    #[must_use]
    pub fn querying_again(self) -> Self {
        Self { queries_again: true, ..self }
    }

    /// Installs exactly the versions and packages of a project's lock file, read from `path`.
    #[must_use]
    pub fn with_lock(self, lock: LockFile, path: PathBuf) -> Self {
        Self { lock: Some(ProjectLock { file: lock, path }), ..self }
    }

    /// The cache.
    pub fn cache(&self) -> &ProviderCache {
        &self.cache
    }

    /// The development override of a provider, which has precedence over everything else.
    ///
    /// # Errors
    /// When it does not exist.
    pub fn overridden(&self, address: &ProviderAddress) -> Result<Option<Overridden>, Box<InstallError>> {
        self.origins.overridden(address).transpose()
    }

    /// The newest matching version of a provider, or the locked one.
    ///
    /// # Errors
    /// When it cannot be installed or verified.
    pub async fn install(
        &self,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
        listener: Listener<'_>,
    ) -> Result<Installed, Box<InstallError>> {
        match self.newest(address, constraint, listener).await {
            Ok(installed) => Ok(installed),
            Err(error) => Err(self.with_alternatives(error, address, constraint).await),
        }
    }

    async fn newest(
        &self,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
        listener: Listener<'_>,
    ) -> Result<Installed, Box<InstallError>> {
        if let Some(lock) = &self.lock {
            return self.version(address, constraint, lock.version(address, constraint)?, listener).await;
        }
        if let Some(version) = constraint.only_version().filter(|version| constraint.allows(version)) {
            return self.version(address, constraint, version, listener).await;
        }
        let listing = match self.origins.listing(&self.cache, address, false).await {
            Ok(listing) => listing,
            Err(error) => return self.newest_of_cache(address, constraint, error).await,
        };
        match choose(address, constraint, &listing, self.cache.platform()) {
            Ok(chosen) => {
                let mut installed = self.version(address, constraint, &chosen.version, listener).await?;
                let said = listing.warnings.into_iter();
                let said = said.map(|text| format!("the registry says of {address}: {text}"));
                installed.warnings.extend(said.chain(chosen.warning));
                Ok(installed)
            }
            Err(none) => self.newest_of_cache(address, constraint, none.into()).await,
        }
    }

    /// Downloads the package of a version for any platform into a directory, without installing it.
    ///
    /// # Errors
    /// When it cannot be downloaded or verified.
    pub async fn deliver(
        &self,
        address: &ProviderAddress,
        version: &Version,
        platform: Platform,
        directory: &Path,
        listener: Listener<'_>,
    ) -> Result<Delivery, Box<InstallError>> {
        let receiver = Receiver { address, version, policy: self.policy, listener };
        let (offer, place) = self.origins.offer(address, version, platform).await?;
        receiver.take(offer, place, directory.join("archive.zip")).await
    }

    /// The available versions of a provider, from the best origin if several have one.
    ///
    /// # Errors
    /// When no origin has any, or one fails.
    pub async fn versions(&self, address: &ProviderAddress) -> Result<Listing, Box<InstallError>> {
        match self.origins.listing(&self.cache, address, false).await {
            Ok(listing) => Ok(listing),
            Err(error) => Err(self.with_alternatives(error, address, &VersionConstraint::any()).await),
        }
    }

    /// Queries the origins of a provider, for a diagnosis: without a cached answer, and without changing anything.
    ///
    /// # Errors
    /// When no origin has it, or one fails.
    pub async fn probe(&self, address: &ProviderAddress) -> Result<Probe, Box<InstallError>> {
        match self.origins.probe(&self.cache, address).await {
            Ok(probe) => Ok(probe),
            Err(error) => Err(self.with_alternatives(error, address, &VersionConstraint::any()).await),
        }
    }

    /// An error about a provider, with others that may have been meant.
    async fn with_alternatives(
        &self,
        error: Box<InstallError>,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
    ) -> Box<InstallError> {
        let (origins, cache) = (&self.origins, &self.cache);
        let error = other_registry::named_beside(error, origins, cache, address, constraint).await;
        similar_provider::named_beside(error, &self.cache, address).await
    }

    /// The newest matching version in the cache, because the origins have none, or cannot be
    /// queried.
    async fn newest_of_cache(
        &self,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
        error: Box<InstallError>,
    ) -> Result<Installed, Box<InstallError>> {
        let (cache, wanted, allowed) = (self.cache.clone(), address.clone(), constraint.clone());
        let found = match blocking(move || cache.find(&wanted, &allowed)).await {
            Ok(found) => found,
            Err(cached) => return Err(error.beside(cached)),
        };
        let why = error.to_string();
        let mut installed = match self.checked(address, &found).await? {
            // It was verified on installation. A newer version may exist nevertheless.
            Some(installed) if self.policy.is_verified(&installed.verification) => installed,
            _ => self.unverified(address, found, error).await?,
        };
        if !self.origins.is_offline() {
            let (address, version) = (address.for_display(), &installed.version);
            let text = format!("using {address} {version}, the newest matching version in the cache: {why}");
            installed.warnings.insert(0, text);
        }
        Ok(installed)
    }

    /// Installs a version of a provider.
    async fn version(
        &self,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
        version: &Version,
        listener: Listener<'_>,
    ) -> Result<Installed, Box<InstallError>> {
        let found = self.find(address, version).await;
        if let Ok(found) = &found
            && let Some(installed) = self.checked(address, found).await?
            && !self.is_due(address, &installed.verification)
        {
            return Ok(installed);
        }
        let error = match self.fetch(address, version, listener).await {
            Ok(installed) => return Ok(installed),
            Err(error) => error,
        };
        match found {
            Ok(found) => {
                let error = match *error {
                    // The cache cannot be written, which does not affect the verification.
                    InstallError::Write { .. } => {
                        let offer = self.origins.offer(address, version, self.cache.platform()).await;
                        offer.err().unwrap_or(error)
                    }
                    _ => error,
                };
                self.unverified(address, found, error).await
            }
            Err(cached) => Err(self.explained(address, constraint, error, cached).await),
        }
    }

    async fn find(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Result<CachedProvider, Box<NotCached>> {
        let (cache, address, constraint) =
            (self.cache.clone(), address.clone(), VersionConstraint::exactly(version));
        blocking(move || cache.find(&address, &constraint)).await
    }

    /// A provider in the cache, if it is verified.
    async fn checked(
        &self,
        address: &ProviderAddress,
        found: &CachedProvider,
    ) -> Result<Option<Installed>, Box<InstallError>> {
        let directory = self.cache.package_directory(address, &found.version);
        let (path, executable) = (Record::path_of(&directory), found.executable.clone());
        let checked = blocking(move || {
            let Some(mut record) = Record::read(&path) else { return Ok(None) };
            record.check(&executable, &path).map(|()| Some(record))
        });
        let Some(record) = checked.await? else { return Ok(None) };
        self.check_lock(address, PackageForm::Directory(directory), record.archive_sum()).await?;
        Ok(Some(Installed::cached(address, found.clone(), record.verification)))
    }

    async fn check_lock(
        &self,
        address: &ProviderAddress,
        package: PackageForm,
        archive: Option<FileSum>,
    ) -> Result<(), Box<InstallError>> {
        match &self.lock {
            Some(lock) => lock.check(address, package, archive).await,
            None => Ok(()),
        }
    }

    /// Whether a provider must be verified before it is started. What came from a mirror counts only
    /// where that mirror does: one may be a directory of another project.
    fn is_due(&self, address: &ProviderAddress, verification: &Verification) -> bool {
        match verification {
            Verification::Mirrored { mirror } if !self.origins.have_mirror(address, mirror) => true,
            Verification::Unverified { since, .. } if !self.policy.enforce_validation => {
                let passed = seconds(self.origins.now()).checked_sub(*since);
                let is_old = passed.is_none_or(|passed| passed >= ASK_AGAIN.as_secs());
                !self.origins.is_offline() && (is_old || self.queries_again)
            }
            verification => !self.policy.is_verified(verification),
        }
    }

    /// An unverified provider in the cache: the error decides whether it may be started, with a
    /// warning: only if no origin could be reached or none has it.
    async fn unverified(
        &self,
        address: &ProviderAddress,
        found: CachedProvider,
        error: Box<InstallError>,
    ) -> Result<Installed, Box<InstallError>> {
        let reason = match error.class() {
            FailureClass::Refused => return Err(error),
            FailureClass::Unreachable => UnverifiedReason::Unreachable(error.to_string()),
            FailureClass::Absent => UnverifiedReason::Absent(error.to_string()),
        };
        let directory = self.cache.package_directory(address, &found.version);
        let path = Record::path_of(&directory);
        if self.policy.enforce_validation {
            let record = blocking(move || Record::read(&path)).await;
            let is_unsigned = record.is_some_and(|record| record.verification == Verification::Unsigned);
            return Err(Box::new(InstallError::Enforced {
                address: address.clone(),
                version: found.version,
                verification: if is_unsigned { "unsigned" } else { "unverified" },
                error,
            }));
        }
        self.check_lock(address, PackageForm::Directory(directory), None).await?;
        let now = seconds(self.origins.now());
        let verification = Verification::Unverified { since: now, reason: reason.clone() };
        let (recorded, executable) = (verification.clone(), found.executable.clone());
        blocking(move || {
            // In a read-only cache it would be the same at each start.
            if path.parent().is_none_or(|directory| tempfile::tempfile_in(directory).is_err()) {
                return;
            }
            let Ok(record) = Record::of(&executable, None, recorded) else { return };
            // Another process may have recorded the same meanwhile.
            let says_so = |verification| match verification {
                Verification::Unverified { since, reason: recorded } => {
                    recorded == reason && now.saturating_sub(since) < ASK_AGAIN.as_secs()
                }
                _ => false,
            };
            if !Record::read(&path).is_some_and(|record| says_so(record.verification)) {
                let _ = record.write(&path);
            }
        })
        .await;
        Ok(Installed::cached(address, found, verification))
    }

    /// Downloads a version and puts it into the cache, unless another process has done so
    /// meanwhile.
    async fn fetch(
        &self,
        address: &ProviderAddress,
        version: &Version,
        listener: Listener<'_>,
    ) -> Result<Installed, Box<InstallError>> {
        let package_directory = self.cache.package_directory(address, version);
        let directory = package_directory.parent().unwrap_or(&package_directory).to_owned();
        let write = |source| Box::new(InstallError::Write { path: directory.clone(), source });
        let created = directory.clone();
        blocking(move || create_directories(&created)).await.map_err(write)?;
        let waiting =
            || listener(InstallEvent::Waiting { address: address.clone(), version: version.clone() });
        let lock =
            DirectoryLock::take(&DirectoryLock::path_of(&package_directory), waiting).await.map_err(write)?;
        let before = self.find(address, version).await.ok();
        if let Some(found) = &before
            && let Some(installed) = self.checked(address, found).await?
            && !self.is_due(address, &installed.verification)
        {
            return Ok(installed);
        }
        let platform = self.cache.platform();
        let parent = directory.clone();
        let staging = blocking(move || {
            remove_abandoned(&parent, platform);
            Staging::create_in(&parent, platform)
        });
        let staging = staging.await.map_err(write)?;
        let delivery = self.deliver(address, version, platform, staging.path(), listener).await?;
        self.check_lock(address, delivery.package.clone(), None).await?;
        let place = Place {
            program: format!("terraform-provider-{}", address.provider_type()),
            record: Record::path_of(&package_directory),
            package: package_directory,
            before: before.map(|found| found.executable),
        };
        let Delivery { package, verification, mut warnings, .. } = delivery;
        let recorded = verification.clone();
        // The lock is moved along, so that it is held until completion, even if this future is
        // dropped.
        let placed = blocking(move || {
            let placed = place.fill(&staging, &package, recorded);
            drop((staging, lock));
            placed
        });
        let Placed { executable, kept } = placed.await?;
        if let Some(kept) = kept {
            let place = self.cache.package_directory(address, version);
            warnings.push(format!(
                "replaced {}, which differs from {address} {version}; its previous content is in {}",
                place.display(),
                kept.display()
            ));
        }
        let told = (address.clone(), version.clone(), verification.clone());
        listener(InstallEvent::Installed { address: told.0, version: told.1, verification: told.2 });
        Ok(Installed { version: version.clone(), executable, verification, warnings })
    }

    /// Adds available alternatives to the error.
    async fn explained(
        &self,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
        error: Box<InstallError>,
        cached: Box<NotCached>,
    ) -> Box<InstallError> {
        let unknown = error.allows_next_origin() || matches!(*error, InstallError::Protocols { .. });
        if unknown
            && let Ok(listing) = self.origins.listing(&self.cache, address, true).await
            && let Err(none) = choose(address, constraint, &listing, self.cache.platform())
        {
            return none.into();
        }
        error.beside(cached)
    }
}

#[cfg(test)]
mod tests;
