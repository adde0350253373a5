//! List resources: streams of the objects of one type (protocol 5.10, 6.10).
//!
//! A provider streams its results, so that a large account need not be held in memory. Listed
//! objects have an identity, by which they can be imported.

use std::sync::Arc;

use isthmus_cty::json::Json;
use isthmus_cty::{Type, Value};
use isthmus_proto::tfplugin6;
use isthmus_proto::tfplugin6::list_resource::Event;

use super::chunks::Chunks;
use super::{Diagnostic, IdentitySchema, Provider, ProviderError, Rpc, dynamic};
use crate::schema::Schema;
use isthmus_known_secrets::Retention;

/// A request of a list.
#[derive(Clone, Debug)]
pub struct ListRequest<'a> {
    /// The resource type.
    pub type_name: &'a str,
    /// Wholly known, by the schema of the list resource.
    pub config: &'a Value,
    /// Whether to include the objects, besides their identities.
    pub include_object: bool,
    /// Maximum number; `None`: all.
    pub limit: Option<u64>,
}

/// A list in progress. Dropping it cancels the call.
#[derive(Debug)]
pub struct Listing {
    type_name: Arc<str>,
    identity: IdentitySchema,
    object: Arc<Schema>,
    events: Chunks<Event>,
    /// Remaining number.
    left: Option<u64>,
}

/// A listed object.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its identity: a JSON object of exactly the identity's attributes, ordered by name.
    pub identity: Json,
    /// For users; may be empty.
    pub display_name: String,
    /// The object, if requested and provided.
    pub object: Option<Value>,
}

impl Provider {
    /// Starts a list after validating its configuration.
    ///
    /// # Errors
    /// When the type has no list resource, or the configuration is invalid.
    pub async fn list(
        &self,
        request: ListRequest<'_>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Listing, ProviderError> {
        let ListRequest { type_name, config, include_object, limit } = request;
        let schema = self.catalogue().list_resource(type_name)?;
        let resource = self.resource(type_name)?;
        let Some(identity) = resource.identity_schema(warnings).await? else {
            let reason = "it can be listed, but has no identity that says what was found";
            return Err(self.invalid_answer(Rpc::GetResourceIdentitySchemas, type_name, reason));
        };
        // There is no value for "all", so this is the maximum.
        let number = limit.map_or(i64::MAX, |limit| i64::try_from(limit).unwrap_or(i64::MAX));

        let rpc = Rpc::ValidateListResourceConfig;
        self.note_secrets(&schema, config, Retention::Usual);
        let encode = |value: &Value, own: &Type| dynamic::encode(value, own, self.operation(rpc), type_name);
        let config = encode(config, &schema.block.implied_type)?;
        let validate = tfplugin6::validate_list_resource_config::Request {
            type_name: type_name.to_owned(),
            config: config.clone(),
            include_resource_object: encode(&Value::Bool(include_object), &Type::Bool)?,
            limit: encode(&Value::Number(number.into()), &Type::Number)?,
        };
        let response: tfplugin6::validate_list_resource_config::Response = self.call(rpc, validate).await?;
        self.refuse_errors(rpc, response.diagnostics, warnings)?;

        let rpc = Rpc::ListResource;
        let request = tfplugin6::list_resource::Request {
            type_name: type_name.to_owned(),
            config,
            include_resource_object: include_object,
            limit: number,
        };
        Ok(Listing {
            type_name: Arc::from(type_name),
            identity,
            object: Arc::clone(resource.schema()),
            events: self.stream(rpc, request).await?,
            left: limit,
        })
    }
}

impl Listing {
    /// The next object; `None` at the end, or at the limit. `provider` is the one of the list.
    ///
    /// # Errors
    /// When the provider fails, or returns an invalid object. The list has ended then.
    pub async fn next(
        &mut self,
        provider: &Provider,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Listed>, ProviderError> {
        let rpc = Rpc::ListResource;
        while self.left != Some(0) {
            let Some(event) = self.events.next(provider.caller()).await? else {
                self.left = Some(0);
                return Ok(None);
            };
            let has_something_to_say = !event.diagnostic.is_empty();
            provider.refuse_errors(rpc, event.diagnostic, warnings)?;
            let invalid = |reason: &str| provider.invalid_answer(rpc, &self.type_name, reason);
            let identity = match event.identity.and_then(|identity| identity.identity_data) {
                Some(data) => self
                    .identity
                    .json_of(&data)
                    .map_err(|reason| invalid(&format!("an identity does not fit its schema: {reason}")))?,
                None => None,
            };
            let Some(identity) = identity else {
                // A warning about the whole list is an event as well.
                if has_something_to_say {
                    continue;
                }
                return Err(invalid("it found something without an identity"));
            };
            let object = match &event.resource_object {
                None => None,
                Some(object) => {
                    let object_type = &self.object.block.implied_type;
                    let value = provider.decode(rpc, &self.type_name, Some(object), object_type)?;
                    provider.note_secrets(&self.object, &value, Retention::Usual);
                    if !value.is_wholly_known() {
                        return Err(invalid("it found something of which not all is known"));
                    }
                    (!value.is_null()).then_some(value)
                }
            };
            self.left = self.left.map(|left| left - 1);
            return Ok(Some(Listed { identity, display_name: event.display_name, object }));
        }
        Ok(None)
    }

    /// Remaining number; `None`: no limit.
    pub fn left(&self) -> Option<u64> {
        self.left
    }

    /// Limits the remaining number.
    pub fn limit(&mut self, most: u64) {
        self.left = Some(self.left.map_or(most, |left| left.min(most)));
    }
}

#[cfg(test)]
mod tests;
