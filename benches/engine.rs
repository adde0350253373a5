//! The engine's own service, as far as a provider needs one: it takes log messages and forgets them.
//!
//! It is a real service and not a closed port, because bridges log each diagnostic to the engine, and that costs them time.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use isthmus_proto::pulumirpc::engine_server::{Engine, EngineServer};
use isthmus_proto::pulumirpc::{LogRequest, LogSeverity};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::task::AbortOnDropHandle;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

/// A running service; it ends when dropped.
#[derive(Debug)]
pub(crate) struct EngineService {
    address: SocketAddr,
    counts: Arc<Counts>,
    _server: AbortOnDropHandle<()>,
}

impl EngineService {
    /// Serves on a port of its own.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no port for the engine's service")?;
        let address = listener.local_addr().context("the port of the engine's service")?;
        let counts = Arc::new(Counts::default());
        let service = EngineServer::new(Swallow(Arc::clone(&counts)));
        // Without TCP_NODELAY every message costs its sender 40 ms, the time that a kernel holds an acknowledgement back.
        // Go's servers set it, so an engine's bridge never waits like that.
        let connections = TcpListenerStream::new(listener).map(|connection| {
            let connection = connection?;
            connection.set_nodelay(true)?;
            std::io::Result::Ok(connection)
        });
        let server = Server::builder().add_service(service).serve_with_incoming(connections);
        // When it fails, the bridges' calls of it do too, and they say so.
        let server = AbortOnDropHandle::new(tokio::spawn(async move { drop(server.await) }));
        Ok(Self { address, counts, _server: server })
    }

    /// What a bridge is given as its only positional argument.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// What was logged so far.
    pub(crate) fn logged(&self) -> Logged {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        Logged { messages: count(&self.counts.messages), errors: count(&self.counts.errors) }
    }
}

/// How much was logged.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Logged {
    /// Messages of every severity.
    pub(crate) messages: usize,
    /// Errors among them. A run without failures has none.
    pub(crate) errors: usize,
}

impl Logged {
    /// What was logged since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { messages: self.messages - earlier.messages, errors: self.errors - earlier.errors }
    }
}

#[derive(Debug, Default)]
struct Counts {
    messages: AtomicUsize,
    errors: AtomicUsize,
}

#[derive(Debug)]
struct Swallow(Arc<Counts>);

#[tonic::async_trait]
impl Engine for Swallow {
    async fn log(&self, request: Request<LogRequest>) -> Result<Response<()>, Status> {
        self.0.messages.fetch_add(1, Ordering::Relaxed);
        if request.get_ref().severity() == LogSeverity::Error {
            self.0.errors.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Response::new(()))
    }
}
