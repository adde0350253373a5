//! State that the engine stores: properties that one call returns and the next one sends.

use isthmus_common::fail_point;
use isthmus_proto::property::Struct;
use isthmus_provider::{Object, ProviderError};
use isthmus_state::{OperationKind, Status};

use super::intents::EngineIntent;
use super::prior::Prior;
use super::state::{RenderOptions, properties_in_any_case, properties_of};
use super::state_manager::{Created, Outcome, StateManager};
use super::{OperationError, Partial, Target};

/// What to do after an update whose result is not what was planned: the stored state may be old.
const HELP: &str = "\nhelp: the update was applied, and its result is stored; if the object was changed outside of Pulumi before, \
                    run `pulumi up --refresh`";

#[derive(Clone, Copy, Debug)]
pub struct EngineState<'a> {
    pub target: &'a Target<'a>,
    /// The engine's id for it; empty before it is created.
    pub id: &'a str,
    /// The stored properties; empty before it is created.
    pub olds: &'a Struct,
    /// The stored inputs, which determine secrets.
    pub inputs: &'a Struct,
}

impl EngineState<'_> {
    /// The properties to store after an apply; an error with these if the apply or the translation
    /// of its result failed.
    async fn properties(&self, id: Option<&str>, outcome: Outcome<'_>) -> Result<Created, OperationError> {
        let Outcome { object, failure, is_unrefreshed, secrets, unread, inputs } = outcome;
        fail_point("translating-outcome");
        let target = self.target;
        // A failed creation is reported as tainted, so that the engine keeps the object and
        // replaces it next time.
        let status = if id.is_none() && failure.is_some() { Status::Damaged } else { Status::Ready };
        let identity = target.identity_of(&object).await;
        let is_update = id.is_some();
        let id = match id {
            Some(id) => id.to_owned(),
            None => target.new_id(&object, identity.as_ref(), None, secrets),
        };
        let options = RenderOptions { secrets, like: inputs, unread, is_unrefreshed };
        let properties = properties_in_any_case(target, &object, identity, options, status);
        let (properties, obstacle) =
            properties.map_err(|error| target.unstorable(&id, &error, failure.as_ref()))?;
        target.overtake_failed_delete(&id, &properties).await;
        let failure = failure.map(|failure| match failure {
            ProviderError::Rules { .. } if is_update => target.message(&failure) + HELP,
            failure => target.message(&failure),
        });
        let reasons: Vec<String> = failure.into_iter().chain(obstacle).collect();
        if reasons.is_empty() {
            return Ok(Created { id, properties });
        }
        Err(OperationError::Partial(Box::new(Partial { id, properties, reasons, is_unrefreshed })))
    }
}

impl<'a> StateManager for EngineState<'a> {
    /// `None` if it was not journaled.
    type Intent = Option<EngineIntent<'a>>;
    type Created = Created;
    type Error = OperationError;

    async fn begin(
        &self,
        operation: OperationKind,
        _: Option<&Prior>,
    ) -> Result<Option<EngineIntent<'a>>, OperationError> {
        self.target.begin(operation).await
    }

    async fn created(
        &self,
        intent: Option<EngineIntent<'a>>,
        outcome: Outcome<'_>,
    ) -> Result<Created, OperationError> {
        let created = self.properties(None, outcome).await;
        if let Some(intent) = intent {
            intent.created(&created).await;
        }
        created
    }

    async fn updated(
        &self,
        intent: Option<Option<EngineIntent<'a>>>,
        outcome: Outcome<'_>,
    ) -> Result<Struct, OperationError> {
        self.target.forget_failed_delete(self.olds).await;
        let Some(intent) = intent else {
            let identity = self.target.identity_of(&outcome.object).await;
            let Outcome { secrets, unread, inputs, .. } = outcome;
            let options = RenderOptions { secrets, like: inputs, unread, is_unrefreshed: false };
            let properties = properties_of(self.target, &outcome.object, identity, options, Status::Ready)?;
            self.target.overtake_failed_delete(self.id, &properties).await;
            return Ok(properties);
        };
        let updated = self.properties(Some(self.id), outcome).await;
        if let Some(intent) = intent {
            match &updated {
                Ok(_) => intent.changed().await,
                Err(error) => intent.failed(error).await,
            }
        }
        updated.map(|updated| updated.properties)
    }

    async fn failed(&self, intent: Option<EngineIntent<'a>>, error: OperationError) -> OperationError {
        if let Some(intent) = intent {
            intent.failed(&error).await;
        }
        error
    }

    async fn deleted(&self, intent: Option<EngineIntent<'a>>) -> Result<(), OperationError> {
        self.target.forget_failed_delete(self.olds).await;
        fail_point("failed-delete-forgotten");
        if let Some(intent) = intent {
            intent.changed().await;
        }
        Ok(())
    }

    async fn not_deleted(
        &self,
        intent: Option<EngineIntent<'a>>,
        prior: &Prior,
        left: Option<Object>,
        error: OperationError,
    ) -> Result<(), OperationError> {
        if let Some(left) = left {
            self.target.keep_what_is_left(&left, prior, self.inputs, self.olds).await;
        }
        Err(self.failed(intent, error).await)
    }
}
