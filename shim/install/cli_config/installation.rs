//! From where which providers come, as a CLI configuration says it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{ProviderPattern, RepositoryTemplate};
use crate::ProviderAddress;

/// From where which providers come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderInstallation {
    /// Directories of providers that are used as they are, whatever version is wanted: for those who develop them.
    pub(crate) dev_overrides: BTreeMap<ProviderAddress, PathBuf>,
    /// Where else providers come from, best first.
    pub(crate) methods: Vec<InstallationMethod>,
    pub(crate) place: String,
}

/// One place that providers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstallationMethod {
    pub(crate) location: MethodLocation,
    /// Only these come from there; none means all.
    pub(crate) include: Vec<ProviderPattern>,
    pub(crate) exclude: Vec<ProviderPattern>,
}

/// What kind of place it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MethodLocation {
    /// The registry that the provider's address names.
    Direct {
        /// How often a download is repeated.
        download_retry_count: Option<u32>,
    },
    FilesystemMirror {
        path: PathBuf,
    },
    NetworkMirror {
        /// Where the directory of hosts is.
        url: String,
        /// How often a download is repeated.
        download_retry_count: Option<u32>,
        /// The sums that it gives for other platforms may go into a lock file.
        trust_all_hashes: bool,
    },
    OciMirror {
        /// In which of its repositories a provider is.
        repository: RepositoryTemplate,
    },
}

impl InstallationMethod {
    /// The place of all providers.
    pub(crate) fn of_all(location: MethodLocation) -> Self {
        Self { location, include: Vec::new(), exclude: Vec::new() }
    }

    /// Whether this provider comes from there.
    pub(crate) fn has(&self, address: &ProviderAddress) -> bool {
        let matches = |patterns: &[ProviderPattern]| patterns.iter().any(|pattern| pattern.matches(address));
        !matches(&self.exclude) && (self.include.is_empty() || matches(&self.include))
    }
}
