//! Terraform's type system: types, values, paths, and the two encodings of values.
//!
//! The semantics are those of go-cty, which Terraform and providers require: numbers are decimal
//! and unbounded, strings are NFC, sets have no order, and unknown values may have refinements. A
//! [`Value`] does not contain its type, which every caller has from a schema. Only values at
//! *dynamic* positions contain their own type, as [`Value::Dynamic`].
//!
//! [`msgpack::decode`] and [`json::from_json`] decode a value of a [`Type`]; see
//! `examples/decode.rs`.

#![warn(missing_docs)]

mod convert;
mod dynamic_value;
mod go;
pub mod json;
pub mod msgpack;
mod number;
mod path;
mod types;
mod unknown;
mod value;

pub use convert::{ConvertError, ConvertReason, convert};
pub use dynamic_value::{DecodeError, decode_dynamic};
pub use go::is_printable_in_go;
pub use number::{Number, NumberError};
pub use path::{AttributePath, PathStep};
pub use types::{ObjectType, Type, TypeError};
pub use unknown::Refinements;
pub use value::{ConformError, Value, normalize};

/// Maximum depth of types, and hence of values. Real schemas stay far below; a deeper one would
/// exhaust the stack.
pub const MAXIMUM_DEPTH: usize = 256;

/// A stored identity of a resource, shared by the provider and the state crates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredIdentity {
    /// Version of its identity schema.
    pub schema_version: i64,
    /// An object of exactly the schema's attributes, ordered by name; those without a value are null.
    pub json: json::Json,
}

/// Prefix of a message with the path; empty for the root.
fn at(path: &AttributePath) -> String {
    if path.is_root() { String::new() } else { format!("{path}: ") }
}
