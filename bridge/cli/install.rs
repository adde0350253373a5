//! `isthmus install`: puts programs where they are looked for.

mod error;
mod locking;
mod plugin;
mod progress;
mod provider;
mod stacks;

use std::process::ExitCode;

use clap::Args;

use super::shell;
use crate::settings::Settings;

pub(crate) use error::ProviderError;
pub(crate) use progress::Reporter;
pub(crate) use provider::{install_one, installer, platform};

const EXAMPLES: &str = "\
Examples:
  isthmus install hashicorp/random
  isthmus install hashicorp/aws '~> 5.0' --lock
  isthmus install hashicorp/aws --lock --upgrade --platform linux_arm64 --platform darwin_arm64
  isthmus install --plugin
  isthmus install --plugin --force
  isthmus install --plugin --project ~/infrastructure --plugin-version 1.1.3
  pulumi stack export | isthmus install --plugin --stack -

A provider is put into the cache of providers, and verified, as when it is first used. Versions are asked for anew, but a version that is
named and is there already needs no network. With --lock the version and the sums of the packages are kept in .terraform.lock.hcl as
`tofu init` keeps them, and a version that is locked there is the one that is installed.

The Pulumi CLI looks for a plugin by its exact version, which is in SDKs, in Pulumi.yaml and in stacks. With --plugin, this program is
installed as resource-terraform-provider-vVERSION in the plugins of the Pulumi home, for each version that the project names: in
Pulumi.yaml, in the SDKs below it, and in its stacks, which the Pulumi CLI lists if it is on PATH. The project is the nearest directory
upwards with a Pulumi.yaml; without one, the default version is installed. A plugin that isthmus did not install, such as the one that
it replaces, is left alone without --force.";

/// Install a provider, or the Pulumi plugin itself (`--plugin`).
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Install {
    #[arg(
        required_unless_present = "plugin",
        conflicts_with = "plugin",
        help = "Which provider, as [HOST/][NAMESPACE/]TYPE"
    )]
    provider: Option<String>,
    /// A version, or a constraint such as '~> 3.8'; without it, the newest, or the one that is locked.
    #[arg(requires = "provider")]
    version: Option<String>,
    #[command(flatten)]
    options: provider::Options,
    /// Install the plugin for the Pulumi CLI, under each version that the project names.
    #[arg(long)]
    plugin: bool,
    #[command(flatten)]
    plugin_options: plugin::Options,
}

pub(crate) fn run(install: &Install, settings: &Settings) -> ExitCode {
    match &install.provider {
        Some(provider) => {
            shell::warn_of_redirection();
            install.options.run(provider, install.version.as_deref(), settings)
        }
        None => install.plugin_options.run(),
    }
}
