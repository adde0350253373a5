//! Delete.

use isthmus_proto::property::Struct;

use super::{Notes, OperationError, Target};

/// Deletes the resource. Its stored state is upgraded and its end is planned first, as core does: a provider finds the
/// timeouts and its private data there.
pub async fn delete(target: &Target<'_>, olds: &Struct, notes: &mut Notes) -> Result<(), OperationError> {
    let prior = target.prior(olds, notes).await?;
    let object = target.allow_in_state(&prior.object).unwrap_or(prior.object);
    let resource =
        target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
    let plan =
        resource.plan_destroy(&object, &mut notes.warnings).await.map_err(|error| target.failed(error))?;
    resource.apply(&plan, &mut notes.warnings).await.map_err(|failure| target.failed(failure.error))?;
    Ok(())
}
