//! Reading and updating the lock file.
//!
//! The rules are those of `tofu init`. A locked provider is installed in that version and must have
//! one of its checksums. Another one is locked in the chosen version, with all checksums that its
//! registry verifies and that of the installed contents. Checksums for other platforms come from
//! their archives, as in `tofu providers lock`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use isthmus_common::counted;
use isthmus_common::scratch::temporary_directory;
use isthmus_install::{
    Installed, Installer, LockFile, NotLocked, OtherPackage, PackageForm, PackageHash, Platform,
    ProviderAddress, ProviderLock, VersionConstraint,
};

use super::error::ProviderError;
use super::progress::Reporter;
use crate::cli::output::warn;

/// The provider to lock.
#[derive(Debug)]
pub(super) struct Locking {
    path: PathBuf,
    file: LockFile,
    address: ProviderAddress,
    constraint: VersionConstraint,
    /// The existing entry, unless `--upgrade` ignores it.
    known: Option<ProviderLock>,
}

impl Locking {
    /// Reads the lock file. Without a constraint, that of an earlier installation applies.
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

    /// Installs the locked version, or locks the installed one, and returns a summary.
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
        let directory = installed.executable.parent().unwrap_or(Path::new("")).to_owned();
        let mut hashes =
            BTreeSet::from([PackageHash::of_contents(&PackageForm::Directory(directory.clone()))?]);
        if self.known.is_none() {
            hashes.extend(self.vouched(installer, &installed, &directory, reporter).await?);
        }
        for platform in platforms.iter().filter(|platform| **platform != installer.cache().platform()) {
            hashes.extend(self.other(installer, &mut installed, *platform, reporter).await?);
        }
        let summary = self.write(&installed, hashes)?;
        Ok((installed, summary))
    }

    /// The verified checksums of the installed package. Its archive is downloaded unless it is at
    /// hand.
    async fn vouched(
        &self,
        installer: &Installer,
        installed: &Installed,
        directory: &Path,
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
        let report = |event| reporter.report(event);
        let delivery = installer.deliver(address, version, platform, temporary.path(), &report).await?;
        let hashes = delivery.hashes().await?;
        let lock = ProviderLock {
            version: version.clone(),
            constraint: self.constraint.clone(),
            hashes: hashes.clone(),
        };
        lock.check(address, &PackageForm::Directory(directory.to_owned()))?;
        Ok(hashes)
    }

    /// The checksums of the package for another platform.
    async fn other(
        &self,
        installer: &Installer,
        installed: &mut Installed,
        platform: Platform,
        reporter: &Reporter,
    ) -> Result<BTreeSet<PackageHash>, ProviderError> {
        let (address, version) = (&self.address, &installed.version);
        let temporary = temporary_directory("isthmus-download-").map_err(ProviderError::Temporary)?;
        let report = |event| reporter.report(event);
        let delivery = installer.deliver(address, version, platform, temporary.path(), &report).await?;
        let hashes = delivery.hashes().await?;
        installed.warnings.extend(delivery.warnings.clone());
        // A lock file from this platform alone may contain nothing of that package but its
        // archive's checksum, or, from a mirror, not even that.
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

    /// Writes the file if its entry has changed.
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
        Ok(format!("locked in {path}, by {}\n", counted(count, "sum")))
    }
}
