//! The journals, as the commands read them: that of today's engines, and that of the state store.

use std::sync::Arc;

use isthmus_state::{
    Condition, LazyEncryptedStore, OpenIntent, OpenIntents, OperationId, OperationKind, StoreAddress,
};

use super::error::RecoverError;
use crate::cli::output::{detail, warn};
use isthmus_context::home;
use isthmus_context::settings::Settings;
use isthmus_operations::resource::{OperationJournal, mark};

/// Prefix of the URNs of today's engines.
const URN: &str = "urn:pulumi:";

#[derive(Debug)]
pub(super) struct Journals {
    operations: OperationJournal,
    /// The state store, unless it has the operations too.
    store: Option<Arc<LazyEncryptedStore>>,
}

impl Journals {
    pub(super) fn configured(settings: &Settings) -> Result<Self, RecoverError> {
        let store = home::state_store(settings).map(Arc::new);
        let operations = OperationJournal::configured(settings, &store)?;
        let is_shared = matches!(settings.store, Some(StoreAddress::Server(_)));
        Ok(Self { operations, store: if is_shared { None } else { Some(store?) } })
    }

    /// All operations that are not settled, the oldest first, and what cannot be read.
    pub(super) async fn open(&self) -> Result<OpenIntents, RecoverError> {
        detail(|| format!("the journal is {}", self.operations.location()));
        let mut open = self.operations.open_intents().await?;
        if let Some(store) = &self.store
            && let Some(store) = store.existing().await?
        {
            let OpenIntents { intents, faults, has_journal } = store.journal().open_intents().await?;
            open.has_journal |= has_journal;
            open.intents.extend(intents);
            open.faults.extend(faults);
        }
        open.intents.sort_by_key(|open| open.since);
        Ok(open)
    }

    /// Where the operations of today's engines are.
    pub(super) fn location(&self) -> String {
        self.operations.location()
    }

    /// Settles operations of either journal.
    pub(super) async fn dismiss(&self, ids: &[OperationId]) -> Result<(), RecoverError> {
        match &self.store {
            None => self.operations.settle(ids).await?,
            Some(store) => {
                let (in_files, in_store): (Vec<_>, Vec<_>) =
                    ids.iter().partition(|id| id.in_store().is_none());
                self.operations.settle(&in_files).await?;
                for number in in_store.into_iter().filter_map(OperationId::in_store) {
                    store.open().await?.journal().dismiss(number).await?;
                }
            }
        }
        Ok(self.operations.write().await?)
    }
}

/// Removes the objects that engines presumably know, and returns their number.
pub(super) fn take_ended(open: &mut OpenIntents) -> usize {
    let before = open.intents.len();
    open.intents.retain(|open| !mark::is_presumably_known(open));
    before - open.intents.len()
}

/// Warns of what cannot be read; `false` if operations may be unknown.
pub(super) fn warn_of_faults(open: &OpenIntents) -> bool {
    for fault in &open.faults {
        warn(&isthmus_operations::resource::reports::of_fault(fault));
    }
    open.faults.is_empty()
}

/// Whether the object is known, so that today's engines can import it.
pub(super) fn is_importable(open: &OpenIntent) -> bool {
    matches!(open.condition, Condition::Unconfirmed) && open.intent.subject.starts_with(URN)
}

/// Whether this is a creation of today's engine with an unknown outcome.
pub(super) fn is_lost_creation(open: &OpenIntent) -> bool {
    open.intent.intention == OperationKind::Create
        && matches!(open.condition, Condition::Interrupted | Condition::Ended { .. })
        && open.intent.subject.starts_with(URN)
}
