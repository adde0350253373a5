//! Refused connections: every call on them fails with PERMISSION_DENIED and the reason.
//!
//! A connection that is only closed looks like a crashed plugin. The answer comes from a server
//! without services, sessions and much capacity: a few connections at a time, for a few seconds
//! each. Further connections are closed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::transport::Server;

use super::access::AccessDenied;
use super::connection::Connection;
use crate::status::RequestError;

const MOST_CONNECTIONS: usize = 16;

/// Concurrent calls per connection.
const MOST_CALLS: u32 = 8;

const LONGEST: Duration = Duration::from_secs(10);

/// Flow control window in bytes. Requests are not read.
const WINDOW: u32 = 64 * 1024;

#[derive(Debug)]
pub(super) struct Refuser {
    connections: mpsc::Sender<RefusedConnection>,
    room: Arc<Semaphore>,
}

/// A connection, the reason of its refusal, and its share of the capacity.
type RefusedConnection = Connection<AccessDenied, OwnedSemaphorePermit>;

impl Refuser {
    /// The refuser, and the future of its server. The server ends with the refuser.
    pub(super) fn new() -> (Self, impl Future<Output = ()>) {
        let (connections, refused) = mpsc::channel(MOST_CONNECTIONS);
        let refused = ReceiverStream::new(refused).map(Ok::<_, Infallible>);
        let server = Server::builder()
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_concurrent_streams(MOST_CALLS)
            .max_connection_age(LONGEST)
            .max_connection_age_grace(Duration::ZERO)
            .serve_with_incoming(tower::service_fn(refuse), refused);
        let server = async {
            // Only single connections can fail.
            let _ = server.await;
        };
        (Self { connections, room: Arc::new(Semaphore::new(MOST_CONNECTIONS)) }, server)
    }

    /// Answers a connection, or closes it if there are too many.
    pub(super) fn refuse(&self, stream: TcpStream, reason: AccessDenied) {
        if let Ok(room) = Arc::clone(&self.room).try_acquire_owned() {
            // If the server has ended, the connection is closed.
            let _ = self.connections.try_send(Connection::new(stream, reason, room));
        }
    }
}

async fn refuse(request: Request<Body>) -> Result<Response<Body>, Infallible> {
    let reason = request.extensions().get::<AccessDenied>().map(ToString::to_string).unwrap_or_default();
    Ok(tonic::Status::from(RequestError::AccessDenied(reason)).into_http())
}
