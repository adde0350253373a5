//! The Terraform side of isthmus: everything that Terraform core does with a provider, and nothing of Pulumi.
//!
//! Another Rust program could use this crate alone to run providers. `cty`, `schema` and `rules` are pure (no I/O, no
//! clock, no async); `plugin`, `provider`, `cache` and `state` do I/O.

pub mod cache;
mod chain;
pub mod cty;
pub mod install;
mod marker;
pub mod permissions;
pub mod plugin;
pub mod provider;
pub mod rules;
pub mod schema;
pub mod secret;
mod similar_path;
pub mod state;
mod trust;

pub use chain::{error_chain, with_help};
pub use similar_path::similar_path;
