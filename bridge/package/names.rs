//! Mapping of Terraform names to Pulumi names.
//!
//! All functions are pure and exactly compatible with the Go bridge, because programs, generated
//! SDKs and state files contain these names. Names are mapped forwards by rule (this module), and
//! back by lookup of the forward results (`package::shape`); only the state format also uses a
//! reverse rule, [`casing::pulumi_to_terraform`].
//!
//! If two names collide after casing, the Go bridge rejects the provider, creates a package that
//! the engine rejects, or merges the two; here the later one (ordered by Terraform name) gets a
//! number, so that every provider has a package. Other names, too, have what no SDK of a language can
//! have by its name ([`impossible`]).

pub mod casing;
pub mod choices;
pub mod derived;
#[cfg(test)]
mod go_bridge_tests;
pub mod impossible;
pub(crate) mod inflector;
pub mod member_kind;
pub mod plain_results;
pub mod properties;
pub mod random_digits;
pub mod tokens;
