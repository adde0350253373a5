//! What is about to be done is written down before a provider hears of it, and that it was done when somebody knows.
//!
//! An engine may never hear the answer to a call that has changed something: the daemon may be killed, or the machine. What
//! was begun and has no end is found in the journal then. It is reported and never guessed at: an engine does make a second
//! resource under one URN on purpose.
//!
//! For today's engine, which keeps what it has begun itself, a journal that cannot be written is warned of, and the change
//! goes on.

use bytes::Bytes;
use isthmus_provider::Diagnostic;
use isthmus_state::{EncryptedStoreError, Intent, IntentGuard, OperationKind, StoreKey};

use super::{OperationError, OperationWarnings, Target};

/// A change for today's engine that is written down, if it could be.
#[derive(Debug)]
pub(crate) struct EngineIntent(Option<IntentGuard>);

impl Target<'_> {
    /// Writes down what is about to be done.
    pub(super) async fn begin(
        &self,
        intention: OperationKind,
        notes: &mut OperationWarnings,
    ) -> EngineIntent {
        // What is worked with is no resource.
        let Some(memory) = self.memory else { return EngineIntent(None) };
        let intent = Intent {
            intention,
            key: StoreKey {
                package: self.package.name.clone(),
                type_name: self.shape.terraform_type.to_string(),
                id: memory.id.to_owned(),
            },
            subject: memory.urn.to_owned(),
            // The engine has it.
            prior: None,
            companion: Bytes::new(),
        };
        match memory.failed_deletes.begin(intent).await {
            Ok(begun) => EngineIntent(Some(begun)),
            Err(reason) => {
                let consequence = "An operation that this process does not complete will not be reported.";
                memory.failed_deletes.complain("Failed to write the journal", &reason, consequence, notes);
                EngineIntent(None)
            }
        }
    }
}

impl EngineIntent {
    /// The change has ended: the engine is about to be told how.
    pub(super) async fn ended(self, error: Option<&OperationError>, notes: &mut OperationWarnings) {
        let Some(mut begun) = self.0 else { return };
        match error {
            None => end(&mut begun, notes).await,
            Some(error) => settle(&mut begun, error, notes).await,
        }
    }
}

/// A change has failed: either the engine can be told what there is now, or nobody knows.
pub(crate) async fn settle(begun: &mut IntentGuard, error: &OperationError, notes: &mut OperationWarnings) {
    match error {
        OperationError::Provider { outcome_unknown: true, text, .. } => leave_open(begun, text, notes).await,
        // Something exists, and the engine cannot be told what.
        OperationError::Output(error) => leave_open(begun, &error.to_string(), notes).await,
        _ => end(begun, notes).await,
    }
}

/// A change has ended, and its outcome is known.
pub(crate) async fn end(begun: &mut IntentGuard, notes: &mut OperationWarnings) {
    let ended = begun.end().await;
    complain("Failed to remove a completed operation from the journal", ended, notes);
}

/// A change has ended, and nobody knows how.
pub(crate) async fn leave_open(begun: &mut IntentGuard, known: &str, notes: &mut OperationWarnings) {
    let noted = begun.leave_open(known).await;
    complain("Failed to record the outcome of an operation in the journal", noted, notes);
}

pub(crate) fn complain(
    summary: &str,
    outcome: Result<(), EncryptedStoreError>,
    notes: &mut OperationWarnings,
) {
    if let Err(error) = outcome {
        notes.warnings.push(Diagnostic::warning(summary, isthmus_common::error_chain(&error)));
    }
}
