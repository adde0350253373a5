//! `isthmus providers`: lists, verifies and prunes the provider cache, and fills mirrors.
//!
//! Exit codes: 0 success; 1 failure, or a reported problem; 2 usage error.

mod list;
mod mirror;
mod prune;
mod selection;
mod verify;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use isthmus_install::{
    AddressError, ConstraintError, InstallError, Inventory, MirrorError, NoVersion, ProviderCache,
};

use super::fail;
use super::output::inform;
use crate::cli::runtime;
use crate::daemon::InstallationError;
use crate::home::{self, NoProviderCache};
use crate::settings::Settings;

#[derive(Debug, Args)]
pub(super) struct Providers {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Debug, Subcommand)]
enum Commands {
    List(list::List),
    Mirror(mirror::Mirror),
    Verify(verify::Verify),
    Prune(prune::Prune),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// A problem was reported.
    Faulty,
}

#[derive(Debug, thiserror::Error)]
enum ProvidersError {
    #[error(transparent)]
    NoCache(#[from] NoProviderCache),
    #[error("failed to read the provider cache {path}", path = .path.display())]
    Read {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("{0:?} has no version\nhelp: write hashicorp/random@3.9.0")]
    Version(String),
    /// A version without its provider.
    #[error(
        "{0} is a version, not a provider\nhelp: join it to the provider's address, as in hashicorp/random@{0}"
    )]
    LoneVersion(semver::Version),
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    #[error(transparent)]
    Settings(#[from] InstallationError),
    #[error(transparent)]
    Install(#[from] Box<InstallError>),
    #[error(transparent)]
    NoVersion(Box<NoVersion>),
    #[error("failed to create a temporary directory")]
    Temporary(#[source] io::Error),
    /// A mirror has a directory in place of an archive.
    #[error("{path} is a directory, and only archives can be copied", path = .0.display())]
    Unpacked(PathBuf),
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    #[error("{provider} is not in the cache of providers {path}; `isthmus providers list` shows what is", path = .path.display())]
    Absent {
        /// As the user wrote it.
        provider: String,
        /// The cache.
        path: PathBuf,
    },
}

impl ProvidersError {
    fn help(&self) -> Vec<String> {
        match self {
            Self::Install(error) => error.help(),
            _ => Vec::new(),
        }
    }
}

pub(super) fn run(providers: &Providers, settings: &Settings) -> ExitCode {
    runtime::run(async {
        let done = match &providers.command {
            Commands::List(list) => list.run(),
            Commands::Mirror(mirror) => mirror.run(settings).await,
            Commands::Verify(verify) => verify.run(settings).await,
            Commands::Prune(prune) => prune.run(),
        };
        match done {
            Ok(Outcome::Done) => ExitCode::SUCCESS,
            Ok(Outcome::Faulty) => ExitCode::FAILURE,
            Err(error) => fail(&isthmus_common::with_help(isthmus_common::error_chain(&error), error.help())),
        }
    })
}

/// Reports an empty cache, which would otherwise look like a verified one.
fn note_if_empty(cache: &ProviderCache, inventory: &Inventory) {
    if inventory.packages.is_empty() {
        inform(&format!("no providers are installed in {}", cache.root().display()));
    }
}

/// The configured cache, and its inventory.
fn open() -> Result<(ProviderCache, Inventory), ProvidersError> {
    let cache = ProviderCache::new(home::provider_cache()?);
    match cache.inventory() {
        Ok(inventory) => Ok((cache, inventory)),
        Err(error) => Err(ProvidersError::Read { path: cache.root().to_owned(), error }),
    }
}
