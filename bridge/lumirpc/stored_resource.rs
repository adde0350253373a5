//! Resources whose state is in the state store, because their engine cannot hold it.
//!
//! The legacy engine stores a resource's id, inputs and outputs, and sends only the inputs to Diff
//! and Update. So a result is stored before it is returned, and later calls look their prior state
//! up by id. Objects without a record (the store was lost, or something else created them) are
//! imported by id. The operations themselves are those of [`crate::resource`].

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
use crate::resource::intents::warn_on_failure;
use crate::resource::timeouts::Remedy;
use crate::resource::{
    self, Changes, Comparison, Operation, OperationError, OperationWarnings, StateError, Target,
};
use crate::translate::outputs::{OutputOptions, outputs_from_state};
use crate::translate::raw_state::raw_state;
pub(crate) use error::StoredResourceError;
pub(crate) use import_object::{Conflicts, Foreign, ImportOutcome};
use last_reported::LastReported;
use lookup::LookupPurpose;
use prior::Record;
pub(crate) use stored_state::Created;
use stored_state::StoredState;

/// The property that represents a replacement which no property requires.
const ID: &str = "id";

/// Operations on the resources of one type, whose objects are in the state store.
#[derive(Debug)]
pub(crate) struct StoredResource<'a> {
    /// The resource type and its provider, for an engine without secrets.
    pub target: Target<'a>,
    pub state_store: &'a EncryptedStore,
    pub package: &'a str,
    /// The engine's name for the resource; empty where nothing changes.
    pub subject: String,
    /// The provider's type, such as `random`.
    pub provider_type: &'a str,
    /// Creations by earlier processes whose answers are not confirmed; `None` where nothing is
    /// created.
    pub unconfirmed: Option<&'a UnconfirmedCreations>,
    /// Whether sensitive outputs are withheld from the engine, which would store them in the clear.
    pub withhold_sensitive: bool,
}

/// What a Terraform state records of an object and the legacy engine does not. Changes of the value
/// do not affect it.
#[derive(Clone, Debug, Default)]
struct Annotations {
    /// The provider's address; empty if only the type is known.
    provider: String,
    dependencies: Vec<String>,
    create_before_destroy: bool,
    address: Option<ObjectAddress>,
    /// Paths that are sensitive beyond the schema.
    secrets: Vec<AttributePath>,
}

impl StoredResource<'_> {
    /// Sets operation and subject. The engine passes no timeout; `olds` are its stored inputs,
    /// where it sends them.
    #[must_use]
    pub(crate) fn for_operation(self, operation: Operation, subject: String, olds: Option<&Struct>) -> Self {
        Self { target: self.target.timed(operation, 0.0, olds), subject, ..self }
    }

    /// Returns the properties that require a replacement.
    pub(crate) async fn diff(
        &self,
        id: &str,
        olds: &Struct,
        news: Struct,
        warnings: &mut OperationWarnings,
    ) -> Result<Vec<String>, StoredResourceError> {
        let Some((prior, _)) = self.prior(id, LookupPurpose::Comparison(olds), warnings).await? else {
            // Deleted outside the engine: only a replacement can create it.
            return Ok(vec![ID.to_owned()]);
        };
        let comparison = Comparison { olds, news, ignore_changes: &[], is_name_generated: false };
        let difference = resource::diff(&self.target, &prior, comparison, warnings).await?;
        let replacing = difference.changes.iter().filter(|(_, change)| change.replaces);
        let mut replaces: Vec<String> = replacing
            .map(|(path, _)| path.top_level().filter(|name| *name != resource::META).unwrap_or(ID).to_owned())
            .collect();
        replaces.sort();
        replaces.dedup();
        Ok(replaces)
    }

    pub(crate) async fn create(
        &self,
        inputs: &Struct,
        warnings: &mut OperationWarnings,
    ) -> Result<Created, StoredResourceError> {
        resource::create(&self.target, &StoredState::new(self, inputs), inputs, warnings).await
    }

    /// Updates the resource in place and returns its outputs.
    pub(crate) async fn update(
        &self,
        id: &str,
        olds: &Struct,
        news: Struct,
        warnings: &mut OperationWarnings,
    ) -> Result<Struct, StoredResourceError> {
        let found = self.prior(id, LookupPurpose::Change(olds), warnings).await?;
        let (prior, record) = found.ok_or_else(|| StoredResourceError::Gone { key: self.key(id) })?;
        let sent = news.clone();
        let state = StoredState { id, record, olds, ..StoredState::new(self, &sent) };
        let changes = Changes { olds, news, ignore_changes: &[] };
        resource::update(&self.target, &state, prior, changes, warnings).await
    }

    /// Reads the resource; `None` if it does not exist. Stores nothing: for the engine this is a
    /// lookup, not an import.
    pub(crate) async fn get(
        &self,
        id: &str,
        warnings: &mut OperationWarnings,
    ) -> Result<Option<Struct>, StoredResourceError> {
        let Some((prior, record)) = self.prior(id, LookupPurpose::Lookup, warnings).await? else {
            return Ok(None);
        };
        let object = match record.place {
            // The import has just read it.
            None => Some(prior.object),
            Some(_) => resource::read(&self.target, &prior, warnings).await?,
        };
        object.map(|object| self.outputs(&object, id, warnings)).transpose()
    }

    /// As [`Target::explained`], with the remedy for an engine that has no partial state.
    pub(crate) fn explained(&self, error: StoredResourceError, limit: &Limit) -> StoredResourceError {
        match error {
            StoredResourceError::Operation(error) => {
                StoredResourceError::Operation(self.target.explained_with(Remedy::Repeat, error, limit))
            }
            other => other,
        }
    }

    /// Removes interrupted operations of the same object from the journal, which a completed one
    /// supersedes.
    async fn resolve(&self, id: &str, warnings: &mut OperationWarnings) {
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
        warn_on_failure("Failed to remove a superseded operation from the journal", resolved.await, warnings);
    }

    /// Returns the object in the form that is stored. `secrets` are paths that are sensitive beyond
    /// the schema.
    async fn saved(
        &self,
        object: &Object,
        status: Status,
        secrets: &[AttributePath],
        reported: &LastReported,
        annotations: &Annotations,
        warnings: &mut OperationWarnings,
    ) -> Result<Saved, OperationError> {
        let value = raw_state(&object.value, &self.target.shape).map_err(StateError::from)?;
        let identity =
            match self.target.resource()?.identity_to_store(object, &mut warnings.diagnostics).await {
                Ok(identity) => identity,
                // The object exists, and providers work without an identity.
                Err(error) => {
                    let title = "The resource's identity is not stored";
                    warnings.diagnostics.push(Diagnostic::warning(title, self.target.message(&error)));
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
        Ok(Saved { object, companion: Bytes::from(reported.encode_to_vec()) })
    }

    /// The outputs reported to the engine for resource `id`.
    fn outputs(
        &self,
        object: &Object,
        id: &str,
        warnings: &mut OperationWarnings,
    ) -> Result<Struct, StoredResourceError> {
        let options = OutputOptions { keep_secrets: true, secrets: &[], unknowns: false };
        let shape = &self.target.shape;
        let outputs = outputs_from_state(&object.value, shape, options).map_err(OperationError::from)?;
        let (outputs, diagnostics) =
            report::tell(outputs, &shape.terraform_type, id, self.withhold_sensitive);
        warnings.diagnostics.extend(diagnostics);
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
