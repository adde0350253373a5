//! Managed resources: one file an operation, each between a Pulumi request and the Terraform calls beneath it.
//!
//! Nothing here knows gRPC: the two services translate messages to and from these functions. An operation gets the
//! resource's prior state from its caller, and hands the outcome to a [`StateManager`]: both are the engine's, or the state
//! store's for the legacy engine.

mod autoname;
mod check;
mod create;
mod deferral;
mod delete;
mod diagnose;
mod diff;
mod engine_state;
mod error;
mod failure;
mod identity;
pub(crate) mod intents;
pub(crate) mod journal;
mod plan_memory;
mod read;
mod state;
mod state_manager;
mod stored_inputs;
pub(crate) mod timeouts;
mod update;
mod write_only;

use std::sync::Arc;

use isthmus_proto::property::Struct;
use isthmus_provider::{ApplyFailure, Diagnostic, Object, Plan, Provider, ProviderError, Resource};

use crate::package::catalogue::Identity;
use crate::package::shape::ResourceShape;
use crate::translate::inputs::{Config, Unknowns, config_from_inputs};
use crate::translate::outputs::OutputError;

pub(crate) use autoname::{AutonamingMode, Naming};
pub(crate) use check::missing_failure;
pub(crate) use check::{Checked, check};
pub(crate) use create::{create, preview_create};
pub(crate) use delete::delete;
pub(crate) use diagnose::{describe, in_sentences};
pub(crate) use diff::META;
pub(crate) use diff::diff;
pub(crate) use diff::{Change, ChangeKind, Comparison, Difference};
pub(crate) use engine_state::EngineState;
pub(crate) use error::{MissingKey, OperationError, Partial};
pub(crate) use failure::{Failure, Inputs, Place};
pub(crate) use journal::FailedDeletes;
pub(crate) use plan_memory::{Memory, PlanMemory};
pub(crate) use read::{import, read, refresh};
pub(crate) use state::Prior;
pub(crate) use state::StateError;
pub(crate) use state_manager::{Outcome, StateManager};
pub(crate) use timeouts::{Operation, Timeouts};
pub(crate) use update::{Changes, preview_update, update};
pub(crate) use write_only::{NoSalt, WriteOnlyValues};

/// What every operation on one resource works with.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    /// The configured provider.
    pub provider: &'a Provider,
    /// The resource type.
    pub shape: Arc<ResourceShape>,
    /// The package that the type belongs to.
    pub package: &'a Identity,
    /// Whether the engine takes secrets; otherwise it marks outputs itself.
    pub keep_secrets: bool,
    /// What the engine says of time.
    pub timeouts: Timeouts,
    /// What the session remembers of the resource. `None`: the engine is one that is told everything by its store, or what
    /// is worked with is no resource.
    pub memory: Option<Memory<'a>>,
}

/// What an operation yields besides its result.
#[derive(Debug, Default)]
pub(crate) struct OperationWarnings {
    /// The provider's warnings, each once.
    pub warnings: Vec<Diagnostic>,
    /// Warnings that are in the user's words already.
    pub texts: Vec<String>,
    /// Whether the name among checked inputs is not the program's own.
    pub name_is_made_up: bool,
}

impl<'a> Target<'a> {
    /// The same with the id that the engine knows the resource by.
    #[must_use]
    pub(crate) fn known_as(mut self, id: &'a str) -> Self {
        if let Some(memory) = &mut self.memory {
            memory.id = id;
        }
        self
    }

    /// The provider's resource type.
    pub(crate) fn resource(&self) -> Result<Resource<'_>, OperationError> {
        self.provider.resource(&self.shape.terraform_type).map_err(|error| self.failed(error))
    }

    /// Applies a plan that is to leave an object: that object, and why the provider did not complete the apply, if so.
    async fn apply(
        &self,
        plan: &Plan,
        notes: &mut OperationWarnings,
    ) -> Result<(Object, Option<ProviderError>), OperationError> {
        match self.resource()?.apply(plan, &mut notes.warnings).await {
            Ok(applied) => Ok((applied.object.ok_or(OutputError::NoObject)?, None)),
            Err(failure) => match *failure {
                ApplyFailure { object: Some(object), error } => Ok((object, Some(error))),
                ApplyFailure { object: None, error } => Err(self.failed(error)),
            },
        }
    }

    /// The configuration that `inputs` stand for.
    pub(crate) fn config(&self, inputs: &Struct, unknowns: Unknowns) -> Result<Config, OperationError> {
        config_from_inputs(inputs, &self.shape.object, &self.shape.schema.block, unknowns)
            .map_err(|found| OperationError::Inputs(Inputs::new(inputs, &self.shape.object).failures(found)))
    }
}
