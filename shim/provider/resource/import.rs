//! ImportResourceState, followed by a read.

use isthmus_proto::tfplugin6;

use super::read::ReadOutcome;
use super::{Object, Resource, Unknowns};
use crate::deferral::DeferralSupport;
use crate::{Diagnostic, ProviderError, Rpc};

impl Resource<'_> {
    /// Imports an object by its id, and reads it. `None`: it does not exist.
    pub async fn import(
        &self,
        id: &str,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Object>, ProviderError> {
        self.import_by(id.to_owned(), None, warnings).await
    }

    /// Imports an object by its identity, and reads it. `None`: it does not exist.
    pub async fn import_by_identity(
        &self,
        identity: tfplugin6::ResourceIdentityData,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Object>, ProviderError> {
        self.import_by(String::new(), Some(identity), warnings).await
    }

    async fn import_by(
        &self,
        id: String,
        identity: Option<tfplugin6::ResourceIdentityData>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Object>, ProviderError> {
        let rpc = Rpc::ImportResourceState;
        let request = tfplugin6::import_resource_state::Request {
            type_name: self.type_name.to_string(),
            id,
            client_capabilities: self.provider.client_capabilities(DeferralSupport::Allowed),
            identity: identity.clone(),
        };
        let response: tfplugin6::import_resource_state::Response = self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        if let Some(deferral) = self.deferral(rpc, response.deferred, DeferralSupport::Allowed)? {
            return Err(self.deferred("imported", deferral));
        }
        let imported = response.imported_resources;
        let types: Vec<&str> = imported.iter().map(|object| object.type_name.as_str()).collect();
        if let Some(reason) = not_the_one(&types, &self.type_name) {
            return Err(self.impossible_import(reason));
        }
        let Some(first) = imported.into_iter().next() else {
            return Err(self.impossible_import("there is none".to_owned()));
        };
        let value = self.decode(rpc, first.state.as_ref())?;
        if value.is_null() {
            return Err(self.invalid_answer(rpc, "the imported object is null"));
        }
        self.require_storable(rpc, &value)?;
        // The read that follows returns the identity to store, so Terraform accepts any here.
        let found = self.received_identity(rpc, first.identity, Unknowns::Allowed, warnings).await?;
        if identity.is_some() && found.is_none() {
            return Err(self.invalid_answer(rpc, "the object was imported by its identity, and has none"));
        }
        // Providers put a marker into the private data for the following read.
        let object = Object { value, private: first.private, identity: found };
        match self.look(&object, warnings).await? {
            ReadOutcome::Clear(object) => Ok(object),
            ReadOutcome::Deferred(deferral) => Err(self.deferred("imported", deferral)),
        }
    }

    fn impossible_import(&self, reason: String) -> ProviderError {
        ProviderError::Import {
            provider: self.provider.name().to_owned(),
            type_name: self.type_name.to_string(),
            reason,
        }
    }
}

/// Why imported objects of these types are not one of the `wanted` type. (Terraform's older command
/// accepted several objects from one import; its import blocks do not, nor do engines.)
fn not_the_one(types: &[&str], wanted: &str) -> Option<String> {
    match types {
        [] => Some("it found no object under this id, and gave no reason; check the id".to_owned()),
        [only] if *only == wanted => None,
        [""] => Some(
            "it does not say of what type the object is that it found, which is a fault of the provider"
                .to_owned(),
        ),
        [only] => Some(format!(
            "it found a {only} under this id; import it as that, or look up the id of the {wanted}"
        )),
        several => {
            let (count, types) = (several.len(), several.join(", "));
            Some(format!(
                "it found {count} objects under this id ({types}), and a resource is one object; import each of them by \
                 an id of its own, if the provider knows one"
            ))
        }
    }
}

#[cfg(test)]
mod tests;
