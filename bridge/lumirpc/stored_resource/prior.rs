//! What a resource was before the call: its record, or else the provider's object.
//!
//! The engine repeats calls whose answers it did not get, and by then another object may have the id. So neither a record
//! nor an imported object is taken that contradicts what the engine sent, except where the provider sees no difference
//! between it and those inputs: the form of inputs may have changed since.

use isthmus_proto::property::Struct;
use isthmus_provider::{Action, Object, ProviderError, StoredObject};
use isthmus_state::{RecordRef, SavedObject, Status};

use super::error::Contradiction;
use super::last_reported::{LastReported, digest_of};
use super::lookup::{Candidate, Chosen, LookupPurpose, choose, differing, retain_known};
use super::{Annotations, StoredResource, StoredResourceError, import_object};
use crate::resource::{OperationError, OperationWarnings, Prior};
use crate::translate::inputs::Unknowns;
use crate::translate::outputs::{OutputOptions, outputs_from_state};

/// What is stored of a resource beside its object.
#[derive(Debug)]
pub(super) struct Record {
    /// Where it is stored; `None`: nowhere.
    pub(super) place: Option<RecordRef>,
    pub(super) status: Status,
    pub(super) told: LastReported,
    pub(super) annotations: Annotations,
}

/// Whose object the provider has under an id that several records have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The record in hand's.
    This,
    /// Another record's: it was created after the first was deleted, or over it.
    Another,
    /// There is no object.
    Nobody,
    /// It differs from what the engine was told of every record.
    Unknown,
}

impl Default for Record {
    /// There is none.
    fn default() -> Self {
        let (told, annotations) = (LastReported::default(), Annotations::default());
        Self { place: None, status: Status::Ready, told, annotations }
    }
}

impl StoredResource<'_> {
    /// The resource before the call: from the store, or else imported. `None`: it is gone.
    ///
    /// For a deletion there is more to look at; see `delete`.
    pub(super) async fn prior(
        &self,
        id: &str,
        sought: LookupPurpose<'_>,
        notes: &mut OperationWarnings,
    ) -> Result<Option<(Prior, Record)>, StoredResourceError> {
        let (doing, inputs) = match sought {
            LookupPurpose::Comparison(inputs) => ("compare", Some(inputs)),
            LookupPurpose::Change(inputs) => ("update", Some(inputs)),
            LookupPurpose::Deletion(_) => ("delete", None),
            LookupPurpose::Lookup => ("read", None),
        };
        let contradicted =
            |differences| StoredResourceError::Contradicted { doing, key: self.key(id), differences };
        let mut candidates = match sought {
            LookupPurpose::Lookup => self.candidates(id).await?,
            LookupPurpose::Comparison(_) | LookupPurpose::Change(_) | LookupPurpose::Deletion(_) => {
                self.described_candidates(id, notes).await?
            }
        };
        match choose(candidates.clone(), sought) {
            Chosen::One(one) => {
                retain_known(&mut candidates);
                candidates.retain(|(place, _, _)| *place != one.0);
                let (prior, record) = self.prior_of_record(*one, notes).await?;
                if !matches!(sought, LookupPurpose::Change(_)) {
                    return Ok(Some((prior, record)));
                }
                return match self.owner(&prior, &record.told, &candidates, notes).await? {
                    Owner::This => Ok(Some((prior, record))),
                    Owner::Another | Owner::Nobody => Ok(None),
                    Owner::Unknown => {
                        let count = candidates.len() + 1;
                        Err(StoredResourceError::Unattributed { doing, key: self.key(id), count })
                    }
                };
            }
            Chosen::Doubtful(one, difference) => {
                let (prior, record) = self.prior_of_record(*one, notes).await?;
                return match inputs {
                    Some(inputs) if self.was_deleted_with(id, inputs).await? => Ok(None),
                    Some(inputs) if !self.is_described_by(&prior.object, inputs, notes).await => {
                        Err(contradicted(vec![difference]))
                    }
                    _ => Ok(Some((prior, record))),
                };
            }
            Chosen::Contradicted(differences) => return Err(contradicted(differences)),
            Chosen::Ambiguous(count) => {
                return Err(StoredResourceError::Ambiguous { key: self.key(id), count });
            }
            Chosen::Nothing => {}
        }
        if let Some(inputs) = inputs
            && self.was_deleted_with(id, inputs).await?
        {
            return Ok(None);
        }
        let Some(object) = self.imported(id, notes).await? else { return Ok(None) };
        let (prior, mut record) = (Prior::current(object, Status::Ready), Record::default());
        if let Some(inputs) = inputs {
            let outputs = self.plain_outputs(&prior.object)?;
            let properties = differing(&outputs, inputs);
            if !properties.is_empty() && !self.is_described_by(&prior.object, inputs, notes).await {
                return Err(contradicted(vec![Contradiction { record: None, properties }]));
            }
            // Should the answer to an update be lost, the engine still has these.
            record.told =
                LastReported { inputs: Some(inputs.clone()), outputs: Some(outputs), earlier: Vec::new() };
        }
        Ok(Some((prior, record)))
    }

    /// The records of an id, newest first.
    pub(super) async fn candidates(&self, id: &str) -> Result<Vec<Candidate>, StoredResourceError> {
        let records = self.state_store.find(&self.key(id)).await?.into_iter();
        // No engine knows of an object that was replaced under Terraform and could not be deleted yet.
        let records = records.filter(|(_, saved)| !import_object::is_deposed(&saved.object));
        Ok(records
            .map(|(place, saved)| {
                let told = LastReported::kept(&saved.companion);
                (place, saved, told)
            })
            .collect())
    }

    /// The records of an id, newest first, each with what the engine was told of it, or else with what it would be told: of what was
    /// imported into the store, or left by a failed creation, it was told nothing.
    pub(super) async fn described_candidates(
        &self,
        id: &str,
        notes: &mut OperationWarnings,
    ) -> Result<Vec<Candidate>, StoredResourceError> {
        let mut candidates = self.candidates(id).await?;
        for (_, saved, told) in &mut candidates {
            if told.outputs.is_none() {
                let object = self.current(saved.object.clone(), notes).await?;
                *told =
                    LastReported { outputs: Some(self.plain_outputs(&object)?), ..LastReported::default() };
            }
        }
        Ok(candidates)
    }

    /// Whose object the provider has under an id that `others` have records of as well. Without others it is the
    /// record's, however much has been changed outside.
    pub(super) async fn owner(
        &self,
        prior: &Prior,
        told: &LastReported,
        others: &[Candidate],
        notes: &mut OperationWarnings,
    ) -> Result<Owner, StoredResourceError> {
        if others.is_empty() {
            return Ok(Owner::This);
        }
        let read = self.target.resource()?.read(&prior.object, &mut notes.warnings).await;
        let Some(found) = read.map_err(|error| self.target.failed(error))? else { return Ok(Owner::Nobody) };
        let outputs = self.plain_outputs(&found)?;
        let is_of = |told: &LastReported| {
            told.versions()
                .map(LastReported::outputs_alone)
                .any(|told| told.outputs.is_some() && told.contradicted_by(&outputs).is_empty())
        };
        Ok(if is_of(told) {
            Owner::This
        } else if others.iter().any(|(_, _, told)| is_of(told)) {
            Owner::Another
        } else {
            Owner::Unknown
        })
    }

    /// What is known of the resource by its record.
    pub(super) async fn prior_of_record(
        &self,
        (place, saved, told): Candidate,
        notes: &mut OperationWarnings,
    ) -> Result<(Prior, Record), StoredResourceError> {
        let saved = saved.object;
        let status = saved.status;
        let annotations = Annotations {
            provider: saved.provider.clone(),
            dependencies: saved.dependencies.clone(),
            create_before_destroy: saved.create_before_destroy,
            address: saved.address.clone(),
            secrets: saved.sensitive_paths.clone(),
        };
        let object = self.current(saved, notes).await?;
        Ok((Prior::current(object, status), Record { place: Some(place), status, told, annotations }))
    }

    /// A saved object by the provider's current schemas.
    pub(super) async fn current(
        &self,
        saved: SavedObject,
        notes: &mut OperationWarnings,
    ) -> Result<Object, OperationError> {
        let resource = self.target.resource()?;
        let identity = match &saved.identity {
            Some(identity) => resource
                .identity_from_store(identity, &mut notes.warnings)
                .await
                .map_err(|error| self.target.failed(error))?,
            None => None,
        };
        let stored = StoredObject {
            value: saved.value,
            schema_version: saved.schema_version,
            private: saved.private,
            identity,
        };
        resource.upgrade(&stored, &mut notes.warnings).await.map_err(|error| self.target.failed(error))
    }

    /// The provider's object with this id. `None`: there is none.
    pub(super) async fn imported(
        &self,
        id: &str,
        notes: &mut OperationWarnings,
    ) -> Result<Option<Object>, StoredResourceError> {
        let imported = self.target.import_object(id, notes).await.map_err(|error| self.target.failed(error));
        imported.map_err(|cause| match cause {
            // That nobody waits for the import any more says nothing of the resource.
            OperationError::Provider { error, text, outcome_unknown }
                if matches!(*error, ProviderError::Interruption { .. }) =>
            {
                OperationError::Provider { error, text, outcome_unknown }.into()
            }
            cause => {
                let (key, store) = (self.key(id), self.state_store.location());
                StoredResourceError::Unknown { key, store, cause: cause.to_string() }
            }
        })
    }

    /// The outputs of an object with everything that is sensitive, to compare them.
    pub(super) fn plain_outputs(&self, object: &Object) -> Result<Struct, StoredResourceError> {
        let options = OutputOptions { keep_secrets: false, secrets: &[], unknowns: false };
        Ok(outputs_from_state(&object.value, &self.target.shape, options).map_err(OperationError::from)?)
    }

    /// Whether the provider would change nothing to make the object what these inputs describe. Where it cannot answer that,
    /// the inputs count as those of another object.
    async fn is_described_by(&self, object: &Object, inputs: &Struct, notes: &mut OperationWarnings) -> bool {
        let Ok(config) = self.target.config(inputs, Unknowns::Reject) else { return false };
        let Ok(resource) = self.target.resource() else { return false };
        let plan = resource.plan(Some(object), &config.value, &mut notes.warnings).await;
        plan.is_ok_and(|plan| matches!(plan.action, Action::NoOp) && plan.deferral.is_none())
    }

    /// Whether the object that the engine means by these inputs is known to be deleted.
    async fn was_deleted_with(&self, id: &str, inputs: &Struct) -> Result<bool, StoredResourceError> {
        let digest = digest_of(inputs);
        let tombstones =
            self.state_store.tombstones().find(&self.key(id), std::time::SystemTime::now()).await?;
        Ok(tombstones.iter().any(|tombstone| tombstone.deletion.inputs == Some(digest)))
    }
}
