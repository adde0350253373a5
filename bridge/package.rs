//! A Terraform provider seen as a Pulumi package: its names, its schema, its parameterization.

pub mod catalogue;
pub mod function;
pub mod mapping;
pub mod parameters;
pub mod schema;
pub mod selection;
pub mod shape;

#[cfg(test)]
pub(crate) mod testing;
