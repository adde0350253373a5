//! Journaling of changes: an intent is written before the provider is called and removed when the
//! outcome is known.
//!
//! An engine may never get the answer to a call that changed something: the daemon or the machine
//! may be killed. An intent without an outcome is reported, and never resolved by guessing: engines
//! create a second resource under one URN on purpose.
//!
//! For today's engine, which journals its operations itself, a journal that cannot be written
//! causes a warning, and the change continues.

use bytes::Bytes;
use isthmus_provider::Diagnostic;
use isthmus_state::{EncryptedStoreError, Intent, IntentGuard, OperationKind, StoreKey};

use super::{OperationError, OperationWarnings, Target};

/// The intent of a change for today's engine, if it was journaled.
#[derive(Debug)]
pub(crate) struct EngineIntent(Option<IntentGuard>);

impl Target<'_> {
    /// Journals the intent of a change.
    pub(super) async fn begin(
        &self,
        intention: OperationKind,
        warnings: &mut OperationWarnings,
    ) -> EngineIntent {
        // The operation concerns no resource.
        let Some(memory) = self.memory else { return EngineIntent(None) };
        let intent = Intent {
            intention,
            key: StoreKey {
                package: self.package.name.clone(),
                type_name: self.shape.terraform_type.to_string(),
                id: memory.id.to_owned(),
            },
            subject: memory.urn.to_owned(),
            // The engine stores it.
            prior: None,
            companion: Bytes::new(),
        };
        match memory.failed_deletes.begin(intent).await {
            Ok(intent) => EngineIntent(Some(intent)),
            Err(reason) => {
                let consequence = "An operation that this process does not complete will not be reported.";
                memory.failed_deletes.warn("Failed to write the journal", &reason, consequence, warnings);
                EngineIntent(None)
            }
        }
    }
}

impl EngineIntent {
    /// Closes the intent, as the engine is about to get the outcome.
    pub(super) async fn ended(self, error: Option<&OperationError>, warnings: &mut OperationWarnings) {
        let Some(mut intent) = self.0 else { return };
        match error {
            None => end(&mut intent, warnings).await,
            Some(error) => close(&mut intent, error, warnings).await,
        }
    }
}

/// Closes the intent of a failed change, unless its outcome is unknown.
pub(crate) async fn close(
    intent: &mut IntentGuard,
    error: &OperationError,
    warnings: &mut OperationWarnings,
) {
    match error {
        OperationError::Provider { outcome_unknown: true, text, .. } => {
            leave_open(intent, text, warnings).await
        }
        // An object exists that cannot be returned to the engine.
        OperationError::Output(error) => leave_open(intent, &error.to_string(), warnings).await,
        _ => end(intent, warnings).await,
    }
}

/// Closes an intent whose outcome is known.
pub(crate) async fn end(intent: &mut IntentGuard, warnings: &mut OperationWarnings) {
    let ended = intent.end().await;
    warn_on_failure("Failed to remove a completed operation from the journal", ended, warnings);
}

/// Records what is known of a change with an unknown outcome.
pub(crate) async fn leave_open(intent: &mut IntentGuard, known: &str, warnings: &mut OperationWarnings) {
    let noted = intent.leave_open(known).await;
    warn_on_failure("Failed to record the outcome of an operation in the journal", noted, warnings);
}

pub(crate) fn warn_on_failure(
    summary: &str,
    outcome: Result<(), EncryptedStoreError>,
    warnings: &mut OperationWarnings,
) {
    if let Err(error) = outcome {
        warnings.diagnostics.push(Diagnostic::warning(summary, isthmus_common::error_chain(&error)));
    }
}
