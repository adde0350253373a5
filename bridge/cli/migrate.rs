//! `isthmus migrate`: from a Terraform state to a Pulumi stack, and back.
//!
//! Providers are started, but not configured: they upgrade old objects, and plan to determine which
//! properties a program must set. No real object is read or changed.
//!
//! Exit codes: 0 success; 1 failure, with the reason on standard error; 2 usage error; 3 something
//! could not be migrated, which is listed on standard error; the rest is written.

mod configuration;
mod error;
mod files;
mod losses;
mod providers;
mod to_pulumi;
mod to_terraform;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::consent::Consent;
use super::output::{USAGE_ERROR, fail};
use super::state::pair;
use crate::cli::runtime;
use isthmus_context::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  isthmus migrate terraform.tfstate --output shop
  tofu state pull | isthmus migrate - --output shop --stack prod --from-config .
  tofu state pull | isthmus migrate - --output . --from-config . --runtime hcl
  pulumi stack export --show-secrets | isthmus migrate --to terraform - --output back --addresses shop/addresses.json

To Pulumi, isthmus writes a project into the output directory: a program in YAML, the packages that it uses, and the stack export
stack.json for `pulumi stack import --file stack.json`. The next preview then shows no changes. The state is a terraform.tfstate, or the
output of `tofu show -json`, which lacks private data.

With --runtime hcl, the configuration stays the program, and Pulumi's HCL host runs it unchanged: write Pulumi.yaml and stack.json into
its directory. Resources get the host's names, and modules are components.

To Terraform, isthmus writes a terraform.tfstate, and import blocks in imports.tf. Write the stack export with --show-secrets.

isthmus starts every provider once, from --provider or from the plugin cache, in the version of the lock file beside the state, or else in
the newest one. It lists providers that only the state or the stack export names, and downloads and starts them after your confirmation or
with --yes. You need not confirm providers of --provider, of the lock file in the working directory, or of development overrides.

stack.json, terraform.tfstate and the files in secrets/ contain secrets in the clear; only their owner can read them.

The exit code is 3 if isthmus could not migrate something: it lists each item on standard error, with the reason.";

/// Migrate a Terraform state to a Pulumi stack, or back.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Migrate {
    /// State, or with `--to terraform` a stack export (`-`: standard input).
    file: PathBuf,
    /// Target of the migration.
    #[arg(long, value_enum, default_value_t = To::Pulumi)]
    to: To,
    /// Output directory.
    #[arg(long, short)]
    output: PathBuf,
    /// Overwrite files in the output directory.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    consent: Consent,
    /// Provider binary, by the provider's type or source address.
    #[arg(long, value_name = "TYPE=FILE", value_parser = pair)]
    provider: Vec<(String, String)>,
    /// To Pulumi: project name (default: the name of the output directory).
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// To Pulumi: stack name.
    #[arg(long, value_name = "NAME", default_value = "dev")]
    stack: String,
    /// To Pulumi: directory of the configuration, whose properties and references the program gets.
    #[arg(long, value_name = "DIR")]
    from_config: Option<PathBuf>,
    /// To Pulumi: language of the program. With `hcl`, the configuration of `--from-config` stays the program.
    #[arg(long, value_enum, default_value_t = Runtime::Yaml)]
    runtime: Runtime,
    /// To Terraform: JSON file of resource instance addresses, as the migration to Pulumi writes it.
    #[arg(long, value_name = "FILE")]
    addresses: Option<PathBuf>,
    /// To Terraform: provider source address of a package (default: the one that the package was made from).
    #[arg(long, value_name = "PACKAGE=ADDRESS", value_parser = pair)]
    provider_address: Vec<(String, String)>,
    /// To Terraform: lineage of the existing state that this one continues (default: a new one).
    #[arg(long)]
    lineage: Option<String>,
    /// To Terraform: serial, larger than the existing state's.
    #[arg(long, default_value_t = 1)]
    serial: u64,
}

/// Target of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// A Pulumi stack and its program.
    Pulumi,
    /// A terraform.tfstate and import blocks.
    Terraform,
}

/// Language of the program of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Runtime {
    /// Pulumi YAML.
    Yaml,
    /// HCL: Terraform's configurations.
    Hcl,
}

pub(super) fn run(migrate: &Migrate, settings: &Arc<Settings>) -> ExitCode {
    runtime::run(async {
        let done = match migrate.to {
            To::Pulumi => migrate.to_pulumi(settings).await,
            To::Terraform => migrate.to_terraform(settings).await,
        };
        match done {
            Ok(losses) => losses.exit_code(),
            Err(error) => {
                let code = fail(&isthmus_common::error_chain(&error));
                if error.is_usage_error() { ExitCode::from(USAGE_ERROR) } else { code }
            }
        }
    })
}
