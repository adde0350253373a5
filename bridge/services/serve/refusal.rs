//! Refused connections: every call on them fails with PERMISSION_DENIED and the reason.
//!
//! A connection that is only closed looks like a crashed plugin. The answer comes from a server
//! without services, sessions and much capacity: a few connections at a time, for a few seconds
//! each. Further connections are closed.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use isthmus_grpc::{Load, ServerSettings, serve_connection};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::status::RequestError;
use isthmus_session::authorization::AccessDenied;

const MOST_CONNECTIONS: usize = 16;

const LONGEST: Duration = Duration::from_secs(10);

/// Requests are not read.
const SETTINGS: ServerSettings = ServerSettings { window: 64 * 1024, most_calls: 8 };

#[derive(Clone, Debug)]
pub(super) struct Refuser(Arc<Semaphore>);

impl Refuser {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST_CONNECTIONS)))
    }

    /// Answers the calls of a connection in the background, or closes it if there are too many.
    pub(super) fn refuse(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        reason: AccessDenied,
    ) {
        let Ok(room) = Arc::clone(&self.0).try_acquire_owned() else { return };
        tokio::spawn(async move {
            let reason = reason.to_string();
            let refuse = |_| ready(Status::from(RequestError::AccessDenied(reason.clone())).into_http());
            let never = CancellationToken::new();
            // It ends however it ends.
            drop(
                tokio::time::timeout(
                    LONGEST,
                    serve_connection(stream, refuse, SETTINGS, &Load::unlimited(), &never),
                )
                .await,
            );
            drop(room);
        });
    }
}
