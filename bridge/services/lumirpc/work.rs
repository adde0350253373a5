//! A call about one resource: its session, provider, state store and deadline.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::fail_point;
use isthmus_provider::{Limit, Provider};
use isthmus_state::Unconfirmed;
use tonic::{Request, Status};

use super::stored_resource::{StoredResource, StoredResourceError};
use crate::serve::{limit, session_of, show_warnings};
use crate::status::{self, RequestError};
use isthmus_context::settings::SensitiveOutputs;
use isthmus_operations::resource::{EarlierPlans, Target};
use isthmus_session::daemon::{Call, Instance, Session};

/// When an answer counts as given. Passing it to the system takes microseconds, and then it arrives
/// even if this process is killed.
const ANSWERED_AFTER: Duration = Duration::from_millis(20);

/// The pause before that is recorded again where the store could not be reached.
const PAUSE: Duration = Duration::from_secs(1);

/// This engine sends no URN.
pub(super) struct Work {
    pub(super) session: Arc<Session>,
    instance: Arc<Instance>,
    /// A handle of its provider, whose calls end by the limit: this engine sets no time.
    provider: Provider,
    limit: Limit,
    /// For as long as it is under way.
    _call: Call,
}

impl Work {
    pub(super) async fn begin<Message>(request: Request<Message>) -> Result<(Self, Message), Status> {
        fail_point("call-received");
        let session = session_of(&request)?;
        let instance = session.instance().await.map_err(status::of_session)?;
        let call = instance.calls.begin("");
        let limit = limit(&session, &call);
        let provider = instance.provider().within(&limit);
        Ok((Self { session, instance, provider, limit, _call: call }, request.into_inner()))
    }

    /// The operations on resources of a type, and on the one of this name if it is known.
    pub(super) async fn resource(
        &self,
        type_token: &str,
        name: Option<String>,
    ) -> Result<StoredResource<'_>, Status> {
        let state_store = self.session.daemon().state_store().await.map_err(RequestError::StateStore)?;
        let shape = self
            .instance
            .package
            .resource_by_short_token(type_token)
            .map_err(|error| status::of_operation(error.into()))?;
        let identity = self.instance.package.identity();
        let plans = name.as_ref().map(|name| EarlierPlans {
            // Of either form of token.
            key: Cow::Owned(format!("{}::{name}", shape.terraform_type)),
            plans: &self.instance.plans,
        });
        Ok(StoredResource {
            target: Target {
                keep_secrets: false,
                numbers: self.session.settings().exact_numbers,
                plans,
                ..Target::new(&self.provider, shape, identity)
            },
            state_store,
            package: &identity.name,
            subject: name.unwrap_or_else(|| type_token.to_owned()),
            unconfirmed: Some(self.session.daemon().unconfirmed()),
            withhold_sensitive: self.session.settings().sensitive_outputs == SensitiveOutputs::Withhold,
        })
    }

    pub(super) async fn configured_resource(
        &self,
        type_token: &str,
        name: Option<String>,
    ) -> Result<StoredResource<'_>, Status> {
        self.instance.require_configured().await.map_err(status::of_operation)?;
        self.resource(type_token, name).await
    }

    /// Runs an operation, and explains its error.
    pub(super) async fn limited<T>(
        &self,
        stored: &StoredResource<'_>,
        operation: impl Future<Output = Result<T, StoredResourceError>>,
    ) -> Result<T, StoredResourceError> {
        operation.await.map_err(|error| stored.explained(error, &self.limit))
    }

    /// Shows the provider's warnings and maps an error to its status.
    pub(super) async fn finish<T>(
        &self,
        stored: &StoredResource<'_>,
        outcome: Result<T, StoredResourceError>,
    ) -> Result<T, Status> {
        fail_point("answer-ready");
        let mut warnings = stored.target.warnings.take();
        // They are of the state store's journal.
        let reported = std::mem::take(&mut warnings.reported);
        let is_delivered = show_warnings(&self.session, &warnings, &stored.target.shape.object, "").await;
        if is_delivered && !reported.is_empty() {
            stored.shown(&reported).await;
        }
        fail_point("warnings-shown");
        outcome.map_err(status::of_stored_resource)
    }
}

/// Records that the engine has an answer which is about to be sent, if its connection is still open
/// by then. If this process is killed first, or the engine was, the next plugin reports the object.
/// A store that cannot be reached is tried again until the engine hangs up, and once more then: this
/// engine mentions no resource whose inputs stay the same.
pub(super) fn confirm_answer(session: &Arc<Session>, unconfirmed: Unconfirmed) {
    let connected = Arc::clone(session);
    session.daemon().spawn(async move {
        tokio::time::sleep(ANSWERED_AFTER).await;
        if !connected.is_connected() {
            return;
        }
        fail_point("confirming");
        let mut is_last = false;
        while let Err(error) = unconfirmed.confirm().await
            && error.is_unreachable()
            && !is_last
        {
            tokio::time::sleep(PAUSE).await;
            is_last = !connected.is_connected();
        }
        fail_point("confirmed");
    });
}
