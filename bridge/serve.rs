//! The gRPC edge: both resource-provider services on one port, and nothing but translation of messages.
//!
//! These are the only files with tonic's server types. Each connection has a [`Session`]: an engine that attaches to a
//! running process opens a connection for every provider instance, and the instances must not know of each other.

mod accept;
mod access;
mod connection;
mod listener;
mod redacted;
mod refusal;
mod rejection;

use std::sync::Arc;

use isthmus_provider::Limit;
use tonic::{Request, Response, Status};

use crate::daemon::{Call, Session};
use crate::package::shape::ObjectShape;
use crate::resource::{self, OperationWarnings};
use crate::status::RequestError;

pub(crate) use access::own_connections;
pub(crate) use listener::LARGEST_MESSAGE;
pub(crate) use listener::{Listener, ServeError};
pub(crate) use redacted::redacted_status;

/// The session of the connection that a call came in on, unless settings are not understood: then nothing is served.
pub(crate) fn session_of<Message>(request: &Request<Message>) -> Result<Arc<Session>, Status> {
    let session = connected_session(request)?;
    match session.daemon().invalid_settings() {
        Some(invalid) => Err(RequestError::Settings(invalid.clone()).into()),
        None => Ok(session),
    }
}

/// The same, whatever the settings: for Handshake, GetPluginInfo and Cancel. Of a plugin that has not acknowledged Cancel, which the CLI
/// only sends after the first two have succeeded, it says that it "exited prematurely", which "is *always* a bug in the provider".
pub(crate) fn connected_session<Message>(request: &Request<Message>) -> Result<Arc<Session>, Status> {
    request.extensions().get::<Arc<Session>>().cloned().ok_or_else(|| RequestError::NoConnection.into())
}

/// When a call is broken off: when nobody waits for it any longer.
pub(crate) fn limit(session: &Session, call: &Call) -> Limit {
    Limit::new(call.broken_off(), session.daemon().stop_grace_period())
}

/// Does a piece of work to its end, whoever still listens: what a provider has begun must be finished, not broken off in the
/// middle.
pub(crate) async fn run_to_completion<Answer: Send + 'static>(
    session: Arc<Session>,
    work: impl Future<Output = Result<Answer, Status>> + Send + 'static,
) -> Result<Response<Answer>, Status> {
    session.daemon().spawn(work).await.map_err(RequestError::BrokenOff)?.map(Response::new)
}

/// Shows what a provider warned of while it did something about the resource `urn` (empty: about none), before the answer is given.
pub(crate) async fn show_warnings(
    session: &Session,
    notes: &OperationWarnings,
    object: &ObjectShape,
    urn: &str,
) {
    for warning in &notes.warnings {
        session.warn(resource::describe(warning, object), urn);
    }
    session.settle(!notes.warnings.is_empty()).await;
}
