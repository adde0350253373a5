//! GenerateResourceConfig (5.10, 6.10): a configuration for an imported object, by the provider, which knows what
//! its schema does not tell: defaults, and which attributes exclude each other.

use isthmus_cty::Value;
use isthmus_proto::tfplugin6;

use super::{Object, Resource};
use crate::{Diagnostic, ProviderError, Rpc};

impl Resource<'_> {
    /// A configuration that leads to the object; `None` if the provider does not offer this.
    ///
    /// # Errors
    /// If the provider reports errors, or returns no known object by the schema.
    pub async fn generated_config(
        &self,
        object: &Object,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Value>, ProviderError> {
        if !self.provider.catalogue().capabilities().generate_resource_config {
            return Ok(None);
        }
        let rpc = Rpc::GenerateResourceConfig;
        let request = tfplugin6::generate_resource_config::Request {
            type_name: self.type_name.to_string(),
            state: self.encode(rpc, &object.value)?,
        };
        let response: tfplugin6::generate_resource_config::Response =
            self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        let config = self.decode(rpc, response.config.as_ref())?;
        if config.is_null() {
            return Err(self.invalid_answer(rpc, "the configuration is null"));
        }
        if !config.is_wholly_known() {
            return Err(self.invalid_answer(rpc, "some values are unknown"));
        }
        Ok(Some(config))
    }
}

#[cfg(test)]
mod tests;
