//! `isthmus state`: the store of objects, for people and scripts.
//!
//! The store holds what an engine of 2017 cannot: the Terraform objects behind its resources. Here they can be looked at,
//! taken to Terraform or OpenTofu and brought from there. Only `import` starts providers, because only they know what old
//! states mean and what an object's id is; everything else works on the records alone.
//!
//! Exit codes: 0 done; 1 failed, with the reason on standard error; 2 the words were wrong; 3 there is no such record.

mod dismiss;
mod error;
mod export;
mod import;
mod list;
mod masking;
mod record;
mod rm;
mod selector;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use isthmus_shim::state::Vault;

use super::plugin::fail;
use super::{print, warn};
use crate::daemon::{self, OpenVaultError};
use error::StateError;

/// What is to be done.
#[derive(Debug, Args)]
pub(super) struct State {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Debug, Subcommand)]
enum Commands {
    List(list::List),
    Show(show::Show),
    Export(export::Export),
    Import(import::Import),
    Rm(rm::Rm),
    Dismiss(dismiss::Dismiss),
}

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// Something was not done, which was told.
    Incomplete,
}

impl Outcome {
    fn of(is_whole: bool) -> Self {
        if is_whole { Self::Done } else { Self::Incomplete }
    }
}

pub(super) fn run(state: &State) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("the runtime cannot be started: {error}")),
    };
    let done = runtime.block_on(async {
        match &state.command {
            Commands::List(list) => list.run().await,
            Commands::Show(show) => show.run().await,
            Commands::Export(export) => export.run().await,
            Commands::Import(import) => import.run().await,
            Commands::Rm(rm) => rm.run().await,
            Commands::Dismiss(dismiss) => dismiss.run().await,
        }
    });
    match done {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Incomplete) => ExitCode::FAILURE,
        Err(error) => {
            let code = error.exit_code();
            fail(&isthmus_shim::error_chain(&error));
            code
        }
    }
}

/// Opens the store that the environment names. What the user should know about it goes to standard error.
async fn open_vault() -> Result<Vault, StateError> {
    let vault =
        daemon::vault().map_err(OpenVaultError::from)?.open().await.map_err(OpenVaultError::from)?.clone();
    if let Some(warning) = vault.warning() {
        warn(&warning);
    }
    Ok(vault)
}
