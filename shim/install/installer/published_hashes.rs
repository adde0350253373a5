//! What can be known of a package without fetching it, and with less memory, for commands that install on purpose.

use std::collections::BTreeSet;

use isthmus_common::blocking;
use semver::Version;

use super::delivery::Receiver;
use super::origins::Offer;
use super::{InstallError, Installer, memory};
use crate::{PackageHash, Platform, ProviderAddress};

impl Installer {
    /// The sums of a version's packages that are vouched for by whoever offers the one for these machines: by a registry those of all
    /// machines, if they are signed as they must be; by a mirror those that it names, or else that of what it has.
    ///
    /// # Errors
    /// When nobody offers the package, or nobody vouches for it who has to.
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

    /// The same, whatever is locked.
    #[must_use]
    pub fn without_lock(self) -> Self {
        Self { lock: None, ..self }
    }

    /// Has the registry asked again for the versions of a provider, however lately it was asked.
    pub fn forget_versions(&self, address: &ProviderAddress) {
        memory::forget(&self.cache, address);
    }
}
