//! Create, and its preview.

use std::collections::BTreeSet;

use isthmus_common::fail_point;
use isthmus_proto::property::Struct;
use isthmus_provider::Plan;
use isthmus_state::OperationKind;

use super::state_manager::{Outcome, StateManager};
use super::{EarlierPlans, OperationError, Target};
use isthmus_translate::inputs::{Config, Unknowns};
use isthmus_translate::sets::in_order_of;

/// The properties of the planned object.
pub async fn preview_create(target: &Target<'_>, inputs: &Struct) -> Result<Struct, OperationError> {
    let config = config(target, inputs, Unknowns::Keep)?;
    let plan = plan(target, &config).await?;
    target.warn_of_deferral(&plan);
    target.note_preview(&plan)?;
    planned_properties(target, &plan, &config, inputs)
}

pub async fn create<State: StateManager>(
    target: &Target<'_>,
    state: &State,
    inputs: &Struct,
) -> Result<State::Created, State::Error> {
    let config = config(target, inputs, Unknowns::Reject)?;
    fail_point("create-translated");
    let plan = plan(target, &config).await?;
    fail_point("create-planned");
    target.check_final(&plan)?;
    let intent = state.begin(OperationKind::Create, None).await?;
    match target.apply(&plan).await {
        Ok((object, failure)) => {
            let unread = &BTreeSet::new();
            let secrets = &config.secrets;
            let outcome = Outcome { object, failure, is_unrefreshed: false, secrets, unread, inputs };
            state.created(intent, outcome).await
        }
        Err(error) => Err(state.failed(intent, error).await),
    }
}

/// Translates `inputs` to a configuration, with the engine's timeout.
fn config(target: &Target<'_>, inputs: &Struct, unknowns: Unknowns) -> Result<Config, OperationError> {
    let mut config = target.config(inputs, unknowns)?;
    let programs = target.programs_timeouts(&config.value);
    target.allow(&mut config.value, &programs);
    Ok(config)
}

async fn plan(target: &Target<'_>, config: &Config) -> Result<Plan, OperationError> {
    let resource = target.resource()?;
    let diagnostics = &mut target.warnings.of_call();
    let plan = match target.plans.as_ref().and_then(EarlierPlans::take_handover) {
        None => resource.plan(None, &config.value, diagnostics).await,
        // It replaces another object.
        Some(handover) => resource.plan_replacement(&handover, &config.value, diagnostics).await,
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
    let planned = in_order_of(&plan.planned, &target.shape.object, inputs);
    Ok(target.outputs(&planned, &config.secrets, true)?)
}
