//! Managed resources: one file per operation, each between a Pulumi request and its Terraform
//! calls.
//!
//! Independent of gRPC: the two services translate messages to and from these functions. An
//! operation gets the prior state from its caller and passes the outcome to a [`StateManager`]: the
//! engine's, or the state store's for the legacy engine.

mod autoname;
mod check;
#[cfg(feature = "counting")]
pub mod counting;
mod create;
mod delete;
mod diagnose;
mod diff;
mod engine_state;
mod error;
pub mod failed_deletions;
mod failure;
mod foreign;
mod identity;
pub mod intents;
mod interrupted;
mod operations;
mod plan_memory;
mod prior;
mod read;
pub mod reports;
mod state;
mod state_manager;
mod stored_inputs;
mod target;
pub mod timeouts;
mod update;
mod warnings;
mod write_only;

pub use autoname::{AutonamingMode, Naming};
pub use check::{Checked, check};
pub use create::{create, preview_create};
pub use delete::delete;
pub use diagnose::{describe, in_sentences};
pub use diff::{Change, ChangeKind, Comparison, Difference, Display, META, diff};
pub use engine_state::EngineState;
pub use error::{MissingKey, OperationError, Partial, StateError};
pub use failure::{Failure, InputPath, Inputs};
pub use foreign::{Adoption, InputForms, Released, adopt, release};
pub use operations::{
    Caller, JournalError, JournaledResource, OperationJournal, Operations, Origin, Reports, mark,
};
pub use plan_memory::{EarlierPlans, PlanMemory};
pub use prior::Prior;
pub use read::{Found, import, read, refresh};
pub use state_manager::{Outcome, StateManager};
pub use target::Target;
pub use timeouts::{Operation, Timeouts};
pub use update::{Changes, preview_update, update};
pub use warnings::{CallWarnings, CollectedWarnings, OperationWarnings};
pub use write_only::{NoSalt, WriteOnlyValues};
