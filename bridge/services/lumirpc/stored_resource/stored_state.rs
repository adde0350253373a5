//! Stores the outcome of an operation in the state store.
//!
//! An object is stored before the engine has the answer, in one transaction with the end of its
//! journal entry. The legacy engine forgets a resource whose creation failed, so a partially
//! created object is deleted again; until then it is stored as damaged, so that it can be found if
//! the deletion is interrupted. The engine also forgets a creation whose answer it did not receive;
//! that one stays in the journal and is reported to the next engine.

use std::time::SystemTime;

use bytes::Bytes;
use isthmus_common::fail_point;
use isthmus_proto::property::Struct;
use isthmus_provider::{Diagnostic, Object};
use isthmus_state::{
    Condition, Deletion, Intent, IntentGuard, OpenIntent, OperationKind, RecordRef, Saved, Status, StoreKey,
    Unconfirmed,
};
use prost::Message as _;

use super::error::StoredResourceError;
use super::last_reported::LastReported;
use super::last_reported::{digest_of, is_same};
use super::lookup::is_mistakable;
use super::object::{Annotations, StoredResource};
use super::prior::Record;
use isthmus_operations::resource::intents::{close, end, leave_open, warn_on_failure};
use isthmus_operations::resource::{OperationError, Outcome, Prior, StateManager, mark, reports};

/// One resource in the state store, for one operation.
#[derive(Debug)]
pub(super) struct StoredState<'a> {
    pub(super) resource: &'a StoredResource<'a>,
    /// The engine's id for it; empty before it is created.
    pub(super) id: &'a str,
    pub(super) record: Record,
    /// The inputs that the engine has stored.
    pub(super) olds: &'a Struct,
    /// What the engine sends: the new inputs, or for a deletion all that it has.
    pub(super) sent: &'a Struct,
}

/// A resource that was created and stored.
#[derive(Debug)]
pub(crate) struct Created {
    pub id: String,
    pub outputs: Struct,
    /// Records that the engine has the answer.
    pub unconfirmed: Unconfirmed,
}

/// An id chosen for a resource.
struct OwnId {
    id: String,
    /// The distinguishable records that have the id already; `None` if the store cannot be read.
    beside: Option<Vec<RecordRef>>,
}

impl StateManager for StoredState<'_> {
    type Intent = IntentGuard;
    type Created = Created;
    type Error = StoredResourceError;

    /// A record, if there is one, is the prior state; it changes only together with the end of the
    /// operation.
    async fn begin(
        &self,
        operation: OperationKind,
        prior: Option<&Prior>,
    ) -> Result<IntentGuard, StoredResourceError> {
        let resource = self.resource;
        if operation == OperationKind::Create {
            self.report_unconfirmed();
        }
        let Record { place, reported, .. } = &self.record;
        let imported = match prior {
            Some(Prior { object, status, .. }) if place.is_none() => {
                Some(resource.saved(object, *status, &[], reported, &Annotations::default()).await?)
            }
            Some(_) | None => None,
        };
        let reported = LastReported { inputs: Some(self.sent.clone()), ..LastReported::default() };
        let intent = Intent {
            intention: operation,
            key: resource.key(self.id),
            subject: resource.subject.clone(),
            prior: imported,
            companion: Bytes::from(reported.encode_to_vec()),
        };
        fail_point("intent-begins");
        let begun = resource.state_store.journal().begin(intent, place.map(|place| place.number)).await?;
        fail_point("intent-written");
        Ok(begun)
    }

    async fn created(
        &self,
        mut intent: IntentGuard,
        mut outcome: Outcome<'_>,
    ) -> Result<Created, StoredResourceError> {
        let target = &self.resource.target;
        fail_point("translating-outcome");
        let identity = target.identity_of(&outcome.object).await;
        let id = target.new_id(&outcome.object, identity.as_ref(), None, outcome.secrets);
        if let Some(failure) = outcome.failure.take() {
            let cause = target.failed(failure).into();
            return Err(self.undo(&mut intent, id, &outcome, cause).await);
        }
        let warned = self.resource.target.warnings.lock().diagnostics.len();
        loop {
            let own = self.own_id(&id).await;
            match self.admit(&mut intent, &own, &outcome).await {
                Ok(Some(made)) => return Ok(made),
                // Another process has taken the id meanwhile: choose another.
                Ok(None) => self.resource.target.warnings.lock().diagnostics.truncate(warned),
                Err(cause) => return Err(self.undo(&mut intent, own.id, &outcome, cause).await),
            }
        }
    }

    async fn updated(
        &self,
        mut intent: Option<IntentGuard>,
        outcome: Outcome<'_>,
    ) -> Result<Struct, StoredResourceError> {
        let Outcome { object, failure, is_unrefreshed, secrets, inputs, .. } = outcome;
        let (resource, id) = (self.resource, self.id);
        let key = resource.key(id);
        let Record { place, status, reported, annotations } = &self.record;
        if let (Some(failure), Some(intent)) = (failure, &mut intent) {
            // The partial result is stored with what was reported before, which the engine will
            // send again.
            let reported = LastReported { unrefreshed: is_unrefreshed, ..reported.clone() };
            let saved = match resource.saved(&object, *status, secrets, &reported, annotations).await {
                Ok(saved) => saved,
                Err(error) => {
                    let error = resource.target.unstorable(id, &error, Some(&failure));
                    close(intent, &error, &resource.target).await;
                    return Err(error.into());
                }
            };
            intent.store(*place, &key, &saved).await?;
            return Err(StoredResourceError::Partial(resource.target.failed(failure)));
        }
        let outputs = resource.outputs(&object, id)?;
        let earlier = reported.before_update(self.olds);
        let (inputs, outputs_reported) = (Some(inputs.clone()), Some(outputs.clone()));
        let reported = LastReported { inputs, outputs: outputs_reported, earlier, ..LastReported::default() };
        let saved = resource.saved(&object, *status, secrets, &reported, annotations).await;
        let (saved, intent) = match (saved, intent) {
            (Ok(saved), intent) => (saved, intent),
            (Err(error), None) => return Err(error.into()),
            (Err(error), Some(intent)) => {
                return Err(self.failed(intent, resource.target.unstorable(id, &error, None)).await);
            }
        };
        fail_point("storing-update");
        let stored = self.store_updated(intent, &key, &saved, &reported).await;
        fail_point("update-stored");
        stored.map_err(|error| error.after("changed", &key))?;
        resource.resolve(id).await;
        Ok(outputs)
    }

    async fn failed(&self, mut intent: IntentGuard, error: OperationError) -> StoredResourceError {
        close(&mut intent, &error, &self.resource.target).await;
        error.into()
    }

    async fn deleted(&self, mut intent: IntentGuard) -> Result<(), StoredResourceError> {
        fail_point("removing-record");
        intent.remove(self.record.place, &deletion(&self.record.reported, self.sent)).await?;
        fail_point("record-removed");
        self.resource.resolve(self.id).await;
        Ok(())
    }

    async fn not_deleted(
        &self,
        mut intent: IntentGuard,
        prior: &Prior,
        left: Option<Object>,
        error: OperationError,
    ) -> Result<(), StoredResourceError> {
        let resource = self.resource;
        if resource.is_gone(left.as_ref().unwrap_or(&prior.object)).await {
            return self.deleted(intent).await;
        }
        let Record { place, reported, annotations, .. } = &self.record;
        match (left, place) {
            (Some(object), Some(place)) => {
                let saved = resource.saved(&object, prior.status, &[], reported, annotations).await?;
                intent.store(Some(*place), &resource.key(self.id), &saved).await?;
            }
            _ => close(&mut intent, &error, &resource.target).await,
        }
        Err(error.into())
    }
}

impl<'a> StoredState<'a> {
    /// A resource without a record. `sent` is what the engine sends of it.
    pub(super) fn new(resource: &'a StoredResource<'a>, sent: &'a Struct) -> Self {
        Self { resource, id: "", record: Record::default(), olds: sent, sent }
    }

    async fn store_updated(
        &self,
        intent: Option<IntentGuard>,
        key: &StoreKey,
        saved: &Saved,
        reported: &LastReported,
    ) -> Result<(), StoredResourceError> {
        let superseded = self.resource.superseded(self.id, reported).await?;
        let (store, place) = (self.resource.state_store, self.record.place);
        match (intent, place) {
            (Some(mut intent), _) => {
                intent.supersede(superseded);
                intent.store(place, key, saved).await?;
                return Ok(());
            }
            (None, Some(place)) => store.replace(place, key, saved).await?,
            (None, None) => store.add(key, saved).await?,
        };
        Ok(store.tombstones().remove(&superseded).await?)
    }

    /// Chooses the id for the engine and the store. It is the provider's, which need not be unique.
    /// If another resource with equal inputs has it, nothing that the engine sends later would
    /// distinguish them, so a number is appended; otherwise it is unchanged, because programs pass
    /// ids on to other resources.
    async fn own_id(&self, id: &str) -> OwnId {
        let mut own = OwnId { id: id.to_owned(), beside: None };
        for number in 2_u32.. {
            // A store that cannot be read fails the following write, which is reported.
            let Ok(others) = self.resource.state_store.find(&self.resource.key(&own.id)).await else { break };
            if !others.iter().any(|(_, saved)| is_mistakable(saved, self.sent)) {
                own.beside = Some(others.into_iter().map(|(place, _)| place).collect());
                break;
            }
            own.id = format!("{id}#{number}");
        }
        own
    }

    /// Stores the created object. `None` if other resources have taken the id since it was chosen.
    async fn admit(
        &self,
        intent: &mut IntentGuard,
        own: &OwnId,
        Outcome { object, secrets, inputs, .. }: &Outcome<'_>,
    ) -> Result<Option<Created>, StoredResourceError> {
        let id = &own.id;
        let outputs = self.resource.outputs(object, id)?;
        let reported = LastReported {
            inputs: Some((*inputs).clone()),
            outputs: Some(outputs.clone()),
            ..LastReported::default()
        };
        let saved =
            self.resource.saved(object, Status::Ready, secrets, &reported, &Annotations::default()).await?;
        let key = self.resource.key(id);
        intent.supersede(
            self.resource.superseded(id, &reported).await.map_err(|error| error.after("made", &key))?,
        );
        fail_point("storing-creation");
        let stored = intent.store_unconfirmed(&key, &saved, own.beside.as_deref()).await;
        fail_point("creation-stored");
        let stored = stored.map_err(|error| StoredResourceError::from(error).after("made", &key))?;
        Ok(stored.map(|(_, unconfirmed)| Created { id: id.clone(), outputs, unconfirmed }))
    }

    /// Warns of an earlier creation with the same inputs whose answer was not confirmed: this one
    /// may be a duplicate.
    fn report_unconfirmed(&self) {
        let key = self.resource.key("");
        let is_same = |open: &OpenIntent| {
            let made = &open.intent.key;
            let reported = LastReported::is_stored(&open.intent.companion);
            matches!(open.condition, Condition::Unconfirmed)
                && (&made.package, &made.type_name) == (&key.package, &key.type_name)
                && reported.inputs.is_some_and(|reported| is_same(&reported, self.sent))
        };
        let lost = self.resource.unconfirmed.map(|all| all.take(is_same)).unwrap_or_default();
        for open in lost.iter().filter(|open| !open.marks.has(mark::SHOWN)) {
            self.resource.target.warn(Diagnostic::warning(
                "A resource with the same inputs was created before",
                reports::of_creation_for_legacy_engine(open),
            ));
            self.resource.target.warnings.lock().reported.push(open.id);
        }
    }

    /// Deletes a partially created object and returns the outcome as an error.
    async fn undo(
        &self,
        intent: &mut IntentGuard,
        id: String,
        outcome: &Outcome<'_>,
        cause: StoredResourceError,
    ) -> StoredResourceError {
        let cause = isthmus_common::error_chain(&cause);
        let stored = self.store_damaged(intent, &id, outcome).await;
        match self.resource.destroy(&outcome.object).await {
            Ok(()) => {
                match stored {
                    Some((place, unconfirmed)) => {
                        // A record that remains has no object and does no harm.
                        let removed = self.resource.state_store.remove(place.number).await;
                        let summary = "The record of a deleted object could not be removed";
                        warn_on_failure(summary, removed, &self.resource.target);
                        let confirmed = unconfirmed.confirm().await;
                        let summary = "Failed to remove a completed operation from the journal";
                        warn_on_failure(summary, confirmed, &self.resource.target);
                    }
                    None => end(intent, &self.resource.target).await,
                }
                StoredResourceError::Undone { cause }
            }
            Err(error) => {
                let (key, obstacle) = (self.resource.key(&id), error.to_string().into());
                if stored.is_none() {
                    let known = format!("{key} was made, and could not be deleted again: {obstacle}");
                    leave_open(intent, &known, &self.resource.target).await;
                }
                let stored = stored.map(|(_, unconfirmed)| Box::new(unconfirmed));
                StoredResourceError::LeftBehind { cause, key, obstacle, stored }
            }
        }
    }

    /// Stores the object, which is reported if this process ends before it is deleted. `None`: it cannot be stored, perhaps for the
    /// reason that the creation failed for.
    async fn store_damaged(
        &self,
        intent: &mut IntentGuard,
        id: &str,
        Outcome { object, secrets, inputs, .. }: &Outcome<'_>,
    ) -> Option<(RecordRef, Unconfirmed)> {
        let reported = LastReported { inputs: Some((*inputs).clone()), ..LastReported::default() };
        let annotations = Annotations::default();
        let saved = self.resource.saved(object, Status::Damaged, secrets, &reported, &annotations);
        let saved = saved.await.ok()?;
        intent.store_unconfirmed(&self.resource.key(id), &saved, None).await.ok()?
    }
}

/// The tombstone of a deletion that completes now.
pub(super) fn deletion(reported: &LastReported, properties: &Struct) -> Deletion {
    let version = reported.versions().find(|reported| reported.contradicted_by(properties).is_empty());
    let inputs = version.and_then(|reported| reported.inputs.as_ref()).map(digest_of);
    Deletion { properties: digest_of(properties), inputs, at: SystemTime::now() }
}
