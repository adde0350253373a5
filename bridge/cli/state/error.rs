//! What can go wrong with `isthmus state`, and what to do then.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use isthmus_install::AddressError;
use isthmus_state::stacks::SequenceError;
use isthmus_state::tfstate::{Collision, TfStateError};
use isthmus_state::{AddressSyntaxError, EncryptedStoreError};

use crate::cli::explain_missing;
use crate::home::OpenStoreError;

/// The exit code where there is no such record.
const NO_SUCH_RECORD: u8 = 3;

/// A command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StateError {
    /// There is no store that could be used.
    #[error(transparent)]
    Open(#[from] OpenStoreError),
    /// The store cannot be read or written.
    #[error(transparent)]
    EncryptedStore(#[from] EncryptedStoreError),
    /// There is no store, so there is nothing in it.
    #[error("there is no state store {store}{}\nhelp: {}", beside(key.as_deref()), remedy(key.is_some()))]
    NoStore {
        /// Where it would be.
        store: String,
        /// The key file that is there, so that there was a store once.
        key: Option<PathBuf>,
    },
    /// No change of that number is open.
    #[error(
        "no interrupted operation {number} in the state store {store}\nhelp: `isthmus state list --intents` lists them"
    )]
    NoSuchIntent {
        /// As it was written.
        number: i64,
        /// Where.
        store: String,
    },
    /// Nothing is known by that.
    #[error("no record {selector} in the state store {store}\nhelp: `isthmus state list` lists the records")]
    NoSuchRecord {
        /// As it was written.
        selector: String,
        /// Where.
        store: String,
    },
    /// Several are known by that.
    #[error("{selector} matches {count} records: {numbers}\nhelp: select one by its number")]
    SeveralRecords {
        /// As it was written.
        selector: String,
        /// How many.
        count: usize,
        /// Which.
        numbers: String,
    },
    /// The key is the user's own.
    #[error(
        "the key of the state store is set in the environment, and a random key does not replace it\nhelp: pass the new key with \
         --key-file or --passphrase"
    )]
    ConfiguredKey,
    /// There is no home directory.
    #[error(transparent)]
    Home(#[from] crate::home::PlaceError),
    /// A terminal would show the passphrase.
    #[error(
        "a passphrase is not read from a terminal, which would show it\nhelp: redirect standard input from a file or a pipe"
    )]
    Terminal,
    /// No passphrase came.
    #[error("no passphrase could be read from standard input")]
    Passphrase(#[source] std::io::Error),
    /// A file cannot be read.
    #[error("{file} cannot be read", file = .file.display())]
    Read {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// A file cannot be written.
    #[error("{file} cannot be written", file = .file.display())]
    Write {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// A file is in the way.
    #[error("{file} exists\nhelp: choose another file with --output, or overwrite it with --force", file = .0.display())]
    Exists(PathBuf),
    /// A file of the store is in the way.
    #[error("{file} is a file of the state store\nhelp: choose another file with --output", file = .0.display())]
    Own(PathBuf),
    /// A file is no state.
    #[error("{file} cannot be used", file = .file.display())]
    TfState {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        error: TfStateError,
    },
    /// A file is no sequence of a stack's records.
    #[error("{file} cannot be used", file = .file.display())]
    Sequence {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        error: Box<SequenceError>,
    },
    /// A file does not say what objects are to be called.
    #[error(
        "{file} does not say what objects are to be called: {reason}. It is a JSON object such as \
         {{\"random_pet.dog\": \"random_pet/able-dog\"}}, an address for each record",
        file = .file.display()
    )]
    Addresses {
        /// Which.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Two objects have one address.
    #[error("records have the same address\nhelp: give one of them another address with --addresses")]
    Collision(#[from] Collision),
    /// A provider's address is none.
    #[error("--provider {option}")]
    ProviderAddress {
        /// The option as it was given.
        option: String,
        /// What is wrong with it.
        #[source]
        error: AddressError,
    },
    /// A state names a provider in a way that nobody understands.
    #[error("the provider of {address} cannot be read")]
    ProviderConfig {
        /// The object.
        address: String,
        /// What is wrong.
        #[source]
        error: AddressSyntaxError,
    },
}

fn beside(key: Option<&Path>) -> String {
    key.map(|key| format!(", although its key file {} exists", key.display())).unwrap_or_default()
}

fn remedy(was_there: bool) -> &'static str {
    if was_there {
        "restore the store from a backup, or set ISTHMUS_STORE or ISTHMUS_HOME to where it is"
    } else {
        "if there should be one, set ISTHMUS_STORE or ISTHMUS_HOME to where it is; it is that of the legacy engine (2017), and \
         `pulumi stack export` writes the state of today's"
    }
}

impl StateError {
    pub(super) fn read(file: &Path, error: std::io::Error) -> Self {
        Self::Read { file: file.to_owned(), error: explain_missing(file, error) }
    }

    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Self::NoSuchRecord { .. } | Self::NoSuchIntent { .. } | Self::NoStore { .. } => {
                ExitCode::from(NO_SUCH_RECORD)
            }
            _ => ExitCode::FAILURE,
        }
    }
}
