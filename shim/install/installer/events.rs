//! What an installation reports: its progress, and what came of it.

use std::path::PathBuf;

use semver::Version;

use crate::cache::CachedProvider;
use crate::download::Progress;
use crate::{ProviderAddress, Verification};

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
pub(crate) type Listener<'a> = &'a (dyn Fn(InstallEvent) + Send + Sync);

impl Installed {
    /// A provider of the cache. That nothing is known about it is told at each start.
    pub(super) fn cached(
        address: &ProviderAddress,
        found: CachedProvider,
        verification: Verification,
    ) -> Self {
        let CachedProvider { version, executable } = found;
        let warning = match &verification {
            Verification::Signed { .. } | Verification::Unsigned | Verification::Mirrored { .. } => None,
            Verification::Unverified { reason, .. } => Some(format!(
                "{} {version} is unverified: it was not installed by isthmus, and {reason}",
                address.for_display()
            )),
        };
        Self { version, executable, verification, warnings: warning.into_iter().collect() }
    }
}
