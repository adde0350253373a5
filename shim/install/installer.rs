//! From a provider's address to a program that may be started: found in the cache, or fetched, verified and put there.
//!
//! A version that is named exactly and is in the cache needs no network. Otherwise it is the newest that any of the origins has which the
//! user's configuration names; what a registry answered is remembered for a while. When they cannot be queried, the newest of the
//! cache is taken, with a warning. A lock file goes before all of this.
//!
//! A version is put into the cache whole: it is downloaded and unpacked in a directory beside its place, and appears there by one
//! rename, under the lock of the place. Whoever is killed on the way leaves nothing but that directory, which the next one who has
//! the lock removes. What is in the cache without a record of its verification was not installed by isthmus: it is fetched once more
//! and compared. Where no origin can be reached, or none has it, it is started with a warning, each time; whatever else keeps it from
//! being verified is a refusal, and it is not started ([`FailureClass`]).

mod delivery;
mod error;
mod memory;
mod origins;
mod place;
mod published_hashes;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use isthmus_common::permissions::create_directories;
use semver::Version;

use super::cache::lock::FolderLock;
use super::cache::record::{Record, seconds};
use super::cache::staging::{Staging, remove_abandoned};
use super::cache::{CachedProvider, ProviderCache, Verification};
use super::download::Progress;
use super::registry::{Listing, RegistryError, choose};
use super::{
    DEFAULT_HOST, FailureClass, FileSum, LockFile, NotCached, PackageForm, PackageHash, Platform,
    ProviderAddress, UnverifiedReason, VersionConstraint,
};

pub use delivery::Delivery;
use delivery::Receiver;
pub use error::InstallError;
pub use origins::{Origins, Overridden};
use place::{Place, Placed};

/// Terraform's registry. OpenTofu's is the default here.
const TERRAFORM_HOST: &str = "registry.terraform.io";

/// How long it is before the origins are queried again about what they did not verify: an engine starts a plugin several times in one
/// run, and each query of a network that swallows everything takes half a minute.
const ASK_AGAIN: Duration = Duration::from_secs(15 * 60);

/// What is demanded of signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignaturePolicy {
    /// Everything must be signed, at the default host too.
    pub enforce_validation: bool,
    /// Keys must not have expired.
    pub enforce_expiration: bool,
}

impl SignaturePolicy {
    /// OpenTofu's variable that demands signatures.
    pub const VALIDATION: &str = "OPENTOFU_ENFORCE_GPG_VALIDATION";
    /// OpenTofu's variable that demands keys that have not expired.
    pub const EXPIRATION: &str = "OPENTOFU_ENFORCE_GPG_EXPIRATION";

    /// What OpenTofu's variables say.
    pub fn from_environment() -> Self {
        let is_enforced = |name| Self::is_enforced(std::env::var_os(name).as_deref());
        Self {
            enforce_validation: is_enforced(Self::VALIDATION),
            enforce_expiration: is_enforced(Self::EXPIRATION),
        }
    }

    /// Whether a variable's value demands more. OpenTofu understands nothing but `true`; here everything does that is no
    /// spelling of false, since whoever writes `1` or `yes` wants to be protected.
    pub fn is_enforced(value: Option<&OsStr>) -> bool {
        let is_off = |value: &OsStr| {
            let text = value.to_str().map(str::trim);
            text.is_some_and(|text| {
                ["false", "no", "off", "0"].iter().any(|off| text.eq_ignore_ascii_case(off))
            })
        };
        value.is_some_and(|value| !value.is_empty() && !is_off(value))
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
    /// Whether the origins are queried about what they did not verify a moment ago.
    queries_again: bool,
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
        Self { cache, origins, policy, lock: None, queries_again: false }
    }

    /// The same, that queries the origins again about what they did not verify, however lately that was.
    #[must_use]
    pub fn querying_again(self) -> Self {
        Self { queries_again: true, ..self }
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
        match self.newest(address, constraint, listener).await {
            Ok(installed) => Ok(installed),
            Err(error) => Err(self.beside_other_registry(address, error).await),
        }
    }

    async fn newest(
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

    /// Fetches the package of a version for any machine into a directory, and puts nothing into the cache.
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
                Err(error) if error.allows_next_origin() => absences.push(*error),
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
                Err(error) if error.allows_next_origin() => absences.push(*error),
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

    /// The newest version of the cache, because the origins have none that will do, or cannot be queried.
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
            // It was verified when it was installed. That there may be a newer one is another matter.
            Some(installed) if self.is_verified(&installed.verification) => installed,
            _ => self.unverified(address, found, error).await?,
        };
        if !self.origins.is_offline() {
            let (address, version) = (address.for_display(), &installed.version);
            let text = format!("using {address} {version}, the newest matching version in the cache: {why}");
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
        let error = match self.fetch(address, version, listener).await {
            Ok(installed) => return Ok(installed),
            Err(error) => error,
        };
        match found {
            Ok(found) => {
                let error = match *error {
                    // A cache that cannot be written says nothing about the provider. The origins do.
                    InstallError::Write { .. } => self.offered(address, version).await.err().unwrap_or(error),
                    _ => error,
                };
                self.unverified(address, found, error).await
            }
            Err(cached) => Err(self.explained(address, constraint, error, cached).await),
        }
    }

    /// Whether any origin offers a version.
    async fn offered(&self, address: &ProviderAddress, version: &Version) -> Result<(), Box<InstallError>> {
        let mut absences = Vec::new();
        for origin in self.origins.of(address)? {
            match origin.offer(address, version, self.cache.platform()).await {
                Err(error) if error.allows_next_origin() => absences.push(*error),
                offer => return offer.map(drop),
            }
        }
        Err(InstallError::nowhere(absences))
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
        Ok(Some(installed(address, found, record.verification)))
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

    /// Whether a record is enough to start a provider without a word.
    fn is_verified(&self, verification: &Verification) -> bool {
        match verification {
            Verification::Signed { .. } | Verification::Mirrored { .. } => true,
            Verification::Unsigned => !self.policy.enforce_validation,
            Verification::Unverified { .. } => false,
        }
    }

    /// Whether a provider has to be verified now, before it is started.
    fn is_due(&self, verification: &Verification) -> bool {
        match verification {
            Verification::Unverified { since, .. } if !self.policy.enforce_validation => {
                let passed = seconds(self.origins.now()).checked_sub(*since);
                let is_old = passed.is_none_or(|passed| passed >= ASK_AGAIN.as_secs());
                !self.origins.is_offline() && (is_old || self.queries_again)
            }
            verification => !self.is_verified(verification),
        }
    }

    /// A provider of the cache that could not be verified, because of this error: it may be started only if that says that no origin
    /// could be reached or none has it, and then with a warning.
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
        let folder = self.cache.package_folder(address, &found.version);
        let path = self.cache.record_of(&folder);
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
        self.check_lock(address, PackageForm::Folder(folder), None).await?;
        let verification = Verification::Unverified { since: seconds(self.origins.now()), reason };
        let (recorded, executable) = (verification.clone(), found.executable.clone());
        blocking(move || {
            // In a cache that cannot be written it is the same at each start; its programs are not read for nothing.
            if path.parent().is_some_and(|folder| tempfile::tempfile_in(folder).is_ok()) {
                let _ = Record::of(&executable, None, recorded).and_then(|record| record.write(&path));
            }
        })
        .await;
        Ok(installed(address, &found, verification))
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
        create_directories(&folder).map_err(write)?;
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
        let platform = self.cache.platform();
        remove_abandoned(&folder, platform);
        let staging = Staging::create_in(&folder, platform).map_err(write)?;
        let delivery = self.deliver(address, version, platform, staging.path(), listener).await?;
        self.check_lock(address, delivery.package.clone(), None).await?;
        let place = Place {
            program: format!("terraform-provider-{}", address.provider_type()),
            record: self.cache.record_of(&package_folder),
            package: package_folder,
            before: before.map(|found| found.executable),
        };
        let Delivery { package, verification, mut warnings, .. } = delivery;
        let recorded = verification.clone();
        // The lock goes along, so that it is held until this is over, whoever still waits for it.
        let placed = blocking(move || {
            let placed = place.fill(&staging, &package, recorded);
            drop((staging, lock));
            placed
        });
        let Placed { executable, kept } = placed.await?;
        if let Some(kept) = kept {
            let place = self.cache.package_folder(address, version);
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

    /// Why a version cannot be had, with what there is instead.
    async fn explained(
        &self,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
        error: Box<InstallError>,
        cached: Box<NotCached>,
    ) -> Box<InstallError> {
        let unknown = error.allows_next_origin() || matches!(*error, InstallError::Protocols { .. });
        if unknown
            && let Ok(listing) = self.listing(address, true).await
            && let Err(none) = choose(address, constraint, &listing, self.cache.platform())
        {
            return Box::new(InstallError::NoVersion(none));
        }
        error.beside(cached)
    }

    /// The same, and which mirror has the provider of the same name from the other public registry. OpenTofu and Terraform make the same
    /// directories with other hosts in them.
    async fn beside_other_registry(
        &self,
        address: &ProviderAddress,
        error: Box<InstallError>,
    ) -> Box<InstallError> {
        let (Some(other), Ok(origins)) = (in_other_registry(address), self.origins.of(address)) else {
            return error;
        };
        let is_reachable = match error.class() {
            FailureClass::Absent => true,
            FailureClass::Unreachable => false,
            FailureClass::Refused => return error,
        };
        for origin in origins.iter().filter(|origin| origin.is_mirror(is_reachable)) {
            if origin.versions(&self.cache, &other).await.is_ok() {
                let mirror = origin.to_string();
                return Box::new(InstallError::OtherRegistry { error, mirror, address: other });
            }
        }
        error
    }
}

/// An installed provider. That nothing is known about it is told at each start.
fn installed(address: &ProviderAddress, found: &CachedProvider, verification: Verification) -> Installed {
    let warning = match &verification {
        Verification::Signed { .. } | Verification::Unsigned | Verification::Mirrored { .. } => None,
        Verification::Unverified { reason, .. } => Some(format!(
            "{} {} is unverified: it was not installed by isthmus, and {reason}",
            address.for_display(),
            found.version
        )),
    };
    Installed {
        version: found.version.clone(),
        executable: found.executable.clone(),
        verification,
        warnings: warning.into_iter().collect(),
    }
}

/// The address of the provider of the same name in the other of the two public registries.
fn in_other_registry(address: &ProviderAddress) -> Option<ProviderAddress> {
    let host = match address.host() {
        DEFAULT_HOST => TERRAFORM_HOST,
        TERRAFORM_HOST => DEFAULT_HOST,
        _ => return None,
    };
    ProviderAddress::parse(&format!("{host}/{}/{}", address.namespace(), address.provider_type())).ok()
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
