//! What CLI configurations say, all together.

use std::collections::BTreeMap;
use std::path::PathBuf;

use isthmus_common::Secret;

use super::{ConfigWarning, ProviderInstallation};
use crate::auth::{CredentialsHelper, OciCredentials, OciDefaultCredentials};

/// The CLI configuration of all files and variables together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CliConfig {
    /// The files that it comes from, in the order in which they were read.
    pub(crate) files: Vec<PathBuf>,
    /// A directory of unpacked providers that several projects share: `plugin_cache_dir` or `TF_PLUGIN_CACHE_DIR`.
    pub(crate) plugin_cache_dir: Option<PathBuf>,
    /// What is in that directory may be used although the lock file does not know it.
    pub plugin_cache_may_break_dependency_lock_file: bool,
    /// Services by host, which are then not asked for by discovery. A service's address may be relative to its host.
    pub(crate) hosts: BTreeMap<String, BTreeMap<String, String>>,
    /// Tokens by host. Those of `TF_TOKEN_…` are not among them.
    pub(crate) credentials: BTreeMap<String, Secret>,
    /// Who else knows tokens.
    pub(crate) credentials_helper: Option<CredentialsHelper>,
    /// How patient registries are asked, as far as files say it.
    pub(crate) registry_protocols: RegistryProtocols,
    /// How providers are installed; nothing means as if there were no configuration.
    pub(crate) provider_installation: Option<ProviderInstallation>,
    /// Who asks registries of containers.
    pub(crate) oci_credentials: Vec<OciCredentials>,
    /// Where else it is looked up who asks them.
    pub(crate) oci_default_credentials: OciDefaultCredentials,
    /// What was not understood, but does no harm.
    pub warnings: Vec<ConfigWarning>,
}

/// The block `registry_protocols`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegistryProtocols {
    /// How often a question is repeated.
    pub(crate) retry_count: Option<u32>,
    /// How long an answer may take.
    pub(crate) request_timeout_seconds: Option<u32>,
}
