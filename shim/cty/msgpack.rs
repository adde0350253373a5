//! Values as MessagePack, directed by their type: the form that every message to and from a provider carries.
//!
//! The codec is written by hand because the format is only readable with the type at hand: an extension is an unknown
//! value, an array at a dynamic position is a type and a value, and numbers take whichever of three forms is exact.
//! Reading trusts nothing: lengths are checked against what is left before anything is reserved, depth is bounded, and
//! every error tells the byte and the place in the value.

mod decode;
mod encode;
mod error;
mod reader;
mod refinements;
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

/// The extension type of an unknown value that carries refinements.
const REFINED_UNKNOWN: i8 = 12;
/// The longest body of such an extension.
const LONGEST_REFINEMENTS: usize = 1024;
