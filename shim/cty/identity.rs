//! Resource identities in stored form. Here because a provider returns them and the state store keeps them, and neither
//! knows the other.

use crate::json::Json;

/// An identity as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredIdentity {
    /// Version of the identity schema that it was written by.
    pub schema_version: i64,
    /// An object of exactly the schema's attributes, ordered by name; those without a value are null.
    pub json: Json,
}
