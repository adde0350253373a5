//! Update, and its preview.

use isthmus_common::fail_point;
use isthmus_cty::AttributePath;
use isthmus_proto::property::Struct;
use isthmus_provider::{Action, Plan};
use isthmus_state::OperationKind;

use super::create::planned_properties;
use super::prior::Prior;
use super::state_manager::{Outcome, StateManager};
use super::{OperationError, Target};
use isthmus_translate::attribute_paths::property_path;
use isthmus_translate::inputs::{Config, Unknowns};
use isthmus_translate::property_path::PropertyPath;

#[derive(Debug)]
pub struct Changes<'a> {
    /// The stored inputs.
    pub inputs: &'a Struct,
    /// The stored properties.
    pub olds: &'a Struct,
    /// The new inputs.
    pub news: Struct,
    pub ignore_changes: &'a [PropertyPath],
}

/// The properties of the planned object.
pub async fn preview_update(
    target: &Target<'_>,
    prior: &Prior,
    changes: Changes<'_>,
) -> Result<Struct, OperationError> {
    let refreshed = target.refreshed(prior, changes.olds).await?;
    let prior = refreshed.as_ref().unwrap_or(prior);
    let (plan, config, news) = plan(target, prior, changes, Unknowns::Keep).await?;
    target.warn_of_deferral(&plan);
    target.note_preview(&plan)?;
    planned_properties(target, &plan, &config, &news)
}

/// Updates the resource in place and returns its properties.
pub async fn update<State: StateManager>(
    target: &Target<'_>,
    state: &State,
    prior: Prior,
    changes: Changes<'_>,
) -> Result<Struct, State::Error> {
    let inputs = changes.inputs;
    let prior = target.refreshed(&prior, changes.olds).await?.unwrap_or(prior);
    let (plan, config, news) = plan(target, &prior, changes, Unknowns::Reject).await?;
    fail_point("update-planned");
    target.check_final(&plan)?;
    let outcome = |object| Outcome {
        object,
        failure: None,
        is_unrefreshed: false,
        secrets: &config.secrets,
        unread: prior.unread(),
        inputs: &news,
    };
    match &plan.action {
        // The engine repeats an update after a failed one even if nothing is left to do.
        Action::NoOp if plan.deferral.is_none() => {
            let object = target.with_unread(&prior, inputs, &mut config.value.clone())?.into_owned();
            return state.updated(None, outcome(object)).await;
        }
        Action::Replace(paths) if plan.deferral.is_none() => {
            let paths = paths.iter().map(|path| property_path(path, &target.shape.object)).collect();
            return Err(OperationError::NeedsReplacement(paths).into());
        }
        // Applying a deferred plan fails.
        Action::NoOp | Action::Replace(_) | Action::Create | Action::Update | Action::Delete => {}
    }
    let intent = state.begin(OperationKind::Update, Some(&prior)).await?;
    match target.apply(&plan).await {
        Ok((object, None)) => state.updated(Some(intent), outcome(object)).await,
        Ok((object, Some(failure))) => {
            // With its error, the provider returns what it had planned, or as far as it got.
            let (object, is_unrefreshed) = if failure.diagnostics().is_empty() {
                (object, false)
            } else {
                target.read_after_failure(object).await
            };
            // It may still have what only the stored inputs say to be secret.
            let former = target.secrets_of(inputs).into_iter().filter(|path| !config.secrets.contains(path));
            let secrets: Vec<AttributePath> = config.secrets.iter().cloned().chain(former).collect();
            let left =
                Outcome { failure: Some(failure), is_unrefreshed, secrets: &secrets, ..outcome(object) };
            state.updated(Some(intent), left).await
        }
        Err(error) => Err(state.failed(intent, error).await),
    }
}

async fn plan(
    target: &Target<'_>,
    prior: &Prior,
    Changes { inputs, olds, mut news, ignore_changes }: Changes<'_>,
    unknowns: Unknowns,
) -> Result<(Plan, Config, Struct), OperationError> {
    let resource = target.ignoring(&mut news, (inputs, olds), prior, ignore_changes)?;
    let mut config = target.config(&news, unknowns)?;
    target.restore_ignored_digits(&mut config.value, prior, ignore_changes);
    let programs = target.programs_timeouts(&config.value);
    target.keep_timeouts(&mut config.value, &prior.object.value);
    let with_unread = async { target.with_unread(prior, inputs, &mut config.value) };
    let object = target.warnings.aside(with_unread).await.0?;
    let mut plan = resource
        .plan(Some(&object), &config.value, &mut target.warnings.of_call())
        .await
        .map_err(|error| target.failed(error))?;
    // A changed timeout alone causes no update; it is only added to one.
    if plan.action == Action::Update && target.allow(&mut config.value, &programs) {
        plan = resource
            .plan(Some(&object), &config.value, &mut target.warnings.of_call())
            .await
            .map_err(|error| target.failed(error))?;
    }
    Ok((plan, config, news))
}
