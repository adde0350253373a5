//! State that the engine stores: properties that it gets from one call and sends with the next.

use isthmus_proto::property::Struct;
use isthmus_provider::Object;
use isthmus_state::{OperationKind, Status};

use super::intents::EngineIntent;
use super::state::{Prior, RenderOptions, properties_in_any_case, properties_of};
use super::state_manager::{Outcome, StateManager};
use super::{OperationError, OperationWarnings, Partial, Target};

/// A resource whose state the engine stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EngineState<'a> {
    /// Its type and provider.
    pub target: &'a Target<'a>,
    /// The id that the engine knows it by; empty before it is created.
    pub id: &'a str,
    /// The properties that the engine has stored; empty before it is created.
    pub olds: &'a Struct,
    /// The inputs that the engine has stored, which tell what is secret.
    pub inputs: &'a Struct,
}

/// A resource that was created.
#[derive(Debug)]
pub(crate) struct Created {
    /// Its id.
    pub id: String,
    /// Its properties.
    pub properties: Struct,
}

impl EngineState<'_> {
    /// The properties to store after an apply; an error that has them where the apply, or showing them, failed.
    async fn properties(
        &self,
        id: Option<&str>,
        outcome: Outcome<'_>,
        notes: &mut OperationWarnings,
    ) -> Result<Created, OperationError> {
        let Outcome { object, failure, secrets, inputs } = outcome;
        let target = self.target;
        // A failed creation is reported as tainted, so that the engine keeps the object and replaces it next time.
        let status = if id.is_none() && failure.is_some() { Status::Damaged } else { Status::Ready };
        let identity = target.identity_of(&object, notes).await;
        let id = match id {
            Some(id) => id.to_owned(),
            None => target.new_id(&object, identity.as_ref(), None, secrets, notes),
        };
        let look = RenderOptions { secrets, like: inputs };
        let (properties, obstacle) = properties_in_any_case(target, &object, identity, look, status)?;
        target.overtake_failed_delete(&id, &properties, notes).await;
        let failure = failure.map(|failure| target.message(&failure));
        let reasons: Vec<String> = failure.into_iter().chain(obstacle).collect();
        if reasons.is_empty() {
            return Ok(Created { id, properties });
        }
        Err(OperationError::Partial(Box::new(Partial { id, properties, reasons })))
    }
}

impl StateManager for EngineState<'_> {
    type Intent = EngineIntent;
    type Created = Created;
    type Error = OperationError;

    async fn begin(
        &self,
        operation: OperationKind,
        _: Option<&Prior>,
        notes: &mut OperationWarnings,
    ) -> Result<EngineIntent, OperationError> {
        Ok(self.target.begin(operation, notes).await)
    }

    async fn created(
        &self,
        intent: EngineIntent,
        outcome: Outcome<'_>,
        notes: &mut OperationWarnings,
    ) -> Result<Created, OperationError> {
        let created = self.properties(None, outcome, notes).await;
        intent.ended(created.as_ref().err(), notes).await;
        created
    }

    async fn updated(
        &self,
        intent: Option<EngineIntent>,
        outcome: Outcome<'_>,
        notes: &mut OperationWarnings,
    ) -> Result<Struct, OperationError> {
        self.target.forget_failed_delete(self.olds, notes).await;
        let Some(intent) = intent else {
            let identity = self.target.identity_of(&outcome.object, notes).await;
            let look = RenderOptions { secrets: outcome.secrets, like: outcome.inputs };
            let properties = properties_of(self.target, &outcome.object, identity, look, Status::Ready)?;
            self.target.overtake_failed_delete(self.id, &properties, notes).await;
            return Ok(properties);
        };
        let updated = self.properties(Some(self.id), outcome, notes).await;
        intent.ended(updated.as_ref().err(), notes).await;
        updated.map(|updated| updated.properties)
    }

    async fn failed(
        &self,
        intent: EngineIntent,
        error: OperationError,
        notes: &mut OperationWarnings,
    ) -> OperationError {
        intent.ended(Some(&error), notes).await;
        error
    }

    async fn deleted(
        &self,
        intent: EngineIntent,
        notes: &mut OperationWarnings,
    ) -> Result<(), OperationError> {
        self.target.forget_failed_delete(self.olds, notes).await;
        intent.ended(None, notes).await;
        Ok(())
    }

    async fn not_deleted(
        &self,
        intent: EngineIntent,
        prior: &Prior,
        left: Option<Object>,
        error: OperationError,
        notes: &mut OperationWarnings,
    ) -> Result<(), OperationError> {
        if let Some(left) = left {
            self.target.keep_what_is_left(&left, prior, self.inputs, self.olds, notes).await;
        }
        Err(self.failed(intent, error, notes).await)
    }
}
