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

#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    Missing,
    /// Of an older format, which the first use changes.
    Older,
    Usable,
    Unusable(ErrorCode, String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    location: String,
    condition: Condition,
    /// What the store warns of.
    warnings: Vec<String>,
}

/// The configured store, which is not opened.
pub(super) fn store(world: &World) -> Store {
    home::state_store(world.settings()).map(Arc::new)
}

pub(super) async fn gather(world: &World, store: &Arc<LazyEncryptedStore>) -> Facts {
    let mut facts = Facts { location: store.location(), condition: Condition::Usable, warnings: Vec::new() };
    let is_server = matches!(world.settings().store, Some(StoreAddress::Server(_)));
    if let Some(file) = store.files().into_iter().next().filter(|_| !is_server) {
        let probed = blocking(move || file.exists().then(|| probe_database(&file))).await;
        match probed {
            None => return Facts { condition: Condition::Missing, ..facts },
            Some(Ok(false)) => return Facts { condition: Condition::Older, ..facts },
            Some(Ok(true)) => {}
            Some(Err(error)) => {
                let text = isthmus_common::error_chain(&error);
                return Facts { condition: Condition::Unusable(of_store(&error), text), ..facts };
            }
        }
    }
    match tokio::time::timeout(PATIENCE, store.existing()).await {
        Ok(Ok(opened)) => facts.warnings.extend(opened.into_iter().flat_map(|store| store.warnings())),
        Ok(Err(error)) => {
            let text = isthmus_common::error_chain(&error);
            facts.condition = Condition::Unusable(of_encrypted_store(&error), text);
        }
        Err(_) => {
            let text =
                format!("the store {} does not answer within {} s", facts.location, PATIENCE.as_secs());
            facts.condition = Condition::Unusable(ErrorCode::StoreUnusable, text);
        }
    }
    facts
}

impl Facts {
    /// Whether it exists and could be opened.
    pub(super) fn is_usable(&self) -> bool {
        self.condition == Condition::Usable
    }
}

pub(super) fn judge(facts: &Facts) -> Judgement {
    let Facts { location, condition, warnings } = facts;
    let mut findings: Vec<Finding> =
        warnings.iter().map(|text| Finding::warning(ErrorCode::StoreUnusable, text)).collect();
    let note = match condition {
        Condition::Missing => " (none yet)",
        Condition::Older => " (of an older format)",
        Condition::Usable => "",
        Condition::Unusable(code, text) => {
            findings.push(Finding::fault(*code, text));
            ""
        }
    };
    Judgement::new(format!("{location}{note}"), findings)
}
