//! Failures of `isthmus migrate`, and their help.

use std::path::PathBuf;

use isthmus_cty::json::JsonSyntaxError;
use isthmus_install::AddressError;
use isthmus_state::AddressSyntaxError;
use isthmus_state::tfstate::{Collision, TfStateError};

use crate::cli::consent::NoConsent;
use crate::cli::state::StateError;
use isthmus_common::file_fault::FileFault;
use isthmus_context::project::names_file::NamesFileError;
use isthmus_migrate::addresses::AddressesError;
use isthmus_migrate::deployment::ExportError;
use isthmus_migrate::shown::ShownError;

#[derive(Debug, thiserror::Error)]
pub(super) enum MigrateError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] StateError),
    #[error("{file} cannot be used", file = .file.display())]
    TfState {
        file: PathBuf,
        #[source]
        error: TfStateError,
    },
    #[error("{file} cannot be used", file = .file.display())]
    Syntax {
        file: PathBuf,
        #[source]
        error: JsonSyntaxError,
    },
    /// The program is the configuration, which is not named.
    #[error(
        "`--runtime hcl` needs the directory of the configuration\nhelp: name it with `--from-config DIR`"
    )]
    NoConfiguration,
    /// A stack export in the place of a state.
    #[error("{file} is a stack export of Pulumi, not a state\nhelp: `--to terraform` makes a state of it", file = .0.display())]
    StackExport(PathBuf),
    /// The output of `tofu show -json` is invalid.
    #[error("{file} cannot be used", file = .file.display())]
    Shown {
        file: PathBuf,
        #[source]
        error: ShownError,
    },
    #[error(
        "{file} cannot be used\nhelp: write it with `pulumi stack export --show-secrets`", file = .file.display()
    )]
    Export {
        file: PathBuf,
        #[source]
        error: ExportError,
    },
    #[error("{file} cannot be used", file = .file.display())]
    Addresses {
        file: PathBuf,
        #[source]
        error: AddressesError,
    },
    #[error("{file} cannot be used", file = .file.display())]
    Settings {
        file: PathBuf,
        #[source]
        error: FileFault,
    },
    #[error("{file} is not a configuration", file = .file.display())]
    Configuration {
        file: PathBuf,
        #[source]
        error: FileFault,
    },
    /// Providers of the file are not started.
    #[error(transparent)]
    Consent(#[from] NoConsent),
    /// A stack export with encrypted secrets.
    #[error("the secrets in {file} are encrypted\nhelp: write it with `pulumi stack export --show-secrets`", file = .0.display())]
    Encrypted(PathBuf),
    #[error("the provider of {address} cannot be read")]
    ProviderConfig {
        address: String,
        #[source]
        error: AddressSyntaxError,
    },
    #[error(
        "invalid {what} {name:?}: up to 100 letters, digits, `_`, `-` and `.` are allowed\nhelp: choose another with {option}"
    )]
    Name { what: &'static str, name: String, option: &'static str },
    #[error("--provider-address {option}")]
    ProviderAddress {
        option: String,
        #[source]
        error: AddressError,
    },
    #[error("two resources have the same address\nhelp: give one of them another address with --addresses")]
    Collision(#[from] Collision),
    #[error("{directory} is a symbolic link, which another program may have placed\nhelp: choose another directory with --output", directory = .0.display())]
    Link(PathBuf),
    #[error(transparent)]
    Names(#[from] NamesFileError),
    #[error("{file} exists\nhelp: choose another directory with --output, or overwrite its files with --force", file = .0.display())]
    Exists(PathBuf),
    #[error("failed to write {file}", file = .file.display())]
    Write {
        file: PathBuf,
        #[source]
        error: std::io::Error,
    },
}

impl MigrateError {
    /// Whether an option is missing.
    pub(super) fn is_usage_error(&self) -> bool {
        matches!(self, Self::Consent(NoConsent::NoTerminal(_)) | Self::NoConfiguration)
    }
}
