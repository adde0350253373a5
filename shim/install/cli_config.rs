//! What users have told Terraform and OpenTofu about where providers come from: the CLI configuration.
//!
//! Files, order, precedence and meaning are OpenTofu's, which reads Terraform's files too; so whoever has made `tofu init`
//! work in a closed network need tell us nothing. Two things differ on purpose. A file that cannot be understood is an error
//! here, while both of them complain and go on with what is left: that would ask the public registry behind the back of
//! somebody who has configured a mirror. And what nobody knows is warned about, so that a slip of the pen is seen.

mod client;
mod credentials;
mod decode;
mod error;
mod files;
mod installation;
mod oci;
mod pattern;
pub(super) mod program;
mod section;
mod template;

use std::collections::BTreeMap;
use std::path::PathBuf;

use isthmus_common::Secret;

use super::Environment;

pub use credentials::ConfiguredCredentials;
pub use error::{CliConfigError, ConfigFault, ConfigWarning};
pub use installation::{InstallationMethod, MethodLocation, ProviderInstallation};
pub use oci::{OciCredentials, OciDefaultCredentials, OciPrefix, OciPrefixFault, OciSecret};
pub use pattern::{PatternError, PatternFault, ProviderPattern};
pub use template::{OciRepository, RepositoryTemplate, TemplateFault};

/// The CLI configuration of all files and variables together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CliConfig {
    /// The files that it comes from, in the order in which they were read.
    pub files: Vec<PathBuf>,
    /// A directory of unpacked providers that several projects share: `plugin_cache_dir` or `TF_PLUGIN_CACHE_DIR`.
    pub plugin_cache_dir: Option<PathBuf>,
    /// What is in that directory may be used although the lock file does not know it.
    pub plugin_cache_may_break_dependency_lock_file: bool,
    /// Services by host, which are then not asked for by discovery. A service's address may be relative to its host.
    pub hosts: BTreeMap<String, BTreeMap<String, String>>,
    /// Tokens by host. Those of `TF_TOKEN_…` are not among them.
    pub credentials: BTreeMap<String, Secret>,
    /// Who else knows tokens.
    pub credentials_helper: Option<CredentialsHelper>,
    /// How patient registries are asked, as far as files say it.
    pub registry_protocols: RegistryProtocols,
    /// How providers are installed; nothing means as if there were no configuration.
    pub provider_installation: Option<ProviderInstallation>,
    /// Who asks registries of containers.
    pub oci_credentials: Vec<OciCredentials>,
    /// Where else it is looked up who asks them.
    pub oci_default_credentials: OciDefaultCredentials,
    /// What was not understood, but does no harm.
    pub warnings: Vec<ConfigWarning>,
}

/// The block `registry_protocols`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistryProtocols {
    /// How often a question is repeated.
    pub retry_count: Option<u32>,
    /// How long an answer may take.
    pub request_timeout_seconds: Option<u32>,
}

/// A program that knows tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialsHelper {
    /// What it is called behind `terraform-credentials-`.
    pub name: String,
    /// What it is started with, before what it is asked for.
    pub arguments: Vec<String>,
    /// The directories in which it may lie, best first.
    pub folders: Vec<PathBuf>,
}

impl CliConfig {
    /// Reads the configuration of whoever has this environment.
    ///
    /// # Errors
    /// When a file that is there cannot be read or understood.
    pub fn load(environment: &Environment) -> Result<Self, CliConfigError> {
        let mut config = Self::default();
        let files = files::find(environment, &mut config.warnings)?;
        for file in files {
            decode::file(&file, environment, &mut config)?;
            config.files.push(file);
        }
        if let Some(folder) = environment.path("TF_PLUGIN_CACHE_DIR") {
            config.plugin_cache_dir = Some(folder);
        }
        if environment.text("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE").is_some_and(|text| text != "0")
        {
            config.plugin_cache_may_break_dependency_lock_file = true;
        }
        if let Some(folder) = config.plugin_cache_dir.as_ref().filter(|folder| !folder.is_dir()) {
            let text = format!(
                "the plugin cache directory {} is not there; nothing is taken from it",
                folder.display()
            );
            config.warnings.push(ConfigWarning { file: None, position: None, text });
        }
        if let Some(helper) = &mut config.credentials_helper {
            helper.folders = files::plugin_folders(environment);
        }
        if let Some(text) = ConfiguredCredentials::new(&config, environment).warning() {
            config.warnings.push(ConfigWarning { file: None, position: None, text });
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests;
