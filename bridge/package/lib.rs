//! A Terraform provider as a Pulumi package: its names, schema and parameterization. Pure: no I/O, no clock.
//!
//! Start with [`catalogue`]: the package of one provider, which makes the [`shape`] of a resource when a call first needs it. A
//! shape has the names of both sides, and directs all translation. [`names`] has the rules for names and the choices of a project,
//! [`parameters`] the arguments of Parameterize, [`schema`] the package schema that SDKs are generated from, [`mapping`] the names
//! for converters, and [`urn`] the parts of a URN that isthmus uses.

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
