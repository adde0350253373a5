//! Names: how Terraform's become Pulumi's.
//!
//! Everything here is a pure function of names alone, and compatible to the letter with the Go bridge, because programs,
//! generated SDKs and state files written for it carry these names. Two directions exist: forwards by rule (this
//! module), and back by looking up what the forward direction produced (`package::shape`); only the state format also
//! uses a way back by rule, [`casing::pulumi_to_terraform`].
//!
//! Where two names collide after casing the Go bridge refuses the provider, or makes a package that the engine refuses, or
//! lets one of two things stand for both; here the later one (in the order of Terraform's names) gets a number, so that
//! every provider has a package.

pub(crate) mod casing;
#[cfg(test)]
mod go_bridge_tests;
pub(crate) mod inflector;
pub(crate) mod properties;
pub(crate) mod random_digits;
pub(crate) mod tokens;
