//! Managed resources: one file per operation, each between a Pulumi request and its Terraform
//! calls.
//!
//! Independent of gRPC: the two services translate messages to and from these functions. An
//! operation gets the prior state from its caller and passes the outcome to a [`StateManager`]: the
//! engine's, or the state store's for the legacy engine.

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
pub(crate) use failure::{Failure, InputPath, Inputs};
pub(crate) use journal::FailedDeletes;
pub(crate) use plan_memory::{Memory, PlanMemory};
pub(crate) use read::{import, read, refresh};
pub(crate) use state::Prior;
pub(crate) use state::StateError;
pub(crate) use state_manager::{Outcome, StateManager};
pub(crate) use timeouts::{Operation, Timeouts};
pub(crate) use update::{Changes, preview_update, update};
pub(crate) use write_only::{NoSalt, WriteOnlyValues};

/// The resource type and session state of an operation.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    /// The configured provider.
    pub provider: &'a Provider,
    pub shape: Arc<ResourceShape>,
    pub package: &'a Identity,
    /// Whether the engine accepts secrets; otherwise it marks outputs itself.
    pub keep_secrets: bool,
    pub timeouts: Timeouts,
    /// The session's memory of the resource. `None` for the legacy engine, whose state is in the
    /// state store, and for operations without a resource.
    pub memory: Option<Memory<'a>>,
}

/// What an operation yields besides its result.
#[derive(Debug, Default)]
pub(crate) struct OperationWarnings {
    /// The provider's warnings, each once.
    pub diagnostics: Vec<Diagnostic>,
    /// Warnings that name properties already.
    pub texts: Vec<String>,
    /// Whether the name among checked inputs is generated.
    pub is_name_generated: bool,
}

impl<'a> Target<'a> {
    /// Sets the id that the engine has for the resource.
    #[must_use]
    pub(crate) fn known_as(mut self, id: &'a str) -> Self {
        if let Some(memory) = &mut self.memory {
            memory.id = id;
        }
        self
    }

    pub(crate) fn resource(&self) -> Result<Resource<'_>, OperationError> {
        self.provider.resource(&self.shape.terraform_type).map_err(|error| self.failed(error))
    }

    /// Applies a plan that results in an object; returns it, and the failure of an incomplete
    /// apply.
    async fn apply(
        &self,
        plan: &Plan,
        warnings: &mut OperationWarnings,
    ) -> Result<(Object, Option<ProviderError>), OperationError> {
        match self.resource()?.apply(plan, &mut warnings.diagnostics).await {
            Ok(applied) => Ok((applied.object.ok_or(OutputError::NoObject)?, None)),
            Err(failure) => match *failure {
                ApplyFailure { object: Some(object), error } => Ok((object, Some(error))),
                ApplyFailure { object: None, error } => Err(self.failed(error)),
            },
        }
    }

    /// Translates `inputs` to a configuration.
    pub(crate) fn config(&self, inputs: &Struct, unknowns: Unknowns) -> Result<Config, OperationError> {
        config_from_inputs(inputs, &self.shape.object, &self.shape.schema.block, unknowns)
            .map_err(|found| OperationError::Inputs(Inputs::new(inputs, &self.shape.object).failures(found)))
    }
}
