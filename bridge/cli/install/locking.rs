//! The lock file of an installation: what it says before, and what it learns.
//!
//! The rules are those of `tofu init`. A provider that is locked is installed in that version, and has to have one of its sums. One that is
//! not is locked in the version that was chosen, by all sums that its registry vouches for, and by that of the contents of what
//! was installed. Sums of other machines' contents are learnt from their archives alone, as by `tofu providers lock`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use isthmus_common::permissions::temporary_directory;
use isthmus_install::{
    Installed, Installer, LockFile, NotLocked, OtherPackage, PackageForm, PackageHash, Platform,
    ProviderAddress, ProviderLock, VersionConstraint,
};

use super::error::ProviderError;
use super::progress::Reporter;
use crate::cli::output::warn;

/// What is to be locked.
#[derive(Debug)]
pub(super) struct Locking {
    path: PathBuf,
    file: LockFile,
    address: ProviderAddress,
    constraint: VersionConstraint,
    /// What is known of the provider already, unless that is to be forgotten.
    known: Option<ProviderLock>,
}

impl Locking {
    /// Reads the lock file. Without a constraint, that of an earlier installation goes on.
    pub(super) fn read(
        path: PathBuf,
        address: ProviderAddress,
        constraint: Option<VersionConstraint>,
        upgrade: bool,
    ) -> Result<Self, ProviderError> {
        let file = LockFile::read(&path)?;
        for warning in &file.warnings {
            warn(&format!("{}:{warning}", path.display()));
        }
        let locked = file.provider(&address).cloned();
        let constraint = constraint
            .or_else(|| locked.as_ref().map(|locked| locked.constraint.clone()))
            .unwrap_or_else(VersionConstraint::any);
        Ok(Self { path, file, address, constraint, known: locked.filter(|_| !upgrade) })
    }

    /// Installs what is locked, or locks what is installed, and tells what was locked.
    pub(super) async fn install(
        mut self,
        installer: &Installer,
        platforms: &[Platform],
        reporter: &Reporter,
    ) -> Result<(Installed, String), ProviderError> {
        let locked = match &self.known {
            Some(_) => &installer.clone().with_lock(self.file.clone(), self.path.clone()),
            None => installer,
        };
        let mut installed = reporter.install(locked, &self.address, &self.constraint).await?;
        let folder = installed.executable.parent().unwrap_or(Path::new("")).to_owned();
        let mut hashes = BTreeSet::from([PackageHash::of_contents(&PackageForm::Folder(folder.clone()))?]);
        if self.known.is_none() {
            hashes.extend(self.vouched(installer, &installed, &folder, reporter).await?);
        }
        for platform in platforms.iter().filter(|platform| **platform != installer.cache().platform()) {
            hashes.extend(self.other(installer, &mut installed, *platform, reporter).await?);
        }
        let said = self.write(&installed, hashes)?;
        Ok((installed, said))
    }

    /// The sums that are vouched for, of the package that was installed. An archive that is not known to be its own is fetched.
    async fn vouched(
        &self,
        installer: &Installer,
        installed: &Installed,
        folder: &Path,
        reporter: &Reporter,
    ) -> Result<BTreeSet<PackageHash>, ProviderError> {
        let (address, version) = (&self.address, &installed.version);
        let platform = installer.cache().platform();
        if let Some(archive) = installer.cache().archive_sum(address, version) {
            let announced = installer.announced(address, version, platform).await?;
            let archive = PackageHash::of_archive_sum(archive.0);
            if announced.contains(&archive) {
                return Ok(announced);
            }
        }
        let temporary = temporary_directory("isthmus-download-").map_err(ProviderError::Temporary)?;
        let tell = |event| reporter.tell(event);
        let delivery = installer.deliver(address, version, platform, temporary.path(), &tell).await?;
        let hashes = delivery.hashes().await?;
        let lock = ProviderLock {
            version: version.clone(),
            constraint: self.constraint.clone(),
            hashes: hashes.clone(),
        };
        lock.check(address, &PackageForm::Folder(folder.to_owned()))?;
        Ok(hashes)
    }

    /// The sums of the package for other machines.
    async fn other(
        &self,
        installer: &Installer,
        installed: &mut Installed,
        platform: Platform,
        reporter: &Reporter,
    ) -> Result<BTreeSet<PackageHash>, ProviderError> {
        let (address, version) = (&self.address, &installed.version);
        let temporary = temporary_directory("isthmus-download-").map_err(ProviderError::Temporary)?;
        let tell = |event| reporter.tell(event);
        let delivery = installer.deliver(address, version, platform, temporary.path(), &tell).await?;
        let hashes = delivery.hashes().await?;
        installed.warnings.extend(delivery.warnings.clone());
        // A lock file from this machine alone may know nothing of that package but its archive; or not even that, as from a mirror.
        if let Some(known) = &self.known
            && known.hashes.iter().any(|hash| hash.as_str().starts_with("zh:"))
            && known.hashes.is_disjoint(&hashes)
        {
            let found = PackageHash::of_contents(&delivery.package)?;
            return Err(ProviderError::NotLocked(NotLocked::Other(Box::new(OtherPackage {
                address: address.clone(),
                version: version.clone(),
                path: delivery.package.path().to_owned(),
                found,
                expected: known.hashes.iter().cloned().collect(),
            }))));
        }
        Ok(hashes)
    }

    /// Writes the file, if there is anything new.
    fn write(
        &mut self,
        installed: &Installed,
        hashes: BTreeSet<PackageHash>,
    ) -> Result<String, ProviderError> {
        let before = self.file.to_string();
        if self.known.is_none() {
            self.file.unlock(&self.address);
        }
        let (version, constraint) = (installed.version.clone(), self.constraint.clone());
        self.file.lock(self.address.clone(), ProviderLock { version, constraint, hashes });
        let path = self.path.display();
        if self.path.exists() && self.file.to_string() == before {
            return Ok(format!("locked already in {path}\n"));
        }
        self.file.write(&self.path)?;
        let count = self.file.provider(&self.address).map_or(0, |locked| locked.hashes.len());
        Ok(format!("locked in {path}, by {count} {}\n", if count == 1 { "sum" } else { "sums" }))
    }
}
