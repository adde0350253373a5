//! Resource identities in stored form, shared by the provider and the state crates.

use crate::json::Json;

/// A stored identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredIdentity {
    /// Version of its identity schema.
    pub schema_version: i64,
    /// An object of exactly the schema's attributes, ordered by name; those without a value are null.
    pub json: Json,
}
