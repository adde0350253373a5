//! Finds and reads the files of a CLI configuration, and creates its credentials sources.

use super::{CliConfig, CliConfigError, ConfigWarning, decode, files};
use crate::auth::{OciAuthenticator, RegistryCredentials};
use isthmus_common::Environment;

impl CliConfig {
    /// Loads the configuration of this environment.
    ///
    /// # Errors
    /// When an existing file cannot be read or is invalid.
    pub fn load(environment: &Environment) -> Result<Self, CliConfigError> {
        let mut config = Self::default();
        let files = files::find(environment, &mut config.warnings)?;
        for file in files {
            decode::file(&file, environment, &mut config)?;
            config.files.push(file);
        }
        if let Some(directory) = environment.path("TF_PLUGIN_CACHE_DIR") {
            config.plugin_cache_dir = Some(directory);
        }
        if environment.text("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE").is_some_and(|text| text != "0")
        {
            config.plugin_cache_may_break_dependency_lock_file = true;
        }
        if let Some(directory) = config.plugin_cache_dir.as_ref().filter(|directory| !directory.is_dir()) {
            let text = format!(
                "the plugin cache directory {} is not there; nothing is taken from it",
                directory.display()
            );
            config.warnings.push(ConfigWarning { file: None, position: None, text });
        }
        if let Some(helper) = &mut config.credentials_helper {
            helper.directories = files::plugin_directories(environment);
        }
        if let Some(text) = config.registry_credentials(environment).warning() {
            config.warnings.push(ConfigWarning { file: None, position: None, text });
        }
        Ok(config)
    }

    /// Whether it has installation methods.
    pub fn has_provider_installation(&self) -> bool {
        self.provider_installation.is_some()
    }

    /// Credentials of registries and network mirrors.
    pub(crate) fn registry_credentials(&self, environment: &Environment) -> RegistryCredentials {
        RegistryCredentials::new(self.credentials.clone(), self.credentials_helper.clone(), environment)
    }

    /// Credentials of OCI registries. Reads the files of Docker and Podman.
    pub(crate) fn oci_authenticator(&self, environment: &Environment) -> OciAuthenticator {
        OciAuthenticator::new(&self.oci_credentials, &self.oci_default_credentials, environment)
    }
}
