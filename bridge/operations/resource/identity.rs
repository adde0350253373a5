//! A resource's id, which the engine stores, and its identity, which its provider may set.
//!
//! Engines require an id, which many Terraform resources lack. So it is the first of: attribute
//! `id`; the identity as a JSON object; the id that the resource was imported by; a random one.
//! Only create and import choose an id; a refresh returns another one only where attribute `id`
//! holds the id and differs. So states of the Go bridge continue to work, in which every resource
//! without an `id` has the id "missing ID".

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use isthmus_cty::AttributePath;
use isthmus_cty::PathStep;
use isthmus_cty::json::Json;
use isthmus_provider::{Diagnostic, Object, ProviderError};

use super::{OperationError, Target};
use isthmus_package::shape::IdRule;
use isthmus_translate::meta::StoredIdentity;
use isthmus_translate::outputs::id_from_state;

impl Target<'_> {
    /// Chooses the id of a resource that is new to the engine. `given`: the id that it was imported
    /// by.
    ///
    /// It cannot fail, because the resource exists already.
    pub fn new_id(
        &self,
        object: &Object,
        identity: Option<&StoredIdentity>,
        given: Option<&str>,
        secrets: &[AttributePath],
    ) -> String {
        if let Some(id) = id_from_state(&object.value, &self.shape) {
            self.warn_of_a_secret_id(secrets);
            return id;
        }
        let otherwise = identity.map(|identity| identity.json.clone());
        let id = otherwise.or_else(|| given.map(str::to_owned)).unwrap_or_else(random_id);
        if matches!(self.shape.id, IdRule::Computed | IdRule::Property(_)) {
            self.warn(Diagnostic::warning(
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

    /// The id after a refresh of a resource whose id was `known`.
    pub(super) fn id_after_refresh(
        &self,
        object: &Object,
        known: &str,
        identity: Option<&StoredIdentity>,
        secrets: &[AttributePath],
    ) -> String {
        let is_certain = matches!(self.shape.id, IdRule::Computed | IdRule::Property(_));
        if known.is_empty() || (is_certain && id_from_state(&object.value, &self.shape).is_some()) {
            return self.new_id(object, identity, None, secrets);
        }
        known.to_owned()
    }

    /// The object's identity in its stored form. On failure it warns and returns `None`: the object
    /// exists, and providers work without an identity.
    pub async fn identity_of(&self, object: &Object) -> Option<StoredIdentity> {
        object.identity.as_ref()?;
        let found = match self.provider.resource(&self.shape.terraform_type) {
            Ok(resource) => resource.identity_to_store(object, &mut self.warnings.of_call()).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(identity) => identity.map(|identity| StoredIdentity {
                schema_version: identity.schema_version,
                json: identity.json.to_string(),
            }),
            Err(error) => {
                self.warn(Diagnostic::warning("The resource's identity is not stored", self.message(&error)));
                None
            }
        }
    }

    /// A stored identity in the provider's form.
    pub(super) async fn stored_identity(
        &self,
        stored: &StoredIdentity,
    ) -> Result<Option<isthmus_proto::tfplugin6::ResourceIdentityData>, OperationError> {
        // The state may have been edited; providers work without an identity.
        let Ok(json) = Json::parse(stored.json.as_bytes()) else { return Ok(None) };
        let stored = isthmus_cty::StoredIdentity { schema_version: stored.schema_version, json };
        let resource = self.resource()?;
        resource
            .identity_from_store(&stored, &mut self.warnings.of_call())
            .await
            .map_err(|error| self.failed(error))
    }

    /// Imports the object with this `id`: by identity if `id` is a JSON object and the resource
    /// type has identities, else by id.
    pub async fn import_object(&self, id: &str) -> Result<Option<Object>, ProviderError> {
        let resource = self.provider.resource(&self.shape.terraform_type)?;
        if let Ok(json @ Json::Object(_)) = Json::parse(id.as_bytes())
            && let Some(schema) = resource.identity_schema(&mut self.warnings.of_call()).await?
        {
            let identity = resource.identity_for_import(&schema, &json)?;
            return resource.import_by_identity(identity, &mut self.warnings.of_call()).await;
        }
        resource.import(id, &mut self.warnings.of_call()).await
    }

    /// Engines store ids in the clear.
    fn warn_of_a_secret_id(&self, secrets: &[AttributePath]) {
        let Some(field) = self.shape.object.terraform("id") else { return };
        let is_marked = |path: &AttributePath| matches!(path.0.first(), Some(PathStep::Attribute(name)) if *name == field.terraform);
        if field.sensitive || secrets.iter().any(is_marked) {
            self.warn(Diagnostic::warning(
                "The resource's id is a secret",
                format!(
                    "Property `{}` is secret, and the id of a resource never is: the state and the outputs show the \
                     value.",
                    field.pulumi
                ),
            ));
        }
    }
}

/// A random id of 128 bits.
fn random_id() -> String {
    // The hasher is keyed with random bytes of the system; an id is no secret.
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
