//! Resource identities.
//!
//! An identity is a flat object with its own schema and version (protocol 5.9, 6.9). Providers
//! return it from reads and applies, and expect it in later calls. Most programs never need the
//! schemas, so they are requested once per process, with the first identity; older providers have
//! none.

use std::collections::BTreeMap;
use std::sync::Arc;

use isthmus_cty::json::{Json, from_tree, to_json};
use isthmus_cty::{self as cty, ObjectType, StoredIdentity, Type, Value};
use isthmus_proto::tfplugin6;

use super::dynamic::Unknowns;
use super::{Diagnostic, Object, Provider, ProviderError, Resource, Rpc};
use crate::schema::CatalogueError;

/// The identity schema of a resource type.
#[derive(Clone, Debug)]
pub struct IdentitySchema {
    /// Schema version; the provider upgrades older identities.
    pub version: i64,
    /// In the provider's order.
    pub attributes: Vec<IdentityAttribute>,
    own: Type,
}

/// An attribute of an identity.
#[derive(Clone, Debug)]
pub struct IdentityAttribute {
    /// Its name.
    pub name: Arc<str>,
    /// A primitive type, or a list of primitives.
    pub attribute_type: Type,
    /// Required in an import by identity.
    pub required_for_import: bool,
}

type Schemas = BTreeMap<String, tfplugin6::ResourceIdentitySchema>;

impl Resource<'_> {
    /// The type's identity schema, if any.
    pub async fn identity_schema(
        &self,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<IdentitySchema>, ProviderError> {
        let schemas = self.provider.identity_schemas(warnings).await?;
        schemas
            .get(&*self.type_name)
            .map(|schema| IdentitySchema::compile(&self.type_name, schema))
            .transpose()
    }

    /// The identity in a response, by Terraform's rules: it fits the type's identity schema, and is
    /// known as a whole unless `unknowns` are allowed. `None`: it is absent or null, which Terraform
    /// neither stores nor sends.
    pub(super) async fn received_identity(
        &self,
        rpc: Rpc,
        received: Option<tfplugin6::ResourceIdentityData>,
        unknowns: Unknowns,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<tfplugin6::ResourceIdentityData>, ProviderError> {
        let Some(data) = received.and_then(|received| received.identity_data).filter(is_present) else {
            return Ok(None);
        };
        let invalid = |reason: &str| self.provider.invalid_answer(rpc, &self.type_name, reason);
        let schema = self.identity_schema(warnings).await?.ok_or_else(|| {
            invalid("it has an identity, of which the provider has no schema for this type")
        })?;
        let value = schema
            .value_of(&data)
            .map_err(|reason| invalid(&format!("its identity does not fit its schema: {reason}")))?;
        if unknowns == Unknowns::Refused && !value.is_wholly_known() {
            return Err(invalid("its identity has unknown values, which only a planned new object may have"));
        }
        Ok(Some(tfplugin6::ResourceIdentityData { identity_data: Some(data) }))
    }

    /// The identity of an object in its stored form, if any.
    pub async fn identity_to_store(
        &self,
        object: &Object,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<StoredIdentity>, ProviderError> {
        let Some(data) = object.identity.as_ref().and_then(|identity| identity.identity_data.as_ref()) else {
            return Ok(None);
        };
        let Some(schema) = self.identity_schema(warnings).await? else { return Ok(None) };
        let written = schema.json_of(data);
        match written {
            Ok(json) => Ok(json.map(|json| StoredIdentity { schema_version: schema.version, json })),
            Err(reason) => Err(ProviderError::Identity {
                type_name: self.type_name.to_string(),
                reason: format!("the provider's own does not fit its schema: {reason}"),
            }),
        }
    }

    /// A stored identity for the provider, upgraded if it is older. `None`: the type has no
    /// identities any more.
    pub async fn identity_from_store(
        &self,
        stored: &StoredIdentity,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<tfplugin6::ResourceIdentityData>, ProviderError> {
        let Some(schema) = self.identity_schema(warnings).await? else { return Ok(None) };
        if stored.schema_version > schema.version {
            return Err(self.wrong_identity(format!(
                "it was stored with version {} of its schema, but this provider knows versions up to {}; use the version of \
                 the provider that wrote it, or a newer one",
                stored.schema_version, schema.version
            )));
        }
        if stored.schema_version == schema.version {
            let value = schema.read(&stored.json).map_err(|reason| self.wrong_identity(reason))?;
            return schema.data(&value).map(Some).map_err(|reason| self.wrong_identity(reason));
        }
        let rpc = Rpc::UpgradeResourceIdentity;
        let request = tfplugin6::upgrade_resource_identity::Request {
            type_name: self.type_name.to_string(),
            version: stored.schema_version,
            raw_identity: Some(tfplugin6::RawState {
                json: stored.json.to_string().into(),
                flatmap: std::collections::HashMap::new(),
            }),
        };
        let response: tfplugin6::upgrade_resource_identity::Response =
            self.provider.call(rpc, request).await?;
        self.provider.refuse_errors(rpc, response.diagnostics, warnings)?;
        self.received_identity(rpc, response.upgraded_identity, Unknowns::Refused, warnings).await
    }

    /// The identity for an import, from the user's attributes.
    ///
    /// # Errors
    /// [`ProviderError::Identity`] with every missing or wrong attribute.
    pub fn identity_for_import(
        &self,
        schema: &IdentitySchema,
        given: &Json,
    ) -> Result<tfplugin6::ResourceIdentityData, ProviderError> {
        let value = schema.read_for_import(given).map_err(|reason| {
            self.wrong_identity(format!("{reason}; it is a JSON object of {}", schema.described()))
        })?;
        schema.data(&value).map_err(|reason| self.wrong_identity(reason))
    }

    fn wrong_identity(&self, reason: String) -> ProviderError {
        ProviderError::Identity { type_name: self.type_name.to_string(), reason }
    }
}

impl Provider {
    async fn identity_schemas(&self, warnings: &mut Vec<Diagnostic>) -> Result<&Schemas, ProviderError> {
        self.shared
            .identities
            .get_or_try_init(|| async {
                let rpc = Rpc::GetResourceIdentitySchemas;
                let request = tfplugin6::get_resource_identity_schemas::Request::default();
                let response: Result<tfplugin6::get_resource_identity_schemas::Response, _> =
                    self.call(rpc, request).await;
                match response {
                    Ok(response) => {
                        self.refuse_errors(rpc, response.diagnostics, warnings)?;
                        Ok(response.identity_schemas.into_iter().collect())
                    }
                    Err(ProviderError::Unsupported { .. }) => Ok(Schemas::new()),
                    Err(error) => Err(error),
                }
            })
            .await
    }
}

impl IdentitySchema {
    fn compile(type_name: &str, message: &tfplugin6::ResourceIdentitySchema) -> Result<Self, ProviderError> {
        let mut attributes = Vec::with_capacity(message.identity_attributes.len());
        for attribute in &message.identity_attributes {
            let attribute_type =
                Type::from_json(&attribute.r#type).map_err(|error| CatalogueError::Faulty {
                    kind: "the identity of resource",
                    name: type_name.to_owned(),
                    fault: crate::schema::SchemaError {
                        path: attribute.name.clone(),
                        reason: format!("its type cannot be read: {error}"),
                    },
                })?;
            attributes.push(IdentityAttribute {
                name: Arc::from(attribute.name.as_str()),
                attribute_type,
                required_for_import: attribute.required_for_import,
            });
        }
        let types = attributes.iter().map(|one| (Arc::clone(&one.name), one.attribute_type.clone()));
        let own = Type::Object(Arc::new(ObjectType { attributes: types.collect(), ..ObjectType::default() }));
        Ok(Self { version: message.version, attributes, own })
    }

    fn read(&self, json: &Json) -> Result<Value, String> {
        from_tree(json, &self.own).map_err(|error| isthmus_common::error_chain(&error))
    }

    fn read_for_import(&self, json: &Json) -> Result<Value, String> {
        let Json::Object(members) = json else { return Err("it is not a JSON object".to_owned()) };
        let unknown: Vec<_> = members
            .iter()
            .filter(|(name, _)| !self.attributes.iter().any(|attribute| *attribute.name == **name))
            .map(|(name, _)| format!("{name:?}"))
            .collect();
        let missing: Vec<_> = self
            .attributes
            .iter()
            .filter(|attribute| attribute.required_for_import)
            .filter(|attribute| matches!(json.member(&attribute.name), None | Some(Json::Null)))
            .map(|attribute| format!("{:?}", attribute.name))
            .collect();
        let mut faults = Vec::new();
        if !unknown.is_empty() {
            faults.push(format!("it has no attribute {}", unknown.join(", ")));
        }
        if !missing.is_empty() {
            faults.push(format!("{} must be given", missing.join(", ")));
        }
        if faults.is_empty() { self.read(json) } else { Err(faults.join(", and ")) }
    }

    /// A provider's identity in its stored form: a JSON object of exactly the schema's attributes,
    /// ordered by name. `None`: it is null.
    pub(super) fn json_of(&self, data: &tfplugin6::DynamicValue) -> Result<Option<Json>, String> {
        let value = self.value_of(data)?;
        if value.is_null() {
            return Ok(None);
        }
        let text = to_json(&value, &self.own).map_err(|error| isthmus_common::error_chain(&error))?;
        Json::parse(text.as_bytes()).map(Some).map_err(|error| error.to_string())
    }

    fn value_of(&self, data: &tfplugin6::DynamicValue) -> Result<Value, String> {
        cty::decode_dynamic(&data.msgpack, &data.json, &self.own)
            .map_err(|error| isthmus_common::error_chain(&error))
    }

    fn data(&self, value: &Value) -> Result<tfplugin6::ResourceIdentityData, String> {
        let msgpack = cty::msgpack::encode(value, &self.own)
            .map_err(|error| isthmus_common::error_chain(&error))?
            .into();
        let data = tfplugin6::DynamicValue { msgpack, json: bytes::Bytes::new() };
        Ok(tfplugin6::ResourceIdentityData { identity_data: Some(data) })
    }

    /// Its attributes, for errors.
    pub fn described(&self) -> String {
        let attributes = self.attributes.iter().map(|attribute| {
            let optional = if attribute.required_for_import { "" } else { ", optional" };
            format!("{:?} ({}{optional})", attribute.name, kind(&attribute.attribute_type))
        });
        attributes.collect::<Vec<_>>().join(", ")
    }
}

/// Whether an encoded identity is neither absent nor null. It is decided without the schema, so that
/// providers without identities are not called for one.
fn is_present(data: &tfplugin6::DynamicValue) -> bool {
    const NULL: u8 = 0xc0;
    match (&data.msgpack[..], &data.json[..]) {
        ([], json) => !json.is_empty() && json != b"null",
        (msgpack, _) => msgpack != [NULL],
    }
}

fn kind(of: &Type) -> &'static str {
    match of {
        Type::String => "a string",
        Type::Number => "a number",
        Type::Bool => "a boolean",
        Type::List(_) => "a list",
        Type::Set(_) | Type::Map(_) | Type::Object(_) | Type::Tuple(_) | Type::Dynamic => "of another type",
    }
}

#[cfg(test)]
mod tests;
