//! All schemas of a provider, decoded on first use.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use isthmus_proto::tfplugin6;

use super::Schema;
use super::compile::{SchemaError, compile};
use super::fingerprint::Fingerprint;
use super::index::{ByKind, EncodedSchemas, ResponseBytes, SchemaIndex, SchemaKind};

/// The contents of GetProviderSchema.
///
/// An invalid schema disables only its own resource.
#[derive(Debug)]
pub struct Catalogue {
    fingerprint: Fingerprint,
    provider: Result<Arc<Schema>, SchemaError>,
    provider_meta: Option<Result<Arc<Schema>, SchemaError>>,
    members: ByKind<BTreeMap<Arc<str>, Compiled>>,
    functions: BTreeMap<Arc<str>, tfplugin6::Function>,
    capabilities: Capabilities,
    /// In memory until a file has them.
    encoded: RwLock<Arc<EncodedSchemas>>,
    /// Whether a schema could not be read from there.
    is_damaged: AtomicBool,
}

/// Server capabilities of a provider, beyond its protocol's major version. Older providers lack
/// later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Plans destroys as well (5.3, 6.3).
    pub plan_destroy: bool,
    /// Does not require GetProviderSchema (5.4, 6.4).
    pub get_provider_schema_optional: bool,
    /// Has MoveResourceState (5.5, 6.5).
    pub move_resource_state: bool,
    /// Has GenerateResourceConfig (5.10, 6.10).
    pub generate_resource_config: bool,
}

/// A schema's compiled form, after first use.
type Compiled = OnceLock<Result<Arc<Schema>, SchemaError>>;

/// A partially decoded response.
#[derive(Debug)]
pub struct Contents {
    /// The provider's schemas.
    pub catalogue: Catalogue,
    /// The provider's diagnostics.
    pub diagnostics: Vec<tfplugin6::Diagnostic>,
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
    /// The file of the schema cache that has it was damaged, or cannot be read. This is no property
    /// of the provider.
    #[error("failed to read the cached schema of {kind} {name}: {reason}")]
    Unreadable {
        /// "resource", "data source", …
        kind: &'static str,
        /// The requested name.
        name: String,
        /// The cause, and what to do.
        reason: String,
    },
}

impl Catalogue {
    /// The contents of an indexed response.
    pub(crate) fn contents(index: SchemaIndex, bytes: impl ResponseBytes + 'static) -> Contents {
        let (fingerprint, encoded) = (index.fingerprint, index.schemas(bytes));
        let members =
            ByKind::of(|kind| encoded.names(kind).map(|name| (Arc::clone(name), Compiled::new())).collect());
        let rest = index.into_rest();
        let catalogue = Self {
            fingerprint,
            provider: provider_schema(rest.provider),
            provider_meta: rest.provider_meta.map(|schema| compile(&schema).map(Arc::new)),
            members,
            functions: rest.functions.into_iter().map(|(name, function)| (name.into(), function)).collect(),
            capabilities: rest.server_capabilities.map(Capabilities::from).unwrap_or_default(),
            encoded: RwLock::new(Arc::new(encoded)),
            is_damaged: AtomicBool::new(false),
        };
        Contents { catalogue, diagnostics: rest.diagnostics }
    }

    /// Reads schemas from there from now on. They are those of a response with the same fingerprint.
    pub(crate) fn read_from(&self, encoded: EncodedSchemas) {
        *self.encoded.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(encoded);
    }

    /// Whether all schemas could be read so far. One that could not has failed a call, which is to be repeated with
    /// another catalogue.
    pub fn is_readable(&self) -> bool {
        !self.is_damaged.load(Ordering::Relaxed)
    }

    /// The fingerprint of the response.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
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
        self.members[SchemaKind::Resource].keys()
    }

    /// The schema of one resource type.
    pub fn resource(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        self.schema(SchemaKind::Resource, name)
    }

    /// The schema of one resource type, not cached.
    pub fn passing_resource(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        self.passing_schema(SchemaKind::Resource, name)
    }

    /// The data source types, ordered by name.
    pub fn data_source_names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.members[SchemaKind::DataSource].keys()
    }

    /// The schema of one data source type.
    pub fn data_source(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        self.schema(SchemaKind::DataSource, name)
    }

    /// The schema of one data source type, not cached.
    pub fn passing_data_source(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        self.passing_schema(SchemaKind::DataSource, name)
    }

    /// The ephemeral resource types, ordered by name.
    pub fn ephemeral_resource_names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.members[SchemaKind::EphemeralResource].keys()
    }

    /// The schema of one ephemeral resource type.
    pub fn ephemeral_resource(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        self.schema(SchemaKind::EphemeralResource, name)
    }

    /// The schema of the configuration of one list resource.
    pub fn list_resource(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        self.schema(SchemaKind::ListResource, name)
    }

    /// The schema of one list resource's configuration, not cached.
    pub fn passing_list_resource(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        self.passing_schema(SchemaKind::ListResource, name)
    }

    /// The actions, ordered by name.
    pub fn action_names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.members[SchemaKind::Action].keys()
    }

    /// The schema of the configuration of one action.
    pub fn action(&self, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        self.schema(SchemaKind::Action, name)
    }

    /// The functions, ordered by name.
    pub fn functions(&self) -> &BTreeMap<Arc<str>, tfplugin6::Function> {
        &self.functions
    }

    /// The provider's capabilities.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn schema(&self, kind: SchemaKind, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        let slot = self.slot(kind, name)?;
        let compiled = match slot.get() {
            Some(compiled) => compiled,
            // What cannot be read now may be read later.
            None => {
                let compiled = self.compile(kind, name)?;
                slot.get_or_init(|| compiled)
            }
        };
        usable(kind, name, compiled.clone())
    }

    fn passing_schema(&self, kind: SchemaKind, name: &str) -> Result<Arc<Schema>, CatalogueError> {
        let compiled = self.slot(kind, name)?.get().cloned().map_or_else(|| self.compile(kind, name), Ok)?;
        usable(kind, name, compiled)
    }

    fn slot(&self, kind: SchemaKind, name: &str) -> Result<&Compiled, CatalogueError> {
        self.members[kind].get(name).ok_or_else(|| unknown(kind, name))
    }

    fn compile(
        &self,
        kind: SchemaKind,
        name: &str,
    ) -> Result<Result<Arc<Schema>, SchemaError>, CatalogueError> {
        let encoded = Arc::clone(&self.encoded.read().unwrap_or_else(PoisonError::into_inner));
        let message = encoded.schema(kind, name).ok_or_else(|| unknown(kind, name))?;
        let message = message.map_err(|error| {
            self.is_damaged.store(true, Ordering::Relaxed);
            let (kind, name, reason) = (kind.title(), name.to_owned(), error.to_string());
            CatalogueError::Unreadable { kind, name, reason }
        })?;
        Ok(message.and_then(|message| compile(&message)).map(Arc::new))
    }
}

impl From<tfplugin6::ServerCapabilities> for Capabilities {
    fn from(announced: tfplugin6::ServerCapabilities) -> Self {
        Self {
            plan_destroy: announced.plan_destroy,
            get_provider_schema_optional: announced.get_provider_schema_optional,
            move_resource_state: announced.move_resource_state,
            generate_resource_config: announced.generate_resource_config,
        }
    }
}

fn unknown(kind: SchemaKind, name: &str) -> CatalogueError {
    CatalogueError::Unknown { kind: kind.title(), name: name.to_owned() }
}

fn usable(
    kind: SchemaKind,
    name: &str,
    compiled: Result<Arc<Schema>, SchemaError>,
) -> Result<Arc<Schema>, CatalogueError> {
    compiled.map_err(|fault| CatalogueError::Faulty { kind: kind.title(), name: name.to_owned(), fault })
}

/// Core refuses a provider without a schema of its configuration; so do we, on first use.
fn provider_schema(schema: Option<tfplugin6::Schema>) -> Result<Arc<Schema>, SchemaError> {
    let schema = schema.ok_or_else(|| SchemaError::root("the provider sent none".to_owned()))?;
    compile(&schema).map(Arc::new)
}

#[cfg(test)]
mod tests;
