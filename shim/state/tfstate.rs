//! `terraform.tfstate`, version 4: the state file of Terraform and OpenTofu.
//!
//! All fields of objects are read and written, values to the digit: attributes stay JSON, because
//! their types need a schema, and numbers stay text. Fields about the project (outputs, check
//! results) are preserved.
//!
//! Versions 1 to 3 are refused: upgrading them needs the providers of their time; Terraform still
//! does it.

mod fault;
mod paths;
mod read;
mod write;

use std::collections::BTreeMap;

use bytes::Bytes;
use isthmus_cty::AttributePath;
use isthmus_cty::StoredIdentity;
use isthmus_cty::json::Json;

use super::addresses::ObjectAddress;
use super::saved::{SavedObject, Status};

pub use fault::{TfStateError, TfStateFault};
pub use write::Collision;

/// A state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TfState {
    /// Terraform version that wrote it; may be empty.
    pub terraform_version: String,
    /// Increases with every write of a lineage.
    pub serial: u64,
    /// Identifies a state: a UUID, created with its first version.
    pub lineage: String,
    /// The root module's outputs, unparsed.
    pub outputs: Json,
    /// All objects. Writing sorts them as Terraform does.
    pub instances: Vec<Instance>,
    /// Check results, unparsed; null if there are none.
    pub check_results: Json,
}

/// A resource instance object in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Its address.
    pub address: ObjectAddress,
    /// Its attributes.
    pub attributes: Attributes,
    /// Its schema version.
    pub schema_version: i64,
    /// The provider's private data.
    pub private: Bytes,
    /// The resource identity.
    pub identity: Option<StoredIdentity>,
    /// The object's status.
    pub status: Status,
    /// `sensitive_attributes`.
    pub sensitive_paths: Vec<AttributePath>,
    /// Addresses of dependencies, without instance keys.
    pub dependencies: Vec<String>,
    /// Whether a replacement is created before this object is destroyed.
    pub create_before_destroy: bool,
    /// Whether the object outlives its removal from the state (OpenTofu only).
    pub skip_destroy: bool,
    /// The provider, as `provider["registry.terraform.io/hashicorp/random"]`.
    pub provider: String,
}

/// The attributes of an object in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// A JSON object.
    Json(Json),
    /// The flatmap of Terraform before 0.12: every leaf under a path, with `tags.%` and `list.#`
    /// for sizes. Decoding it needs the provider.
    Flat(BTreeMap<String, String>),
}

impl TfState {
    /// A new state without objects.
    pub fn new(lineage: impl Into<String>) -> Self {
        Self {
            terraform_version: isthmus_common::TERRAFORM_VERSION.to_owned(),
            serial: 1,
            lineage: lineage.into(),
            outputs: Json::Object(Vec::new()),
            instances: Vec::new(),
            check_results: Json::Null,
        }
    }
}

impl Instance {
    /// An instance from a saved object and its address.
    pub fn new(address: ObjectAddress, saved: SavedObject) -> Self {
        Self {
            address,
            attributes: Attributes::Json(saved.value),
            schema_version: saved.schema_version,
            private: saved.private,
            identity: saved.identity,
            status: saved.status,
            sensitive_paths: saved.sensitive_paths,
            dependencies: saved.dependencies,
            create_before_destroy: saved.create_before_destroy,
            skip_destroy: false,
            provider: saved.provider,
        }
    }

    /// The saved object, and its flatmap, if any: then the value is null until the provider has
    /// upgraded it.
    pub fn into_saved(self) -> (SavedObject, Option<BTreeMap<String, String>>) {
        let (value, flat) = match self.attributes {
            Attributes::Json(value) => (value, None),
            Attributes::Flat(flat) => (Json::Null, Some(flat)),
        };
        let saved = SavedObject {
            value,
            schema_version: self.schema_version,
            private: self.private,
            identity: self.identity,
            status: self.status,
            sensitive_paths: self.sensitive_paths,
            dependencies: self.dependencies,
            create_before_destroy: self.create_before_destroy,
            provider: self.provider,
            address: Some(self.address),
            component: None,
        };
        (saved, flat)
    }
}

#[cfg(test)]
mod tests;
