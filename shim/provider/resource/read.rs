//! ReadResource.

use isthmus_proto::tfplugin6;

use super::{Object, Resource, Unknowns};
use crate::deferral::DeferralSupport;
use crate::rules;
use crate::{Deferral, Diagnostic, ProviderError, Rpc};

/// The result of ReadResource.
pub(super) enum ReadOutcome {
    /// The object; `None` if it does not exist.
    Clear(Option<Object>),
    /// Deferred by the provider.
    Deferred(Deferral),
}

impl Resource<'_> {
    /// Refreshes an object. `None`: it does not exist. If the provider defers it, the prior state
    /// is returned, with a warning.
    pub async fn read(
        &self,
        current: &Object,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Object>, ProviderError> {
        Ok(self.read_or_keep(current, warnings).await?.0)
    }

    /// The same, and whether the provider has deferred it.
    pub async fn read_or_keep(
        &self,
        current: &Object,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(Option<Object>, bool), ProviderError> {
        match self.look(current, warnings).await? {
            ReadOutcome::Clear(object) => Ok((object, false)),
            ReadOutcome::Deferred(deferral) => {
                let subject = format!("reading this {}", self.type_name);
                warnings.push(deferral.warning(&subject, "Until then it is taken to be as it was."));
                Ok((Some(current.clone()), true))
            }
        }
    }

    /// Refreshes an object; that the provider defers it is an error.
    pub async fn read_now(
        &self,
        current: &Object,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Object>, ProviderError> {
        match self.look(current, warnings).await? {
            ReadOutcome::Clear(object) => Ok(object),
            ReadOutcome::Deferred(deferral) => Err(self.deferred("read", deferral)),
        }
    }

    pub(super) async fn look(
        &self,
        current: &Object,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<ReadOutcome, ProviderError> {
        let rpc = Rpc::ReadResource;
        let request = tfplugin6::read_resource::Request {
            type_name: self.type_name.to_string(),
            current_state: self.encode(rpc, &current.value)?,
            private: current.private.clone(),
            provider_meta: self.provider.provider_meta(rpc)?,
            client_capabilities: self.provider.client_capabilities(DeferralSupport::Allowed),
            current_identity: current.identity.clone(),
        };
        let response: tfplugin6::read_resource::Response = self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        let identity =
            self.received_identity(rpc, response.new_identity, Unknowns::Refused, warnings).await?;
        if let Some(deferral) = self.deferral(rpc, response.deferred, DeferralSupport::Allowed)? {
            return Ok(ReadOutcome::Deferred(deferral));
        }
        let value = self.decode(rpc, response.new_state.as_ref())?;
        if value.is_null() {
            return Ok(ReadOutcome::Clear(None));
        }
        let value = rules::normalise_blocks(&self.schema.block, value);
        self.require_storable(rpc, &value)?;
        let object = Object { value, private: response.private, identity };
        Ok(ReadOutcome::Clear(Some(object)))
    }
}

#[cfg(test)]
mod tests;
