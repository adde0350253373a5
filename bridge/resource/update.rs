//! Update, and its preview.

use isthmus_proto::property::Struct;
use isthmus_provider::{Action, Plan};
use isthmus_state::OperationKind;

use super::create::planned_properties;
use super::state::Prior;
use super::state_manager::{Outcome, StateManager};
use super::{OperationError, OperationWarnings, Target};
use crate::translate::attribute_paths::property_path;
use crate::translate::inputs::{Config, Unknowns};
use crate::translate::property_path::PropertyPath;

/// What an update is to make of a resource.
#[derive(Debug)]
pub(crate) struct Changes<'a> {
    /// What the engine has stored.
    pub olds: &'a Struct,
    /// What is asked for.
    pub news: Struct,
    /// What the user does not want to be changed.
    pub ignore_changes: &'a [PropertyPath],
}

/// What the resource would become.
pub(crate) async fn preview_update(
    target: &Target<'_>,
    prior: &Prior,
    changes: Changes<'_>,
    notes: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let (plan, config, news) = plan(target, prior, changes, Unknowns::Keep, notes).await?;
    target.warn_of_deferral(&plan, notes);
    target.note(&plan)?;
    planned_properties(target, &plan, &config, &news)
}

/// Changes the resource in place, and yields its properties.
pub(crate) async fn update<State: StateManager>(
    target: &Target<'_>,
    state: &State,
    prior: Prior,
    changes: Changes<'_>,
    notes: &mut OperationWarnings,
) -> Result<Struct, State::Error> {
    let (plan, config, news) = plan(target, &prior, changes, Unknowns::Reject, notes).await?;
    target.check_final(&plan)?;
    let outcome = |object, failure| Outcome { object, failure, secrets: &config.secrets, inputs: &news };
    match &plan.action {
        // The engine sends an update after a failed one even where nothing is left to do.
        Action::NoOp if plan.deferral.is_none() => {
            return state.updated(None, outcome(prior.object, None), notes).await;
        }
        Action::Replace(paths) if plan.deferral.is_none() => {
            let paths = paths.iter().map(|path| property_path(path, &target.shape.object)).collect();
            return Err(OperationError::NeedsReplacement(paths).into());
        }
        // What is put off fails when it is applied.
        Action::NoOp | Action::Replace(_) | Action::Create | Action::Update | Action::Delete => {}
    }
    let intent = state.begin(OperationKind::Update, Some(&prior), notes).await?;
    match target.apply(&plan, notes).await {
        Ok((object, failure)) => state.updated(Some(intent), outcome(object, failure), notes).await,
        Err(error) => Err(state.failed(intent, error, notes).await),
    }
}

async fn plan(
    target: &Target<'_>,
    prior: &Prior,
    Changes { olds, mut news, ignore_changes }: Changes<'_>,
    unknowns: Unknowns,
    notes: &mut OperationWarnings,
) -> Result<(Plan, Config, Struct), OperationError> {
    let resource = target.ignoring(&mut news, olds, prior, ignore_changes)?;
    let mut config = target.config(&news, unknowns)?;
    let programs = target.programs_timeouts(&config.value);
    target.keep_timeouts(&mut config.value, &prior.object.value);
    let mut plan = resource
        .plan(Some(&prior.object), &config.value, &mut notes.warnings)
        .await
        .map_err(|error| target.failed(error))?;
    // Another timeout is nothing to update for; only where there is something to do, it is part of that.
    if plan.action == Action::Update && target.allow(&mut config.value, &programs) {
        plan = resource
            .plan(Some(&prior.object), &config.value, &mut notes.warnings)
            .await
            .map_err(|error| target.failed(error))?;
    }
    Ok((plan, config, news))
}
