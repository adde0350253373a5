//! A Terraform provider as a Pulumi package: its names, schema and parameterization.

pub mod catalogue;
pub(crate) mod function;
pub(crate) mod mapping;
pub mod parameters;
pub(crate) mod schema;
pub(crate) mod selection;
pub mod shape;

#[cfg(test)]
pub(crate) mod testing;
