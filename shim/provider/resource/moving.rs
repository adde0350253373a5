//! Moves between resource types.
//!
//! An object may get another type, even of another provider, without being replaced: the provider
//! of the new type converts the stored state (protocol 5.5, 6.5).

use bytes::Bytes;
use isthmus_cty::json::Json;
use isthmus_proto::tfplugin6;

use super::{Object, Resource, Unknowns};
use crate::{Diagnostic, ProviderError, Rpc, StoredIdentity};

/// A stored object of another type, perhaps of another provider.
#[derive(Clone, Debug)]
pub struct ForeignObject {
    /// The full address of its provider.
    pub provider: String,
    /// The resource type.
    pub type_name: String,
    /// Its value, by the schema of that type.
    pub value: Json,
    /// The schema version.
    pub schema_version: i64,
    /// See [`Object::private`].
    pub private: Bytes,
    /// See [`Object::identity`].
    pub identity: Option<StoredIdentity>,
}

impl Resource<'_> {
    /// Moves an object of another type to this one. Unlike an upgrade, the provider receives the
    /// complete stored state: it may need attributes that the other type has dropped.
    ///
    /// # Errors
    /// [`ProviderError::Move`] when the provider does not support it, or returns an invalid object;
    /// nothing has changed then.
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
            // An exited process or a cancelled call is no fault of the types.
            ProviderError::Gone { .. } | ProviderError::Call { .. } | ProviderError::Interruption { .. } => {
                error
            }
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
            // Terraform does not send it, so no provider has ever received it.
            source_identity_schema_version: 0,
        };
        let response: tfplugin6::move_resource_state::Response = self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        let value = self.converted(rpc, response.target_state.as_ref())?;
        let identity =
            self.received_identity(rpc, response.target_identity, Unknowns::Refused, warnings).await?;
        Ok(Object { value, private: response.target_private, identity })
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
