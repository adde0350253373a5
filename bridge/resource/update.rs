//! Update, and its preview.

use isthmus_proto::property::Struct;
use isthmus_shim::provider::{Action, Object, Plan};

use super::create::planned_properties;
use super::state::{Condition, properties_of};
use super::{Notes, OperationError, Partial, Target};
use crate::translate::attribute_paths::property_path;
use crate::translate::inputs::{Config, Unknowns};
use crate::translate::outputs::OutputError;

/// What the resource would become.
pub async fn preview_update(
    target: &Target<'_>,
    olds: &Struct,
    news: &Struct,
    notes: &mut Notes,
) -> Result<Struct, OperationError> {
    let (_, plan, config) = plan(target, olds, news, Unknowns::Keep, notes).await?;
    planned_properties(target, &plan, &config)
}

/// Changes the resource in place.
pub async fn update(
    target: &Target<'_>,
    id: &str,
    olds: &Struct,
    news: &Struct,
    notes: &mut Notes,
) -> Result<Struct, OperationError> {
    let (prior, plan, config) = plan(target, olds, news, Unknowns::Reject, notes).await?;
    match &plan.action {
        // The engine sends an update after a failed one even where nothing is left to do.
        Action::NoOp => return properties_of(target, &prior, &config.secrets, Condition::Whole),
        Action::Replace(paths) => {
            let paths = paths.iter().map(|path| property_path(path, &target.shape.object)).collect();
            return Err(OperationError::NeedsReplacement(paths));
        }
        Action::Create | Action::Update | Action::Delete => {}
    }
    let resource =
        target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
    match resource.apply(&plan, &mut notes.warnings).await {
        Ok(applied) => {
            let object = applied.object.ok_or(OutputError::NoObject)?;
            properties_of(target, &object, &config.secrets, Condition::Whole)
        }
        Err(failure) => {
            let Some(object) = failure.object else { return Err(target.failed(failure.error)) };
            Err(OperationError::Partial(Box::new(Partial {
                id: id.to_owned(),
                properties: properties_of(target, &object, &config.secrets, Condition::Whole)?,
                reasons: vec![target.words(&failure.error)],
            })))
        }
    }
}

async fn plan(
    target: &Target<'_>,
    olds: &Struct,
    news: &Struct,
    unknowns: Unknowns,
    notes: &mut Notes,
) -> Result<(Object, Plan, Config), OperationError> {
    let config = target.config(news, unknowns)?;
    let prior = target.prior(olds, notes).await?;
    let resource =
        target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
    let plan = resource
        .plan(Some(&prior.object), &config.value, &mut notes.warnings)
        .await
        .map_err(|error| target.failed(error))?;
    Ok((prior.object, plan, config))
}
