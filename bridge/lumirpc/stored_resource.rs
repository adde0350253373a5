//! Resources whose objects are kept in the daemon's store, because their engine cannot hold them.
//!
//! The legacy engine knows of a resource its id, the inputs and the outputs, and sends of these only the inputs when a
//! change is compared or made. So what a provider made is stored before the engine has the answer, and the prior state of
//! every later call is looked up by the id. Objects that are not in the store (it was lost, or the resource was made by
//! something else) are imported by their id.

mod create;
mod delete;
mod error;
mod import_object;
mod last_reported;
mod lookup;
mod prior;
mod report;
mod unconfirmed;

use bytes::Bytes;
use isthmus_cty::AttributePath;
use isthmus_proto::property::Struct;
use isthmus_provider::rules::sensitive_paths;
use isthmus_provider::{Action, Diagnostic, Limit, Object, Resource};
use isthmus_state::{
    Condition, EncryptedStore, Intent, IntentGuard, ObjectAddress, OperationKind, ProviderConfigAddress,
    RecordRef, Saved, SavedObject, Status, StoreKey,
};
use prost::Message as _;

use crate::resource::intents::{complain, settle};
use crate::resource::timeouts::Remedy;
use crate::resource::{
    AutonamingMode, Checked, Naming, Operation, OperationError, OperationWarnings, StateError, Target,
};
use crate::translate::attribute_paths::{property_path, top_level_property};
use crate::translate::inputs::Unknowns;
use crate::translate::outputs::{OutputError, OutputOptions, outputs_from_state};
use crate::translate::raw_state::raw_state;
pub(crate) use error::StoredResourceError;
pub(crate) use import_object::{Conflicts, Foreign, TakenOver};
use last_reported::LastReported;
use lookup::LookupPurpose;
use prior::Prior;
pub(crate) use unconfirmed::UnconfirmedCreations;

/// The property that stands for a replacement which no property asks for.
const ID: &str = "id";

/// Operates on the resources of one type, and keeps their objects.
#[derive(Debug)]
pub(crate) struct StoredResource<'a> {
    /// The resource type and its provider. The engine is one without secrets.
    pub target: Target<'a>,
    /// Where objects are kept.
    pub state_store: &'a EncryptedStore,
    /// The package that the type belongs to.
    pub package: &'a str,
    /// What the engine calls the resource; empty where nothing is changed.
    pub subject: String,
    /// The provider's type, such as `random`.
    pub provider_type: &'a str,
    /// What earlier processes have made, while nobody knows that the engine was told; absent where nothing is made.
    pub unanswered: Option<&'a UnconfirmedCreations>,
    /// Whether the engine is not to be told sensitive outputs, because it would store them in the clear.
    pub withhold_sensitive: bool,
}

/// What the legacy engine knows nothing of, and a Terraform state said of an object: it stays true whatever becomes of the
/// value.
#[derive(Clone, Debug, Default)]
struct Annotations {
    /// The provider's address; empty: none but the type is known.
    provider: String,
    dependencies: Vec<String>,
    create_before_destroy: bool,
    address: Option<ObjectAddress>,
    /// Secret beyond what the schema says.
    secrets: Vec<AttributePath>,
}

impl StoredResource<'_> {
    /// The same, about to do this. The engine sets it no time.
    #[must_use]
    pub(crate) fn doing(self, operation: Operation) -> Self {
        Self { target: self.target.timed(operation, 0.0, None), ..self }
    }

    /// The same for the resource of this name.
    #[must_use]
    pub(crate) fn of(self, subject: String) -> Self {
        Self { subject, ..self }
    }

    /// Judges inputs of the resource `name`. What is to be added to them stands in [`Checked::inputs`] beside them. A name
    /// that was made up before is among the inputs: the engine has stored it, and sends it until it replaces the resource.
    pub(crate) async fn check(
        &self,
        name: &str,
        inputs: Struct,
        notes: &mut OperationWarnings,
    ) -> Result<Checked, StoredResourceError> {
        let naming =
            Naming { resource: name, olds: &Struct::new(), seed: &[], autonaming_mode: AutonamingMode::Any };
        Ok(crate::resource::check(&self.target, inputs, Some(&naming), notes).await?)
    }

    /// The properties for which the resource would have to be replaced.
    pub(crate) async fn diff(
        &self,
        id: &str,
        olds: &Struct,
        news: &Struct,
        notes: &mut OperationWarnings,
    ) -> Result<Vec<String>, StoredResourceError> {
        let config = self.target.config(news, Unknowns::Keep)?;
        let Some(prior) = self.prior(id, LookupPurpose::Comparison(olds), notes).await? else {
            // It has gone behind the engine's back: only a new one can be what is asked for.
            return Ok(vec![ID.to_owned()]);
        };
        if prior.status == Status::Damaged {
            return Ok(vec![ID.to_owned()]);
        }
        let resource = self.resource()?;
        let plan = resource
            .plan(Some(&prior.object), &config.value, &mut notes.warnings)
            .await
            .map_err(|error| self.target.failed(error))?;
        let Action::Replace(paths) = plan.action else { return Ok(Vec::new()) };
        let mut replaces: Vec<String> = paths
            .iter()
            .map(|path| top_level_property(path, &self.target.shape.object).unwrap_or(ID).to_owned())
            .collect();
        replaces.sort();
        replaces.dedup();
        Ok(replaces)
    }

    /// Changes the resource in place, and yields its outputs.
    pub(crate) async fn update(
        &self,
        id: &str,
        olds: &Struct,
        news: &Struct,
        notes: &mut OperationWarnings,
    ) -> Result<Struct, StoredResourceError> {
        let config = self.target.config(news, Unknowns::Reject)?;
        let prior = self.prior(id, LookupPurpose::Change(olds), notes).await?;
        let prior = prior.ok_or_else(|| StoredResourceError::Gone { key: self.key(id) })?;
        let earlier = prior.told.before_update(olds);
        let resource = self.resource()?;
        let plan = resource
            .plan(Some(&prior.object), &config.value, &mut notes.warnings)
            .await
            .map_err(|error| self.target.failed(error))?;
        let mut begun = None;
        let object = match &plan.action {
            // This engine sends an update for every difference of inputs, even where none of them means anything.
            Action::NoOp if plan.deferral.is_none() => prior.object,
            Action::Replace(paths) if plan.deferral.is_none() => {
                let paths = paths.iter().map(|path| property_path(path, &self.target.shape.object)).collect();
                return Err(OperationError::NeedsReplacement(paths).into());
            }
            // What is put off fails when it is applied.
            Action::NoOp | Action::Replace(_) | Action::Create | Action::Update | Action::Delete => {
                let begun =
                    begun.insert(self.begin(OperationKind::Update, id, Some(&prior), news, notes).await?);
                match resource.apply(&plan, &mut notes.warnings).await {
                    Ok(applied) => {
                        applied.object.ok_or(OutputError::NoObject).map_err(OperationError::from)?
                    }
                    Err(failure) => {
                        // What became of it half-way is kept, with what the engine was told before: it will send that
                        // again.
                        let error = self.target.failed(failure.error);
                        match &failure.object {
                            Some(object) => {
                                let saved = self
                                    .saved(
                                        object,
                                        prior.status,
                                        &config.secrets,
                                        &prior.told,
                                        prior.annotations,
                                        notes,
                                    )
                                    .await?;
                                begun.store(prior.place, &self.key(id), &saved).await?;
                            }
                            None => settle(begun, &error, notes).await,
                        }
                        return Err(error.into());
                    }
                }
            }
        };
        let outputs = self.outputs(&object, id, notes)?;
        let told = LastReported { inputs: Some(news.clone()), outputs: Some(outputs.clone()), earlier };
        let saved =
            self.saved(&object, prior.status, &config.secrets, &told, prior.annotations, notes).await?;
        let key = self.key(id);
        let superseded = self.superseded(id, &told).await.map_err(|error| error.after("changed", &key))?;
        let kept = match &mut begun {
            Some(begun) => {
                begun.supersede(superseded);
                begun.store(prior.place, &key, &saved).await.map_err(StoredResourceError::from)
            }
            None => match self.keep(id, prior.place, &saved).await {
                Ok(place) => self
                    .state_store
                    .tombstones()
                    .remove(&superseded)
                    .await
                    .map(|()| place)
                    .map_err(Into::into),
                failed => failed,
            },
        };
        kept.map_err(|error| error.after("changed", &key))?;
        self.resolve(id, notes).await;
        Ok(outputs)
    }

    /// Reads the resource as it is now. `None`: there is none. Nothing is stored: the engine looks it up, and does not
    /// take it over.
    pub(crate) async fn get(
        &self,
        id: &str,
        notes: &mut OperationWarnings,
    ) -> Result<Option<Struct>, StoredResourceError> {
        let Some(prior) = self.prior(id, LookupPurpose::Lookup, notes).await? else { return Ok(None) };
        let object = match prior.place {
            // Importing has read it just now.
            None => Some(prior.object),
            Some(_) => self
                .resource()?
                .read(&prior.object, &mut notes.warnings)
                .await
                .map_err(|error| self.target.failed(error))?,
        };
        object.map(|object| self.outputs(&object, id, notes)).transpose()
    }

    /// As [`Target::explained`], in words for an engine that knows nothing of what the provider keeps.
    pub(crate) fn explained(&self, error: StoredResourceError, limit: &Limit) -> StoredResourceError {
        match error {
            StoredResourceError::Operation(error) => {
                StoredResourceError::Operation(self.target.explained_with(Remedy::Repeat, error, limit))
            }
            other => other,
        }
    }

    /// Writes down what is about to be done, before the provider hears of it. Where the object has a record, that is what it
    /// was before; it changes only together with the end of this.
    async fn begin(
        &self,
        intention: OperationKind,
        id: &str,
        prior: Option<&Prior>,
        inputs: &Struct,
        notes: &mut OperationWarnings,
    ) -> Result<IntentGuard, StoredResourceError> {
        let imported = match prior {
            Some(Prior { object, status, told, place: None, .. }) => {
                let annotations = Annotations::default();
                Some(self.saved(object, *status, &[], told, annotations, notes).await?)
            }
            Some(_) | None => None,
        };
        let told = LastReported { inputs: Some(inputs.clone()), ..LastReported::default() };
        let intent = Intent {
            intention,
            key: self.key(id),
            subject: self.subject.clone(),
            prior: imported,
            companion: Bytes::from(told.encode_to_vec()),
        };
        let record = prior.and_then(|prior| prior.place).map(|place| place.number);
        Ok(self.state_store.journal().begin(intent, record).await?)
    }

    /// A change has come to an end that is known, so nobody need be told any more of those of the same object that did not.
    async fn resolve(&self, id: &str, notes: &mut OperationWarnings) {
        let key = self.key(id);
        let resolved = async {
            let journal = self.state_store.journal();
            for open in journal.open_intents_of(&key).await? {
                let is_over =
                    matches!(open.condition, Condition::Interrupted | Condition::Ended { object: None, .. });
                if is_over && open.intent.intention != OperationKind::Create {
                    journal.dismiss(open.number).await?;
                }
            }
            Ok(())
        };
        complain("A change that was overtaken is still in the journal", resolved.await, notes);
    }

    async fn keep(
        &self,
        id: &str,
        place: Option<RecordRef>,
        saved: &Saved,
    ) -> Result<RecordRef, StoredResourceError> {
        let key = self.key(id);
        Ok(match place {
            Some(place) => self.state_store.replace(place, &key, saved).await?,
            None => self.state_store.add(&key, saved).await?,
        })
    }

    /// The object as it is kept. `secrets` are places that are secret beyond what the schema says.
    async fn saved(
        &self,
        object: &Object,
        status: Status,
        secrets: &[AttributePath],
        told: &LastReported,
        annotations: Annotations,
        notes: &mut OperationWarnings,
    ) -> Result<Saved, OperationError> {
        let value = raw_state(&object.value, &self.target.shape).map_err(StateError::from)?;
        let identity = match self.resource()?.identity_to_store(object, &mut notes.warnings).await {
            Ok(identity) => identity,
            // The object exists, and providers do without.
            Err(error) => {
                let title = "The resource's identity is not stored";
                notes.warnings.push(Diagnostic::warning(title, self.target.message(&error)));
                None
            }
        };
        let mut paths = sensitive_paths(&self.target.shape.schema.block, &object.value);
        for secret in secrets.iter().chain(&annotations.secrets) {
            if !paths.contains(secret) {
                paths.push(secret.clone());
            }
        }
        let provider = if annotations.provider.is_empty() {
            let address = format!("registry.terraform.io/hashicorp/{}", self.provider_type);
            ProviderConfigAddress::new(address).to_string()
        } else {
            annotations.provider
        };
        let object = SavedObject {
            value,
            schema_version: self.target.shape.schema.version,
            private: object.private.clone(),
            identity,
            status,
            sensitive_paths: paths,
            dependencies: annotations.dependencies,
            create_before_destroy: annotations.create_before_destroy,
            provider,
            address: annotations.address,
        };
        Ok(Saved { object, companion: Bytes::from(told.encode_to_vec()) })
    }

    /// What the engine is told of the object of the resource `id`.
    fn outputs(
        &self,
        object: &Object,
        id: &str,
        notes: &mut OperationWarnings,
    ) -> Result<Struct, StoredResourceError> {
        let options = OutputOptions { keep_secrets: true, secrets: &[], unknowns: false };
        let shape = &self.target.shape;
        let outputs = outputs_from_state(&object.value, shape, options).map_err(OperationError::from)?;
        let (outputs, warnings) = report::tell(outputs, &shape.terraform_type, id, self.withhold_sensitive);
        notes.warnings.extend(warnings);
        Ok(outputs)
    }

    fn resource(&self) -> Result<Resource<'_>, OperationError> {
        let resource = self.target.provider.resource(&self.target.shape.terraform_type);
        resource.map_err(|error| self.target.failed(error))
    }

    fn key(&self, id: &str) -> StoreKey {
        StoreKey {
            package: self.package.to_owned(),
            type_name: self.target.shape.terraform_type.to_string(),
            id: id.to_owned(),
        }
    }
}
