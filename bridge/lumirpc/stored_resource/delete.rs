//! Delete: the record goes after the object, and a tombstone takes its place.
//!
//! What is gone already counts as deleted. The engine repeats a deletion whose answer it did not get, and another object may
//! have the id by then. In this order it is decided what is deleted:
//!
//! 1. the record of which the engine sends exactly what it was told;
//! 2. nothing, where a tombstone says that what the engine sends was deleted before;
//! 3. the record that does not contradict what the engine sends, and nothing where all records do: that is an error;
//! 4. without a record, the object that the provider has under the id, or else the one that the properties describe, when
//!    it was read and does not contradict them.
//!
//! Where several records have the id, the object is read before, and destroyed only if it is that of the chosen record.

use std::time::SystemTime;

use isthmus_cty::json::Json;
use isthmus_proto::property::Struct;
use isthmus_provider::{Object, StoredObject};
use isthmus_state::{OperationKind, RecordNumber, Status};

use super::error::Contradiction;
use super::last_reported::{LastReported, digest_of};
use super::lookup::{Candidate, Chosen, LookupPurpose, choose, retain_known};
use super::prior::{Owner, Record};
use super::stored_state::{StoredState, deletion};
use super::{ID, StoredResource, StoredResourceError};
use crate::package::shape::IdRule;
use crate::resource::{self, OperationError, OperationWarnings, Prior, StateError, StateManager as _};
use crate::translate::raw_state::raw_state_without_delta;

/// What a deletion is about.
#[derive(Debug)]
enum PriorForDelete {
    /// This object. It is the only one that can have its id, unless others have records as well.
    Object(Box<(Prior, Record)>, Vec<Candidate>),
    /// Nothing any more: there was no record, and the provider has nothing under the id.
    Gone,
    /// Nothing: it was deleted before.
    Buried,
}

impl StoredResource<'_> {
    /// Deletes the resource. `properties` are all that the engine knows of it: defaults, inputs and outputs.
    pub(crate) async fn delete(
        &self,
        id: &str,
        properties: &Struct,
        notes: &mut OperationWarnings,
    ) -> Result<(), StoredResourceError> {
        let ((prior, record), others) = match self.prior_for_delete(id, properties, notes).await? {
            PriorForDelete::Object(found, others) => (*found, others),
            PriorForDelete::Gone => {
                let deletion = deletion(&LastReported::default(), properties);
                return Ok(self.state_store.tombstones().add(&self.key(id), &deletion).await?);
            }
            PriorForDelete::Buried => return Ok(()),
        };
        let owner = self.owner(&prior, &record.told, &others, notes).await?;
        let state = StoredState { id, record, ..StoredState::new(self, properties) };
        match owner {
            Owner::This => resource::delete(&self.target, &state, &prior, notes).await,
            // The object is gone already, and only its record is removed.
            Owner::Nobody | Owner::Another => {
                let intent = state.begin(OperationKind::Delete, Some(&prior), notes).await?;
                state.deleted(intent, notes).await
            }
            Owner::Unknown => Err(StoredResourceError::Unattributed {
                doing: "delete",
                key: self.key(id),
                count: others.len() + 1,
            }),
        }
    }

    async fn prior_for_delete(
        &self,
        id: &str,
        properties: &Struct,
        notes: &mut OperationWarnings,
    ) -> Result<PriorForDelete, StoredResourceError> {
        let mut candidates = self.described_candidates(id, notes).await?;
        retain_known(&mut candidates);
        let contradicted = |differences| StoredResourceError::Contradicted {
            doing: "delete",
            key: self.key(id),
            differences,
        };
        let is_exact = |(_, _, told): &Candidate| told.versions().any(|told| told.is_exactly(properties));
        if !candidates.iter().any(is_exact) && self.was_deleted(id, properties).await? {
            return Ok(PriorForDelete::Buried);
        }
        match choose(candidates.clone(), LookupPurpose::Deletion(properties)) {
            Chosen::One(one) | Chosen::Doubtful(one, _) => {
                candidates.retain(|(place, _, _)| *place != one.0);
                let found = self.prior_of_record(*one, notes).await?;
                Ok(PriorForDelete::Object(Box::new(found), candidates))
            }
            Chosen::Contradicted(differences) => Err(contradicted(differences)),
            Chosen::Ambiguous(count) => Err(StoredResourceError::Ambiguous { key: self.key(id), count }),
            Chosen::Nothing => {
                let Some(object) = self.unrecorded(id, properties, notes).await? else {
                    return Ok(PriorForDelete::Gone);
                };
                let told =
                    LastReported { outputs: Some(self.plain_outputs(&object)?), ..LastReported::default() };
                let differing = told.contradicted_by(properties);
                if !differing.is_empty() {
                    return Err(contradicted(vec![Contradiction { record: None, properties: differing }]));
                }
                let found = (Prior::current(object, Status::Ready), Record::default());
                Ok(PriorForDelete::Object(Box::new(found), Vec::new()))
            }
        }
    }

    /// The object of a resource without a record, as the provider reads it. `None`: it is gone.
    ///
    /// This is the one call in which the engine sends the outputs too. They serve where the provider cannot import.
    async fn unrecorded(
        &self,
        id: &str,
        properties: &Struct,
        notes: &mut OperationWarnings,
    ) -> Result<Option<Object>, StoredResourceError> {
        let not_stored = match self.imported(id, notes).await {
            Err(error @ StoredResourceError::Unknown { .. }) => error,
            found => return found,
        };
        let resource = self.target.resource()?;
        let described = match self.object_from_properties(id, properties) {
            Ok(stored) => resource.upgrade(&stored, &mut notes.warnings).await.ok(),
            Err(_) => None,
        };
        let described = described.ok_or(not_stored)?;
        let read = resource.read(&described, &mut notes.warnings).await;
        Ok(read.map_err(|error| self.target.failed(error))?)
    }

    fn object_from_properties(&self, id: &str, properties: &Struct) -> Result<StoredObject, StateError> {
        let shape = &self.target.shape;
        let mut value = raw_state_without_delta(properties, shape)?;
        if let (Json::Object(members), IdRule::Computed) = (&mut value, &shape.id) {
            members.retain(|(name, _)| name != ID);
            members.push((ID.to_owned(), Json::String(id.to_owned())));
        }
        Ok(StoredObject {
            value,
            schema_version: shape.schema.version,
            private: bytes::Bytes::new(),
            identity: None,
        })
    }

    /// Whether what the engine means was deleted before.
    async fn was_deleted(&self, id: &str, properties: &Struct) -> Result<bool, StoredResourceError> {
        Ok(!self.buried(id, properties).await?.is_empty())
    }

    /// The tombstones of what the engine knows by the same properties as the object that it is about to be told of: that
    /// is later, and has to be deletable.
    pub(super) async fn superseded(
        &self,
        id: &str,
        told: &LastReported,
    ) -> Result<Vec<RecordNumber>, StoredResourceError> {
        self.buried(id, &told.all()).await
    }

    async fn buried(&self, id: &str, properties: &Struct) -> Result<Vec<RecordNumber>, StoredResourceError> {
        let digest = digest_of(properties);
        let tombstones =
            self.state_store.tombstones().find(&self.key(id), SystemTime::now()).await?.into_iter();
        let same = tombstones.filter(|tombstone| tombstone.deletion.properties == digest);
        Ok(same.map(|tombstone| tombstone.number).collect())
    }

    /// Deletes an object that no engine knows of.
    pub(super) async fn destroy(
        &self,
        object: &Object,
        notes: &mut OperationWarnings,
    ) -> Result<(), OperationError> {
        let resource = self.target.resource()?;
        let plan = resource
            .plan_destroy(object, &mut notes.warnings)
            .await
            .map_err(|error| self.target.failed(error))?;
        let Err(failure) = resource.apply(&plan, &mut notes.warnings).await else { return Ok(()) };
        if self.is_gone(failure.object.as_ref().unwrap_or(object)).await {
            return Ok(());
        }
        Err(self.target.failed(failure.error))
    }

    /// Whether the provider knows nothing of the object any more. Then it has ended, whatever became of its deletion.
    pub(super) async fn is_gone(&self, object: &Object) -> bool {
        let Ok(resource) = self.target.resource() else { return false };
        matches!(resource.read(object, &mut Vec::new()).await, Ok(None))
    }
}
