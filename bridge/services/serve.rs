//! The gRPC server: both resource-provider services on one port.
//!
//! Only these files use tonic's server types. Each connection has a [`Session`]: an engine that
//! attaches to a running process opens a connection per provider instance, and instances are
//! isolated.

mod accept;
mod access_control;
mod bounded;
mod connections;
mod health;
pub mod http;
mod inspect;
mod intercepted;
mod limits;
mod listener;
mod places;
mod plugins;
mod redaction;
mod refusal;
mod router;
mod status_port;
mod streamed;
mod turns;

use std::sync::Arc;

use isthmus_common::fail_point;
use isthmus_common::planted::{Bug, is_planted};
use isthmus_provider::Limit;
use tonic::{Request, Response, Status};
use tracing::Instrument as _;

use crate::status::RequestError;
use isthmus_operations::resource::{self, OperationWarnings};
use isthmus_package::shape::ObjectShape;
use isthmus_session::daemon::{Call, Session};

pub use access_control::AccessControl;
pub use listener::{Listener, ServeError};
pub(crate) use redaction::redacted_status;
pub use status_port::{StatusPort, StatusPortError};
pub(crate) use streamed::streamed;

/// The session of a call's connection, unless settings are invalid: then nothing is served.
pub(crate) fn session_of<Message>(request: &Request<Message>) -> Result<Arc<Session>, Status> {
    let session = connected_session(request)?;
    match session.daemon().invalid_settings() {
        Some(invalid) => Err(RequestError::Settings(invalid.clone()).into()),
        None => Ok(session),
    }
}

/// The session with any settings, for Handshake, GetPluginInfo and Cancel. The CLI sends Cancel
/// only after the first two have succeeded, and reports a plugin that has not acknowledged it as
/// "exited prematurely", which "is *always* a bug in the provider".
pub(crate) fn connected_session<Message>(request: &Request<Message>) -> Result<Arc<Session>, Status> {
    request.extensions().get::<Arc<Session>>().cloned().ok_or_else(|| RequestError::NoConnection.into())
}

/// When a call is interrupted.
pub fn limit(session: &Session, call: &Call) -> Limit {
    Limit::new(call.interrupted(), session.settings().stop_grace_period)
}

/// Runs a future to completion even if the call is cancelled: a change that a provider has started
/// must not be dropped half-way.
pub(crate) async fn run_to_completion<Answer: Send + 'static>(
    session: Arc<Session>,
    work: impl Future<Output = Result<Answer, Status>> + Send + 'static,
) -> Result<Response<Answer>, Status> {
    let answer = session
        .daemon()
        .spawn(work.in_current_span())
        .await
        .map_err(RequestError::Interrupted)?
        .map(Response::new);
    fail_point("answering");
    answer
}

/// Shows a provider's warnings about the resource `urn` (empty: about none) before the response.
pub(crate) async fn show_warnings(
    session: &Session,
    warnings: &OperationWarnings,
    object: &ObjectShape,
    urn: &str,
) -> bool {
    for warning in &warnings.diagnostics {
        session.warn(resource::describe(warning, object), urn);
    }
    show_texts(session, warnings, urn).await
}

/// Shows the warnings that name properties already, and flushes those shown before. Returns whether all were delivered.
pub(crate) async fn show_texts(session: &Session, warnings: &OperationWarnings, urn: &str) -> bool {
    for text in &warnings.texts {
        session.warn(text.clone(), urn);
    }
    for lost in &warnings.lost_digits {
        session.warn_once(lost.place(), lost.warning(), urn);
    }
    let is_delivered = session.flush_logs(!warnings.is_empty()).await;
    if (is_delivered || is_planted(Bug::ShownUndelivered)) && !warnings.reported.is_empty() {
        session.daemon().operations().shown(&warnings.reported).await;
    }
    is_delivered
}
