//! Resources whose state is in the state store, because their engine cannot hold it.
//!
//! The legacy engine knows of a resource its id, the inputs and the outputs, and sends of these only the inputs when a
//! change is compared or made. So what a provider made is stored before the engine has the answer, and the prior state of
//! every later call is looked up by the id. Objects that are not in the store (it was lost, or the resource was made by
//! something else) are imported by their id. The operations themselves are those of [`crate::resource`].

mod delete;
mod error;
mod import_object;
mod last_reported;
mod lookup;
mod prior;
mod report;
mod stored_state;

use bytes::Bytes;
use isthmus_cty::AttributePath;
use isthmus_proto::property::Struct;
use isthmus_provider::rules::sensitive_paths;
use isthmus_provider::{Diagnostic, Limit, Object};
use isthmus_state::{
    Condition, EncryptedStore, ObjectAddress, OperationKind, ProviderConfigAddress, Saved, SavedObject,
    Status, StoreKey,
};
use prost::Message as _;

use crate::daemon::UnconfirmedCreations;
use crate::resource::intents::complain;
use crate::resource::timeouts::Remedy;
use crate::resource::{
    self, Changes, Comparison, Operation, OperationError, OperationWarnings, StateError, Target,
};
use crate::translate::outputs::{OutputOptions, outputs_from_state};
use crate::translate::raw_state::raw_state;
pub(crate) use error::StoredResourceError;
pub(crate) use import_object::{Conflicts, Foreign, TakenOver};
use last_reported::LastReported;
use lookup::LookupPurpose;
use prior::Record;
pub(crate) use stored_state::Made;
use stored_state::StoredState;

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
    pub unconfirmed: Option<&'a UnconfirmedCreations>,
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
    /// The same for an operation on the resource of this name. The engine sets it no time; `olds` are the inputs that it has
    /// stored, where it sends them.
    #[must_use]
    pub(crate) fn doing(self, operation: Operation, subject: String, olds: Option<&Struct>) -> Self {
        Self { target: self.target.timed(operation, 0.0, olds), subject, ..self }
    }

    /// The properties for which the resource would have to be replaced.
    pub(crate) async fn diff(
        &self,
        id: &str,
        olds: &Struct,
        news: Struct,
        notes: &mut OperationWarnings,
    ) -> Result<Vec<String>, StoredResourceError> {
        let Some((prior, _)) = self.prior(id, LookupPurpose::Comparison(olds), notes).await? else {
            // It has gone behind the engine's back: only a new one can be what is asked for.
            return Ok(vec![ID.to_owned()]);
        };
        let comparison = Comparison { olds, news, ignore_changes: &[], name_is_made_up: false };
        let difference = resource::diff(&self.target, &prior, comparison, notes).await?;
        let replacing = difference.changes.iter().filter(|(_, change)| change.replaces);
        let mut replaces: Vec<String> = replacing
            .map(|(path, _)| path.top_level().filter(|name| *name != resource::META).unwrap_or(ID).to_owned())
            .collect();
        replaces.dedup();
        Ok(replaces)
    }

    /// Creates the resource.
    pub(crate) async fn create(
        &self,
        inputs: &Struct,
        notes: &mut OperationWarnings,
    ) -> Result<Made, StoredResourceError> {
        resource::create(&self.target, &StoredState::new(self, inputs), inputs, notes).await
    }

    /// Changes the resource in place, and yields its outputs.
    pub(crate) async fn update(
        &self,
        id: &str,
        olds: &Struct,
        news: Struct,
        notes: &mut OperationWarnings,
    ) -> Result<Struct, StoredResourceError> {
        let found = self.prior(id, LookupPurpose::Change(olds), notes).await?;
        let (prior, record) = found.ok_or_else(|| StoredResourceError::Gone { key: self.key(id) })?;
        let sent = news.clone();
        let state = StoredState { id, record, olds, ..StoredState::new(self, &sent) };
        let changes = Changes { olds, news, ignore_changes: &[] };
        resource::update(&self.target, &state, prior, changes, notes).await
    }

    /// Reads the resource as it is now. `None`: there is none. Nothing is stored: the engine looks it up, and does not
    /// take it over.
    pub(crate) async fn get(
        &self,
        id: &str,
        notes: &mut OperationWarnings,
    ) -> Result<Option<Struct>, StoredResourceError> {
        let Some((prior, record)) = self.prior(id, LookupPurpose::Lookup, notes).await? else {
            return Ok(None);
        };
        let object = match record.place {
            // Importing has read it just now.
            None => Some(prior.object),
            Some(_) => resource::read(&self.target, &prior, notes).await?,
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
        complain("Failed to remove a superseded operation from the journal", resolved.await, notes);
    }

    /// The object as it is kept. `secrets` are places that are secret beyond what the schema says.
    async fn saved(
        &self,
        object: &Object,
        status: Status,
        secrets: &[AttributePath],
        told: &LastReported,
        annotations: &Annotations,
        notes: &mut OperationWarnings,
    ) -> Result<Saved, OperationError> {
        let value = raw_state(&object.value, &self.target.shape).map_err(StateError::from)?;
        let identity = match self.target.resource()?.identity_to_store(object, &mut notes.warnings).await {
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
            annotations.provider.clone()
        };
        let object = SavedObject {
            value,
            schema_version: self.target.shape.schema.version,
            private: object.private.clone(),
            identity,
            status,
            sensitive_paths: paths,
            dependencies: annotations.dependencies.clone(),
            create_before_destroy: annotations.create_before_destroy,
            provider,
            address: annotations.address.clone(),
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

    fn key(&self, id: &str) -> StoreKey {
        StoreKey {
            package: self.package.to_owned(),
            type_name: self.target.shape.terraform_type.to_string(),
            id: id.to_owned(),
        }
    }
}
