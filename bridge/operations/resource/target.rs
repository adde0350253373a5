//! What an operation is about: a resource type of a configured provider.

use std::sync::Arc;

use isthmus_common::fail_point;
use isthmus_cty::{AttributePath, Value};
use isthmus_proto::property::Struct;
use isthmus_provider::{ApplyFailure, Diagnostic, Object, Plan, Provider, ProviderError, Resource};
use isthmus_state::OperationId;

use super::error::OperationError;
use super::failure::Inputs;
use super::operations::JournaledResource;
use super::plan_memory::EarlierPlans;
use super::timeouts::Timeouts;
use super::warnings::CollectedWarnings;
use isthmus_package::catalogue::Identity;
use isthmus_package::shape::ResourceShape;
use isthmus_translate::exact_numbers::{LostDigits, NumberForm, form_numbers};
use isthmus_translate::inputs::{Config, Unknowns, config_from_inputs};
use isthmus_translate::marked_secrets::mark_configured_secrets;
use isthmus_translate::outputs::{OutputError, OutputOptions, outputs_from_state};

/// The resource type and session state of an operation.
#[derive(Debug)]
pub struct Target<'a> {
    /// The configured provider.
    pub provider: &'a Provider,
    pub shape: Arc<ResourceShape>,
    pub package: &'a Identity,
    /// Whether the engine accepts secrets; otherwise it marks outputs itself.
    pub keep_secrets: bool,
    pub timeouts: Timeouts,
    /// The form of numbers that no double holds.
    pub numbers: NumberForm,
    /// The session's earlier plans of the resource; `None` for operations without a resource.
    pub plans: Option<EarlierPlans<'a>>,
    /// What the journal has of the resource. `None` for the legacy engine, whose state is in the
    /// state store, and for operations without a resource.
    pub journaled: Option<JournaledResource<'a>>,
    /// What the engine gets beside the results of operations.
    pub warnings: CollectedWarnings,
}

impl<'a> Target<'a> {
    /// A target without an earlier plan and without a journal, for an engine that accepts secrets.
    pub fn new(provider: &'a Provider, shape: Arc<ResourceShape>, package: &'a Identity) -> Self {
        Self {
            provider,
            shape,
            package,
            keep_secrets: true,
            timeouts: Timeouts::default(),
            numbers: NumberForm::default(),
            plans: None,
            journaled: None,
            warnings: CollectedWarnings::default(),
        }
    }

    /// Adds a warning.
    pub fn warn(&self, warning: Diagnostic) {
        self.warnings.warn(warning);
    }

    /// Adds the report of an operation.
    pub(super) fn report(&self, operation: OperationId, text: String) {
        let mut warnings = self.warnings.lock();
        warnings.texts.push(text);
        warnings.reported.push(operation);
    }

    /// Sets the id that the engine has for the resource.
    #[must_use]
    pub fn known_as(mut self, id: &'a str) -> Self {
        if let Some(journaled) = &mut self.journaled {
            journaled.id = id;
        }
        self
    }

    pub fn resource(&self) -> Result<Resource<'_>, OperationError> {
        self.provider.resource(&self.shape.terraform_type).map_err(|error| self.failed(error))
    }

    /// Applies a plan that results in an object; returns it, and the failure of an incomplete
    /// apply.
    pub(super) async fn apply(&self, plan: &Plan) -> Result<(Object, Option<ProviderError>), OperationError> {
        fail_point("applying");
        let applied = self.resource()?.apply(plan, &mut self.warnings.of_call()).await;
        fail_point("applied");
        match applied {
            Ok(object) => Ok((object.ok_or(OutputError::NoObject)?, None)),
            Err(failure) => match *failure {
                ApplyFailure { object: Some(object), error } => Ok((object, Some(error))),
                ApplyFailure { object: None, error } => Err(self.failed(error)),
            },
        }
    }

    /// The properties of a state or planned state, as the engine gets them. `secrets` are paths that are secret beyond the
    /// schema; so is what repeats a secret of the provider's configuration.
    pub fn outputs(
        &self,
        state: &Value,
        secrets: &[AttributePath],
        unknowns: bool,
    ) -> Result<Struct, OutputError> {
        let (properties, lost_digits) = self.translated(state, secrets, unknowns)?;
        self.warnings.lock().lost_digits.extend(lost_digits);
        Ok(properties)
    }

    /// The same, with the numbers that lose digits.
    pub(super) fn translated(
        &self,
        state: &Value,
        secrets: &[AttributePath],
        unknowns: bool,
    ) -> Result<(Struct, Vec<LostDigits>), OutputError> {
        let options = OutputOptions { keep_secrets: self.keep_secrets, secrets, unknowns };
        let mut properties = outputs_from_state(state, &self.shape, options)?;
        if self.keep_secrets {
            mark_configured_secrets(&mut properties, self.provider.secrets());
        }
        let (object, of) = (&self.shape.object, &self.shape.terraform_type);
        let lost_digits = form_numbers(&mut properties, state, object, self.numbers, of);
        Ok((properties, lost_digits))
    }

    /// Translates `inputs` to a configuration.
    pub fn config(&self, inputs: &Struct, unknowns: Unknowns) -> Result<Config, OperationError> {
        config_from_inputs(inputs, &self.shape.object, &self.shape.schema.block, unknowns)
            .map_err(|found| OperationError::Inputs(Inputs::new(inputs, &self.shape.object).failures(found)))
    }

    /// Records the plan of a comparison, which is not applied in this call.
    pub(super) fn note(&self, plan: &Plan) -> Result<(), OperationError> {
        if let Some(plans) = &self.plans {
            plans.note(&self.resource()?, plan);
        }
        Ok(())
    }

    /// Records the plan of a preview.
    pub(super) fn note_preview(&self, plan: &Plan) -> Result<(), OperationError> {
        if let Some(plans) = &self.plans {
            plans.note_preview(&self.resource()?, plan);
        }
        Ok(())
    }

    /// Compares a plan that is about to be applied with the earlier ones, and drops these.
    pub(super) fn check_final(&self, plan: &Plan) -> Result<(), OperationError> {
        let Some(plans) = &self.plans else { return Ok(()) };
        let earlier = plans.earlier(plan);
        plans.forget();
        if plan.deferral.is_some() {
            return Ok(());
        }
        let resource = self.resource()?;
        let checked = earlier.iter().try_for_each(|earlier| resource.check_final(earlier, plan));
        checked.map_err(|error| self.failed(error))
    }

    /// Drops the plans of an object that was deleted.
    pub(super) fn forget_deleted(&self) {
        if let Some(plans) = &self.plans {
            plans.forget_deleted();
        }
    }

    /// Drops the plans of an object that is replaced regardless of them.
    pub fn forget_changes(&self) {
        if let Some(plans) = &self.plans {
            plans.forget_changes();
        }
    }
}
