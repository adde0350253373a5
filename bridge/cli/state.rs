//! `isthmus state`: the state store, for users and scripts.
//!
//! The store holds the Terraform objects behind resources of a legacy engine. These commands
//! inspect it, and exchange objects with Terraform or OpenTofu. Only `import` starts providers,
//! which upgrade old states and determine an object's id; the others use records only.
//!
//! Exit codes: 0 success; 1 failure, with the reason on standard error; 2 usage error; 3 no such
//! record.

mod backup;
mod error;
mod export;
mod file;
mod import;
mod inspect;
mod list;
mod masking;
mod open;
mod record;
mod rekey;
mod rm;
mod selector;
mod show;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::output::fail_as;
use super::runtime;
pub(super) use error::StateError;
pub(super) use export::pair;
pub(super) use file::read as read_file;
#[cfg(feature = "fuzzing")]
pub(crate) use inspect::inspected;
use isthmus_context::settings::Settings;

const ABOUT: &str = "\
Inspect the legacy engine's state store and exchange it with OpenTofu.

These commands are for the legacy engine (`lumi`, 2017), which does not store Terraform state itself. Today's engine stores the state of
its resources in the backend of its stacks: `pulumi stack export` writes it, and `isthmus migrate` exchanges it with Terraform or
OpenTofu. `isthmus recover` lists interrupted operations of both. `backup`, `restore` and `rekey` are for both: they include the journal.";

/// Inspect the legacy engine's state store and exchange it with OpenTofu.
#[derive(Debug, Args)]
#[command(long_about = ABOUT)]
pub(super) struct State {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Debug, Subcommand)]
enum Commands {
    Backup(backup::Backup),
    Restore(backup::Restore),
    #[command(visible_alias = "ls")]
    List(list::List),
    Show(show::Show),
    Export(export::Export),
    Import(import::Import),
    Inspect(inspect::Inspect),
    Rekey(rekey::Rekey),
    Rm(rm::Rm),
}

pub(super) fn run(state: &State, settings: &Arc<Settings>) -> ExitCode {
    runtime::run(async {
        let done = match &state.command {
            Commands::Backup(backup) => backup.run(settings).await,
            Commands::Restore(restore) => restore.run(settings).await,
            Commands::List(list) => list.run(settings).await,
            Commands::Show(show) => show.run(settings).await,
            Commands::Export(export) => export.run(settings).await,
            Commands::Import(import) => import.run(settings).await,
            Commands::Inspect(inspect) => inspect.run(),
            Commands::Rekey(rekey) => rekey.run(settings).await,
            Commands::Rm(rm) => rm.run(settings).await,
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
