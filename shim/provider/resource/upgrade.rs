//! UpgradeResourceState.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use isthmus_cty::json::{self, Json};
use isthmus_cty::{Type, Value};
use isthmus_proto::tfplugin6;

use super::{Object, Resource};
use crate::answered::Request;
use crate::{Diagnostic, ProviderError, Rpc};
use isthmus_known_secrets::Retention;

/// A stored object of any provider version.
#[derive(Clone, Debug)]
pub struct StoredObject {
    /// The value, by the stored schema version.
    pub value: Json,
    /// Its schema version.
    pub schema_version: i64,
    /// See [`Object::private`].
    pub private: Bytes,
    /// See [`Object::identity`].
    pub identity: Option<tfplugin6::ResourceIdentityData>,
}

impl Resource<'_> {
    /// Refuses an object of a newer provider version. Terraform never downgrades objects.
    ///
    /// # Errors
    /// [`ProviderError::NewerState`] with `writer`, the version that stored it, if known.
    pub fn refuse_newer(&self, stored: i64, writer: Option<&str>) -> Result<(), ProviderError> {
        let known = self.schema.version;
        if stored <= known {
            return Ok(());
        }
        Err(ProviderError::NewerState {
            provider: self.provider.name().to_owned(),
            type_name: self.type_name.to_string(),
            stored,
            known,
            writer: writer.map(str::to_owned),
        })
    }

    /// Upgrades a stored object to the current schema. Terraform calls the provider also for the
    /// same version, because providers repair states there; here once for the same state.
    pub async fn upgrade(
        &self,
        stored: &StoredObject,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Object, ProviderError> {
        let rpc = Rpc::UpgradeResourceState;
        self.refuse_newer(stored.schema_version, None)?;
        let mut value = stored.value.clone();
        if stored.schema_version == self.schema.version {
            retain_known(&mut value, &self.schema.block.implied_type);
        }
        self.note_stored_secrets(&value);
        let request = tfplugin6::upgrade_resource_state::Request {
            type_name: self.type_name.to_string(),
            version: stored.schema_version,
            raw_state: Some(tfplugin6::RawState {
                json: Bytes::from(value.to_string()),
                flatmap: HashMap::new(),
            }),
        };
        let (digest, answered) = (Request::of_upgrade(&request), &self.provider.shared.answered);
        let value = match answered.upgraded(&digest) {
            Some(value) => {
                // They may have been forgotten since.
                self.provider.note_secrets(&self.schema, &value, Retention::Usual);
                value
            }
            None => {
                let response: tfplugin6::upgrade_resource_state::Response =
                    self.provider.call(rpc, request).await?;
                let is_silent = response.diagnostics.is_empty();
                self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
                let value = self.converted(rpc, response.upgraded_state.as_ref())?;
                if is_silent {
                    answered.note_upgraded(digest, &value);
                }
                value
            }
        };
        Ok(Object { value, private: stored.private.clone(), identity: stored.identity.clone() })
    }

    /// Upgrades an object in the flatmap of SDKs before Terraform 0.12 to the current schema, in which `tags.%` and
    /// `list.#` are sizes. Decoding it needs the provider, so it is sent unchanged, as by Terraform. It has no identity.
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
        let flatmap = attributes.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
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

    /// Records secrets of a stored object, as far as it conforms to the current schema.
    fn note_stored_secrets(&self, stored: &Json) {
        if self.schema.block.has_secrets
            && let Ok(value) = json::from_json(stored.to_string().as_bytes(), &self.schema.block.implied_type)
        {
            self.provider.note_secrets(&self.schema, &value, Retention::Usual);
        }
    }

    /// A converted object from the provider.
    pub(super) fn converted(
        &self,
        rpc: Rpc,
        message: Option<&tfplugin6::DynamicValue>,
    ) -> Result<Value, ProviderError> {
        let value = self.decode(rpc, message)?;
        if value.is_null() {
            let object = if rpc == Rpc::MoveResourceState { "moved" } else { "upgraded" };
            return Err(self.invalid_answer(rpc, &format!("the {object} object is null")));
        }
        self.require_storable(rpc, &value)?;
        Ok(value)
    }
}

/// Removes attributes that are not in the current schema, at all levels. Terraform does so for the
/// same schema version: the provider would refuse attributes that were removed without a new
/// version.
fn retain_known(value: &mut Json, value_type: &Type) {
    match (value, value_type) {
        (Json::Object(members), Type::Object(object)) => {
            members.retain(|(name, _)| object.attributes.contains_key(name.as_str()));
            for (name, member) in members {
                if let Some(member_type) = object.attributes.get(name.as_str()) {
                    retain_known(member, member_type);
                }
            }
        }
        (Json::Object(members), Type::Map(element)) => {
            for (_, member) in members {
                retain_known(member, element);
            }
        }
        (Json::Array(items), Type::List(element) | Type::Set(element)) => {
            for item in items {
                retain_known(item, element);
            }
        }
        (Json::Array(items), Type::Tuple(elements)) => {
            for (item, element) in items.iter_mut().zip(elements.iter()) {
                retain_known(item, element);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
