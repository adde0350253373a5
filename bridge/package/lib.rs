//! A Terraform provider as a Pulumi package: its names, schema and parameterization.

pub mod catalogue;
pub mod described;
pub mod function;
pub mod mapping;
pub mod names;
pub mod parameters;
pub mod plain_forms;
pub mod releases;
pub mod schema;
pub mod selection;
pub mod shape;
pub mod unused_choices;
pub mod urn;

#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
