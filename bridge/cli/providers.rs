//! `isthmus providers`: lists, verifies and prunes the provider cache, and fills mirrors.
//!
//! Exit codes: 0 success; 1 failure, or a reported problem; 2 usage error.

mod error;
mod list;
mod mirror;
mod prune;
mod selection;
mod verify;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use isthmus_common::Environment;
use isthmus_install::{Inventory, ProviderCache};

use super::output::{fail_as, inform};
use super::runtime;
use error::ProvidersError;
use isthmus_context::home;
use isthmus_context::settings::Settings;

#[derive(Debug, Args)]
pub(super) struct Providers {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Debug, Subcommand)]
enum Commands {
    #[command(visible_alias = "ls")]
    List(list::List),
    Mirror(mirror::Mirror),
    Verify(verify::Verify),
    Prune(prune::Prune),
}

pub(super) fn run(providers: &Providers, settings: &Arc<Settings>) -> ExitCode {
    runtime::run(async {
        let done = match &providers.command {
            Commands::List(list) => list.run(),
            Commands::Mirror(mirror) => mirror.run(settings).await,
            Commands::Verify(verify) => verify.run(settings).await,
            Commands::Prune(prune) => prune.run(),
        };
        match done {
            Ok(outcome) => outcome.into(),
            Err(error) => {
                let text = isthmus_common::with_help(isthmus_common::error_chain(&error), error.help());
                fail_as(&text, error.code())
            }
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
fn open_cache() -> Result<(ProviderCache, Inventory), ProvidersError> {
    let cache = ProviderCache::new(home::provider_cache(&Environment::current())?);
    match cache.inventory() {
        Ok(inventory) => Ok((cache, inventory)),
        Err(error) => Err(ProvidersError::Read { path: cache.root().to_owned(), error }),
    }
}
