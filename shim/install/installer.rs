//! From a provider's address to a program that may be started: found in the cache, or fetched, verified and put there.
//!
//! A version that is named exactly and is in the cache needs no network. Otherwise the newest is that of the registry; what it
//! answered is remembered for a while. When it cannot be asked, the newest of the cache is taken, and that is told.
//!
//! A version is put into the cache whole: it is downloaded and unpacked in a folder beside its place, and appears there by one
//! rename, under the lock of the place. Whoever is killed on the way leaves nothing but that folder, which the next one who has
//! the lock removes. What is in the cache without a record of its verification was put there by somebody else: it is fetched once more
//! and compared. If that cannot be done, it is trusted, and recorded as what it is.

mod error;
mod memory;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use semver::Version;

use super::cache::lock::FolderLock;
use super::cache::record::{Record, UNFINISHED as UNFINISHED_RECORD, seconds};
use super::cache::{CachedProvider, ProviderCache, Verification};
use super::download::{DownloadError, Progress, download};
use super::executable::find_in_folder;
use super::registry::{
    Enforced, Listing, NoVersion, PackageFault, RegistryClient, RegistryError, RegistryPackage, choose,
};
use super::signature::{Signed, verify};
use super::unpack::{UnpackLimits, unpack};
use super::web::Ask;
use super::{Checksums, DEFAULT_HOST, FileSum, ProviderAddress, VersionConstraint};

pub use error::InstallError;
use memory::UNFINISHED as UNFINISHED_LISTING;

/// How long it is before a registry is asked again about what it could not be asked about.
const ASK_AGAIN: Duration = Duration::from_secs(24 * 3600);
/// The most bytes of a list of sums.
const LARGEST_SUMS: u64 = 4 << 20;
/// The most bytes of a signature.
const LARGEST_SIGNATURE: u64 = 1 << 16;

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
    /// Or why no registry is to be asked.
    registry: Result<RegistryClient, String>,
    policy: SignaturePolicy,
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
    /// Installs from registries.
    pub fn new(cache: ProviderCache, registry: RegistryClient, policy: SignaturePolicy) -> Self {
        Self { cache, registry: Ok(registry), policy }
    }

    /// Uses what is in the cache, and nothing else, for a reason that is told to whoever misses a provider.
    pub fn offline(cache: ProviderCache, why: impl Into<String>) -> Self {
        Self { cache, registry: Err(why.into()), policy: SignaturePolicy::default() }
    }

    /// The newest version of a provider that will do.
    ///
    /// # Errors
    /// When it cannot be had, or is not what it should be.
    pub async fn install(
        &self,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
        listener: Listener<'_>,
    ) -> Result<Installed, Box<InstallError>> {
        if let Some(version) = constraint.only_version().filter(|version| constraint.allows(version)) {
            return self.version(address, constraint, version, listener).await;
        }
        let registry = match &self.registry {
            Ok(registry) => registry,
            Err(why) => {
                let error = Box::new(InstallError::NoRegistry { why: why.clone() });
                return self.newest_of_cache(address, constraint, error).await;
            }
        };
        let listing = match memory::recall(&self.cache, address, registry.web().clock().now()) {
            Some(listing) => Ok(listing),
            None => self.ask(registry, address).await,
        };
        let chosen = match listing {
            Ok(listing) => choose(address, constraint, &listing, self.cache.platform())
                .map(|chosen| (chosen, listing.warnings))
                .map_err(|none| Box::new(InstallError::NoVersion(none))),
            Err(error) => Err(Box::new(InstallError::Registry(error))),
        };
        match chosen {
            Ok((chosen, said)) => {
                let mut installed = self.version(address, constraint, &chosen.version, listener).await?;
                let said = said.into_iter().map(|text| format!("the registry says of {address}: {text}"));
                installed.warnings.extend(said.chain(chosen.warning));
                Ok(installed)
            }
            Err(error) => self.newest_of_cache(address, constraint, error).await,
        }
    }

    /// Asks a registry for the versions of a provider, and remembers them.
    async fn ask(
        &self,
        registry: &RegistryClient,
        address: &ProviderAddress,
    ) -> Result<Listing, RegistryError> {
        let listing = registry.versions(address).await?;
        memory::remember(&self.cache, address, &listing, registry.web().clock().now());
        Ok(listing)
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
        let asked = !matches!(*error, InstallError::NoRegistry { .. });
        let mut installed = match self.checked(address, &found).await? {
            Some(installed) => installed,
            None => self.trust(address, found, asked).await,
        };
        if asked {
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
        let registry = match (&self.registry, found) {
            (Ok(registry), found) => (registry, found),
            (Err(_), Ok(found)) => return Ok(self.trust(address, found, false).await),
            (Err(why), Err(cached)) => {
                return Err(Box::new(InstallError::NoRegistry { why: why.clone() }).beside(cached));
            }
        };
        let (registry, found) = registry;
        let fetched = self.fetch(registry, address, version, listener).await;
        match (fetched, found) {
            (Ok(installed), _) => Ok(installed),
            // Somebody has found it wanting: that counts more than that it is there.
            (Err(error), Ok(_)) if error.is_verdict() => Err(error),
            (Err(error), Ok(found)) => {
                let mut installed = self.trust(address, found, true).await;
                installed.warnings.push(format!("it could not be verified: {error}"));
                Ok(installed)
            }
            (Err(error), Err(cached)) => {
                Err(self.explained(registry, address, constraint, error, cached).await)
            }
        }
    }

    async fn find(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Result<CachedProvider, Box<super::NotCached>> {
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
        let path = self.cache.record_of(&self.cache.package_folder(address, &found.version));
        let executable = found.executable.clone();
        let checked = blocking(move || {
            let Some(mut record) = Record::read(&path) else { return Ok(None) };
            record.check(&executable, &path)?;
            Ok(Some(record.verification))
        });
        let verification = checked.await.map_err(|error| Box::new(InstallError::Altered(error)))?;
        Ok(verification.map(|verification| installed(found, verification)))
    }

    /// Whether a registry should be asked once more who vouches for a provider.
    fn is_due(&self, verification: &Verification) -> bool {
        match (&self.registry, verification) {
            (Ok(registry), Verification::Unverified { since }) => {
                let now = seconds(registry.web().clock().now());
                now.checked_sub(*since).is_none_or(|passed| passed >= ASK_AGAIN.as_secs())
            }
            _ => false,
        }
    }

    /// Takes a provider of the cache for what it seems to be, from here on. That is told once, unless nothing else was wanted.
    async fn trust(&self, address: &ProviderAddress, found: CachedProvider, tell: bool) -> Installed {
        let now = self
            .registry
            .as_ref()
            .map_or_else(|_| SystemTime::now(), |registry| registry.web().clock().now());
        let verification = Verification::Unverified { since: seconds(now) };
        let mut provider = installed(&found, verification.clone());
        let path = self.cache.record_of(&self.cache.package_folder(address, &found.version));
        let executable = found.executable;
        let is_new = blocking(move || {
            let is_new = !path.exists();
            // A cache that cannot be written is trusted at each start.
            let _ = Record::of(&executable, None, verification).and_then(|record| record.write(&path));
            is_new
        });
        if is_new.await && tell {
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
        registry: &RegistryClient,
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
        let package =
            registry.package(address, version, self.cache.platform()).await.map_err(from_registry)?;
        if !package.speaks() {
            return Err(Box::new(InstallError::Protocols {
                address: address.clone(),
                version: version.clone(),
            }));
        }
        let (verification, warnings) = self.judge(registry, address, version, &package).await?;
        let staging = tempfile::Builder::new().prefix(&unfinished).tempdir_in(&folder).map_err(write)?;
        let archive = staging.path().join("archive.zip");
        let server = package.archive.host_str().unwrap_or_default().to_owned();
        listener(InstallEvent::Downloading { address: address.clone(), version: version.clone(), server });
        let fault = |fault| {
            Box::new(InstallError::Registry(RegistryError::Package {
                address: address.clone(),
                version: version.clone(),
                fault,
            }))
        };
        let progress = |progress| listener(InstallEvent::Progress(progress));
        download(registry.web(), &package.archive, &archive, package.sum, progress).await.map_err(
            |error| match error {
                DownloadError::Web(error) => {
                    Box::new(InstallError::Download { address: address.clone(), error })
                }
                DownloadError::Write { path, source } => Box::new(InstallError::Write { path, source }),
                DownloadError::WrongSum { expected, found } => {
                    fault(PackageFault::WrongSum { expected, found })
                }
            },
        )?;
        let place = Place {
            program: format!("terraform-provider-{}", address.provider_type()),
            record: self.cache.record_of(&package_folder),
            package: package_folder,
            before: before.map(|found| found.executable),
        };
        let (sum, recorded) = (package.sum, verification.clone());
        // The lock goes along, so that it is held until this is over, whoever still waits for it.
        let placed = blocking(move || {
            let placed = place.fill(&staging, &archive, sum, recorded);
            drop((staging, lock));
            placed
        });
        let executable = placed.await?;
        let told = (address.clone(), version.clone(), verification.clone());
        listener(InstallEvent::Installed { address: told.0, version: told.1, verification: told.2 });
        Ok(Installed { version: version.clone(), executable, verification, warnings })
    }

    /// Who vouches for an archive that a registry names.
    async fn judge(
        &self,
        registry: &RegistryClient,
        address: &ProviderAddress,
        version: &Version,
        package: &RegistryPackage,
    ) -> Result<(Verification, Vec<String>), Box<InstallError>> {
        let fault = |fault| {
            let (address, version) = (address.clone(), version.clone());
            Box::new(InstallError::Registry(RegistryError::Package { address, version, fault }))
        };
        let ask = Ask { largest: LARGEST_SUMS, ..Ask::document(&package.sums) };
        let sums =
            registry.web().fetch(&ask).await.map_err(|error| fault(PackageFault::NoSums(Box::new(error))))?;
        let listed = Checksums::parse(&sums.body).map_err(|error| fault(PackageFault::Sums(error)))?;
        let listed =
            listed.of(&package.file).ok_or_else(|| fault(PackageFault::NotListed(package.file.clone())))?;
        if listed != package.sum {
            return Err(fault(PackageFault::OtherSum { registry: package.sum, listed }));
        }
        if package.keys.is_empty() {
            return match (address.host() == DEFAULT_HOST, self.policy.enforce_validation) {
                (true, false) => Ok((Verification::Unsigned, Vec::new())),
                (true, true) => Err(fault(PackageFault::Unsigned(Enforced::Setting))),
                (false, _) => Err(fault(PackageFault::Unsigned(Enforced::Host))),
            };
        }
        let ask = Ask { largest: LARGEST_SIGNATURE, ..Ask::document(&package.signature) };
        let signature = registry
            .web()
            .fetch(&ask)
            .await
            .map_err(|error| fault(PackageFault::NoSignature(Box::new(error))))?;
        let (keys, now) = (package.keys.clone(), registry.web().clock().now());
        let signed = blocking(move || verify(&sums.body, &signature.body, &keys, now)).await;
        let Signed { key, expired } = signed.map_err(|error| fault(PackageFault::Signature(error)))?;
        let warning = match expired {
            None => None,
            Some(when) => {
                let when = httpdate::fmt_http_date(when);
                if self.policy.enforce_expiration {
                    return Err(fault(PackageFault::Expired { key, when }));
                }
                Some(format!("{address} {version} is signed with the key {key}, which expired on {when}"))
            }
        };
        Ok((Verification::Signed { key }, warning.into_iter().collect()))
    }

    /// Why a version cannot be had, with what there is instead.
    async fn explained(
        &self,
        registry: &RegistryClient,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
        error: Box<InstallError>,
        cached: Box<super::NotCached>,
    ) -> Box<InstallError> {
        let unknown = matches!(
            *error,
            InstallError::Registry(RegistryError::UnknownPackage { .. }) | InstallError::Protocols { .. }
        );
        if unknown
            && let Ok(listing) = self.ask(registry, address).await
            && let Err(none) = choose(address, constraint, &listing, self.cache.platform())
        {
            return Box::new(InstallError::NoVersion(none));
        }
        error.beside(cached)
    }
}

/// Where a version goes.
#[derive(Debug)]
struct Place {
    /// What the program's name begins with.
    program: String,
    record: PathBuf,
    package: PathBuf,
    /// The program that is there already.
    before: Option<PathBuf>,
}

impl Place {
    /// Unpacks the archive and puts it there. At each moment the place is empty, or as it was, or complete.
    fn fill(
        &self,
        staging: &tempfile::TempDir,
        archive: &Path,
        sum: FileSum,
        verification: Verification,
    ) -> Result<PathBuf, Box<InstallError>> {
        let write = |source| Box::new(InstallError::Write { path: self.package.clone(), source });
        let fresh = staging.path().join("package");
        std::fs::create_dir(&fresh).map_err(write)?;
        unpack(archive, &fresh, &UnpackLimits::default())
            .map_err(|error| Box::new(InstallError::Unpack(error)))?;
        let program = find_in_folder(&fresh, &self.program).map_err(write)?;
        let program = program.ok_or_else(|| {
            Box::new(InstallError::NoProgram {
                archive_of: self.package.clone(),
                program: self.program.clone(),
            })
        })?;
        let record = Record::of(&program, Some(sum), verification).map_err(write)?;
        if let Some(before) = &self.before
            && before.file_name() == program.file_name()
            && FileSum::of_file(before).is_ok_and(|sum| Some(sum) == record.sum())
        {
            // It was the right one all along, and may be running.
            let record = Record::of(before, Some(sum), record.verification).map_err(write)?;
            record.write(&self.record).map_err(write)?;
            return Ok(before.clone());
        }
        if self.package.symlink_metadata().is_ok() {
            match std::fs::remove_file(&self.record) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(write(error)),
                _ => {}
            }
            std::fs::rename(&self.package, staging.path().join("before")).map_err(write)?;
        }
        record.write(&self.record).map_err(write)?;
        std::fs::rename(&fresh, &self.package).map_err(write)?;
        let name = program.file_name().unwrap_or_default();
        Ok(self.package.join(name))
    }
}

/// Removes what those have left who were killed. Only who has the lock may do so; whoever else is writing a record or a list of
/// versions at the moment loses it, and does without.
fn remove_unfinished(folder: &Path, prefix: &str) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let begins = |prefix: &str| name.as_encoded_bytes().starts_with(prefix.as_bytes());
        // What cannot be removed is in nobody's way.
        if begins(prefix) {
            let _ = std::fs::remove_dir_all(entry.path());
        } else if begins(UNFINISHED_RECORD) || begins(UNFINISHED_LISTING) {
            let _ = std::fs::remove_file(entry.path());
        }
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
