//! Prior state of a resource: its record, or else the provider's object.
//!
//! The engine repeats calls whose answers it did not get, and by then another object may have the
//! id. So a record or an imported object that contradicts what the engine sent is rejected, unless
//! the provider plans no change between it and those inputs: the form of inputs may have changed
//! since.

use isthmus_proto::property::Struct;
use isthmus_provider::{Action, Object, ProviderError, StoredObject};
use isthmus_state::{RecordRef, SavedObject, Status};

use super::error::Contradiction;
use super::error::StoredResourceError;
use super::import_object;
use super::last_reported::{LastReported, digest_of};
use super::lookup::{Candidate, Chosen, LookupPurpose, choose, differing, retain_known};
use super::object::{Annotations, StoredResource};
use isthmus_operations::resource::{OperationError, Prior};
use isthmus_translate::inputs::Unknowns;
use isthmus_translate::outputs::{OutputOptions, outputs_from_state};

/// What is stored of a resource beside its object.
#[derive(Debug)]
pub(super) struct Record {
    /// `None` if it is not stored.
    pub(super) place: Option<RecordRef>,
    pub(super) status: Status,
    pub(super) reported: LastReported,
    pub(super) annotations: Annotations,
}

/// To which record the provider's object belongs, where several have its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    This,
    /// One that was created after the first was deleted, or over it.
    Another,
    /// There is no object.
    Missing,
    /// It differs from what was reported of every record.
    Unknown,
}

impl Default for Record {
    fn default() -> Self {
        let (reported, annotations) = (LastReported::default(), Annotations::default());
        Self { place: None, status: Status::Ready, reported, annotations }
    }
}

impl StoredResource<'_> {
    /// The prior state from the store, or else by import; `None` if the object does not exist.
    ///
    /// `delete` chooses by further rules.
    pub(super) async fn prior(
        &self,
        id: &str,
        purpose: LookupPurpose<'_>,
    ) -> Result<Option<(Prior, Record)>, StoredResourceError> {
        let (operation, inputs) = match purpose {
            LookupPurpose::Comparison(inputs) => ("compare", Some(inputs)),
            LookupPurpose::Change(inputs) => ("update", Some(inputs)),
            LookupPurpose::Deletion(_) => ("delete", None),
            LookupPurpose::Lookup => ("read", None),
        };
        let contradicted =
            |differences| StoredResourceError::Contradicted { operation, key: self.key(id), differences };
        let mut candidates = match purpose {
            LookupPurpose::Lookup => self.candidates(id).await?,
            LookupPurpose::Comparison(_) | LookupPurpose::Change(_) | LookupPurpose::Deletion(_) => {
                self.described_candidates(id).await?
            }
        };
        match choose(candidates.clone(), purpose) {
            Chosen::One(one) => {
                retain_known(&mut candidates);
                candidates.retain(|(place, _, _)| *place != one.0);
                let (prior, record) = self.prior_of_record(*one).await?;
                if !matches!(purpose, LookupPurpose::Change(_)) {
                    return Ok(Some((prior, record)));
                }
                return match self.owner(&prior, &record.reported, &candidates).await? {
                    Owner::This => Ok(Some((prior, record))),
                    Owner::Another | Owner::Missing => Ok(None),
                    Owner::Unknown => {
                        let count = candidates.len() + 1;
                        Err(StoredResourceError::Unattributed { operation, key: self.key(id), count })
                    }
                };
            }
            Chosen::Doubtful(one, difference) => {
                let (prior, record) = self.prior_of_record(*one).await?;
                return match inputs {
                    Some(inputs) if self.was_deleted_with(id, inputs).await? => Ok(None),
                    Some(inputs) if !self.is_described_by(&prior, inputs).await => {
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
        let Some(object) = self.imported(id).await? else { return Ok(None) };
        let (prior, mut record) = (Prior::imported(object, &self.target.shape.object), Record::default());
        if let Some(inputs) = inputs {
            let outputs = self.plain_outputs(&prior.object)?;
            let properties = differing(&outputs, inputs);
            if !properties.is_empty() && !self.is_described_by(&prior, inputs).await {
                return Err(contradicted(vec![Contradiction { record: None, properties }]));
            }
            // If the answer to an update is lost, the engine still has these.
            record.reported = LastReported {
                inputs: Some(inputs.clone()),
                outputs: Some(outputs),
                ..LastReported::default()
            };
        }
        Ok(Some((prior, record)))
    }

    /// The records of an id, newest first.
    pub(super) async fn candidates(&self, id: &str) -> Result<Vec<Candidate>, StoredResourceError> {
        let records = self.state_store.find(&self.key(id)).await?.into_iter();
        // Deposed objects of Terraform are in no engine's state.
        let records = records.filter(|(_, saved)| !import_object::is_deposed(&saved.object));
        Ok(records
            .map(|(place, saved)| {
                let reported = LastReported::is_stored(&saved.companion);
                (place, saved, reported)
            })
            .collect())
    }

    /// The records of an id, newest first, each with what was last reported of it. For imported
    /// objects and those of failed creations nothing was; their own outputs are used.
    pub(super) async fn described_candidates(&self, id: &str) -> Result<Vec<Candidate>, StoredResourceError> {
        let mut candidates = self.candidates(id).await?;
        for (_, saved, reported) in &mut candidates {
            if reported.outputs.is_none() {
                let object = self.current(saved.object.clone()).await?;
                let (outputs, unrefreshed) = (Some(self.plain_outputs(&object)?), reported.unrefreshed);
                *reported = LastReported { outputs, unrefreshed, ..LastReported::default() };
            }
        }
        Ok(candidates)
    }

    /// The owner of the provider's object with an id that `others` have too. Without others it is
    /// the record, whatever its drift.
    pub(super) async fn owner(
        &self,
        prior: &Prior,
        reported: &LastReported,
        others: &[Candidate],
    ) -> Result<Owner, StoredResourceError> {
        if others.is_empty() {
            return Ok(Owner::This);
        }
        let read = self.target.resource()?.read(&prior.object, &mut self.target.warnings.of_call()).await;
        let Some(found) = read.map_err(|error| self.target.failed(error))? else { return Ok(Owner::Missing) };
        let outputs = self.plain_outputs(&found)?;
        let is_of = |reported: &LastReported| {
            reported
                .versions()
                .map(LastReported::outputs_alone)
                .any(|reported| reported.outputs.is_some() && reported.contradicted_by(&outputs).is_empty())
        };
        Ok(if is_of(reported) {
            Owner::This
        } else if others.iter().any(|(_, _, reported)| is_of(reported)) {
            Owner::Another
        } else {
            Owner::Unknown
        })
    }

    /// The prior state by a record.
    pub(super) async fn prior_of_record(
        &self,
        (place, saved, reported): Candidate,
    ) -> Result<(Prior, Record), StoredResourceError> {
        let saved = saved.object;
        let status = saved.status;
        let annotations = Annotations {
            provider: saved.provider.clone(),
            dependencies: saved.dependencies.clone(),
            create_before_destroy: saved.create_before_destroy,
            address: saved.address.clone(),
            component: saved.component.clone(),
            secrets: saved.sensitive_paths.clone(),
        };
        let object = self.current(saved).await?;
        let mut prior = Prior::current(object, status);
        prior.is_unrefreshed = reported.unrefreshed;
        Ok((prior, Record { place: Some(place), status, reported, annotations }))
    }

    /// Upgrades a saved object to the provider's current schemas.
    pub(super) async fn current(&self, saved: SavedObject) -> Result<Object, OperationError> {
        let resource = self.target.resource()?;
        let identity = match &saved.identity {
            Some(identity) => resource
                .identity_from_store(identity, &mut self.target.warnings.of_call())
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
        resource
            .upgrade(&stored, &mut self.target.warnings.of_call())
            .await
            .map_err(|error| self.target.failed(error))
    }

    /// Imports the object with this id; `None` if there is none.
    pub(super) async fn imported(&self, id: &str) -> Result<Option<Object>, StoredResourceError> {
        let error = match self.target.import_object(id).await {
            Ok(imported) => return Ok(imported),
            Err(error) => self.target.failed_import(error).await,
        };
        Err(match error {
            // An interrupted import is no evidence about the resource.
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

    /// The outputs of an object including sensitive ones, for comparison.
    pub(super) fn plain_outputs(&self, object: &Object) -> Result<Struct, StoredResourceError> {
        let options = OutputOptions { keep_secrets: false, secrets: &[], unknowns: false };
        Ok(outputs_from_state(&object.value, &self.target.shape, options).map_err(OperationError::from)?)
    }

    /// Whether the provider plans no change from the object to these inputs. If it cannot plan, the
    /// inputs count as another object's.
    async fn is_described_by(&self, prior: &Prior, inputs: &Struct) -> bool {
        let Ok(mut config) = self.target.config(inputs, Unknowns::Reject) else { return false };
        let Ok(resource) = self.target.resource() else { return false };
        let Ok(object) = self.target.with_unread(prior, inputs, &mut config.value) else {
            return false;
        };
        let plan = resource.plan(Some(&object), &config.value, &mut self.target.warnings.of_call()).await;
        plan.is_ok_and(|plan| matches!(plan.action, Action::NoOp) && plan.deferral.is_none())
    }

    /// Whether a tombstone has these inputs.
    async fn was_deleted_with(&self, id: &str, inputs: &Struct) -> Result<bool, StoredResourceError> {
        let digest = digest_of(inputs);
        let tombstones =
            self.state_store.tombstones().find(&self.key(id), std::time::SystemTime::now()).await?;
        Ok(tombstones.iter().any(|tombstone| tombstone.deletion.inputs == Some(digest)))
    }
}
