//! What a resource is known by: the id that the engine keeps, and the identity that its provider may give it.
//!
//! An engine has no resource without an id, Terraform has many. So the id is, in this order: attribute `id`; the
//! resource's identity as a JSON object; the id that it was imported by; a random one. Only creating and importing choose
//! an id. Afterwards it is the engine's: a refresh answers with another one only where attribute `id` certainly holds the
//! id and says so. That is also how states of the Go bridge go on, in which every resource without an `id` is called
//! "missing ID".

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use isthmus_cty::AttributePath;
use isthmus_cty::PathStep;
use isthmus_cty::json::Json;
use isthmus_provider::{Diagnostic, Object, ProviderError};

use super::{OperationError, OperationWarnings, Target};
use crate::package::shape::IdRule;
use crate::translate::meta::StoredIdentity;
use crate::translate::outputs::id_from_state;

impl Target<'_> {
    /// The id of a resource that is new to the engine. `given`: what it was imported by.
    ///
    /// It never fails, because by now the resource exists.
    pub(crate) fn new_id(
        &self,
        object: &Object,
        identity: Option<&StoredIdentity>,
        given: Option<&str>,
        secrets: &[AttributePath],
        notes: &mut OperationWarnings,
    ) -> String {
        if let Some(id) = id_from_state(&object.value, &self.shape) {
            self.warn_of_a_secret_id(secrets, notes);
            return id;
        }
        let otherwise = identity.map(|identity| identity.json.clone());
        let id = otherwise.or_else(|| given.map(str::to_owned)).unwrap_or_else(random_id);
        if matches!(self.shape.id, IdRule::Computed | IdRule::Property(_)) {
            notes.warnings.push(Diagnostic::warning(
                "The provider has given the resource no id",
                format!(
                    "Attribute `id` of this {} has no value, which is a fault of the provider. The resource is known as \
                     `{id}` instead.",
                    self.shape.terraform_type
                ),
            ));
        }
        id
    }

    /// The id of a resource that the engine knows as `known`, after it was read again.
    pub(super) fn id_after_refresh(
        &self,
        object: &Object,
        known: &str,
        identity: Option<&StoredIdentity>,
        secrets: &[AttributePath],
        notes: &mut OperationWarnings,
    ) -> String {
        let is_certain = matches!(self.shape.id, IdRule::Computed | IdRule::Property(_));
        if known.is_empty() || (is_certain && id_from_state(&object.value, &self.shape).is_some()) {
            return self.new_id(object, identity, None, secrets, notes);
        }
        known.to_owned()
    }

    /// The object's identity, to be stored with its properties. What cannot be had is warned of: the object exists, and
    /// providers do without.
    pub(crate) async fn identity_of(
        &self,
        object: &Object,
        notes: &mut OperationWarnings,
    ) -> Option<StoredIdentity> {
        object.identity.as_ref()?;
        let found = match self.provider.resource(&self.shape.terraform_type) {
            Ok(resource) => resource.identity_to_store(object, &mut notes.warnings).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(identity) => identity.map(|identity| StoredIdentity {
                schema_version: identity.schema_version,
                json: identity.json.to_string(),
            }),
            Err(error) => {
                notes
                    .warnings
                    .push(Diagnostic::warning("The resource's identity is not stored", self.message(&error)));
                None
            }
        }
    }

    /// A stored identity as the provider takes it.
    pub(super) async fn stored_identity(
        &self,
        stored: &StoredIdentity,
        notes: &mut OperationWarnings,
    ) -> Result<Option<isthmus_proto::tfplugin6::ResourceIdentityData>, OperationError> {
        // Somebody may have edited the state; providers do without an identity.
        let Ok(json) = Json::parse(stored.json.as_bytes()) else { return Ok(None) };
        let stored = isthmus_cty::StoredIdentity { schema_version: stored.schema_version, json };
        let resource = self.resource()?;
        resource.identity_from_store(&stored, &mut notes.warnings).await.map_err(|error| self.failed(error))
    }

    /// Takes over the object that is known by `id`: by its identity where `id` is a JSON object and the resource type has
    /// identities, else by its id.
    pub(crate) async fn import_object(
        &self,
        id: &str,
        notes: &mut OperationWarnings,
    ) -> Result<Option<Object>, ProviderError> {
        let resource = self.provider.resource(&self.shape.terraform_type)?;
        if let Ok(json @ Json::Object(_)) = Json::parse(id.as_bytes())
            && let Some(schema) = resource.identity_schema(&mut notes.warnings).await?
        {
            let identity = resource.identity_for_import(&schema, &json)?;
            return resource.import_by_identity(identity, &mut notes.warnings).await;
        }
        resource.import(id, &mut notes.warnings).await
    }

    /// An engine keeps ids in the clear.
    fn warn_of_a_secret_id(&self, secrets: &[AttributePath], notes: &mut OperationWarnings) {
        let Some(field) = self.shape.object.terraform("id") else { return };
        let is_marked = |path: &AttributePath| matches!(path.0.first(), Some(PathStep::Attribute(name)) if *name == field.terraform);
        if field.sensitive || secrets.iter().any(is_marked) {
            notes.warnings.push(Diagnostic::warning(
                "The resource's id is a secret",
                format!(
                    "Property `{}` is secret, and the id of a resource never is: the value stands in the state and in \
                     outputs for everybody to read.",
                    field.pulumi
                ),
            ));
        }
    }
}

/// 128 bits that no other resource has.
fn random_id() -> String {
    // The hasher is keyed by the operating system's randomness; more is not needed of what is not secret.
    let half = |which| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u8(which);
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(0), half(1))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_random_ids_are_alike() {
        let ids: HashSet<String> = (0..10_000).map(|_| random_id()).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
    }
}
