//! A provider's schema, compiled from its messages.
//!
//! [`Catalogue`] stores encoded schemas and decodes one on first use, because a large provider has
//! thousands of resources and a program uses few.

mod answer;
mod block;
mod capabilities;
mod catalogue;
mod compile;
mod protocol5;
#[cfg(test)]
pub(crate) mod testing;

pub use answer::{Contents, Fingerprint, SchemaAnswer};
pub use block::{
    Attribute, AttributeType, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting, Schema, TextKind,
};
pub use capabilities::Capabilities;
pub use catalogue::{Catalogue, CatalogueError};
pub use compile::{SchemaError, compile};
