//! Journaling of changes: an intent is written before the provider is called, and its outcome before the
//! engine is answered.
//!
//! An engine may never get the answer to a call that changed something: the daemon or the machine
//! may be killed. What is not settled is reported, and never resolved by guessing: engines create a second
//! resource under one URN on purpose.
//!
//! For today's engine, which stores objects itself, a journal of one machine that cannot be written causes a warning, and the
//! change continues. A journal that replicas share is what they know of each other: without it, nothing is changed.

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use isthmus_common::planted::{Bug, is_planted};
use isthmus_common::{fail_point, split_output};
use isthmus_proto::property::Struct;
use isthmus_provider::Diagnostic;
use isthmus_state::{
    Condition, EncryptedStoreError, Intent, IntentGuard, LARGEST_OBJECT, Marks, OpenIntent, OperationKind,
    StoreKey,
};
use prost::Message as _;

use super::operations::{JournaledResource, OperationsError};
use super::state_manager::Created;
use super::{OperationError, Target, reports};

/// How long journalling an operation may take before it is looked whether the operation is still this process's.
const MOMENT: Duration = Duration::from_secs(1);

/// The intent of a change for today's engine, if it was journaled.
#[derive(Debug)]
pub struct EngineIntent<'a> {
    target: &'a Target<'a>,
    journaled: JournaledResource<'a>,
    open: OpenIntent,
}

impl<'a> Target<'a> {
    /// Journals the intent of a change. `None`: the operation concerns no resource, or it could not be
    /// written to the journal of this machine.
    ///
    /// # Errors
    /// If the journal that replicas share cannot be written, or another replica has taken the operation over.
    pub(super) async fn begin(
        &'a self,
        intention: OperationKind,
    ) -> Result<Option<EngineIntent<'a>>, OperationError> {
        let Some(journaled) = self.journaled else { return Ok(None) };
        journaled.operations.catch_up().await;
        // The journal may have been read after this call began, and there may be no further call about the resource.
        let JournaledResource { urn, id, caller, operations } = journaled;
        operations.mentioned(urn, id, &self.package.name, caller).await;
        if intention == OperationKind::Create {
            self.report_lost_creations(&journaled);
            journaled.operations.doubt(journaled.urn, journaled.caller).await;
        }
        let intent = Intent {
            intention,
            key: StoreKey {
                package: self.package.name.clone(),
                type_name: self.shape.terraform_type.to_string(),
                id: journaled.id.to_owned(),
            },
            subject: journaled.urn.to_owned(),
            // The engine stores it.
            prior: None,
            companion: journaled.caller.origin(self.package),
        };
        fail_point("intent-begins");
        let asked = (Instant::now(), SystemTime::now());
        let begun = journaled.operations.begin(intent.clone()).await;
        fail_point("intent-written");
        match begun {
            Ok(id) => {
                // This process may have slept, and another replica may have reported the operation as interrupted.
                let slept = asked.0.elapsed().max(asked.1.elapsed().unwrap_or_default());
                if slept > MOMENT {
                    let held = journaled.operations.is_held(id).await;
                    match held.map_err(|error| isthmus_common::error_chain(&error)) {
                        Ok(true) => {}
                        Ok(false) => return Err(OperationError::Overtaken),
                        Err(reason) => return Err(OperationError::NotJournalled { reason }),
                    }
                }
                let open = OpenIntent {
                    id,
                    intent,
                    since: SystemTime::now(),
                    holder: "this process".to_owned(),
                    condition: Condition::InProgress,
                    marks: Marks::default(),
                    object: Bytes::new(),
                };
                Ok(Some(EngineIntent { target: self, journaled, open }))
            }
            Err(error) if journaled.operations.are_shared() => {
                Err(OperationError::NotJournalled { reason: isthmus_common::error_chain(&error) })
            }
            Err(error) => {
                let consequence = "An operation that this process does not complete will not be reported.";
                journaled.operations.warn("Failed to write the journal", &error, consequence, &self.warnings);
                Ok(None)
            }
        }
    }

    /// The engine creates a resource of which it was not told that it was created before.
    fn report_lost_creations(&self, journaled: &JournaledResource<'_>) {
        for lost in journaled.operations.lost_creations(journaled.urn, journaled.caller) {
            fail_point("lost-creation-found");
            self.report(lost.id, reports::of_lost_creation(&lost));
        }
    }
}

impl EngineIntent<'_> {
    /// Records what came of a creation, of which the engine is about to be told.
    pub(super) async fn created(mut self, created: &Result<Created, OperationError>) {
        let (id, properties) = match created {
            Ok(Created { id, properties }) => (id, properties),
            // The engine keeps it, and replaces it next time.
            Err(OperationError::Partial(partial)) => (&partial.id, &partial.properties),
            Err(error) => return self.failed(error).await,
        };
        self.open.intent.key.id.clone_from(id);
        let object = encoded(properties);
        let Self { target, journaled, open } = self;
        fail_point("outcome-known");
        warn_of(journaled.operations.made(open, journaled.caller, object).await, &journaled, target);
        fail_point("outcome-written");
    }

    /// Records that an update or a deletion has succeeded.
    pub(super) async fn changed(self) {
        let Self { target, journaled, open } = self;
        fail_point("outcome-known");
        journaled.operations.superseded(journaled.urn, journaled.id).await;
        // There may be no further call about it: the engine forgets what is deleted.
        warn_of(journaled.operations.changed(open.id).await, &journaled, target);
        fail_point("outcome-written");
    }

    /// Records what is known of a failed change.
    pub(super) async fn failed(self, error: &OperationError) {
        let Self { target, journaled, open } = self;
        let recorded = match known_of_unknown_outcome(error) {
            Some(known) => journaled.operations.unknown(open, journaled.caller, &known).await,
            // Nothing was made or changed, or the engine gets what was.
            None => journaled.operations.settle(&[open.id], true).await,
        };
        fail_point("failure-recorded");
        warn_of(recorded, &journaled, target);
    }
}

/// The properties of an object, unless they are too long for the journal.
fn encoded(properties: &Struct) -> Bytes {
    let is_short = properties.encoded_len() <= LARGEST_OBJECT;
    if is_short { Bytes::from(properties.encode_to_vec()) } else { Bytes::new() }
}

/// What is known of a failed change whose outcome is unknown; `None` if it is known.
fn known_of_unknown_outcome(error: &OperationError) -> Option<String> {
    match error {
        _ if is_planted(Bug::UnknownIsFailure) => None,
        // Reports are sentences, and go on behind it.
        OperationError::Provider { outcome_unknown: true, text, .. } => Some(split_output(text).0),
        // An object exists that cannot be returned to the engine.
        OperationError::Output(error) => Some(error.to_string()),
        OperationError::Unstorable { .. } => Some(split_output(&error.to_string()).0),
        _ => None,
    }
}

fn warn_of(recorded: Result<(), OperationsError>, journaled: &JournaledResource<'_>, target: &Target<'_>) {
    if let Err(error) = recorded {
        let summary = "Failed to record the outcome of an operation in the journal";
        let consequence = "It may be reported as interrupted, although it was not.";
        journaled.operations.warn(summary, &error, consequence, &target.warnings);
    }
}

/// Closes the intent of a failed change in the state store, unless its outcome is unknown.
pub async fn close(intent: &mut IntentGuard, error: &OperationError, target: &Target<'_>) {
    match known_of_unknown_outcome(error) {
        Some(known) => leave_open(intent, &known, target).await,
        None => end(intent, target).await,
    }
}

/// Closes an intent whose outcome is known.
pub async fn end(intent: &mut IntentGuard, target: &Target<'_>) {
    let ended = intent.end().await;
    warn_on_failure("Failed to remove a completed operation from the journal", ended, target);
}

/// Records what is known of a change with an unknown outcome.
pub async fn leave_open(intent: &mut IntentGuard, known: &str, target: &Target<'_>) {
    let noted = intent.leave_open(known).await;
    warn_on_failure("Failed to record the outcome of an operation in the journal", noted, target);
}

pub fn warn_on_failure(summary: &str, outcome: Result<(), EncryptedStoreError>, target: &Target<'_>) {
    if let Err(error) = outcome {
        target.warn(Diagnostic::warning(summary, isthmus_common::error_chain(&error)));
    }
}
