//! What can be known of a package without fetching it, and with less memory, for commands that install on purpose.

use std::collections::BTreeSet;

use semver::Version;

use super::delivery::Receiver;
use super::origins::Offer;
use super::{InstallError, Installer, blocking, memory};
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
        let mut absences = Vec::new();
        for origin in self.origins.of(address)? {
            let announced = match origin.offer(address, version, platform).await {
                Ok(Offer::Published { registry, package }) => {
                    let judged = receiver.judge(&registry, &package).await;
                    judged.map(|judgement| receiver.lockable(&package, &judgement.sums))
                }
                Ok(Offer::Mirrored { package, .. }) => {
                    Ok(package.hashes.into_iter().chain(package.other_hashes).collect())
                }
                Ok(Offer::Local(package)) => {
                    let sum = blocking(move || PackageHash::of_contents(package.as_local())).await;
                    sum.map(|sum| BTreeSet::from([sum])).map_err(|error| Box::new(InstallError::Sum(error)))
                }
                Err(error) => Err(error),
            };
            match announced {
                Err(error) if error.allows_next_origin() => absences.push(*error),
                announced => return announced,
            }
        }
        Err(InstallError::nowhere(absences))
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
