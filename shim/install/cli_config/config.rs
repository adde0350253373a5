//! The merged CLI configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;

use isthmus_common::Secret;

use super::{ConfigWarning, ProviderInstallation};
use crate::auth::{CredentialsHelper, OciCredentials, OciDefaultCredentials};

/// The CLI configuration of all files and variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CliConfig {
    /// Its files, in the order in which they were read.
    pub(crate) files: Vec<PathBuf>,
    /// The plugin cache of several projects: `plugin_cache_dir` or `TF_PLUGIN_CACHE_DIR`.
    pub(crate) plugin_cache_dir: Option<PathBuf>,
    /// Whether its contents may be used although they are not in the lock file.
    pub plugin_cache_may_break_dependency_lock_file: bool,
    /// Services by host, in place of service discovery. Addresses may be relative to the host.
    pub(crate) hosts: BTreeMap<String, BTreeMap<String, String>>,
    /// Tokens by host, without those of `TF_TOKEN_…`.
    pub(crate) credentials: BTreeMap<String, Secret>,
    /// The credentials helper.
    pub(crate) credentials_helper: Option<CredentialsHelper>,
    /// Retries and timeouts of registries in files.
    pub(crate) registry_protocols: RegistryProtocols,
    /// Installation methods; `None`: the defaults.
    pub(crate) provider_installation: Option<ProviderInstallation>,
    /// Credentials of OCI registries.
    pub(crate) oci_credentials: Vec<OciCredentials>,
    /// Default sources of their credentials.
    pub(crate) oci_default_credentials: OciDefaultCredentials,
    /// Warnings.
    pub warnings: Vec<ConfigWarning>,
}

impl CliConfig {
    /// Its files, in the order in which they were read.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// The block `registry_protocols`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegistryProtocols {
    /// Number of retries.
    pub(crate) retry_count: Option<u32>,
    /// Timeout of a response.
    pub(crate) request_timeout_seconds: Option<u32>,
}
