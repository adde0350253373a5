//! Delete.

use isthmus_common::fail_point;
use isthmus_state::OperationKind;

use super::Target;
use super::prior::Prior;
use super::state_manager::StateManager;

/// Deletes the resource. The deletion is planned first, as core does: the plan provides timeouts
/// and private data.
pub async fn delete<State: StateManager>(
    target: &Target<'_>,
    state: &State,
    prior: &Prior,
) -> Result<(), State::Error> {
    let sent = target.allow_in_state(&prior.object);
    let sent = sent.as_ref().unwrap_or(&prior.object);
    let resource = target.resource()?;
    let plan = resource
        .plan_destroy(sent, &mut target.warnings.of_call())
        .await
        .map_err(|error| target.failed(error))?;
    fail_point("delete-planned");
    let intent = state.begin(OperationKind::Delete, Some(prior)).await?;
    fail_point("applying");
    let applied = resource.apply(&plan, &mut target.warnings.of_call()).await;
    fail_point("applied");
    match applied {
        Ok(_) => {
            target.forget_deleted();
            state.deleted(intent).await
        }
        Err(failure) => {
            let left = failure.object.map(|left| target.without_timeout(left, sent, &prior.object));
            state.not_deleted(intent, prior, left, target.failed(failure.error)).await
        }
    }
}
