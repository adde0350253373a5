//! All schemas of a provider, decoded on first use.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use isthmus_proto::{tfplugin5, tfplugin6};
use prost::Message as _;

use super::compile::{SchemaError, compile};
use super::{Capabilities, Schema, protocol5};

/// The contents of GetProviderSchema.
///
/// An invalid schema disables only its own resource.
#[derive(Debug)]
pub struct Catalogue {
    provider: Result<Arc<Schema>, SchemaError>,
    provider_meta: Option<Result<Arc<Schema>, SchemaError>>,
    resources: BTreeMap<Arc<str>, Entry>,
    data_sources: BTreeMap<Arc<str>, Entry>,
    ephemeral_resources: BTreeMap<Arc<str>, Entry>,
    list_resources: BTreeMap<Arc<str>, Entry>,
    actions: BTreeMap<Arc<str>, Entry>,
    functions: BTreeMap<Arc<str>, tfplugin6::Function>,
    capabilities: Capabilities,
}

/// Why a schema is not available.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The provider has nothing of that name.
    #[error("the provider has no {kind} {name}")]
    Unknown {
        /// "resource", "data source", …
        kind: &'static str,
        /// The requested name.
        name: String,
    },
    /// The provider's schema violates Terraform's rules.
    #[error("the provider's schema of {kind} {name} cannot be used: {fault}")]
    Faulty {
        /// "resource", "data source", …
        kind: &'static str,
        /// The requested name.
        name: String,
        /// The violation and its path.
        fault: SchemaError,
    },
}

/// One schema: its bytes, and their compiled form after first use.
#[derive(Debug)]
struct Entry {
    wire: WireSchema,
    compiled: OnceLock<Result<Arc<Schema>, SchemaError>>,
}

/// An encoded `Schema` message; attributes have other field numbers in each protocol.
#[derive(Debug)]
enum WireSchema {
    Protocol5(Bytes),
    Protocol6(Bytes),
}

/// An `ActionSchema` message, with its schema still encoded. The contract has no other field.
/// Prereleases of both protocols had one of three kinds: `unlinked` (2), `lifecycle` (3) and
/// `linked` (4), of which the latter two change the states of resources. The numbers are those of
/// terraform-plugin-go 0.29.0-alpha.1 and -beta.1; 0.29.0 has none of them.
#[derive(Clone, PartialEq, prost::Message)]
struct WireAction {
    #[prost(bytes = "bytes", tag = "1")]
    schema: Bytes,
    #[prost(bytes = "bytes", optional, tag = "3")]
    bound_to_a_lifecycle: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    linked_to_resources: Option<Bytes>,
}

impl Catalogue {
    /// From a response of protocol 5. The caller handles its diagnostics.
    pub(crate) fn from_protocol_5(response: tfplugin5::get_provider_schema::Response) -> Self {
        let entries =
            |schemas: std::collections::HashMap<String, Bytes>| entries(schemas, WireSchema::Protocol5);
        Self {
            provider: provider_schema(response.provider.map(protocol5::schema)),
            provider_meta: response
                .provider_meta
                .map(|schema| compile(&protocol5::schema(schema)).map(Arc::new)),
            resources: entries(response.resource_schemas),
            data_sources: entries(response.data_source_schemas),
            ephemeral_resources: entries(response.ephemeral_resource_schemas),
            list_resources: entries(response.list_resource_schemas),
            actions: action_entries(response.action_schemas, WireSchema::Protocol5),
            functions: response
                .functions
                .into_iter()
                .map(|(name, function)| (Arc::from(name), protocol5::function(function)))
                .collect(),
            capabilities: response.server_capabilities.map(protocol5::capabilities).unwrap_or_default(),
        }
    }

    /// From a response of protocol 6. The caller handles its diagnostics.
    pub fn from_protocol_6(response: tfplugin6::get_provider_schema::Response) -> Self {
        let entries =
            |schemas: std::collections::HashMap<String, Bytes>| entries(schemas, WireSchema::Protocol6);
        Self {
            provider: provider_schema(response.provider),
            provider_meta: response.provider_meta.map(|schema| compile(&schema).map(Arc::new)),
            resources: entries(response.resource_schemas),
            data_sources: entries(response.data_source_schemas),
            ephemeral_resources: entries(response.ephemeral_resource_schemas),
            list_resources: entries(response.list_resource_schemas),
            actions: action_entries(response.action_schemas, WireSchema::Protocol6),
            functions: response
                .functions
                .into_iter()
                .map(|(name, function)| (Arc::from(name), function))
                .collect(),
            capabilities: response.server_capabilities.map(Capabilities::from).unwrap_or_default(),
        }
    }

    /// The schema of the provider's own configuration.
    pub fn provider(&self) -> Result<Arc<Schema>, CatalogueError> {
        self.provider.clone().map_err(|fault| CatalogueError::Faulty {
            kind: "provider",
            name: "configuration".to_owned(),
            fault,
        })
    }

    /// The schema of `provider_meta`, if any.
    pub fn provider_meta(&self) -> Option<Arc<Schema>> {
        self.provider_meta.as_ref().and_then(|schema| schema.clone().ok())
    }

    /// The resource types, ordered by name.
    pub fn resource_names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.resources.keys()
    }

    /// The schema of one resource type.
    pub fn resource(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        lookup(&self.resources, "resource", name)
    }

    /// The schema of one resource type, not cached.
    pub fn passing_resource(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        look(&self.resources, "resource", name, Entry::passing_schema)
    }

    /// The data source types, ordered by name.
    pub fn data_source_names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.data_sources.keys()
    }

    /// The schema of one data source type.
    pub fn data_source(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        lookup(&self.data_sources, "data source", name)
    }

    /// The schema of one data source type, not cached.
    pub fn passing_data_source(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        look(&self.data_sources, "data source", name, Entry::passing_schema)
    }

    /// The ephemeral resource types, ordered by name.
    pub fn ephemeral_resource_names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.ephemeral_resources.keys()
    }

    /// The schema of one ephemeral resource type.
    pub fn ephemeral_resource(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        lookup(&self.ephemeral_resources, "ephemeral resource", name)
    }

    /// The schema of the configuration of one list resource.
    pub fn list_resource(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        lookup(&self.list_resources, "list resource", name)
    }

    /// The schema of one list resource's configuration, not cached.
    pub fn passing_list_resource(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        look(&self.list_resources, "list resource", name, Entry::passing_schema)
    }

    /// The actions, ordered by name.
    pub fn action_names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.actions.keys()
    }

    /// The schema of the configuration of one action.
    pub fn action(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        lookup(&self.actions, "action", name)
    }

    /// The functions, ordered by name.
    pub fn functions(&self) -> &BTreeMap<Arc<str>, tfplugin6::Function> {
        &self.functions
    }

    /// The provider's capabilities.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }
}

impl Entry {
    /// An entry that is invalid regardless of its schema.
    fn faulty(wire: fn(Bytes) -> WireSchema, reason: &str) -> Self {
        let fault = SchemaError::root(reason.to_owned());
        Self { wire: wire(Bytes::new()), compiled: OnceLock::from(Err(fault)) }
    }

    fn schema(&self) -> Result<Arc<Schema>, SchemaError> {
        self.compiled.get_or_init(|| self.compile()).clone()
    }

    fn passing_schema(&self) -> Result<Arc<Schema>, SchemaError> {
        self.compiled.get().cloned().unwrap_or_else(|| self.compile())
    }

    fn compile(&self) -> Result<Arc<Schema>, SchemaError> {
        compile(&self.wire.decode()?).map(Arc::new)
    }
}

impl WireSchema {
    fn decode(&self) -> Result<tfplugin6::Schema, SchemaError> {
        match self {
            Self::Protocol5(bytes) => tfplugin5::Schema::decode(bytes.clone()).map(protocol5::schema),
            Self::Protocol6(bytes) => tfplugin6::Schema::decode(bytes.clone()),
        }
        .map_err(|error| SchemaError::root(format!("its message cannot be decoded: {error}")))
    }
}

fn entries(
    schemas: std::collections::HashMap<String, Bytes>,
    wire: fn(Bytes) -> WireSchema,
) -> BTreeMap<Arc<str>, Entry> {
    schemas
        .into_iter()
        .map(|(name, bytes)| (Arc::from(name), Entry { wire: wire(bytes), compiled: OnceLock::new() }))
        .collect()
}

/// Actions' schemas are wrapped in a message.
fn action_entries(
    schemas: std::collections::HashMap<String, Bytes>,
    wire: fn(Bytes) -> WireSchema,
) -> BTreeMap<Arc<str>, Entry> {
    let entry = |bytes: Bytes| match WireAction::decode(bytes) {
        Ok(WireAction { bound_to_a_lifecycle: None, linked_to_resources: None, schema }) => {
            Entry { wire: wire(schema), compiled: OnceLock::new() }
        }
        Ok(_) => Entry::faulty(wire, "it belongs to resources, and only actions of their own can be invoked"),
        Err(error) => Entry::faulty(wire, &format!("its message cannot be decoded: {error}")),
    };
    schemas.into_iter().map(|(name, bytes)| (Arc::from(name), entry(bytes))).collect()
}

fn lookup(
    entries: &BTreeMap<Arc<str>, Entry>,
    kind: &'static str,
    name: &str,
) -> Result<Arc<Schema>, CatalogueError> {
    look(entries, kind, name, Entry::schema)
}

fn look(
    entries: &BTreeMap<Arc<str>, Entry>,
    kind: &'static str,
    name: &str,
    schema: fn(&Entry) -> Result<Arc<Schema>, SchemaError>,
) -> Result<Arc<Schema>, CatalogueError> {
    let entry = entries.get(name).ok_or_else(|| CatalogueError::Unknown { kind, name: name.to_owned() })?;
    schema(entry).map_err(|fault| CatalogueError::Faulty { kind, name: name.to_owned(), fault })
}

/// Core refuses a provider without a schema of its configuration; so do we, on first use.
fn provider_schema(schema: Option<tfplugin6::Schema>) -> Result<Arc<Schema>, SchemaError> {
    let schema = schema.ok_or_else(|| SchemaError::root("the provider sent none".to_owned()))?;
    compile(&schema).map(Arc::new)
}

#[cfg(test)]
mod tests;
