//! The journal as operations of today's service use it: opened on first use, and warned of where it cannot be used.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_provider::Diagnostic;
use isthmus_state::{EncryptedStore, EncryptedStoreError, Intent, IntentGuard, LazyEncryptedStore};

use super::warnings::OperationWarnings;
use crate::home::StateDirectoryError;

/// How the journal names a resource of today's engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory<'a> {
    pub urn: &'a str,
    /// The engine's id for it; empty before it is created.
    pub id: &'a str,
    pub failed_deletes: &'a FailedDeletes,
}

/// The journal, which is part of the state store.
#[derive(Debug)]
pub(crate) struct FailedDeletes {
    state_store: Result<Arc<LazyEncryptedStore>, StateDirectoryError>,
    /// Hashes of the warnings that were shown: texts may be of any length.
    shown: Mutex<HashSet<u64>>,
    hashes: RandomState,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum JournalError {
    /// Its directory is missing or not trusted.
    #[error(transparent)]
    Directory(#[from] StateDirectoryError),
    #[error(transparent)]
    EncryptedStore(#[from] EncryptedStoreError),
}

impl FailedDeletes {
    /// The journal in a state store, or why there is none.
    pub(crate) fn new(state_store: Result<Arc<LazyEncryptedStore>, StateDirectoryError>) -> Self {
        Self { state_store, shown: Mutex::default(), hashes: RandomState::new() }
    }

    /// `None` if there is no store yet.
    pub(super) async fn existing(&self) -> Result<Option<&EncryptedStore>, JournalError> {
        match &self.state_store {
            Ok(state_store) => Ok(state_store.existing().await?),
            // Writing warns of it.
            Err(_) => Ok(None),
        }
    }

    /// Journals an intent.
    ///
    /// # Errors
    /// The reason, as text for the user.
    pub(super) async fn begin(&self, intent: Intent) -> Result<IntentGuard, String> {
        let state_store = self.opened().await.map_err(|error| isthmus_common::error_chain(&error))?;
        state_store.journal().begin(intent, None).await.map_err(|error| isthmus_common::error_chain(&error))
    }

    /// Warns of a journal that cannot be used. Resources of a program usually share the reason,
    /// which is shown once.
    pub(super) fn warn(
        &self,
        summary: &str,
        reason: &str,
        consequence: &str,
        warnings: &mut OperationWarnings,
    ) {
        let hash = self.hashes.hash_one((summary, reason));
        if self.shown.lock().unwrap_or_else(PoisonError::into_inner).insert(hash) {
            warnings.diagnostics.push(Diagnostic::warning(summary, format!("{reason}. {consequence}")));
        }
    }

    pub(super) async fn opened(&self) -> Result<&EncryptedStore, JournalError> {
        Ok(self.state_store.as_ref().map_err(StateDirectoryError::clone)?.open().await?)
    }
}
