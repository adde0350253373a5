//! Delete.

use isthmus_state::OperationKind;

use super::state::Prior;
use super::state_manager::StateManager;
use super::{OperationWarnings, Target};

/// Deletes the resource. Its end is planned first, as core does: a provider finds the timeouts and its private data there.
pub(crate) async fn delete<State: StateManager>(
    target: &Target<'_>,
    state: &State,
    prior: &Prior,
    notes: &mut OperationWarnings,
) -> Result<(), State::Error> {
    let sent = target.allow_in_state(&prior.object);
    let sent = sent.as_ref().unwrap_or(&prior.object);
    let resource = target.resource()?;
    let plan =
        resource.plan_destroy(sent, &mut notes.warnings).await.map_err(|error| target.failed(error))?;
    let intent = state.begin(OperationKind::Delete, Some(prior), notes).await?;
    match resource.apply(&plan, &mut notes.warnings).await {
        Ok(_) => state.deleted(intent, notes).await,
        Err(failure) => {
            let left = failure.object.map(|left| target.without_timeout(left, sent, &prior.object));
            state.not_deleted(intent, prior, left, target.failed(failure.error), notes).await
        }
    }
}
