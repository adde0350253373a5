//! A Terraform provider seen as a Pulumi package: its names, its schema, its parameterization.

pub mod catalogue;
pub(crate) mod function;
pub(crate) mod mapping;
pub mod parameters;
pub(crate) mod schema;
pub(crate) mod selection;
pub mod shape;

#[cfg(test)]
pub(crate) mod testing;
