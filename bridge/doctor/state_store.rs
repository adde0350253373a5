//! The state store of the legacy engine, and its key.

use std::sync::Arc;
use std::time::Duration;

use isthmus_common::blocking;
use isthmus_state::{LazyEncryptedStore, StoreAddress, probe_database};

use super::finding::{Finding, Judgement};
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_context::home::{self, StateDirectoryError};
use isthmus_session::error_code::{of_encrypted_store, of_store};

/// How long a server may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// The state store, which may be missing.
pub(super) type Store = Result<Arc<LazyEncryptedStore>, StateDirectoryError>;

/// The configured store, which is not opened.
pub(super) fn store(world: &World) -> Store {
    home::state_store(world.settings()).map(Arc::new)
}

/// The second is whether the store could be opened, if it exists.
pub(super) async fn examine(world: &World, store: &Arc<LazyEncryptedStore>) -> (Judgement, bool) {
    let location = store.location();
    let unusable =
        |code, text: &str| (Judgement::new(location.clone(), vec![Finding::fault(code, text)]), false);
    let is_server = matches!(world.settings().store, Some(StoreAddress::Server(_)));
    if let Some(file) = store.files().into_iter().next().filter(|_| !is_server) {
        let unopened = |note| (Judgement::new(format!("{location} ({note})"), Vec::new()), false);
        let probed = blocking(move || file.exists().then(|| probe_database(&file))).await;
        match probed {
            None => return unopened("none yet"),
            // The first use changes it.
            Some(Ok(false)) => return unopened("of an older format"),
            Some(Ok(true)) => {}
            Some(Err(error)) => return unusable(of_store(&error), &isthmus_common::error_chain(&error)),
        }
    }
    match tokio::time::timeout(PATIENCE, store.existing()).await {
        Ok(Ok(opened)) => {
            let warnings = opened.into_iter().flat_map(|store| store.warnings());
            let findings = warnings.map(|text| Finding::warning(ErrorCode::StoreUnusable, &text)).collect();
            (Judgement::new(location, findings), true)
        }
        Ok(Err(error)) => unusable(of_encrypted_store(&error), &isthmus_common::error_chain(&error)),
        Err(_) => {
            let text = format!("the store {location} does not answer within {} s", PATIENCE.as_secs());
            unusable(ErrorCode::StoreUnusable, &text)
        }
    }
}
