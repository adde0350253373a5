//! Managed resources: one file per operation, each between a Pulumi request and its Terraform
//! calls.
//!
//! Independent of gRPC: the two services translate messages to and from these functions. An
//! operation gets the prior state from its caller and passes the outcome to a [`StateManager`]: the
//! engine's, or the state store's for the legacy engine.

mod autoname;
mod check;
#[cfg(feature = "counting")]
pub(crate) mod counting;
mod create;
mod deferral;
mod delete;
mod diagnose;
mod diff;
mod engine_state;
mod error;
mod failure;
mod foreign;
mod identity;
pub(crate) mod intents;
mod interrupted;
pub(crate) mod journal;
mod operations;
mod plan_memory;
mod prior;
mod read;
pub(crate) mod reports;
mod state;
mod state_manager;
mod stored_inputs;
mod target;
pub(crate) mod timeouts;
mod update;
mod warnings;
mod write_only;

pub(crate) use autoname::{AutonamingMode, Naming};
pub(crate) use check::{Checked, check};
pub(crate) use create::{create, preview_create};
pub(crate) use delete::delete;
pub(crate) use diagnose::{describe, in_sentences};
pub(crate) use diff::META;
pub(crate) use diff::diff;
pub(crate) use diff::{Change, ChangeKind, Comparison, Difference, Display};
pub(crate) use engine_state::EngineState;
pub(crate) use error::{MissingKey, OperationError, Partial, StateError};
pub(crate) use failure::{Failure, InputPath, Inputs};
pub(crate) use foreign::{Adoption, InputForms, Released, adopt, release};
pub(crate) use operations::{Caller, Memory, Operations, Origin, Reports};
pub(crate) use plan_memory::{EarlierPlans, PlanMemory};
pub(crate) use prior::Prior;
pub(crate) use read::{Found, import, read, refresh};
pub(crate) use state_manager::{Outcome, StateManager};
pub(crate) use target::Target;
pub(crate) use timeouts::{Operation, Timeouts};
pub(crate) use update::{Changes, preview_update, update};
pub(crate) use warnings::OperationWarnings;
pub(crate) use write_only::{NoSalt, WriteOnlyValues};
