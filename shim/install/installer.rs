//! From a provider's address to a program that may be started: found in the cache, or fetched, verified and put there.
//!
//! A version that is named exactly and is in the cache needs no network. Otherwise it is the newest that any of the places has which the
//! user's configuration names; what a registry answered is remembered for a while. When they cannot be asked, the newest of the
//! cache is taken, and that is told. A lock file goes before all of this.
//!
//! A version is put into the cache whole: it is downloaded and unpacked in a folder beside its place, and appears there by one
//! rename, under the lock of the place. Whoever is killed on the way leaves nothing but that folder, which the next one who has
//! the lock removes. What is in the cache without a record of its verification was put there by somebody else: it is fetched once more
//! and compared. If that cannot be done, it is trusted, and recorded as what it is.

mod announced;
mod delivery;
mod error;
mod memory;
mod origins;
mod place;

use std::path::{Path, PathBuf};
use std::time::Duration;

use semver::Version;

use super::cache::lock::FolderLock;
use super::cache::record::{Record, seconds};
use super::cache::{CachedProvider, ProviderCache, Verification};
use super::download::Progress;
use super::registry::{Listing, RegistryError, choose};
use super::{
    FileSum, LockFile, NotCached, PackageForm, PackageHash, Platform, ProviderAddress, VersionConstraint,
};

pub use delivery::Delivery;
use delivery::Receiver;
pub use error::InstallError;
pub use origins::{Origins, Overridden};
use place::{Place, remove_unfinished};

/// How long it is before a registry is asked again about what it could not be asked about.
const ASK_AGAIN: Duration = Duration::from_secs(24 * 3600);

/// What is demanded of signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignaturePolicy {
    /// Everything must be signed, at the default host too.
    pub enforce_validation: bool,
    /// Keys must not have expired.
    pub enforce_expiration: bool,
}

impl SignaturePolicy {
    /// What OpenTofu's variables say.
    pub fn from_environment() -> Self {
        let is_true = |name| std::env::var(name).is_ok_and(|value| value == "true");
        Self {
            enforce_validation: is_true("OPENTOFU_ENFORCE_GPG_VALIDATION"),
            enforce_expiration: is_true("OPENTOFU_ENFORCE_GPG_EXPIRATION"),
        }
    }
}

/// Installs providers.
#[derive(Clone, Debug)]
pub struct Installer {
    cache: ProviderCache,
    origins: Origins,
    policy: SignaturePolicy,
    /// What the user's project uses, and where that is written.
    lock: Option<(LockFile, PathBuf)>,
}

/// A provider that may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its version.
    pub version: Version,
    /// Its program.
    pub executable: PathBuf,
    /// Who vouches for it.
    pub verification: Verification,
    /// What whoever asked for it should know.
    pub warnings: Vec<String>,
}

/// What is going on, for those who wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallEvent {
    /// Somebody else is at the same.
    Waiting {
        /// Which provider.
        address: ProviderAddress,
        /// Which version.
        version: Version,
    },
    /// A download begins.
    Downloading {
        /// Which provider.
        address: ProviderAddress,
        /// Which version.
        version: Version,
        /// From which server.
        server: String,
    },
    /// It goes on.
    Progress(Progress),
    /// It is there, verified.
    Installed {
        /// Which provider.
        address: ProviderAddress,
        /// Which version.
        version: Version,
        /// Who vouches for it.
        verification: Verification,
    },
}

/// Whoever is told what is going on.
pub type Listener<'a> = &'a (dyn Fn(InstallEvent) + Send + Sync);

impl Installer {
    /// Installs into a cache, from these places.
    pub fn new(cache: ProviderCache, origins: Origins, policy: SignaturePolicy) -> Self {
        Self { cache, origins, policy, lock: None }
    }

    /// The same, of exactly the versions and packages that a project's lock file knows. It was read from `path`.
    #[must_use]
    pub fn with_lock(self, lock: LockFile, path: PathBuf) -> Self {
        Self { lock: Some((lock, path)), ..self }
    }

    /// The cache.
    pub fn cache(&self) -> &ProviderCache {
        &self.cache
    }

    /// Where a provider's developers want it to be taken from; that goes before everything else.
    ///
    /// # Errors
    /// When it is not there.
    pub fn overridden(&self, address: &ProviderAddress) -> Result<Option<Overridden>, Box<InstallError>> {
        self.origins.overridden(address).transpose()
    }

    /// The newest version of a provider that will do, or the one that is locked.
    ///
    /// # Errors
    /// When it cannot be had, or is not what it should be.
    pub async fn install(
        &self,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
        listener: Listener<'_>,
    ) -> Result<Installed, Box<InstallError>> {
        if let Some(locked) = self.locked_version(address, constraint)? {
            return self.version(address, constraint, locked, listener).await;
        }
        if let Some(version) = constraint.only_version().filter(|version| constraint.allows(version)) {
            return self.version(address, constraint, version, listener).await;
        }
        let listing = match self.listing(address, false).await {
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
            Err(none) => {
                self.newest_of_cache(address, constraint, Box::new(InstallError::NoVersion(none))).await
            }
        }
    }

    /// Fetches the package of a version for any machine into a folder, and puts nothing into the cache.
    ///
    /// # Errors
    /// When it cannot be had, or is not what it should be.
    pub async fn deliver(
        &self,
        address: &ProviderAddress,
        version: &Version,
        platform: Platform,
        folder: &Path,
        listener: Listener<'_>,
    ) -> Result<Delivery, Box<InstallError>> {
        let receiver = Receiver { address, version, policy: self.policy, listener };
        let mut absences = Vec::new();
        for origin in self.origins.of(address)? {
            let taken = match origin.offer(address, version, platform).await {
                Ok(offer) => receiver.take(offer, origin.place(), folder.join("archive.zip")).await,
                Err(error) => Err(error),
            };
            match taken {
                Err(error) if error.is_absence() => absences.push(*error),
                taken => return taken,
            }
        }
        Err(InstallError::nowhere(absences))
    }

    /// The versions of a provider that there are, best source first where several have one.
    ///
    /// # Errors
    /// When nobody has any, or somebody does not answer as he should.
    pub async fn versions(&self, address: &ProviderAddress) -> Result<Listing, Box<InstallError>> {
        self.listing(address, false).await
    }

    async fn listing(&self, address: &ProviderAddress, now: bool) -> Result<Listing, Box<InstallError>> {
        let (mut all, mut absences) = (None::<Listing>, Vec::new());
        for origin in self.origins.of(address)? {
            let listing = match now {
                true => origin.versions_now(&self.cache, address).await,
                false => origin.versions(&self.cache, address).await,
            };
            match listing {
                Ok(listing) => {
                    let all = all.get_or_insert_default();
                    for listed in listing.versions {
                        if !all.versions.iter().any(|known| known.version == listed.version) {
                            all.versions.push(listed);
                        }
                    }
                    all.warnings.extend(listing.warnings);
                }
                Err(error) if error.is_absence() => absences.push(*error),
                Err(error) => return Err(error),
            }
        }
        all.ok_or_else(|| InstallError::nowhere(absences))
    }

    /// The version that is locked, if a lock counts.
    fn locked_version<'a>(
        &'a self,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
    ) -> Result<Option<&'a Version>, Box<InstallError>> {
        let Some((lock, path)) = &self.lock else { return Ok(None) };
        let refused = |locked| {
            let (path, address, constraint) = (path.clone(), address.clone(), constraint.clone());
            Box::new(InstallError::NotInLock { path, address, constraint, locked })
        };
        match lock.provider(address) {
            None => Err(refused(None)),
            Some(locked) if !constraint.allows(&locked.version) => Err(refused(Some(locked.version.clone()))),
            Some(locked) => Ok(Some(&locked.version)),
        }
    }

    /// The newest version of the cache, for want of a registry, or of something in it.
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
        let mut installed = match self.checked(address, &found).await? {
            Some(installed) => installed,
            None => self.trust(address, found).await,
        };
        if !self.origins.is_offline() {
            let text = format!(
                "{error}. Version {} is used, the newest of the cache that will do",
                installed.version
            );
            installed.warnings.insert(0, text);
        }
        Ok(installed)
    }

    /// One version of a provider.
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
            && !self.is_due(&installed.verification)
        {
            return Ok(installed);
        }
        let fetched = self.fetch(address, version, listener).await;
        match (fetched, found) {
            (Ok(installed), _) => Ok(installed),
            // Somebody has found it wanting: that counts more than that it is there.
            (Err(error), Ok(_)) if error.is_verdict() => Err(error),
            (Err(error), Ok(found)) => {
                let folder = self.cache.package_folder(address, version);
                self.check_lock(address, PackageForm::Folder(folder), None).await?;
                let mut installed = self.trust(address, found).await;
                if !self.origins.is_offline() {
                    installed.warnings.push(format!("it could not be verified: {error}"));
                }
                Ok(installed)
            }
            (Err(error), Err(cached)) => Err(self.explained(address, constraint, error, cached).await),
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

    /// A provider of the cache, if it is known who vouches for it.
    async fn checked(
        &self,
        address: &ProviderAddress,
        found: &CachedProvider,
    ) -> Result<Option<Installed>, Box<InstallError>> {
        let folder = self.cache.package_folder(address, &found.version);
        let path = self.cache.record_of(&folder);
        let executable = found.executable.clone();
        let checked = blocking(move || {
            let Some(mut record) = Record::read(&path) else { return Ok(None) };
            record.check(&executable, &path)?;
            Ok(Some(record))
        });
        let record = checked.await.map_err(|error| Box::new(InstallError::Altered(error)))?;
        let Some(record) = record else { return Ok(None) };
        self.check_lock(address, PackageForm::Folder(folder), record.archive_sum()).await?;
        Ok(Some(installed(found, record.verification)))
    }

    /// Refuses a package that is not the one that is locked. The sum of its archive is known without reading it.
    async fn check_lock(
        &self,
        address: &ProviderAddress,
        package: PackageForm,
        archive: Option<FileSum>,
    ) -> Result<(), Box<InstallError>> {
        let Some(locked) = self.lock.as_ref().and_then(|(lock, _)| lock.provider(address)) else {
            return Ok(());
        };
        if archive.is_some_and(|sum| locked.hashes.contains(&PackageHash::of_archive_sum(sum.0))) {
            return Ok(());
        }
        let (locked, address) = (locked.clone(), address.clone());
        let checked = blocking(move || locked.check(&address, package.as_local()).map(drop));
        checked.await.map_err(|error| Box::new(InstallError::Locked(error)))
    }

    /// Whether it should be asked once more who vouches for a provider.
    fn is_due(&self, verification: &Verification) -> bool {
        match verification {
            Verification::Unverified { since } if !self.origins.is_offline() => {
                let passed = seconds(self.origins.now()).checked_sub(*since);
                passed.is_none_or(|passed| passed >= ASK_AGAIN.as_secs())
            }
            _ => false,
        }
    }

    /// Takes a provider of the cache for what it seems to be, from here on. That is told once, unless nothing else was wanted.
    async fn trust(&self, address: &ProviderAddress, found: CachedProvider) -> Installed {
        let verification = Verification::Unverified { since: seconds(self.origins.now()) };
        let mut provider = installed(&found, verification.clone());
        let path = self.cache.record_of(&self.cache.package_folder(address, &found.version));
        let executable = found.executable;
        let is_new = blocking(move || {
            let is_new = !path.exists();
            // A cache that cannot be written is trusted at each start; its programs are not read for nothing.
            if path.parent().is_some_and(|folder| tempfile::tempfile_in(folder).is_ok()) {
                let _ = Record::of(&executable, None, verification).and_then(|record| record.write(&path));
            }
            is_new
        });
        if is_new.await && !self.origins.is_offline() {
            let version = &provider.version;
            provider.warnings.push(format!(
                "{address} {version} was put into the cache by somebody else, and is used without having been verified"
            ));
        }
        provider
    }

    /// Fetches a version, and puts it into the cache, unless somebody else has done so meanwhile.
    async fn fetch(
        &self,
        address: &ProviderAddress,
        version: &Version,
        listener: Listener<'_>,
    ) -> Result<Installed, Box<InstallError>> {
        let package_folder = self.cache.package_folder(address, version);
        let folder = package_folder.parent().unwrap_or(&package_folder).to_owned();
        let write = |source| Box::new(InstallError::Write { path: folder.clone(), source });
        std::fs::create_dir_all(&folder).map_err(write)?;
        let waiting =
            || listener(InstallEvent::Waiting { address: address.clone(), version: version.clone() });
        let lock = FolderLock::take(&self.cache.lock_of(&package_folder), waiting).await.map_err(write)?;
        let before = self.find(address, version).await.ok();
        if let Some(found) = &before
            && let Some(installed) = self.checked(address, found).await?
            && !self.is_due(&installed.verification)
        {
            return Ok(installed);
        }
        let unfinished = format!(".{}.unfinished-", self.cache.platform());
        for folder in [folder.as_path(), folder.parent().unwrap_or(&folder)] {
            remove_unfinished(folder, &unfinished);
        }
        let staging = tempfile::Builder::new().prefix(&unfinished).tempdir_in(&folder).map_err(write)?;
        let platform = self.cache.platform();
        let delivery = self.deliver(address, version, platform, staging.path(), listener).await?;
        self.check_lock(address, delivery.package.clone(), None).await?;
        let place = Place {
            program: format!("terraform-provider-{}", address.provider_type()),
            record: self.cache.record_of(&package_folder),
            package: package_folder,
            before: before.map(|found| found.executable),
        };
        let Delivery { package, verification, warnings, .. } = delivery;
        let recorded = verification.clone();
        // The lock goes along, so that it is held until this is over, whoever still waits for it.
        let placed = blocking(move || {
            let placed = place.fill(&staging, &package, recorded);
            drop((staging, lock));
            placed
        });
        let executable = placed.await?;
        let told = (address.clone(), version.clone(), verification.clone());
        listener(InstallEvent::Installed { address: told.0, version: told.1, verification: told.2 });
        Ok(Installed { version: version.clone(), executable, verification, warnings })
    }

    /// Why a version cannot be had, with what there is instead.
    async fn explained(
        &self,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
        error: Box<InstallError>,
        cached: Box<NotCached>,
    ) -> Box<InstallError> {
        let unknown = error.is_absence() || matches!(*error, InstallError::Protocols { .. });
        if unknown
            && let Ok(listing) = self.listing(address, true).await
            && let Err(none) = choose(address, constraint, &listing, self.cache.platform())
        {
            return Box::new(InstallError::NoVersion(none));
        }
        error.beside(cached)
    }
}

fn installed(found: &CachedProvider, verification: Verification) -> Installed {
    Installed {
        version: found.version.clone(),
        executable: found.executable.clone(),
        verification,
        warnings: Vec::new(),
    }
}

fn from_registry(error: RegistryError) -> Box<InstallError> {
    Box::new(InstallError::Registry(error))
}

/// Does what blocks where it may. A panic goes on here.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime goes down, and with it whoever waits here.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests;
