//! `isthmus state rekey`: encrypts the state store with another key.
//!
//! Plugins may use the store meanwhile. The command can be interrupted at any point and repeated;
//! until it completes, both the old and the new key open the store.

use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use clap::Args;
use isthmus_common::{Secret, counted};
use isthmus_state::{JournalFiles, KeySource};

use super::error::StateError;
use super::{open_existing_state_store, open_state_store};
use crate::cli::install::Reporter;
use crate::cli::output::{Outcome, print};
use isthmus_context::home;
use isthmus_context::settings::Settings;

const ENCRYPTING: &str = "encrypting the records with the new key";

const EXAMPLES: &str = "\
Examples:
  isthmus state rekey
  isthmus state rekey --key-file /etc/isthmus/state.key
  isthmus state rekey --passphrase < passphrase.txt

Without an option, isthmus replaces the random key in `state.key` in ISTHMUS_HOME. With one, set ISTHMUS_KEY_FILE or ISTHMUS_PASSPHRASE
for every plugin and command afterwards; while the command runs, the old key is still the configured one.";

/// Encrypt the state store with another key.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Rekey {
    /// File of the new key, 64 hexadecimal digits.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Read a new passphrase, one line, from standard input.
    #[arg(long, conflicts_with = "key_file")]
    passphrase: bool,
}

impl Rekey {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, StateError> {
        let new = self.new_key()?;
        // A journal has the same key, and may be there without a store.
        let journal = home::home(settings).ok().map(|home| JournalFiles::directory_in(&home));
        let state_store = match &journal {
            Some(journal) if journal.exists() => open_state_store(settings).await?,
            _ => open_existing_state_store(settings).await?,
        };
        let (rotated, next) = match (&new, &settings.key) {
            (Some(source), _) => {
                let variable = if self.passphrase { "ISTHMUS_PASSPHRASE" } else { "ISTHMUS_KEY_FILE" };
                (
                    Reporter::during(ENCRYPTING, state_store.rotate(source, journal.as_deref())).await?,
                    format!("; set {variable} to the new key from now on"),
                )
            }
            (None, Some(_)) => return Err(StateError::ConfiguredKey),
            (None, None) => {
                let directory = home::home(settings)?;
                let rotated = Reporter::during(ENCRYPTING, state_store.rotate_own_key(&directory)).await?;
                (rotated, String::new())
            }
        };
        print(&format!("encrypted {} with the new key{next}\n", counted(rotated.records, "record")));
        Ok(Outcome::Done)
    }

    /// The new key that the options set; `None` for a random one.
    fn new_key(&self) -> Result<Option<KeySource>, StateError> {
        if self.passphrase {
            if std::io::stdin().is_terminal() {
                return Err(StateError::Terminal);
            }
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line).map_err(StateError::Passphrase)?;
            let passphrase = line.trim_end_matches(['\r', '\n']).to_owned();
            if passphrase.is_empty() {
                return Err(StateError::Passphrase(std::io::ErrorKind::UnexpectedEof.into()));
            }
            return Ok(Some(KeySource::Passphrase(Secret::new(passphrase))));
        }
        Ok(self.key_file.clone().map(KeySource::File))
    }
}
