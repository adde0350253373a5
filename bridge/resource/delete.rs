//! Delete.

use isthmus_proto::property::Struct;
use isthmus_state::OperationKind;

use super::{OperationError, OperationWarnings, Target};

/// Deletes the resource. Its stored state is upgraded and its end is planned first, as core does: a provider finds the
/// timeouts and its private data there.
///
/// What is left by a deletion that fails is kept for the next attempt; `inputs`, those that the engine has stored, tell what
/// of it is secret.
pub async fn delete(
    target: &Target<'_>,
    inputs: &Struct,
    olds: &Struct,
    notes: &mut OperationWarnings,
) -> Result<(), OperationError> {
    let prior = target.prior(olds, notes).await?;
    let sent = target.allow_in_state(&prior.object);
    let sent = sent.as_ref().unwrap_or(&prior.object);
    let resource =
        target.provider.resource(&target.shape.terraform_type).map_err(|error| target.failed(error))?;
    let plan =
        resource.plan_destroy(sent, &mut notes.warnings).await.map_err(|error| target.failed(error))?;
    let written = target.begin(OperationKind::Delete, notes).await;
    let deleted = match resource.apply(&plan, &mut notes.warnings).await {
        Ok(_) => {
            target.forget_failed_delete(olds, notes).await;
            Ok(())
        }
        Err(failure) => {
            if let Some(left) = failure.object {
                let left = target.without_timeout(left, sent, &prior.object);
                target.keep_what_is_left(&left, &prior, inputs, olds, notes).await;
            }
            Err(target.failed(failure.error))
        }
    };
    written.ended(&deleted, notes).await;
    deleted
}
