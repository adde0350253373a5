//! A Terraform provider as a Pulumi package: its names, schema and parameterization.

pub mod catalogue;
pub(crate) mod function;
pub(crate) mod mapping;
pub mod parameters;
mod reference;
pub(crate) mod schema;
pub(crate) mod selection;
pub mod shape;

pub(crate) use reference::PackageReference;

#[cfg(test)]
pub(crate) mod testing;
