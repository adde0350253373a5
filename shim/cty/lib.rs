//! Terraform's type system: types, values, paths, and the two codecs that values travel in.
//!
//! The semantics are those of go-cty, because both ends of every provider connection assume them: numbers are decimal
//! and unbounded, strings are NFC, sets have no order, and unknown values may carry refinements. A [`Value`] does not
//! carry its type: every place where a value is read or written has a schema, so the type is walked beside the value.
//! Only a value in a *dynamic* position brings its own type, as [`Value::Dynamic`].
//!
//! [`msgpack::decode`] and [`json::from_json`] read a value of a [`Type`]; `examples/decode.rs` is a whole program.

#![warn(missing_docs)]

mod convert;
mod dynamic_value;
mod identity;
pub mod json;
pub mod msgpack;
mod number;
mod path;
mod types;
mod unknown;
mod value;

pub use convert::{ConvertError, ConvertReason, convert};
pub use dynamic_value::{DecodeError, decode_dynamic};
pub use identity::StoredIdentity;
pub use number::{Number, NumberError};
pub use path::{AttributePath, PathStep};
pub use types::{ObjectType, Type, TypeError};
pub use unknown::Refinements;
pub use value::{ConformError, Value, normalize};

/// How deep types, and with them values, may be nested. Providers' own schemas stay far below it; what goes beyond comes
/// from a defect or an attack, and would exhaust the stack.
pub const MAXIMUM_DEPTH: usize = 256;

/// The beginning of a message about one place: nothing for the root.
fn at(path: &AttributePath) -> String {
    if path.is_root() { String::new() } else { format!("{path}: ") }
}
