//! A running provider, driven as Terraform core drives one.
//!
//! [`Provider`] is one process with one configuration. It supports both protocols through the
//! messages of protocol 6: they share nearly every field number, so only method names in
//! [`client`](Client) differ. [`Resource`] is the lifecycle of one managed resource: validate,
//! plan, apply, read, import, upgrade. A [`Lease`] is for an open ephemeral resource.
//!
//! Start with [`plugin::Plugin::launch`], which runs a provider binary, and [`Provider::start`],
//! which reads its schema. See `examples/plan.rs`. The modules [`rules`] and [`schema`] are pure:
//! no I/O, no clock, no async.

#![warn(missing_docs)]

mod action;
mod answered;
mod caller;
mod chunks;
mod client;
mod deferral;
mod diagnostics;
mod dynamic;
mod ephemeral;
mod error;
mod function;
mod identity;
mod instance;
mod limit;
mod list;
mod meta;
mod observer;
pub mod plugin;
mod resource;
pub mod rules;
pub mod schema;
pub mod schema_cache;
#[cfg(test)]
mod testing;
mod unprocessed;

pub use caller::SchemaUpdate;
pub use client::{Client, Rpc};
pub use deferral::Deferral;
pub use diagnostics::{Diagnostic, Severity};
pub use ephemeral::{Lease, Opened};
pub use error::ProviderError;
pub use function::FunctionError;
pub use identity::{IdentityAttribute, IdentitySchema};
pub use instance::{DataSourceAnswer, KnownSchema, Provider};
pub use isthmus_cty::StoredIdentity;
pub use limit::{Interruption, Limit};
pub use list::{ListRequest, Listed, Listing};
pub use observer::{CallMessages, CallObserver, CallReport};
pub use resource::{
    Action, ApplyFailure, EarlierPlan, ForeignObject, Object, Plan, ReplacementData, Resource, StoredObject,
};
