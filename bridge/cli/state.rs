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
mod import;
mod inspect;
mod list;
mod masking;
mod record;
mod rekey;
mod rm;
mod selector;
mod show;

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use isthmus_state::EncryptedStore;

use super::output::{detail, fail_as, warn};
use super::runtime;
pub(super) use error::StateError;
pub(super) use export::pair;
#[cfg(feature = "fuzzing")]
pub(crate) use inspect::inspected;
use isthmus_context::home::{self, OpenStoreError};
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

/// Shown for an empty store: users of today's engine look for their objects here.
const EMPTY: &str = "\
the state store holds no objects: it is for the legacy engine (2017)
help: today's engine keeps its state in the backend of its stacks, `pulumi stack export` writes it";

/// Opens the configured store, for commands that read or remove. It is not created: that would hide
/// from later commands, and from the plugin, that it is missing.
async fn open_existing_state_store(settings: &Settings) -> Result<EncryptedStore, StateError> {
    let state_store = home::state_store(settings).map_err(OpenStoreError::from)?;
    detail(|| format!("the state store is {}", state_store.location()));
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
    detail(|| format!("the state store is {}", state_store.location()));
    let state_store = state_store.open().await.map_err(OpenStoreError::from)?.clone();
    for warning in state_store.warnings() {
        warn(&warning);
    }
    Ok(state_store)
}

/// Maximum size in bytes. Decoded records take many times as much memory.
const LARGEST: u64 = 128 << 20;

/// Reads a file, or standard input if it is `-`.
pub(in crate::cli) fn read_file(file: &Path) -> Result<Vec<u8>, StateError> {
    read_up_to(LARGEST, file)
}

fn read_up_to(largest: u64, file: &Path) -> Result<Vec<u8>, StateError> {
    let mut bytes = Vec::new();
    let limit = largest.saturating_add(1);
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|opened| opened.take(limit).read_to_end(&mut bytes))
    };
    read.map_err(|error| StateError::read(file, error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > largest) {
        return Err(StateError::TooLarge { file: file.to_owned(), largest: largest >> 20 });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("file");
        std::fs::write(&file, vec![7; 1 << 20]).expect("written");
        assert_eq!(read_up_to(1 << 20, &file).expect("a file").len(), 1 << 20);
        std::fs::write(&file, vec![7; (1 << 20) + 1]).expect("written");
        let error = read_up_to(1 << 20, &file).expect_err("too large").to_string();
        assert!(error.contains("larger than 1 MiB") && error.contains("\nhelp: "), "{error}");
        assert_eq!(read_file(&file).expect("a file").len(), (1 << 20) + 1);
    }
}
