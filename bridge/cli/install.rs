//! `isthmus install`: puts programs where they are looked for.

mod locking;
mod plugin;
mod progress;
mod provider;
mod stacks;
mod versions;

use std::process::ExitCode;

use clap::Args;

pub(super) use progress::Reporter;
pub(super) use provider::{ProviderError, install_one, installer, platform};

const EXAMPLES: &str = "\
Examples:
  isthmus install hashicorp/random
  isthmus install hashicorp/aws '~> 5.0' --lock
  isthmus install hashicorp/aws --lock --upgrade --platform linux_arm64 --platform darwin_arm64
  isthmus install --plugin
  isthmus install --plugin --force
  pulumi stack export | isthmus install --plugin --stack -

A provider is put into the cache of providers, and verified, as when it is first used. Versions are asked for anew, but a version that is
named and is there already needs no network. With --lock the version and the sums of the packages are kept in .terraform.lock.hcl as
`tofu init` keeps them, and a version that is locked there is the one that is installed.

The Pulumi CLI looks for a plugin by its exact version, which is in SDKs, in Pulumi.yaml and in stacks. With --plugin, this program is put
into resource-terraform-provider-vVERSION in the plugins of the Pulumi home, for each version that the project names: in the SDKs and
Pulumi.yaml in and below its folder, and in its stacks, for which the Pulumi CLI is asked if it is on PATH. A program of somebody
else that is there already, such as the plugin that this one replaces, is left alone without --force.";

/// Put a provider into the cache; or, with --plugin, this program where the Pulumi CLI looks for its plugin.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Install {
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
    /// Put this program where the Pulumi CLI looks for the plugin, under each version that the project names.
    #[arg(long)]
    plugin: bool,
    #[command(flatten)]
    plugin_options: plugin::Options,
}

pub(super) fn run(install: &Install) -> ExitCode {
    match &install.provider {
        Some(provider) => install.options.run(provider, install.version.as_deref()),
        None => install.plugin_options.run(),
    }
}
