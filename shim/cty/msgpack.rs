//! Values as MessagePack, directed by their type: the encoding of all values in the plugin
//! protocol.
//!
//! The codec is specific to the format, which needs the type: an extension is an unknown value, an
//! array at a dynamic position is a type and a value, and numbers have one of three forms that is
//! exact. The decoder trusts no input: lengths are checked against the remaining bytes before
//! memory is reserved, depth is bounded, and errors contain the offset and the path.

mod decode;
mod encode;
mod error;
mod reader;
mod refinements;
mod untyped;
mod writer;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod round_trips;
#[cfg(test)]
mod vectors;

pub use decode::decode;
pub use encode::encode;
pub use error::{DecodeError, DecodeReason, EncodeError, EncodeReason};
pub use untyped::decode_untyped;

/// The extension type of an unknown value with refinements.
const REFINED_UNKNOWN: i8 = 12;
/// Maximum size of such an extension.
const LONGEST_REFINEMENTS: usize = 1024;
