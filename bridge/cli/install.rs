//! `isthmus install`: installs providers and the plugin.

mod error;
mod locking;
mod plugin;
mod progress;
mod provider;
mod stacks;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::shell;
use isthmus_context::settings::Settings;

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
  isthmus install --plugin --project ~/infrastructure --plugin-version 1.4.0
  pulumi stack export | isthmus install --plugin --stack -

isthmus installs the provider into the plugin cache and verifies it, as on its first use. It queries the registry for versions, unless you
give an exact version that is installed already. With --lock it records the version and the checksums of its packages in
.terraform.lock.hcl, like `tofu init`, and installs a version that is locked there.

The Pulumi CLI looks for a plugin by its exact version, which SDKs, Pulumi.yaml and stacks contain. With --plugin, isthmus installs itself
as resource-terraform-provider-vVERSION in the plugins directory of the Pulumi home, for each version in Pulumi.yaml, in the SDKs below
it, and in the project's stacks, which the Pulumi CLI lists if it is on PATH. Without a project, isthmus installs the default version. It
replaces a plugin that it did not install, such as the Go bridge, only with --force or --everywhere.";

/// Install a provider, or the Pulumi plugin itself (`--plugin`).
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Install {
    #[arg(
        // Those of the plugin lack `--plugin` at most.
        required_unless_present_any = ["plugin", "project", "stacks", "versions", "force", "everywhere"],
        conflicts_with = "plugin",
        help = "Provider source address, [HOST/][NAMESPACE/]TYPE"
    )]
    provider: Option<String>,
    /// Version or version constraint, such as '~> 3.8' (default: the locked version, or the newest).
    #[arg(requires = "provider")]
    version: Option<String>,
    #[command(flatten)]
    options: provider::Options,
    /// Install the plugin for the Pulumi CLI, under each version that the project uses.
    #[arg(long)]
    plugin: bool,
    #[command(flatten)]
    plugin_options: plugin::Options,
}

pub(crate) fn run(install: &Install, settings: &Arc<Settings>) -> ExitCode {
    match &install.provider {
        Some(provider) => {
            shell::warn_of_redirection();
            install.options.run(provider, install.version.as_deref(), settings)
        }
        None => install.plugin_options.run(),
    }
}
