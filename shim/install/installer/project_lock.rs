//! The lock file of a project during an installation.

use std::path::PathBuf;

use isthmus_common::blocking;
use semver::Version;

use super::InstallError;
use crate::{FileSum, LockFile, PackageForm, PackageHash, ProviderAddress, VersionConstraint};

/// A project's lock file.
#[derive(Clone, Debug)]
pub(super) struct ProjectLock {
    pub(super) file: LockFile,
    pub(super) path: PathBuf,
}

impl ProjectLock {
    /// The locked version.
    pub(super) fn version(
        &self,
        address: &ProviderAddress,
        constraint: &VersionConstraint,
    ) -> Result<&Version, Box<InstallError>> {
        let refused = |locked| {
            let (path, address, constraint) = (self.path.clone(), address.clone(), constraint.clone());
            Box::new(InstallError::NotInLock { path, address, constraint, locked })
        };
        let locked = self.file.provider(address).ok_or_else(|| match self.path.try_exists() {
            Ok(false) => Box::new(InstallError::NoLockFile { path: self.path.clone() }),
            Ok(true) | Err(_) => refused(None),
        })?;
        let locked = &locked.version;
        if constraint.allows(locked) { Ok(locked) } else { Err(refused(Some(locked.clone()))) }
    }

    /// Refuses a package that is not locked. A known checksum of its archive saves reading it.
    pub(super) async fn check(
        &self,
        address: &ProviderAddress,
        package: PackageForm,
        archive: Option<FileSum>,
    ) -> Result<(), Box<InstallError>> {
        let Some(locked) = self.file.provider(address).cloned() else { return Ok(()) };
        if archive.is_some_and(|sum| locked.hashes.contains(&PackageHash::of_archive_sum(sum.0))) {
            return Ok(());
        }
        let address = address.clone();
        Ok(blocking(move || locked.check(&address, &package).map(drop)).await?)
    }
}
