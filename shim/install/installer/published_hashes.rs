//! Hashes of packages without downloading them, and control of the version cache, for commands.

use std::collections::BTreeSet;

use isthmus_common::blocking;
use semver::Version;

use super::delivery::Receiver;
use super::origins::Offer;
use super::{InstallError, Installer, memory};
use crate::{PackageHash, Platform, ProviderAddress};

impl Installer {
    /// The verified hashes of a version's packages from the origin that offers the one for this
    /// platform: from a registry those for all platforms, if they are signed as required; from a
    /// mirror its given or computed ones.
    ///
    /// # Errors
    /// When no origin offers the package, or it cannot be verified.
    pub async fn announced(
        &self,
        address: &ProviderAddress,
        version: &Version,
        platform: Platform,
    ) -> Result<BTreeSet<PackageHash>, Box<InstallError>> {
        let receiver = Receiver { address, version, policy: self.policy, listener: &|_| {} };
        match self.origins.offer(address, version, platform).await?.0 {
            Offer::Published { registry, package } => {
                let judgement = receiver.judge(&registry, &package).await?;
                Ok(receiver.lockable(&package, &judgement.sums))
            }
            Offer::Mirrored { package, .. } => {
                Ok(package.hashes.into_iter().chain(package.other_hashes).collect())
            }
            Offer::Local(package) => {
                Ok(BTreeSet::from([blocking(move || PackageHash::of_contents(&package)).await?]))
            }
        }
    }

    /// Without a lock file.
    #[must_use]
    pub fn without_lock(self) -> Self {
        Self { lock: None, ..self }
    }

    /// Removes a provider's cached version list, so that the registry is queried again.
    pub fn forget_versions(&self, address: &ProviderAddress) {
        memory::forget(&self.cache, address);
    }
}
