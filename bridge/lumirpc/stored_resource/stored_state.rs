//! What becomes of an operation's outcome in the state store.
//!
//! An object is stored before the engine has the answer, together with the end of its journal entry. The legacy engine forgets
//! a resource whose creation failed. So what a provider made before it failed is deleted again; it is in the store as damaged
//! until then, so that it can be found if even that is cut short. And it forgets one whose answer did not arrive: what was
//! made then stays in the journal, and is reported when the engine comes again.

use std::time::SystemTime;

use bytes::Bytes;
use isthmus_proto::property::Struct;
use isthmus_provider::{Diagnostic, Object};
use isthmus_state::{
    Deletion, Intent, IntentGuard, OpenIntent, OperationKind, RecordRef, Saved, Status, StoreKey, Unanswered,
};
use prost::Message as _;

use super::last_reported::{digest_of, is_same};
use super::lookup::is_mistakable;
use super::{Annotations, LastReported, Record, StoredResource, StoredResourceError};
use crate::resource::intents::{end, leave_open, settle};
use crate::resource::{OperationError, OperationWarnings, Outcome, Prior, StateManager};

/// One resource in the state store, about to be operated on.
#[derive(Debug)]
pub(super) struct StoredState<'a> {
    pub(super) resource: &'a StoredResource<'a>,
    /// The id that the engine knows it by; empty before it is created.
    pub(super) id: &'a str,
    pub(super) record: Record,
    /// The inputs that the engine has stored.
    pub(super) olds: &'a Struct,
    /// What the engine sends: the new inputs, or for a deletion all that it knows.
    pub(super) sent: &'a Struct,
}

/// A resource that was made and stored.
#[derive(Debug)]
pub(crate) struct Made {
    /// Its id.
    pub id: String,
    /// Its outputs.
    pub outputs: Struct,
    /// Is to be told when the engine has the answer.
    pub unanswered: Unanswered,
}

/// An id that was chosen for a resource.
struct OwnId {
    id: String,
    /// The records that have it already, and with which the resource cannot be confused; `None`: nobody knows.
    beside: Option<Vec<RecordRef>>,
}

impl StateManager for StoredState<'_> {
    type Intent = IntentGuard;
    type Created = Made;
    type Error = StoredResourceError;

    /// Where the object has a record, that is what it was before; it changes only together with the end of the operation.
    async fn begin(
        &self,
        operation: OperationKind,
        prior: Option<&Prior>,
        notes: &mut OperationWarnings,
    ) -> Result<IntentGuard, StoredResourceError> {
        let resource = self.resource;
        if operation == OperationKind::Create {
            self.report_unanswered(notes);
        }
        let Record { place, told, .. } = &self.record;
        let imported = match prior {
            Some(Prior { object, status, .. }) if place.is_none() => {
                Some(resource.saved(object, *status, &[], told, &Annotations::default(), notes).await?)
            }
            Some(_) | None => None,
        };
        let told = LastReported { inputs: Some(self.sent.clone()), ..LastReported::default() };
        let intent = Intent {
            intention: operation,
            key: resource.key(self.id),
            subject: resource.subject.clone(),
            prior: imported,
            companion: Bytes::from(told.encode_to_vec()),
        };
        Ok(resource.state_store.journal().begin(intent, place.map(|place| place.number)).await?)
    }

    async fn created(
        &self,
        mut begun: IntentGuard,
        mut outcome: Outcome<'_>,
        notes: &mut OperationWarnings,
    ) -> Result<Made, StoredResourceError> {
        let target = &self.resource.target;
        let identity = target.identity_of(&outcome.object, notes).await;
        let id = target.new_id(&outcome.object, identity.as_ref(), None, outcome.secrets, notes);
        if let Some(failure) = outcome.failure.take() {
            let cause = target.failed(failure).into();
            return Err(self.undo(&mut begun, id, &outcome, cause, notes).await);
        }
        let warned = notes.warnings.len();
        loop {
            let own = self.own_id(&id).await;
            match self.admit(&mut begun, &own, &outcome, notes).await {
                Ok(Some(made)) => return Ok(made),
                // Another process has taken the id in this very moment, and another one is chosen.
                Ok(None) => notes.warnings.truncate(warned),
                Err(cause) => return Err(self.undo(&mut begun, own.id, &outcome, cause, notes).await),
            }
        }
    }

    async fn updated(
        &self,
        mut begun: Option<IntentGuard>,
        outcome: Outcome<'_>,
        notes: &mut OperationWarnings,
    ) -> Result<Struct, StoredResourceError> {
        let Outcome { object, failure, secrets, inputs } = outcome;
        let (resource, id) = (self.resource, self.id);
        let key = resource.key(id);
        let Record { place, status, told, annotations } = &self.record;
        if let (Some(failure), Some(begun)) = (failure, &mut begun) {
            // What became of it half-way is stored with what the engine was told before, which it will send again.
            let saved = resource.saved(&object, *status, secrets, told, annotations, notes).await?;
            begun.store(*place, &key, &saved).await?;
            return Err(resource.target.failed(failure).into());
        }
        let outputs = resource.outputs(&object, id, notes)?;
        let earlier = told.before_update(self.olds);
        let told = LastReported { inputs: Some(inputs.clone()), outputs: Some(outputs.clone()), earlier };
        let saved = resource.saved(&object, *status, secrets, &told, annotations, notes).await?;
        let stored = self.store_updated(begun, &key, &saved, &told).await;
        stored.map_err(|error| error.after("changed", &key))?;
        resource.resolve(id, notes).await;
        Ok(outputs)
    }

    async fn failed(
        &self,
        mut begun: IntentGuard,
        error: OperationError,
        notes: &mut OperationWarnings,
    ) -> StoredResourceError {
        settle(&mut begun, &error, notes).await;
        error.into()
    }

    async fn deleted(
        &self,
        mut begun: IntentGuard,
        notes: &mut OperationWarnings,
    ) -> Result<(), StoredResourceError> {
        begun.remove(self.record.place, &deletion(&self.record.told, self.sent)).await?;
        self.resource.resolve(self.id, notes).await;
        Ok(())
    }

    async fn not_deleted(
        &self,
        mut begun: IntentGuard,
        prior: &Prior,
        left: Option<Object>,
        error: OperationError,
        notes: &mut OperationWarnings,
    ) -> Result<(), StoredResourceError> {
        let resource = self.resource;
        if resource.is_gone(left.as_ref().unwrap_or(&prior.object)).await {
            return self.deleted(begun, notes).await;
        }
        let Record { place, told, annotations, .. } = &self.record;
        match (left, place) {
            (Some(object), Some(place)) => {
                let saved = resource.saved(&object, prior.status, &[], told, annotations, notes).await?;
                begun.store(Some(*place), &resource.key(self.id), &saved).await?;
            }
            _ => settle(&mut begun, &error, notes).await,
        }
        Err(error.into())
    }
}

impl<'a> StoredState<'a> {
    /// A resource that has no record. `sent` is what the engine sends of it.
    pub(super) fn new(resource: &'a StoredResource<'a>, sent: &'a Struct) -> Self {
        Self { resource, id: "", record: Record::default(), olds: sent, sent }
    }

    async fn store_updated(
        &self,
        begun: Option<IntentGuard>,
        key: &StoreKey,
        saved: &Saved,
        told: &LastReported,
    ) -> Result<(), StoredResourceError> {
        let superseded = self.resource.superseded(self.id, told).await?;
        let (store, place) = (self.resource.state_store, self.record.place);
        match (begun, place) {
            (Some(mut begun), _) => {
                begun.supersede(superseded);
                begun.store(place, key, saved).await?;
                return Ok(());
            }
            (None, Some(place)) => store.replace(place, key, saved).await?,
            (None, None) => store.add(key, saved).await?,
        };
        Ok(store.tombstones().remove(&superseded).await?)
    }

    /// The id under which the engine and the store know what was made. It is the provider's, which is not always of this
    /// resource alone. Where another one has the same and was made with the same inputs, nothing that the engine sends
    /// later could tell them apart, so this one's gets a number; otherwise it stays as it is, because a program may pass it
    /// on to other resources.
    async fn own_id(&self, id: &str) -> OwnId {
        let mut own = OwnId { id: id.to_owned(), beside: None };
        for number in 2_u32.. {
            // A store that cannot be read will not store it either, and that is told.
            let Ok(others) = self.resource.state_store.find(&self.resource.key(&own.id)).await else { break };
            if !others.iter().any(|(_, saved)| is_mistakable(saved, self.sent)) {
                own.beside = Some(others.into_iter().map(|(place, _)| place).collect());
                break;
            }
            own.id = format!("{id}#{number}");
        }
        own
    }

    /// Stores what was made. `None`: the id has other resources by now than when it was chosen.
    async fn admit(
        &self,
        begun: &mut IntentGuard,
        own: &OwnId,
        Outcome { object, secrets, inputs, .. }: &Outcome<'_>,
        notes: &mut OperationWarnings,
    ) -> Result<Option<Made>, StoredResourceError> {
        let id = &own.id;
        let outputs = self.resource.outputs(object, id, notes)?;
        let told = LastReported {
            inputs: Some((*inputs).clone()),
            outputs: Some(outputs.clone()),
            earlier: Vec::new(),
        };
        let saved = self
            .resource
            .saved(object, Status::Ready, secrets, &told, &Annotations::default(), notes)
            .await?;
        let key = self.resource.key(id);
        begun
            .supersede(self.resource.superseded(id, &told).await.map_err(|error| error.after("made", &key))?);
        let stored = begun.store_unanswered(&key, &saved, own.beside.as_deref()).await;
        let stored = stored.map_err(|error| StoredResourceError::from(error).after("made", &key))?;
        Ok(stored.map(|(_, unanswered)| Made { id: id.clone(), outputs, unanswered }))
    }

    /// Tells of an object that was made for the same inputs, if its engine may not have been told: then this is the second.
    fn report_unanswered(&self, notes: &mut OperationWarnings) {
        let key = self.resource.key("");
        let is_same = |open: &OpenIntent| {
            let made = &open.intent.key;
            let told = LastReported::kept(&open.intent.companion);
            (&made.package, &made.type_name) == (&key.package, &key.type_name)
                && told.inputs.is_some_and(|told| is_same(&told, self.sent))
        };
        for open in self.resource.unconfirmed.map(|all| all.take(is_same)).unwrap_or_default() {
            notes.warnings.push(Diagnostic::warning(
                "A resource with the same inputs was created before",
                format!("{}. If the environment does not have it, delete it by hand", open.report()),
            ));
        }
    }

    /// Deletes what a failed creation has made, and tells what became of it.
    async fn undo(
        &self,
        begun: &mut IntentGuard,
        id: String,
        outcome: &Outcome<'_>,
        cause: StoredResourceError,
        notes: &mut OperationWarnings,
    ) -> StoredResourceError {
        let cause = isthmus_common::error_chain(&cause);
        let place = self.store_damaged(begun, &id, outcome, notes).await;
        match self.resource.destroy(&outcome.object, notes).await {
            Ok(()) => {
                if let Some(place) = place
                    && let Err(error) = self.resource.state_store.remove(place.number).await
                {
                    // The object is gone; a record of it is all that is left, and does no harm.
                    notes.warnings.push(Diagnostic::warning(
                        "The record of a deleted object could not be removed",
                        isthmus_common::error_chain(&error),
                    ));
                }
                if place.is_none() {
                    end(begun, notes).await;
                }
                StoredResourceError::Undone { cause }
            }
            Err(error) => {
                let (key, obstacle) = (self.resource.key(&id), error.to_string());
                if place.is_none() {
                    let known = format!("{key} was made, and could not be deleted again: {obstacle}");
                    leave_open(begun, &known, notes).await;
                }
                StoredResourceError::LeftBehind { cause, key, obstacle, kept: place.is_some() }
            }
        }
    }

    /// `None`: it could not be stored, perhaps for the very reason that the creation failed for.
    async fn store_damaged(
        &self,
        begun: &mut IntentGuard,
        id: &str,
        Outcome { object, secrets, inputs, .. }: &Outcome<'_>,
        notes: &mut OperationWarnings,
    ) -> Option<RecordRef> {
        let told = LastReported { inputs: Some((*inputs).clone()), ..LastReported::default() };
        let annotations = Annotations::default();
        let saved = self.resource.saved(object, Status::Damaged, secrets, &told, &annotations, notes);
        let saved = saved.await.ok()?;
        begun.store(None, &self.resource.key(id), &saved).await.ok()
    }
}

/// What a tombstone says of a deletion that is completed now.
pub(super) fn deletion(told: &LastReported, properties: &Struct) -> Deletion {
    let version = told.versions().find(|told| told.contradicted_by(properties).is_empty());
    let inputs = version.and_then(|told| told.inputs.as_ref()).map(digest_of);
    Deletion { properties: digest_of(properties), inputs, at: SystemTime::now() }
}
