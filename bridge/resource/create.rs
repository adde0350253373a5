//! Create, and its preview.

use isthmus_proto::property::Struct;
use isthmus_shim::provider::Plan;

use super::state::{Condition, properties_of};
use super::{Notes, OperationError, Partial, Target};
use crate::translate::inputs::{Config, Unknowns};
use crate::translate::outputs::{OutputOptions, id_from_state, outputs_from_state};

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
    notes: &mut Notes,
) -> Result<Struct, OperationError> {
    let config = target.config(inputs, Unknowns::Keep)?;
    let plan = plan(target, &config, notes).await?;
    planned_properties(target, &plan, &config)
}

/// Creates the resource.
pub async fn create(
    target: &Target<'_>,
    inputs: &Struct,
    notes: &mut Notes,
) -> Result<Created, OperationError> {
    let config = target.config(inputs, Unknowns::Reject)?;
    let plan = plan(target, &config, notes).await?;
    let resource =
        target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
    match resource.apply(&plan, &mut notes.warnings).await {
        Ok(applied) => {
            // `apply` has seen to it that there is an object where one was planned.
            let object = applied.object.ok_or(crate::translate::outputs::OutputError::NoObject)?;
            let properties = properties_of(target, &object, &config.secrets, Condition::Whole)?;
            Ok(Created { id: id_from_state(&object.value, &target.shape)?, properties })
        }
        Err(failure) => {
            let Some(object) = failure.object else { return Err(target.failed(failure.error)) };
            // What was made is reported, marked as tainted, so that the engine keeps it and replaces it next time.
            Err(OperationError::Partial(Box::new(Partial {
                id: id_from_state(&object.value, &target.shape)?,
                properties: properties_of(target, &object, &config.secrets, Condition::Tainted)?,
                reasons: vec![target.words(&failure.error)],
            })))
        }
    }
}

async fn plan(target: &Target<'_>, config: &Config, notes: &mut Notes) -> Result<Plan, OperationError> {
    let resource =
        target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
    resource.plan(None, &config.value, &mut notes.warnings).await.map_err(|error| target.failed(error))
}

/// A planned state as a preview shows it.
pub(super) fn planned_properties(
    target: &Target<'_>,
    plan: &Plan,
    config: &Config,
) -> Result<Struct, OperationError> {
    let options =
        OutputOptions { keep_secrets: target.keep_secrets, secrets: &config.secrets, unknowns: true };
    Ok(outputs_from_state(&plan.planned, &target.shape, options)?)
}
