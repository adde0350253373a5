//! What a lock file says of one provider, and whether a package is the one.

use std::collections::BTreeSet;
use std::path::PathBuf;

use semver::Version;

use crate::hashes::HashScheme;
use crate::{PackageForm, PackageHash, ProviderAddress, SumError, VersionConstraint};

/// What a project uses of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderLock {
    /// Its version.
    pub version: Version,
    /// What the version was chosen by.
    pub constraint: VersionConstraint,
    /// The sums of its packages, for any platform. A package is the right one if it has one of them.
    pub hashes: BTreeSet<PackageHash>,
}

/// A package is not one that is locked.
#[derive(Debug, thiserror::Error)]
pub enum NotLocked {
    /// It has other sums.
    #[error(transparent)]
    Other(Box<OtherPackage>),
    /// It cannot be read.
    #[error(transparent)]
    Sum(#[from] SumError),
}

/// A package is not the one that the lock file knows.
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
    /// Its sum.
    pub found: PackageHash,
    /// What was expected.
    pub expected: Vec<PackageHash>,
}

impl ProviderLock {
    /// Checks that a package is one that is locked, and tells by which sum. One without any sum that is known here is not
    /// refused: there is nothing to compare it with.
    ///
    /// # Errors
    /// When it is another one, or cannot be read.
    pub fn check(
        &self,
        address: &ProviderAddress,
        package: &PackageForm,
    ) -> Result<Option<&PackageHash>, NotLocked> {
        // What has been unpacked has no archive's sum.
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

fn listed(hashes: &[PackageHash]) -> String {
    const LISTED: usize = 5;
    let mut text = hashes.iter().take(LISTED).map(PackageHash::as_str).collect::<Vec<_>>().join(", ");
    if hashes.len() > LISTED {
        text.push_str(&format!(" and {} more", hashes.len() - LISTED));
    }
    text
}
