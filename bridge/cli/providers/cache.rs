//! The provider cache, as the commands open it.

use isthmus_common::Environment;
use isthmus_install::{Inventory, ProviderCache};

use super::error::ProvidersError;
use crate::cli::output::inform;
use isthmus_context::home;

/// Reports an empty cache, which would otherwise look like a verified one.
pub(super) fn note_if_empty(cache: &ProviderCache, inventory: &Inventory) {
    if inventory.packages.is_empty() {
        inform(&format!("no providers are installed in {}", cache.root().display()));
    }
}

/// The configured cache, and its inventory.
pub(super) fn open() -> Result<(ProviderCache, Inventory), ProvidersError> {
    let cache = ProviderCache::new(home::provider_cache(&Environment::current())?);
    match cache.inventory() {
        Ok(inventory) => Ok((cache, inventory)),
        Err(error) => Err(ProvidersError::Read { path: cache.root().to_owned(), error }),
    }
}
