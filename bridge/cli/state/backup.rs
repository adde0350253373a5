//! `isthmus state backup` and `isthmus state restore`: a copy of the state store and the journal.
//!
//! Plugins may use both while they are backed up. A restore replaces nothing, so nothing that is in use is
//! changed.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser as _};
use isthmus_common::counted;
use isthmus_state::{BackedUp, BackupScope, KeySource, StoreAddress, database_in};

use super::error::StateError;
use crate::cli::install::Reporter;
use crate::cli::output::{Outcome, print};
use isthmus_context::home;
use isthmus_context::settings::Settings;

const BACKUP: &str = "\
Examples:
  isthmus state backup /backups/isthmus-$(date +%F)

The file has all records, and the journal with its open operations, of one moment; plugins may run meanwhile. isthmus reads the file back
with the key before the command ends. It is encrypted like the state store, and does not contain the key: to restore it, you need
`state.key` of ISTHMUS_HOME, or the key or passphrase that ISTHMUS_KEY_FILE, ISTHMUS_KEY or ISTHMUS_PASSPHRASE had. Keep that elsewhere.

Back up a store on a PostgreSQL server with its own tools, such as pg_dump with --schema=isthmus.";

const RESTORE: &str = "\
Examples:
  isthmus state restore /backups/isthmus-2026-11-23

isthmus reads the whole file with the key before it writes anything. It never replaces an existing state store or journal: stop the
programs that use it, and move it elsewhere. A restored store does not know objects that were created or changed after the backup: compare
them with the engine's environment before the next deployment.";

/// Write a backup of the state store and the journal.
#[derive(Debug, Args)]
#[command(after_help = BACKUP)]
pub(super) struct Backup {
    /// New file to write.
    #[arg(value_parser = PathBufValueParser::new().try_map(no_stream))]
    file: PathBuf,
}

/// Restore a backup of the state store and the journal.
#[derive(Debug, Args)]
#[command(after_help = RESTORE)]
pub(super) struct Restore {
    /// Backup file.
    #[arg(value_parser = PathBufValueParser::new().try_map(no_stream))]
    file: PathBuf,
}

impl Backup {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, StateError> {
        let scope = scope(settings)?;
        let backed_up = Reporter::during("backing up the state store", scope.back_up(&self.file)).await?;
        print(&format!("backed up to {}: {}\n", self.file.display(), contents(backed_up)));
        Ok(Outcome::Done)
    }
}

impl Restore {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, StateError> {
        let scope = scope(settings)?;
        let restored = Reporter::during("restoring the state store", scope.restore(&self.file)).await?;
        print(&format!("restored {}: {}\n", self.file.display(), contents(restored)));
        Ok(Outcome::Done)
    }
}

/// Refuses the name by which other commands mean standard output or input: a backup is read back before it
/// gets its name, and all of it is checked before anything is restored, which a stream does not allow.
fn no_stream(file: PathBuf) -> Result<PathBuf, &'static str> {
    if file.as_os_str() == "-" {
        Err("a backup is a file, not a stream (`./-` is a file named `-`)")
    } else {
        Ok(file)
    }
}

fn scope(settings: &Settings) -> Result<BackupScope, StateError> {
    let home = home::home(settings)?;
    let store = match &settings.store {
        Some(StoreAddress::File(file)) => file.clone(),
        None => database_in(&home),
        Some(_) => return Err(StateError::ServerBackup),
    };
    let key = settings.key.clone().unwrap_or_else(|| KeySource::Directory(home.clone()));
    Ok(BackupScope { store, home, key })
}

fn contents(backed_up: BackedUp) -> String {
    let BackedUp { records, journal_files, .. } = backed_up;
    let noun = if records == 1 { "record or open operation" } else { "records and open operations" };
    format!("{records} {noun}, {}", counted(journal_files, "journal file"))
}
