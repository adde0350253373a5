//! `isthmus recover`: what was changed, or may have been, without an engine knowing it.
//!
//! The journal has an entry of each change from before the provider is called until there is evidence that
//! the engine knows what came of it. These commands list what is left, prepare taking it over, and
//! acknowledge it. They change no objects, and start no providers.
//!
//! Exit codes: 0 success; 1 failure, with the reason on standard error; 2 usage error; 3 no such
//! operation.

mod dismiss;
mod error;
mod import_file;
mod list;
mod open;
mod stack;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::output::fail_as;
use super::runtime;
use isthmus_context::settings::Settings;

const ABOUT: &str = "\
List changes that an engine may not know of, and take them over.

A provider, a plugin, an engine or the machine may end in the middle of a change. The journal keeps each change until a later call with
the resource's id, or the orderly end of its run, shows that the engine knows the outcome. This command lists the rest.";

const EXAMPLES: &str = "\
Examples:
  isthmus recover
  isthmus recover list --json | jq -r '.operations[].urn'
  pulumi stack export | isthmus recover list --all --export -
  isthmus recover import-file > import.json && pulumi import --file import.json
  isthmus recover dismiss 4f1d09ab37c2-12

CONDITION is \"made\" if the provider made the object and the engine may not know it, and \"unknown\" if the outcome is unknown. With
--all, it is \"ended\" if the run that made the object ended in order: the engine knows the object, or knew it until it left the stack by
`pulumi state move`, `pulumi state delete`, `deletedWith` or `retainOnDelete`, which engines do not report.

Compare the list with the stack and with the provider: --export settles operations whose objects the stack has. If the stack does not have
an object, import it with `isthmus recover import-file` and `pulumi import --file`, or delete it at the provider. Then dismiss the
operation.

The exit code is 1 if isthmus cannot read a part of the journal.";

/// List changes that an engine may not know of, and take them over.
#[derive(Debug, Args)]
#[command(long_about = ABOUT, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct Recover {
    #[command(subcommand)]
    command: Option<Commands>,
    #[command(flatten)]
    list: list::List,
}

#[derive(Debug, Subcommand)]
enum Commands {
    #[command(visible_alias = "ls")]
    List(list::List),
    ImportFile(import_file::ImportFile),
    Dismiss(dismiss::Dismiss),
}

pub(super) fn run(recover: &Recover, settings: &Arc<Settings>) -> ExitCode {
    runtime::run(async {
        let done = match &recover.command {
            None => recover.list.run(settings).await,
            Some(Commands::List(list)) => list.run(settings).await,
            Some(Commands::ImportFile(import_file)) => import_file.run(settings).await,
            Some(Commands::Dismiss(dismiss)) => dismiss.run(settings).await,
        };
        match done {
            Ok(outcome) => outcome.into(),
            Err(error) => {
                let code = error.exit_code();
                fail_as(&isthmus_common::error_chain(&error), error.code());
                code
            }
        }
    })
}
