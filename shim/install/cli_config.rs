//! What users have told Terraform and OpenTofu about where providers come from: the CLI configuration.
//!
//! Files, order, precedence and meaning are OpenTofu's, which reads Terraform's files too; so whoever has made `tofu init`
//! work in a closed network need tell us nothing. Two things differ on purpose. A file that cannot be understood is an error
//! here, while both of them complain and go on with what is left: that would ask the public registry behind the back of
//! somebody who has configured a mirror. And what nobody knows is warned about, so that a slip of the pen is seen.

mod client;
mod config;
mod decode;
mod error;
mod files;
mod installation;
mod load;
mod pattern;
mod template;

pub use config::CliConfig;
pub(crate) use config::RegistryProtocols;
pub use error::CliConfigError;
pub(crate) use error::ConfigFault;
pub(crate) use error::ConfigWarning;
pub(crate) use installation::{InstallationMethod, MethodLocation, ProviderInstallation};
pub(crate) use pattern::{PatternError, ProviderPattern};
pub(crate) use template::{OciRepository, RepositoryTemplate, TemplateFault};

#[cfg(test)]
mod tests;
