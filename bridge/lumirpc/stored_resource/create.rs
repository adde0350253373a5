//! Create: the object is stored before the engine has the answer, and a failure leaves nothing behind.
//!
//! The legacy engine forgets a resource whose creation failed. So what a provider made before it failed is deleted again;
//! it is in the store as damaged until then, so that it can be found if even that is cut short. And it forgets one whose
//! answer did not arrive: what was made then stays in the journal, and is told when the engine comes again.

use isthmus_proto::property::Struct;
use isthmus_provider::{Diagnostic, Object};
use isthmus_state::{IntentGuard, OperationKind, RecordRef, Status, Unanswered};

use super::lookup::is_mistakable;
use super::{Annotations, LastReported, StoredResource, StoredResourceError};
use crate::resource::intents::{end, leave_open, settle};
use crate::resource::{OperationError, OperationWarnings};
use crate::translate::inputs::{Config, Unknowns};
use crate::translate::outputs::OutputError;

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

impl StoredResource<'_> {
    /// Creates the resource.
    pub(crate) async fn create(
        &self,
        inputs: &Struct,
        notes: &mut OperationWarnings,
    ) -> Result<Made, StoredResourceError> {
        let config = self.target.config(inputs, Unknowns::Reject)?;
        let resource = self.resource()?;
        let plan = resource
            .plan(None, &config.value, &mut notes.warnings)
            .await
            .map_err(|error| self.target.failed(error))?;
        self.report_unanswered(inputs, notes);
        let mut begun = self.begin(OperationKind::Create, "", None, inputs, notes).await?;
        let object = match resource.apply(&plan, &mut notes.warnings).await {
            Ok(applied) => applied.object.ok_or(OutputError::NoObject).map_err(OperationError::from)?,
            Err(failure) => {
                let cause = self.target.failed(failure.error);
                return Err(match &failure.object {
                    None => {
                        settle(&mut begun, &cause, notes).await;
                        cause.into()
                    }
                    Some(object) => {
                        let id = self.id_of(object, &config, notes).await;
                        self.undo(&mut begun, id, object, &config, inputs, cause.into(), notes).await
                    }
                });
            }
        };
        let id = self.id_of(&object, &config, notes).await;
        let warned = notes.warnings.len();
        loop {
            let own = self.own_id(&id, inputs).await;
            match self.admit(&mut begun, &own, &object, &config, inputs, notes).await {
                Ok(Some(made)) => return Ok(made),
                // Another process has taken the id in this very moment, and another one is chosen.
                Ok(None) => notes.warnings.truncate(warned),
                Err(cause) => {
                    return Err(self.undo(&mut begun, own.id, &object, &config, inputs, cause, notes).await);
                }
            }
        }
    }

    async fn id_of(&self, object: &Object, config: &Config, notes: &mut OperationWarnings) -> String {
        let identity = self.target.identity_of(object, notes).await;
        self.target.new_id(object, identity.as_ref(), None, &config.secrets, notes)
    }

    /// The id under which the engine and the store know what was made. It is the provider's, which is not always of this
    /// resource alone. Where another one has the same and was made with the same inputs, nothing that the engine sends
    /// later could tell them apart, so this one's gets a number; otherwise it stays as it is, because a program may pass it
    /// on to other resources.
    async fn own_id(&self, id: &str, inputs: &Struct) -> OwnId {
        let mut own = OwnId { id: id.to_owned(), beside: None };
        for number in 2_u32.. {
            // A store that cannot be read will not store it either, and that is told.
            let Ok(others) = self.state_store.find(&self.key(&own.id)).await else { break };
            if !others.iter().any(|(_, saved)| is_mistakable(saved, inputs)) {
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
        object: &Object,
        config: &Config,
        inputs: &Struct,
        notes: &mut OperationWarnings,
    ) -> Result<Option<Made>, StoredResourceError> {
        let id = &own.id;
        let outputs = self.outputs(object, id, notes)?;
        let told = LastReported {
            inputs: Some(inputs.clone()),
            outputs: Some(outputs.clone()),
            earlier: Vec::new(),
        };
        let saved =
            self.saved(object, Status::Ready, &config.secrets, &told, Annotations::default(), notes).await?;
        let key = self.key(id);
        begun.supersede(self.superseded(id, &told).await.map_err(|error| error.after("made", &key))?);
        let stored = begun.store_unanswered(&key, &saved, own.beside.as_deref()).await;
        let stored = stored.map_err(|error| StoredResourceError::from(error).after("made", &key))?;
        Ok(stored.map(|(_, unanswered)| Made { id: id.clone(), outputs, unanswered }))
    }

    /// Tells of an object that was made for the same inputs, if its engine may not have been told: then this is the second.
    fn report_unanswered(&self, inputs: &Struct, notes: &mut OperationWarnings) {
        let key = self.key("");
        for open in self.unanswered.map(|all| all.take_same(&key, inputs)).unwrap_or_default() {
            notes.warnings.push(Diagnostic::warning(
                "The same has been made before",
                format!("{}. If the environment does not have it, delete it by hand", open.report()),
            ));
        }
    }

    /// Deletes what a failed creation has made, and tells what became of it.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own, and there is one caller")]
    async fn undo(
        &self,
        begun: &mut IntentGuard,
        id: String,
        object: &Object,
        config: &Config,
        inputs: &Struct,
        cause: StoredResourceError,
        notes: &mut OperationWarnings,
    ) -> StoredResourceError {
        let cause = isthmus_common::error_chain(&cause);
        let place = self.keep_damaged(begun, &id, object, config, inputs, notes).await;
        match self.destroy(object, notes).await {
            Ok(()) => {
                if let Some(place) = place
                    && let Err(error) = self.state_store.remove(place.number).await
                {
                    // The object is gone; a record of it is all that is left, and does no harm.
                    notes.warnings.push(Diagnostic::warning(
                        "The record of a deleted object is still in the store",
                        isthmus_common::error_chain(&error),
                    ));
                }
                if place.is_none() {
                    end(begun, notes).await;
                }
                StoredResourceError::Undone { cause }
            }
            Err(failure) => {
                let (key, obstacle) = (self.key(&id), failure.error.to_string());
                if place.is_none() {
                    let known = format!("{key} was made, and could not be deleted again: {obstacle}");
                    leave_open(begun, &known, notes).await;
                }
                StoredResourceError::LeftBehind { cause, key, obstacle, kept: place.is_some() }
            }
        }
    }

    /// `None`: it could not be stored, perhaps for the very reason that the creation failed for.
    async fn keep_damaged(
        &self,
        begun: &mut IntentGuard,
        id: &str,
        object: &Object,
        config: &Config,
        inputs: &Struct,
        notes: &mut OperationWarnings,
    ) -> Option<RecordRef> {
        let told = LastReported { inputs: Some(inputs.clone()), ..LastReported::default() };
        let saved =
            self.saved(object, Status::Damaged, &config.secrets, &told, Annotations::default(), notes);
        let saved = saved.await.ok()?;
        begun.store(None, &self.key(id), &saved).await.ok()
    }
}
