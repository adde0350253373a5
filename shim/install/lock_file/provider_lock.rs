//! The lock of one provider, and verification of packages by it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use isthmus_common::listed;
use semver::Version;

use crate::hashes::HashScheme;
use crate::{PackageForm, PackageHash, ProviderAddress, SumError, VersionConstraint};

/// The lock of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderLock {
    /// The locked version.
    pub version: Version,
    /// The constraint that it was selected by.
    pub constraint: VersionConstraint,
    /// Hashes of its packages, for any platform. A package is valid if one of them matches.
    pub hashes: BTreeSet<PackageHash>,
}

/// A package is not locked.
#[derive(Debug, thiserror::Error)]
pub enum NotLocked {
    /// It has other hashes.
    #[error(transparent)]
    Other(Box<OtherPackage>),
    /// It cannot be read.
    #[error(transparent)]
    Sum(#[from] SumError),
}

/// A package does not match the lock file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the package of {address} {version} at {} is not the one that the lock file knows: it has the sum {found}, and none of {}. \
     If it was rebuilt on purpose, install it again with --upgrade",
    path.display(),
    listed(.expected)
)]
pub struct OtherPackage {
    /// The provider.
    pub address: ProviderAddress,
    /// Its version.
    pub version: Version,
    /// The package.
    pub path: PathBuf,
    /// Its hash.
    pub found: PackageHash,
    /// The locked hashes.
    pub expected: Vec<PackageHash>,
}

impl ProviderLock {
    /// Verifies that a package is locked, and returns the matching hash. Without any hash of a
    /// known scheme it is accepted.
    ///
    /// # Errors
    /// When it does not match, or cannot be read.
    pub fn check(
        &self,
        address: &ProviderAddress,
        package: &PackageForm,
    ) -> Result<Option<&PackageHash>, NotLocked> {
        // An unpacked package has no archive hash.
        let is_comparable = |hash: &&PackageHash| match (hash.scheme(), package) {
            (HashScheme::Contents, _) | (HashScheme::Archive, PackageForm::Archive(_)) => true,
            (HashScheme::Archive | HashScheme::Other, _) => false,
        };
        let comparable: Vec<&PackageHash> = self.hashes.iter().filter(is_comparable).collect();
        if let Some(hash) = package.first_match(comparable.iter().copied())? {
            return Ok(Some(hash));
        }
        if self.hashes.iter().all(|hash| hash.scheme() == HashScheme::Other) {
            return Ok(None);
        }
        let expected = if comparable.is_empty() { self.hashes.iter().collect() } else { comparable };
        Err(NotLocked::Other(Box::new(OtherPackage {
            address: address.clone(),
            version: self.version.clone(),
            path: package.path().to_owned(),
            found: PackageHash::of_contents(package)?,
            expected: expected.into_iter().cloned().collect(),
        })))
    }
}
