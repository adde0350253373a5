//! The CLI configuration of Terraform and OpenTofu, as far as it concerns providers.
//!
//! Files, order, precedence and meaning are OpenTofu's, which reads Terraform's files too; so a
//! configuration with which `tofu init` works needs no changes. Two things differ on purpose. An
//! invalid file is an error, while both of them ignore it with a warning: that would query the
//! public registry although a mirror is configured. And unknown settings cause a warning, so that
//! typing errors are noticed.

mod client;
mod config;
pub(crate) mod decode;
mod error;
mod expand;
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
pub use files::implied_mirrors;
pub(crate) use installation::{InstallationMethod, MethodLocation, ProviderInstallation};
pub(crate) use pattern::{PatternError, ProviderPattern};
pub(crate) use template::{OciRepository, RepositoryTemplate, TemplateFault};

#[cfg(test)]
mod tests;
