//! A provider's schema, compiled once from the wire into what the rest of the program walks.
//!
//! [`Catalogue`] keeps each resource's bytes as they came and decodes one when it is first touched, because a large
//! provider has thousands of resources and a program uses a handful.

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
