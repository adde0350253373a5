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
use isthmus_state::{Deletion, OperationKind, RecordNumber};

use super::error::Contradiction;
use super::last_reported::{LastReported, digest_of};
use super::lookup::{Candidate, Chosen, LookupPurpose, choose, retain_known};
use super::prior::{Owner, Prior};
use super::{ID, StoredResource, StoredResourceError};
use crate::package::shape::IdRule;
use crate::resource::intents::settle;
use crate::resource::{OperationError, OperationWarnings, StateError};
use crate::translate::raw_state::raw_state_without_delta;

/// A deletion that failed.
#[derive(Debug)]
pub(super) struct DestroyFailure {
    pub(super) error: OperationError,
    /// What it has become half-way.
    pub(super) object: Option<Object>,
}

/// What a deletion is about.
#[derive(Debug)]
enum PriorForDelete {
    /// This object. It is the only one that can have its id, unless others have records as well.
    Object(Box<Prior>, Vec<Candidate>),
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
        let (prior, others) = match self.prior_for_delete(id, properties, notes).await? {
            PriorForDelete::Object(prior, others) => (*prior, others),
            PriorForDelete::Gone => {
                let deletion = deletion(&LastReported::default(), properties);
                return Ok(self.state_store.tombstones().add(&self.key(id), &deletion).await?);
            }
            PriorForDelete::Buried => return Ok(()),
        };
        let is_there = match self.owner(&prior, &others, notes).await? {
            Owner::This => true,
            Owner::Nobody | Owner::Another => false,
            Owner::Unknown => {
                return Err(StoredResourceError::Unattributed {
                    doing: "delete",
                    key: self.key(id),
                    count: others.len() + 1,
                });
            }
        };
        let mut begun = self.begin(OperationKind::Delete, id, Some(&prior), properties, notes).await?;
        let destroyed = if is_there { self.destroy(&prior.object, notes).await } else { Ok(()) };
        match destroyed {
            Ok(()) => {
                begun.remove(prior.place, &deletion(&prior.told, properties)).await?;
                self.resolve(id, notes).await;
                Ok(())
            }
            Err(failure) => {
                if let (Some(object), Some(place)) = (&failure.object, prior.place) {
                    let saved =
                        self.saved(object, prior.status, &[], &prior.told, prior.annotations, notes).await?;
                    begun.store(Some(place), &self.key(id), &saved).await?;
                } else {
                    settle(&mut begun, &failure.error, notes).await;
                }
                Err(failure.error.into())
            }
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
                let prior = self.prior_of_record(*one, notes).await?;
                Ok(PriorForDelete::Object(Box::new(prior), candidates))
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
                Ok(PriorForDelete::Object(Box::new(Prior::without_record(object)), Vec::new()))
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
        let resource = self.resource()?;
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

    /// Ends an object. An object of which the provider then knows nothing has ended, whatever it said.
    pub(super) async fn destroy(
        &self,
        object: &Object,
        notes: &mut OperationWarnings,
    ) -> Result<(), DestroyFailure> {
        let unchanged = |error| DestroyFailure { error, object: None };
        let resource = self.resource().map_err(unchanged)?;
        let plan = resource
            .plan_destroy(object, &mut notes.warnings)
            .await
            .map_err(|error| unchanged(self.target.failed(error)))?;
        let Err(failure) = resource.apply(&plan, &mut notes.warnings).await else { return Ok(()) };
        let left = failure.object.as_ref().unwrap_or(object);
        if let Ok(None) = resource.read(left, &mut Vec::new()).await {
            return Ok(());
        }
        Err(DestroyFailure { error: self.target.failed(failure.error), object: failure.object })
    }
}

/// What a tombstone says of a deletion that is completed now.
fn deletion(told: &LastReported, properties: &Struct) -> Deletion {
    let version = told.versions().find(|told| told.contradicted_by(properties).is_empty());
    let inputs = version.and_then(|told| told.inputs.as_ref()).map(digest_of);
    Deletion { properties: digest_of(properties), inputs, at: SystemTime::now() }
}
