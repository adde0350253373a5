//! Progress and results of an installation.

use std::path::PathBuf;

use semver::Version;

use crate::cache::CachedProvider;
use crate::download::Progress;
use crate::{ProviderAddress, Verification};

/// An installed provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its version.
    pub version: Version,
    /// Its binary.
    pub executable: PathBuf,
    /// How it was verified.
    pub verification: Verification,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// A progress event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallEvent {
    /// Another process holds the lock.
    Waiting {
        /// The provider.
        address: ProviderAddress,
        /// The version.
        version: Version,
    },
    /// A download begins.
    Downloading {
        /// The provider.
        address: ProviderAddress,
        /// The version.
        version: Version,
        /// The server.
        server: String,
    },
    /// The download's progress.
    Progress(Progress),
    /// It is installed and verified.
    Installed {
        /// The provider.
        address: ProviderAddress,
        /// The version.
        version: Version,
        /// How it was verified.
        verification: Verification,
    },
}

/// Receiver of progress events.
pub(crate) type Listener<'a> = &'a (dyn Fn(InstallEvent) + Send + Sync);

impl Installed {
    /// A provider in the cache. An unverified one causes a warning at each start.
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
