//! A Terraform provider as a Pulumi package: its names, schema and parameterization.

pub mod catalogue;
pub(crate) mod described;
pub(crate) mod function;
pub(crate) mod mapping;
pub mod parameters;
pub(crate) mod plain_forms;
pub(crate) mod schema;
pub(crate) mod selection;
pub mod shape;
pub(crate) mod unused_choices;

#[cfg(test)]
pub(crate) mod testing;
