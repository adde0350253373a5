//! `isthmus state`: the state store, for users and scripts.
//!
//! The store holds the Terraform objects behind resources of a legacy engine. These commands
//! inspect it, and exchange objects with Terraform or OpenTofu. Only `import` starts providers,
//! which upgrade old states and determine an object's id; the others use records only.
//!
//! Exit codes: 0 success; 1 failure, with the reason on standard error; 2 usage error; 3 no such
//! record.

mod dismiss;
mod error;
mod export;
mod import;
mod list;
mod masking;
mod record;
mod rekey;
mod rm;
mod selector;
mod show;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use isthmus_state::EncryptedStore;

use super::output::inform;
use super::{fail, print, warn};
use crate::cli::runtime;
use crate::home::{self, OpenStoreError};
use crate::settings::Settings;
use error::StateError;

const ABOUT: &str = "\
Inspect the state store and exchange it with Terraform or OpenTofu.

The state store holds the resources of the legacy engine (`lumi`, 2017), which does not store Terraform state itself. Today's engine
stores the state of its resources in the backend of its stacks: `pulumi stack export` writes it. The state store has only its
interrupted operations (`isthmus state list --intents`).";

/// Shown for an empty store: users of today's engine look for their objects here.
const EMPTY: &str = "\
the state store holds no objects: it is that of the legacy engine (2017)
help: today's engine keeps its state in the backend of its stacks, `pulumi stack export` writes it";

/// Inspect the state store and exchange it with Terraform or OpenTofu.
#[derive(Debug, Args)]
#[command(long_about = ABOUT)]
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
    Rekey(rekey::Rekey),
    Rm(rm::Rm),
    Dismiss(dismiss::Dismiss),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// Something was not done, as reported.
    Incomplete,
}

impl Outcome {
    fn of(is_whole: bool) -> Self {
        if is_whole { Self::Done } else { Self::Incomplete }
    }
}

pub(super) fn run(state: &State, settings: &Arc<Settings>) -> ExitCode {
    runtime::run(async {
        let done = match &state.command {
            Commands::List(list) => list.run(settings).await,
            Commands::Show(show) => show.run(settings).await,
            Commands::Export(export) => export.run(settings).await,
            Commands::Import(import) => import.run(settings).await,
            Commands::Rekey(rekey) => rekey.run(settings).await,
            Commands::Rm(rm) => rm.run(settings).await,
            Commands::Dismiss(dismiss) => dismiss.run(settings).await,
        };
        match done {
            Ok(Outcome::Done) => ExitCode::SUCCESS,
            Ok(Outcome::Incomplete) => ExitCode::FAILURE,
            Err(error) => {
                let code = error.exit_code();
                fail(&isthmus_common::error_chain(&error));
                code
            }
        }
    })
}

/// Opens the configured store, for commands that read or remove. It is not created: that would hide
/// from later commands, and from the plugin, that it is missing.
async fn open_existing_state_store(settings: &Settings) -> Result<EncryptedStore, StateError> {
    let state_store = home::state_store(settings).map_err(OpenStoreError::from)?;
    match state_store.existing().await.map_err(OpenStoreError::from)? {
        Some(existing) => {
            existing.warnings().for_each(|warning| warn(&warning));
            Ok(existing.clone())
        }
        None => {
            Err(StateError::NoStore { store: state_store.location(), key: state_store.own_key_file().await })
        }
    }
}

/// Opens the configured store, creating it if it is missing. Its warnings go to standard error.
async fn open_state_store(settings: &Settings) -> Result<EncryptedStore, StateError> {
    let state_store = home::state_store(settings).map_err(OpenStoreError::from)?;
    let state_store = state_store.open().await.map_err(OpenStoreError::from)?.clone();
    for warning in state_store.warnings() {
        warn(&warning);
    }
    Ok(state_store)
}
