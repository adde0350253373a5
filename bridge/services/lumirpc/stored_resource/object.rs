//! What all operations share: the resource type, and the form in which its objects are stored and reported.

use std::time::SystemTime;

use bytes::Bytes;
use isthmus_cty::AttributePath;
use isthmus_proto::property::Struct;
use isthmus_provider::rules::sensitive_paths;
use isthmus_provider::{Diagnostic, Object};
use isthmus_state::{
    ComponentAddress, Condition, EncryptedStore, ObjectAddress, OpenIntent, OperationId, OperationKind,
    ProviderConfigAddress, Saved, SavedObject, Status, StoreKey,
};
use prost::Message as _;

use super::error::StoredResourceError;
use super::last_reported::LastReported;
use super::report;
use isthmus_operations::resource::intents::warn_on_failure;
use isthmus_operations::resource::{OperationError, StateError, Target, mark};
use isthmus_session::daemon::UnconfirmedCreations;
use isthmus_translate::exact_numbers::form_numbers;
use isthmus_translate::outputs::{OutputOptions, outputs_from_state};
use isthmus_translate::raw_state::raw_state;

/// The property that represents a replacement which no property requires.
pub(super) const ID: &str = "id";

/// Operations on the resources of one type, whose objects are in the state store.
#[derive(Debug)]
pub struct StoredResource<'a> {
    /// The resource type and its provider, for an engine without secrets.
    pub target: Target<'a>,
    pub state_store: &'a EncryptedStore,
    pub package: &'a str,
    /// The resource in journals and reports: the engine's name for it, or its type's.
    pub subject: String,
    /// Creations by earlier processes whose answers are not confirmed; `None` where nothing is
    /// created.
    pub unconfirmed: Option<&'a UnconfirmedCreations>,
    /// Whether sensitive outputs are withheld from the engine, which would store them in the clear.
    pub withhold_sensitive: bool,
}

/// What a Terraform state records of an object and the legacy engine does not. Changes of the value
/// do not affect it.
#[derive(Clone, Debug, Default)]
pub(super) struct Annotations {
    /// The address of the provider's configuration; empty if only the type is known.
    pub(super) provider: String,
    pub(super) dependencies: Vec<String>,
    pub(super) create_before_destroy: bool,
    pub(super) address: Option<ObjectAddress>,
    pub(super) component: Option<ComponentAddress>,
    /// Paths that are sensitive beyond the schema.
    pub(super) secrets: Vec<AttributePath>,
}

impl StoredResource<'_> {
    /// Removes interrupted operations of the same object from the journal, which a completed one
    /// supersedes.
    pub(super) async fn resolve(&self, id: &str) {
        self.resolve_until(id, None).await;
    }

    /// The same for those that began before a moment: a later object may have the same id.
    pub(super) async fn resolve_until(&self, id: &str, moment: Option<SystemTime>) {
        let key = self.key(id);
        let is_earlier = |open: &OpenIntent| moment.is_none_or(|moment| open.since <= moment);
        let resolved = async {
            let journal = self.state_store.journal();
            // The engine knows the resource.
            let is_same = |open: &OpenIntent| open.intent.key == key && is_earlier(open);
            for open in self.unconfirmed.map(|all| all.take(is_same)).unwrap_or_default() {
                if let Some(number) = open.id.in_store() {
                    journal.dismiss(number).await?;
                }
            }
            for open in journal.open_intents_of(&key).await? {
                let is_over =
                    matches!(open.condition, Condition::Interrupted | Condition::Ended { object: None, .. });
                if is_over
                    && is_earlier(&open)
                    && open.intent.intention != OperationKind::Create
                    && let Some(number) = open.id.in_store()
                {
                    journal.dismiss(number).await?;
                }
            }
            Ok(())
        };
        warn_on_failure(
            "Failed to remove a superseded operation from the journal",
            resolved.await,
            &self.target,
        );
    }

    /// Records that reports of operations were delivered.
    pub(crate) async fn shown(&self, reported: &[OperationId]) {
        let numbers: Vec<_> = reported.iter().filter_map(|id| id.in_store()).collect();
        let marked = self.state_store.journal().mark(&numbers, mark::SHOWN).await;
        warn_on_failure("Failed to record a report in the journal", marked, &self.target);
    }

    /// Returns the object in the form that is stored. `secrets` are paths that are sensitive beyond
    /// the schema.
    pub(super) async fn saved(
        &self,
        object: &Object,
        status: Status,
        secrets: &[AttributePath],
        reported: &LastReported,
        annotations: &Annotations,
    ) -> Result<Saved, OperationError> {
        let value = raw_state(&object.value, &self.target.shape).map_err(StateError::from)?;
        let resource = self.target.resource()?;
        let stored = resource.identity_to_store(object, &mut self.target.warnings.of_call()).await;
        let identity = match stored {
            Ok(identity) => identity,
            // The object exists, and providers work without an identity.
            Err(error) => {
                let title = "The resource's identity is not stored";
                self.target.warn(Diagnostic::warning(title, self.target.message(&error)));
                None
            }
        };
        let mut paths = sensitive_paths(&self.target.shape.schema.block, &object.value);
        for secret in secrets.iter().chain(&annotations.secrets) {
            if !paths.contains(secret) {
                paths.push(secret.clone());
            }
        }
        // As in Terraform, an object belongs to the provider that has changed it last. An imported one
        // keeps its configuration, which may be one of several.
        let provider = if annotations.address.is_none() || annotations.provider.is_empty() {
            ProviderConfigAddress::new(self.target.package.address_in_states()).to_string()
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
            component: annotations.component.clone(),
        };
        Ok(Saved { object, companion: Bytes::from(reported.encode_to_vec()) })
    }

    /// The outputs reported to the engine for resource `id`.
    pub(super) fn outputs(&self, object: &Object, id: &str) -> Result<Struct, StoredResourceError> {
        let options = OutputOptions { keep_secrets: true, secrets: &[], unknowns: false };
        let shape = &self.target.shape;
        let mut outputs = outputs_from_state(&object.value, shape, options).map_err(OperationError::from)?;
        let (numbers, of) = (self.target.numbers, &shape.terraform_type);
        let lost_digits = form_numbers(&mut outputs, &object.value, &shape.object, numbers, of);
        self.target.warnings.lock().lost_digits.extend(lost_digits);
        let (outputs, diagnostics) =
            report::tell(outputs, &shape.terraform_type, id, self.withhold_sensitive);
        self.target.warnings.lock().diagnostics.extend(diagnostics);
        Ok(outputs)
    }

    pub(super) fn key(&self, id: &str) -> StoreKey {
        StoreKey {
            package: self.package.to_owned(),
            type_name: self.target.shape.terraform_type.to_string(),
            id: id.to_owned(),
        }
    }
}
