//! Objects in the flatmap of SDKs before Terraform 0.12, in which `tags.%` and `list.#` are sizes.
//!
//! Decoding it needs the provider, so it is passed to UpgradeResourceState unchanged, as by
//! Terraform.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use isthmus_proto::tfplugin6;

use super::{Object, Resource};
use crate::{Diagnostic, ProviderError, Rpc};

impl Resource<'_> {
    /// Upgrades a flatmap to the current schema. It has no identity.
    ///
    /// # Errors
    /// When it is from a newer provider, or the provider cannot upgrade it.
    pub async fn upgrade_flat(
        &self,
        attributes: &BTreeMap<String, String>,
        schema_version: i64,
        private: Bytes,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Object, ProviderError> {
        let rpc = Rpc::UpgradeResourceState;
        self.refuse_newer(schema_version, None)?;
        let flatmap: HashMap<_, _> =
            attributes.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let request = tfplugin6::upgrade_resource_state::Request {
            type_name: self.type_name.to_string(),
            version: schema_version,
            raw_state: Some(tfplugin6::RawState { json: Bytes::new(), flatmap }),
        };
        let response: tfplugin6::upgrade_resource_state::Response = self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        let value = self.converted(rpc, response.upgraded_state.as_ref())?;
        Ok(Object { value, private, identity: None })
    }
}
