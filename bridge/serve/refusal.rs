//! The answer to connections that are not served: every call on them fails with PERMISSION_DENIED and the reason.
//!
//! A connection that is closed without a word looks like a plugin that has crashed, so an engine gets a proper answer. It
//! comes from a server that has none of the services, no session, and little room: a few connections at a time, for a
//! few seconds each. Beyond that, connections are closed.

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

/// How many connections are answered at a time.
const MOST_CONNECTIONS: usize = 16;

/// How many calls of one connection are answered at a time.
const MOST_CALLS: u32 = 8;

/// How long a connection is answered.
const LONGEST: Duration = Duration::from_secs(10);

/// How much of a request is taken in, in bytes. Nothing of it is read.
const WINDOW: u32 = 64 * 1024;

/// Answers connections that are not served.
#[derive(Debug)]
pub(super) struct Refuser {
    connections: mpsc::Sender<RefusedConnection>,
    room: Arc<Semaphore>,
}

/// A connection, the reason why it is not served, and its place among those that are answered.
type RefusedConnection = Connection<AccessDenied, OwnedSemaphorePermit>;

impl Refuser {
    /// The refuser, and the server that has to run for it. The server ends with the refuser.
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
            // It has nothing that could fail but single connections.
            let _ = server.await;
        };
        (Self { connections, room: Arc::new(Semaphore::new(MOST_CONNECTIONS)) }, server)
    }

    /// Answers a connection, or closes it if there are too many.
    pub(super) fn refuse(&self, stream: TcpStream, reason: AccessDenied) {
        if let Ok(room) = Arc::clone(&self.room).try_acquire_owned() {
            // It is closed as well if the server has ended.
            let _ = self.connections.try_send(Connection { stream, info: reason, _guard: room });
        }
    }
}

async fn refuse(request: Request<Body>) -> Result<Response<Body>, Infallible> {
    let reason = request.extensions().get::<AccessDenied>().map(ToString::to_string).unwrap_or_default();
    Ok(tonic::Status::from(RequestError::AccessDenied(reason)).into_http())
}
