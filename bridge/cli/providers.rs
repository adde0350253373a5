//! `isthmus providers`: what is in the cache of providers, whether it is as it was, what of it can go; and mirrors for other networks.
//!
//! Exit codes: 0 done; 1 failed, or something is not as it should be, which was told; 2 the words were wrong.

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

/// What is to be done.
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

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// Something is not as it should be, which was told.
    Faulty,
}

/// A command failed.
#[derive(Debug, thiserror::Error)]
enum ProvidersError {
    /// There is no directory.
    #[error(transparent)]
    NoCache(#[from] NoProviderCache),
    /// The directory cannot be read.
    #[error("failed to read the provider cache {path}", path = .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The words name no provider.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The words name no version.
    #[error("{0:?} has no version\nhelp: write hashicorp/random@3.9.0")]
    Version(String),
    /// The words say nothing about versions.
    /// A version without its provider.
    #[error(
        "{0} is a version, not a provider\nhelp: join it to the provider's address, as in hashicorp/random@{0}"
    )]
    LoneVersion(semver::Version),
    #[error(transparent)]
    Constraint(#[from] ConstraintError),
    /// The settings make no sense.
    #[error(transparent)]
    Settings(#[from] InstallationError),
    /// A provider cannot be had.
    #[error(transparent)]
    Install(#[from] Box<InstallError>),
    /// No version of a provider will do.
    #[error(transparent)]
    NoVersion(Box<NoVersion>),
    /// There is no place for archives.
    #[error("failed to create a temporary directory")]
    Temporary(#[source] io::Error),
    /// A mirror has no archive.
    #[error("{path} is a directory, and only archives can be copied", path = .0.display())]
    Unpacked(PathBuf),
    /// A mirror cannot be written.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// There is no such provider.
    #[error("{provider} is not in the cache of providers {path}; `isthmus providers list` shows what is", path = .path.display())]
    Absent {
        /// As it was named.
        provider: String,
        /// Where.
        path: PathBuf,
    },
}

impl ProvidersError {
    /// What to do about it, in lines of their own.
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

/// Says that there is nothing to be told of, so that an empty cache is not taken for a well one.
fn note_if_empty(cache: &ProviderCache, inventory: &Inventory) {
    if inventory.packages.is_empty() {
        inform(&format!("no providers are installed in {}", cache.root().display()));
    }
}

/// The cache that the environment names, and all that is in it.
fn open() -> Result<(ProviderCache, Inventory), ProvidersError> {
    let cache = ProviderCache::new(home::provider_cache()?);
    match cache.inventory() {
        Ok(inventory) => Ok((cache, inventory)),
        Err(error) => Err(ProvidersError::Read { path: cache.root().to_owned(), error }),
    }
}
