//! A provider's schema, compiled from its messages.
//!
//! [`Catalogue`] decodes a schema on first use, because a large provider has thousands of resources
//! and a program uses few. Until then it is bytes, in memory or in a file.

mod answer;
mod block;
mod catalogue;
mod compile;
mod fingerprint;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod index;
mod protocol5;
#[cfg(test)]
pub(crate) mod testing;

pub use answer::SchemaAnswer;
pub use block::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting, Schema, TextKind,
};
pub use catalogue::{Capabilities, Catalogue, CatalogueError, Contents};
pub use compile::{SchemaError, compile};
pub use fingerprint::Fingerprint;
pub(crate) use fingerprint::Span;
pub(crate) use index::{ResponseBytes, SchemaIndex};
