//! `terraform.tfstate`, version 4: the file that Terraform and OpenTofu keep a project's objects in.
//!
//! Everything that they read of an object is read and written here, values to the digit: attributes stay JSON text from one
//! side to the other, because a schema is needed to know more of them, and numbers of any length are their text. What is
//! about a project and not about objects (outputs, results of checks) is carried along as it came.
//!
//! Versions 1 to 3 are refused: Terraform turned them into version 4 in ways that need the providers of their time, and it
//! still does so for whoever asks it to.

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
use super::record::{SavedObject, Status};

pub use fault::{TfStateError, TfStateFault};
pub use write::Collision;

/// A state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TfState {
    /// Which release wrote it; may be empty.
    pub terraform_version: String,
    /// Counts the file's versions: of two files of one lineage, the one with the larger serial is the later one.
    pub serial: u64,
    /// What all versions of one state have in common: a UUID, made with the first.
    pub lineage: String,
    /// The root module's outputs, as they are written.
    pub outputs: Json,
    /// All objects. Writing orders them as Terraform does.
    pub instances: Vec<Instance>,
    /// Results of checks, as they are written; null if there are none.
    pub check_results: Json,
}

/// One object in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// What the state calls it.
    pub address: ObjectAddress,
    /// Its value.
    pub attributes: Attributes,
    /// The version of the schema that the value is by.
    pub schema_version: i64,
    /// The provider's own data.
    pub private: Bytes,
    /// What the provider knows the object by, beside its value.
    pub identity: Option<StoredIdentity>,
    /// Whether the object can be relied on.
    pub status: Status,
    /// Which parts of the value are secret.
    pub sensitive_paths: Vec<AttributePath>,
    /// Addresses of the resources that this one depends on, without keys.
    pub dependencies: Vec<String>,
    /// Whether a replacement has to come before this object goes.
    pub create_before_destroy: bool,
    /// Whether the object outlives its place in the state (OpenTofu alone knows that).
    pub skip_destroy: bool,
    /// The provider, as `provider["registry.terraform.io/hashicorp/random"]`.
    pub provider: String,
}

/// The value of an object in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// A JSON object.
    Json(Json),
    /// What SDKs wrote before Terraform 0.12: every leaf under a path, `tags.%` and `list.#` for sizes. Only the provider
    /// can tell what it means.
    Flat(BTreeMap<String, String>),
}

impl TfState {
    /// A first version without objects.
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
    /// A saved object under an address.
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

    /// The object to be saved, and its flat attributes if it has such: then its value is null until the provider has said
    /// what it is.
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
        };
        (saved, flat)
    }
}

#[cfg(test)]
mod tests;
