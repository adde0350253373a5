//! The state store, as the commands open it.

use isthmus_state::EncryptedStore;

use super::error::StateError;
use crate::cli::output::{detail, warn};
use isthmus_context::home::{self, OpenStoreError};
use isthmus_context::settings::Settings;

/// Shown for an empty store: users of today's engine look for their objects here.
pub(super) const EMPTY: &str = "\
the state store holds no objects: it is for the legacy engine (2017)
help: today's engine keeps its state in the backend of its stacks, `pulumi stack export` writes it";

/// Opens the configured store, for commands that read or remove. It is not created: that would hide
/// from later commands, and from the plugin, that it is missing.
pub(super) async fn open_existing_state_store(settings: &Settings) -> Result<EncryptedStore, StateError> {
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
pub(super) async fn open_state_store(settings: &Settings) -> Result<EncryptedStore, StateError> {
    let state_store = home::state_store(settings).map_err(OpenStoreError::from)?;
    detail(|| format!("the state store is {}", state_store.location()));
    let state_store = state_store.open().await.map_err(OpenStoreError::from)?.clone();
    for warning in state_store.warnings() {
        warn(&warning);
    }
    Ok(state_store)
}
