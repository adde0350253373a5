//! The lifecycle of one managed resource: the calls of Terraform, one file per call or purpose.

mod apply;
mod final_plan;
mod generate;
mod import;
mod moving;
mod plan;
mod read;
#[cfg(test)]
mod testing;
mod upgrade;

use std::sync::Arc;

use bytes::Bytes;
use isthmus_cty::{AttributePath, Value};
use isthmus_proto::tfplugin6;

use super::answered::Request;
use super::deferral::DeferralSupport;
use super::dynamic::Unknowns;
use super::{Deferral, Diagnostic, Provider, ProviderError, Rpc, dynamic};
use crate::rules;
use crate::schema::Schema;
use isthmus_known_secrets::Retention;

pub use apply::ApplyFailure;
pub use final_plan::EarlierPlan;
pub use moving::ForeignObject;
pub use plan::{Action, Plan, ReplacementData};
pub use upgrade::StoredObject;

/// A resource type of a provider.
#[derive(Debug)]
pub struct Resource<'a> {
    pub(super) provider: &'a Provider,
    pub(super) type_name: Arc<str>,
    schema: Arc<Schema>,
    ignored: Vec<AttributePath>,
}

/// An existing resource instance object.
#[derive(Clone, Debug)]
pub struct Object {
    /// Conforms to the schema; wholly known.
    pub value: Value,
    /// The provider's private data.
    pub private: Bytes,
    /// The resource identity.
    pub identity: Option<tfplugin6::ResourceIdentityData>,
}

impl Provider {
    /// The resource type of this name.
    pub fn resource(&self, type_name: &str) -> Result<Resource<'_>, ProviderError> {
        let schema = self.catalogue().resource(type_name)?;
        Ok(Resource { provider: self, type_name: Arc::from(type_name), schema, ignored: Vec::new() })
    }
}

impl<'a> Resource<'a> {
    /// Reverts plans of the legacy type system at these paths to the prior state. Other plans
    /// follow the configuration, which the caller has reverted already.
    #[must_use]
    pub fn ignoring(self, ignored: Vec<AttributePath>) -> Self {
        Self { ignored, ..self }
    }

    /// Its schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Validates a configuration, which may have unknown values, unless this process has found nothing
    /// wrong with the same one. Errors are returned as [`ProviderError::Diagnostics`].
    pub async fn validate(
        &self,
        config: &Value,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), ProviderError> {
        let rpc = Rpc::ValidateResourceConfig;
        let request = tfplugin6::validate_resource_config::Request {
            type_name: self.type_name.to_string(),
            config: self.encode(rpc, config)?,
            client_capabilities: self.provider.client_capabilities(DeferralSupport::Refused),
        };
        let (digest, answered) = (Request::of_validation(&request), &self.provider.shared.answered);
        if answered.is_valid(&digest) {
            return Ok(());
        }
        let response: tfplugin6::validate_resource_config::Response =
            self.provider.call(rpc, request).await?;
        if response.diagnostics.is_empty() {
            answered.note_valid(digest);
        }
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)
    }

    fn encode(&self, rpc: Rpc, value: &Value) -> Result<Option<tfplugin6::DynamicValue>, ProviderError> {
        let operation = self.provider.operation(rpc);
        self.provider.note_secrets(&self.schema, value, Retention::Usual);
        dynamic::encode(value, &self.schema.block.implied_type, operation, &self.type_name)
    }

    fn decode(&self, rpc: Rpc, message: Option<&tfplugin6::DynamicValue>) -> Result<Value, ProviderError> {
        let value = self.provider.decode(rpc, &self.type_name, message, &self.schema.block.implied_type)?;
        self.provider.note_secrets(&self.schema, &value, Retention::Usual);
        Ok(value)
    }

    fn require_storable(&self, rpc: Rpc, value: &Value) -> Result<(), ProviderError> {
        if !value.is_wholly_known() {
            return Err(self.invalid_answer(rpc, "some values are unknown, which only plans may have"));
        }
        self.require_no_write_only(rpc, value)
    }

    fn require_no_write_only(&self, rpc: Rpc, value: &Value) -> Result<(), ProviderError> {
        match rules::write_only_paths(&self.schema.block, value).first() {
            None => Ok(()),
            Some(path) => {
                Err(self.invalid_answer(rpc, &format!("the write-only attribute {path} has a value")))
            }
        }
    }

    fn deferral(
        &self,
        rpc: Rpc,
        message: Option<tfplugin6::Deferred>,
        postponement: DeferralSupport,
    ) -> Result<Option<Deferral>, ProviderError> {
        self.provider.deferral(rpc, &self.type_name, message, postponement)
    }

    fn deferred(&self, what: &'static str, deferral: Deferral) -> ProviderError {
        self.provider.deferred(what, &self.type_name, deferral)
    }

    fn broken_rules(&self, what: &'static str, violations: Vec<rules::Violation>) -> ProviderError {
        ProviderError::Rules {
            provider: self.provider.name().to_owned(),
            what,
            type_name: self.type_name.to_string(),
            violations,
        }
    }

    fn invalid_answer(&self, rpc: Rpc, reason: &str) -> ProviderError {
        self.provider.invalid_answer(rpc, &self.type_name, reason)
    }
}

#[cfg(test)]
mod tests;
