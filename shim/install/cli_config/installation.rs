//! Installation methods of a CLI configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{ProviderPattern, RepositoryTemplate};
use crate::ProviderAddress;

/// Installation methods of providers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderInstallation {
    /// Development overrides: directories of providers that are used for any version.
    pub(crate) dev_overrides: BTreeMap<ProviderAddress, PathBuf>,
    /// Installation methods, best first.
    pub(crate) methods: Vec<InstallationMethod>,
    pub(crate) place: String,
}

/// An installation method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstallationMethod {
    pub(crate) location: MethodLocation,
    /// Patterns of included providers; empty: all.
    pub(crate) include: Vec<ProviderPattern>,
    pub(crate) exclude: Vec<ProviderPattern>,
}

/// Its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MethodLocation {
    /// The registry of the provider's address.
    Direct {
        /// Number of download retries.
        download_retry_count: Option<u32>,
    },
    FilesystemMirror {
        path: PathBuf,
        /// The position in the configuration; empty if it is implied.
        place: String,
    },
    NetworkMirror {
        /// Its base URL.
        url: String,
        /// Number of download retries.
        download_retry_count: Option<u32>,
        /// Whether its hashes for other platforms may go into a lock file.
        trust_all_hashes: bool,
    },
    OciMirror {
        /// The repository of a provider.
        repository: RepositoryTemplate,
    },
}

impl InstallationMethod {
    /// A method for all providers.
    pub(crate) fn of_all(location: MethodLocation) -> Self {
        Self { location, include: Vec::new(), exclude: Vec::new() }
    }

    /// Whether the method includes this provider.
    pub(crate) fn has(&self, address: &ProviderAddress) -> bool {
        let matches = |patterns: &[ProviderPattern]| patterns.iter().any(|pattern| pattern.matches(address));
        !matches(&self.exclude) && (self.include.is_empty() || matches(&self.include))
    }
}
