//! Delete: destroys the object, then replaces its record by a tombstone.
//!
//! An object that does not exist counts as deleted. The engine repeats a deletion whose answer it
//! did not get, and another object may have the id by then. The target is chosen in this order:
//!
//! 1. the record whose last reported properties are exactly those that the engine sends;
//! 2. nothing, if a tombstone has these properties;
//! 3. a record that does not contradict them; if all do, the call fails;
//! 4. without a record, the provider's object with this id, or else the one that the properties
//!    describe, if reading it yields no contradiction.
//!
//! If several records have the id, the object is read first and destroyed only if it belongs to the
//! chosen record.

use std::time::SystemTime;

use isthmus_cty::json::Json;
use isthmus_proto::property::Struct;
use isthmus_provider::{Object, StoredObject};
use isthmus_state::{OperationKind, RecordNumber, Status, Tombstone};

use super::error::Contradiction;
use super::error::StoredResourceError;
use super::last_reported::{LastReported, digest_of};
use super::lookup::{Candidate, Chosen, LookupPurpose, choose, retain_known};
use super::object::{ID, StoredResource};
use super::prior::{Owner, Record};
use super::stored_state::{StoredState, deletion};
use isthmus_operations::resource::{self, OperationError, Prior, StateError, StateManager as _};
use isthmus_package::shape::IdRule;
use isthmus_translate::raw_state::raw_state_without_delta;

#[derive(Debug)]
enum PriorForDelete {
    /// This object. The other candidates are records with the same id.
    Object(Box<(Prior, Record)>, Vec<Candidate>),
    /// There is no record, and the provider has no object with the id.
    Gone,
    /// A tombstone shows that it was deleted before, and when.
    AlreadyDeleted(SystemTime),
}

impl StoredResource<'_> {
    /// Deletes the resource. `properties` is all that the engine stores of it: defaults, inputs and
    /// outputs.
    pub async fn delete(&self, id: &str, properties: &Struct) -> Result<(), StoredResourceError> {
        let ((prior, record), others) = match self.prior_for_delete(id, properties).await? {
            PriorForDelete::Object(found, others) => (*found, others),
            PriorForDelete::Gone => {
                let deletion = deletion(&LastReported::default(), properties);
                self.state_store.tombstones().add(&self.key(id), &deletion).await?;
                self.resolve(id).await;
                return Ok(());
            }
            PriorForDelete::AlreadyDeleted(at) => {
                // Who deleted it may have died before it removed what the engine knows by now.
                self.resolve_until(id, Some(at)).await;
                return Ok(());
            }
        };
        let owner = self.owner(&prior, &record.reported, &others).await?;
        let state = StoredState { id, record, ..StoredState::new(self, properties) };
        match owner {
            Owner::This => resource::delete(&self.target, &state, &prior).await,
            // The object does not exist any more; only its record is removed.
            Owner::Missing | Owner::Another => {
                let intent = state.begin(OperationKind::Delete, Some(&prior)).await?;
                state.deleted(intent).await
            }
            Owner::Unknown => Err(StoredResourceError::Unattributed {
                operation: "delete",
                key: self.key(id),
                count: others.len() + 1,
            }),
        }
    }

    async fn prior_for_delete(
        &self,
        id: &str,
        properties: &Struct,
    ) -> Result<PriorForDelete, StoredResourceError> {
        let mut candidates = self.described_candidates(id).await?;
        retain_known(&mut candidates);
        let contradicted = |differences| StoredResourceError::Contradicted {
            operation: "delete",
            key: self.key(id),
            differences,
        };
        let is_exact = |(_, _, reported): &Candidate| {
            reported.versions().any(|reported| reported.is_exactly(properties))
        };
        if !candidates.iter().any(is_exact)
            && let Some(tombstone) = self.matching_tombstones(id, properties).await?.pop()
        {
            return Ok(PriorForDelete::AlreadyDeleted(tombstone.deletion.at));
        }
        match choose(candidates.clone(), LookupPurpose::Deletion(properties)) {
            Chosen::One(one) | Chosen::Doubtful(one, _) => {
                candidates.retain(|(place, _, _)| *place != one.0);
                let found = self.prior_of_record(*one).await?;
                Ok(PriorForDelete::Object(Box::new(found), candidates))
            }
            Chosen::Contradicted(differences) => Err(contradicted(differences)),
            Chosen::Ambiguous(count) => Err(StoredResourceError::Ambiguous { key: self.key(id), count }),
            Chosen::Nothing => {
                let Some(object) = self.unrecorded(id, properties).await? else {
                    return Ok(PriorForDelete::Gone);
                };
                let reported =
                    LastReported { outputs: Some(self.plain_outputs(&object)?), ..LastReported::default() };
                let differing = reported.contradicted_by(properties);
                if !differing.is_empty() {
                    return Err(contradicted(vec![Contradiction { record: None, properties: differing }]));
                }
                let found = (Prior::current(object, Status::Ready), Record::default());
                Ok(PriorForDelete::Object(Box::new(found), Vec::new()))
            }
        }
    }

    /// Reads the object of a resource without a record; `None` if it does not exist.
    ///
    /// Only for this call does the engine send outputs too. They are used where the provider cannot
    /// import.
    async fn unrecorded(&self, id: &str, properties: &Struct) -> Result<Option<Object>, StoredResourceError> {
        let not_stored = match self.imported(id).await {
            Err(error @ StoredResourceError::Unknown { .. }) => error,
            found => return found,
        };
        let resource = self.target.resource()?;
        let described = match self.object_from_properties(id, properties) {
            Ok(stored) => resource.upgrade(&stored, &mut self.target.warnings.of_call()).await.ok(),
            Err(_) => None,
        };
        let described = described.ok_or(not_stored)?;
        let read = resource.read(&described, &mut self.target.warnings.of_call()).await;
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

    /// The tombstones with the properties about to be reported: the new object is later and must be
    /// deletable.
    pub(super) async fn superseded(
        &self,
        id: &str,
        reported: &LastReported,
    ) -> Result<Vec<RecordNumber>, StoredResourceError> {
        let same = self.matching_tombstones(id, &reported.all()).await?;
        Ok(same.into_iter().map(|tombstone| tombstone.number).collect())
    }

    /// The tombstones of these properties.
    async fn matching_tombstones(
        &self,
        id: &str,
        properties: &Struct,
    ) -> Result<Vec<Tombstone>, StoredResourceError> {
        let digest = digest_of(properties);
        let tombstones =
            self.state_store.tombstones().find(&self.key(id), SystemTime::now()).await?.into_iter();
        Ok(tombstones.filter(|tombstone| tombstone.deletion.properties == digest).collect())
    }

    /// Destroys an object that no engine has.
    pub(super) async fn destroy(&self, object: &Object) -> Result<(), OperationError> {
        let resource = self.target.resource()?;
        let plan = resource
            .plan_destroy(object, &mut self.target.warnings.of_call())
            .await
            .map_err(|error| self.target.failed(error))?;
        let Err(failure) = resource.apply(&plan, &mut self.target.warnings.of_call()).await else {
            return Ok(());
        };
        if self.is_gone(failure.object.as_ref().unwrap_or(object)).await {
            return Ok(());
        }
        Err(self.target.failed(failure.error))
    }

    /// Whether the provider has no such object any more. Then the deletion is complete, even if it
    /// failed.
    pub(super) async fn is_gone(&self, object: &Object) -> bool {
        let Ok(resource) = self.target.resource() else { return false };
        matches!(resource.read(object, &mut Vec::new()).await, Ok(None))
    }
}
