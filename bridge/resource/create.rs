//! Create, and its preview.

use isthmus_proto::property::Struct;
use isthmus_provider::{Object, Plan};
use isthmus_state::OperationKind;

use super::state::{Condition, RenderOptions, properties_in_any_case};
use super::{OperationError, OperationWarnings, Partial, Target};
use crate::translate::inputs::{Config, Unknowns};
use crate::translate::outputs::{OutputOptions, outputs_from_state};
use crate::translate::sets::in_order_of;

/// A resource that was created.
#[derive(Debug)]
pub struct Created {
    /// Its id; empty in a preview.
    pub id: String,
    /// Its properties.
    pub properties: Struct,
}

/// What would be created.
pub async fn preview_create(
    target: &Target<'_>,
    inputs: &Struct,
    notes: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let config = config(target, inputs, Unknowns::Keep)?;
    let plan = plan(target, &config, notes).await?;
    target.warn_of_deferral(&plan, notes);
    target.note(&plan)?;
    planned_properties(target, &plan, &config, inputs)
}

/// Creates the resource.
pub async fn create(
    target: &Target<'_>,
    inputs: &Struct,
    notes: &mut OperationWarnings,
) -> Result<Created, OperationError> {
    let config = config(target, inputs, Unknowns::Reject)?;
    let plan = plan(target, &config, notes).await?;
    target.check_final(&plan)?;
    let written = target.begin(OperationKind::Create, notes).await;
    let created = carry_out(target, &plan, &config, inputs, notes).await;
    written.ended(&created, notes).await;
    created
}

async fn carry_out(
    target: &Target<'_>,
    plan: &Plan,
    config: &Config,
    inputs: &Struct,
    notes: &mut OperationWarnings,
) -> Result<Created, OperationError> {
    let resource =
        target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
    match resource.apply(plan, &mut notes.warnings).await {
        Ok(applied) => {
            // `apply` has seen to it that there is an object where one was planned.
            let object = applied.object.ok_or(crate::translate::outputs::OutputError::NoObject)?;
            let (id, properties, obstacle) =
                as_stored(target, &object, config, inputs, Condition::Whole, notes).await?;
            match obstacle {
                None => Ok(Created { id, properties }),
                Some(reason) => {
                    Err(OperationError::Partial(Box::new(Partial { id, properties, reasons: vec![reason] })))
                }
            }
        }
        Err(failure) => {
            let Some(object) = failure.object else { return Err(target.failed(failure.error)) };
            // What was made is reported, marked as tainted, so that the engine keeps it and replaces it next time.
            let (id, properties, obstacle) =
                as_stored(target, &object, config, inputs, Condition::Tainted, notes).await?;
            let reasons = std::iter::once(target.message(&failure.error)).chain(obstacle).collect();
            Err(OperationError::Partial(Box::new(Partial { id, properties, reasons })))
        }
    }
}

/// The id and the properties of what was made, and why it is not to be seen in them, if it is not.
async fn as_stored(
    target: &Target<'_>,
    object: &Object,
    config: &Config,
    inputs: &Struct,
    condition: Condition,
    notes: &mut OperationWarnings,
) -> Result<(String, Struct, Option<String>), OperationError> {
    let identity = target.identity_of(object, notes).await;
    let id = target.new_id(object, identity.as_ref(), None, &config.secrets, notes);
    let look = RenderOptions { secrets: &config.secrets, like: inputs };
    let (properties, obstacle) = properties_in_any_case(target, object, identity, look, condition)?;
    target.overtake_failed_delete(&id, &properties, notes).await;
    Ok((id, properties, obstacle))
}

/// What `inputs` stand for, and what the engine adds to it.
fn config(target: &Target<'_>, inputs: &Struct, unknowns: Unknowns) -> Result<Config, OperationError> {
    let mut config = target.config(inputs, unknowns)?;
    let programs = target.programs_timeouts(&config.value);
    target.allow(&mut config.value, &programs);
    Ok(config)
}

async fn plan(
    target: &Target<'_>,
    config: &Config,
    notes: &mut OperationWarnings,
) -> Result<Plan, OperationError> {
    let resource =
        target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
    let warnings = &mut notes.warnings;
    let plan = match target.memory.and_then(|memory| memory.take_handover()) {
        None => resource.plan(None, &config.value, warnings).await,
        // It replaces another one.
        Some(handover) => resource.plan_replacement(&handover, &config.value, warnings).await,
    };
    plan.map_err(|error| target.failed(error))
}

/// A planned state as a preview shows it.
pub(super) fn planned_properties(
    target: &Target<'_>,
    plan: &Plan,
    config: &Config,
    inputs: &Struct,
) -> Result<Struct, OperationError> {
    let options =
        OutputOptions { keep_secrets: target.keep_secrets, secrets: &config.secrets, unknowns: true };
    let planned = in_order_of(&plan.planned, &target.shape.object, inputs);
    Ok(outputs_from_state(&planned, &target.shape, options)?)
}
