//! Failures of `isthmus state`, and their help.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use isthmus_install::AddressError;
use isthmus_state::stacks::SequenceError;
use isthmus_state::tfstate::{Collision, TfStateError};
use isthmus_state::{AddressSyntaxError, BackupError, EncryptedStoreError};

use crate::cli::consent::NoConsent;
use crate::cli::output::{USAGE_ERROR, explain_missing};
use isthmus_context::error_code::ErrorCode;
use isthmus_context::home::OpenStoreError;
use isthmus_session::error_code::{of_encrypted_store, of_open_store};

/// Exit code if there is no such record.
const NO_SUCH_RECORD: u8 = 3;

#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum StateError {
    #[error(transparent)]
    Open(#[from] OpenStoreError),
    #[error(transparent)]
    EncryptedStore(#[from] EncryptedStoreError),
    #[error("no state store {store}{}\nhelp: {}", beside(key.as_deref()), remedy(key.is_some()))]
    NoStore {
        /// Where it would be.
        store: String,
        /// An existing key file, which shows that there was a store.
        key: Option<PathBuf>,
    },
    #[error("no record {selector} in the state store {store}\nhelp: `isthmus state list` lists the records")]
    NoSuchRecord {
        /// As the user wrote it.
        selector: String,
        store: String,
    },
    #[error("{selector} matches {count} records: {numbers}\nhelp: select one by its number")]
    SeveralRecords {
        /// As the user wrote it.
        selector: String,
        count: usize,
        numbers: String,
    },
    /// The user configured the key.
    #[error(
        "the key of the state store is set in the environment, and a random key does not replace it\nhelp: pass the new key with \
         --key-file or --passphrase"
    )]
    ConfiguredKey,
    #[error(transparent)]
    Home(#[from] isthmus_context::home::StateDirectoryError),
    /// A terminal would show the passphrase.
    #[error(
        "a passphrase is not read from a terminal, which would show it\nhelp: redirect standard input from a file or a pipe"
    )]
    Terminal,
    #[error("no passphrase could be read from standard input")]
    Passphrase(#[source] std::io::Error),
    #[error("{file} cannot be read", file = .file.display())]
    Read {
        file: PathBuf,
        #[source]
        error: std::io::Error,
    },
    #[error(
        "{file} is larger than {largest} MiB\nhelp: divide the state, for example by `tofu state mv -state-out=FILE`, and use \
         its parts", file = .file.display()
    )]
    TooLarge {
        file: PathBuf,
        /// The limit in MiB.
        largest: u64,
    },
    /// The store has other records of a stack.
    #[error(
        "{file} is not imported: the records of a stack in the state store differ from it in {keys}\nhelp: \
         replace them with --on-conflict replace, or add those that are missing with --on-conflict both; `isthmus state list \
         --stack` lists them", file = .file.display()
    )]
    StackConflict { file: PathBuf, keys: String },
    #[error("failed to write {file}", file = .file.display())]
    Write {
        file: PathBuf,
        #[source]
        error: std::io::Error,
    },
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error(
        "the state store is on a PostgreSQL server, which has its own tools for backups\nhelp: use pg_dump with --schema=isthmus, and \
         pg_restore; keep the key elsewhere"
    )]
    ServerBackup,
    #[error("{file} exists\nhelp: choose another file with --output, or overwrite it with --force", file = .0.display())]
    Exists(PathBuf),
    #[error("{file} is a file of the state store\nhelp: choose another file with --output", file = .0.display())]
    Own(PathBuf),
    #[error("{file} cannot be used", file = .file.display())]
    TfState {
        file: PathBuf,
        #[source]
        error: TfStateError,
    },
    /// Not a sequence of a stack's records.
    #[error("{file} cannot be used", file = .file.display())]
    Sequence {
        file: PathBuf,
        #[source]
        error: Box<SequenceError>,
    },
    #[error(
        "{file} is not a state or a plan of a stack\nhelp: `isthmus state import` reads a terraform.tfstate",
        file = .0.display()
    )]
    NoSequence(PathBuf),
    /// Not a file of addresses.
    #[error(
        "invalid address file {file}: {reason}\nhelp: write a JSON object such as \
         {{\"random_pet.dog\": \"random_pet/able-dog\"}}, an address for each record",
        file = .file.display()
    )]
    Addresses { file: PathBuf, reason: String },
    #[error("records have the same address\nhelp: give one of them another address with --addresses")]
    Collision(#[from] Collision),
    #[error("--provider {option}")]
    ProviderAddress {
        option: String,
        #[source]
        error: AddressError,
    },
    /// Providers of the state are not started.
    #[error(transparent)]
    Consent(#[from] NoConsent),
    /// The provider reference in a state cannot be parsed.
    #[error("the provider of {address} cannot be read")]
    ProviderConfig {
        /// The object.
        address: String,
        #[source]
        error: AddressSyntaxError,
    },
}

impl StateError {
    /// The code of its kind, if that has a page.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Open(error) => Some(of_open_store(error)),
            Self::EncryptedStore(error) => Some(of_encrypted_store(error)),
            _ => None,
        }
    }
}

fn beside(key: Option<&Path>) -> String {
    key.map(|key| format!(", although its key file {} exists", key.display())).unwrap_or_default()
}

fn remedy(was_there: bool) -> &'static str {
    if was_there {
        "restore the store from a backup, or set ISTHMUS_STORE or ISTHMUS_HOME to where it is"
    } else {
        "if there should be one, set ISTHMUS_STORE or ISTHMUS_HOME to where it is; it is for the legacy engine (2017), and \
         `pulumi stack export` writes today's state"
    }
}

impl StateError {
    pub(in crate::cli) fn read(file: &Path, error: std::io::Error) -> Self {
        Self::Read { file: file.to_owned(), error: explain_missing(file, error) }
    }

    pub(in crate::cli) fn exit_code(&self) -> ExitCode {
        match self {
            Self::NoSuchRecord { .. } | Self::NoStore { .. } => ExitCode::from(NO_SUCH_RECORD),
            Self::Consent(NoConsent::NoTerminal(_)) => ExitCode::from(USAGE_ERROR),
            _ => ExitCode::FAILURE,
        }
    }
}
