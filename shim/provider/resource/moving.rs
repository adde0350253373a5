//! Objects that change their type.
//!
//! A resource may become one of another type, even of another provider, without anything being made or deleted: the provider
//! of the new type is given what the old one has stored, and makes an object of its own of it (protocol 5.5, 6.5).

use bytes::Bytes;
use isthmus_cty::json::Json;
use isthmus_proto::tfplugin6;

use super::{Object, Resource};
use crate::{Diagnostic, ProviderError, Rpc, StoredIdentity};

/// An object as another type, perhaps of another provider, has stored it.
#[derive(Clone, Debug)]
pub struct ForeignObject {
    /// The full address of its provider.
    pub provider: String,
    /// Its type.
    pub type_name: String,
    /// Its value, by the schema of that type.
    pub value: Json,
    /// Which version of that schema.
    pub schema_version: i64,
    /// See [`Object::private`].
    pub private: Bytes,
    /// See [`Object::identity`].
    pub identity: Option<StoredIdentity>,
}

impl Resource<'_> {
    /// Makes an object of this type of one of another type. Unlike an upgrade, it is given all that is stored: attributes
    /// that the other type has dropped may be the very ones that are wanted.
    ///
    /// # Errors
    /// [`ProviderError::Move`] when the provider cannot or does not want to, or answers with something unusable; nothing has
    /// changed then.
    pub async fn move_state(
        &self,
        foreign: &ForeignObject,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Object, ProviderError> {
        if !self.provider.catalogue().capabilities().move_resource_state {
            return Err(self.immovable(foreign, "it does not support moves between types".to_owned()));
        }
        let moved = self.moved(foreign, warnings).await;
        moved.map_err(|error| match error {
            // That the process is gone is no matter of types.
            ProviderError::Gone { .. } | ProviderError::Call { .. } => error,
            error => self.immovable(foreign, error.to_string()),
        })
    }

    async fn moved(
        &self,
        foreign: &ForeignObject,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Object, ProviderError> {
        let rpc = Rpc::MoveResourceState;
        let raw = |json: &Json| tfplugin6::RawState {
            json: Bytes::from(json.to_string()),
            flatmap: std::collections::HashMap::new(),
        };
        let request = tfplugin6::move_resource_state::Request {
            source_provider_address: foreign.provider.clone(),
            source_type_name: foreign.type_name.clone(),
            source_schema_version: foreign.schema_version,
            source_state: Some(raw(&foreign.value)),
            target_type_name: self.type_name.to_string(),
            source_private: foreign.private.clone(),
            source_identity: foreign.identity.as_ref().map(|identity| raw(&identity.json)),
            // Core knows it and leaves it out, so no provider has ever seen it.
            source_identity_schema_version: 0,
        };
        let response: tfplugin6::move_resource_state::Response = self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        let value = self.converted(rpc, response.target_state.as_ref())?;
        Ok(Object { value, private: response.target_private, identity: response.target_identity })
    }

    fn immovable(&self, foreign: &ForeignObject, reason: String) -> ProviderError {
        ProviderError::Move {
            provider: self.provider.name().to_owned(),
            source_type: foreign.type_name.clone(),
            source_provider: foreign.provider.clone(),
            target_type: self.type_name.to_string(),
            reason,
        }
    }
}

#[cfg(test)]
mod tests;
