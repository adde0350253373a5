//! `isthmus install`: puts programs where they are looked for.

mod plugin;
mod stacks;
mod versions;

use std::process::ExitCode;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  isthmus install --plugin
  isthmus install --plugin --force
  isthmus install --plugin --plugin-version 1.1.3
  pulumi stack export | isthmus install --plugin --stack -

The Pulumi CLI looks for a plugin by its exact version, which is in SDKs, in Pulumi.yaml and in stacks. This program is put into
resource-terraform-provider-vVERSION in the plugins of the Pulumi home, for each version that the project names: in the SDKs and
Pulumi.yaml in and below its folder, and in its stacks, for which the Pulumi CLI is asked if it is on PATH. A program of somebody
else that is there already, such as the plugin that this one replaces, is left alone without --force.";

/// Put this program where the Pulumi CLI looks for its plugin.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Install {
    /// Put this program where the Pulumi CLI looks for the plugin, under each version that the project names.
    #[arg(long, required = true)]
    plugin: bool,
    #[command(flatten)]
    options: plugin::Options,
}

pub(super) fn run(install: &Install) -> ExitCode {
    plugin::run(&install.options)
}
