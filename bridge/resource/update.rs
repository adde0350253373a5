//! Update, and its preview.

use isthmus_proto::property::Struct;
use isthmus_provider::{Action, Object, Plan};
use isthmus_state::OperationKind;

use super::create::planned_properties;
use super::state::{Condition, RenderOptions, properties_in_any_case, properties_of};
use super::{OperationError, OperationWarnings, Partial, Target};
use crate::translate::attribute_paths::property_path;
use crate::translate::inputs::{Config, Unknowns};
use crate::translate::outputs::OutputError;
use crate::translate::property_path::PropertyPath;

/// What the resource would become.
pub async fn preview_update(
    target: &Target<'_>,
    olds: &Struct,
    news: Struct,
    ignore_changes: &[PropertyPath],
    notes: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let (_, plan, config, news) = plan(target, olds, news, ignore_changes, Unknowns::Keep, notes).await?;
    target.warn_of_deferral(&plan, notes);
    target.note(&plan)?;
    planned_properties(target, &plan, &config, &news)
}

/// Changes the resource in place.
pub async fn update(
    target: &Target<'_>,
    id: &str,
    olds: &Struct,
    news: Struct,
    ignore_changes: &[PropertyPath],
    notes: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let (prior, plan, config, news) =
        plan(target, olds, news, ignore_changes, Unknowns::Reject, notes).await?;
    target.check_final(&plan)?;
    let look = RenderOptions { secrets: &config.secrets, like: &news };
    match &plan.action {
        // The engine sends an update after a failed one even where nothing is left to do.
        Action::NoOp if plan.deferral.is_none() => {
            target.forget_failed_delete(olds, notes).await;
            let identity = target.identity_of(&prior, notes).await;
            let properties = properties_of(target, &prior, identity, look, Condition::Whole)?;
            target.overtake_failed_delete(id, &properties, notes).await;
            return Ok(properties);
        }
        Action::Replace(paths) if plan.deferral.is_none() => {
            let paths = paths.iter().map(|path| property_path(path, &target.shape.object)).collect();
            return Err(OperationError::NeedsReplacement(paths));
        }
        // What is put off fails when it is applied.
        Action::NoOp | Action::Replace(_) | Action::Create | Action::Update | Action::Delete => {}
    }
    let written = target.begin(OperationKind::Update, notes).await;
    let updated = carry_out(target, id, olds, &plan, look, notes).await;
    written.ended(&updated, notes).await;
    updated
}

async fn carry_out(
    target: &Target<'_>,
    id: &str,
    olds: &Struct,
    plan: &Plan,
    look: RenderOptions<'_>,
    notes: &mut OperationWarnings,
) -> Result<Struct, OperationError> {
    let resource =
        target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
    match resource.apply(plan, &mut notes.warnings).await {
        Ok(applied) => {
            target.forget_failed_delete(olds, notes).await;
            let object = applied.object.ok_or(OutputError::NoObject)?;
            let identity = target.identity_of(&object, notes).await;
            let (properties, obstacle) =
                properties_in_any_case(target, &object, identity, look, Condition::Whole)?;
            target.overtake_failed_delete(id, &properties, notes).await;
            match obstacle {
                None => Ok(properties),
                Some(reason) => Err(OperationError::Partial(Box::new(Partial {
                    id: id.to_owned(),
                    properties,
                    reasons: vec![reason],
                }))),
            }
        }
        Err(failure) => {
            let Some(object) = failure.object else { return Err(target.failed(failure.error)) };
            target.forget_failed_delete(olds, notes).await;
            let identity = target.identity_of(&object, notes).await;
            let (properties, obstacle) =
                properties_in_any_case(target, &object, identity, look, Condition::Whole)?;
            target.overtake_failed_delete(id, &properties, notes).await;
            let reasons = std::iter::once(target.message(&failure.error)).chain(obstacle).collect();
            Err(OperationError::Partial(Box::new(Partial { id: id.to_owned(), properties, reasons })))
        }
    }
}

async fn plan(
    target: &Target<'_>,
    olds: &Struct,
    mut news: Struct,
    ignore_changes: &[PropertyPath],
    unknowns: Unknowns,
    notes: &mut OperationWarnings,
) -> Result<(Object, Plan, Config, Struct), OperationError> {
    let prior = target.prior(olds, notes).await?;
    let resource = target.ignoring(&mut news, olds, &prior, ignore_changes)?;
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
    Ok((prior.object, plan, config, news))
}
