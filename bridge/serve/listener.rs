//! The port and its connections.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use isthmus_common::BoxFuture;
use isthmus_grpc::{Incoming, ServerSettings, serve_connection, unimplemented};
use isthmus_proto::lumirpc::resource_provider_server as lumirpc;
use isthmus_proto::pulumirpc::resource_provider_server as pulumirpc;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::body::Body;
use tonic::codegen::Service as _;
use tonic::codegen::http::{Request, Response};

use super::LARGEST_MESSAGE;
use super::accept::AcceptPacer;
use super::access::AccessPolicy;
use super::redacted::Redacted;
use super::refusal::Refuser;
use super::rejection::of_undecodable;
use super::streamed::with_text;
use crate::daemon::{Memory, Session, Sessions};
use crate::lumirpc::LumiService;
use crate::pulumirpc::PulumiService;

/// Schemas have megabytes, and the connection is local. An engine makes as many calls as it likes.
const SETTINGS: ServerSettings = ServerSettings { window: 8 * 1024 * 1024, most_calls: u32::MAX };

#[derive(Debug, thiserror::Error)]
#[error("failed to open a port on 127.0.0.1")]
pub(crate) struct ServeError(#[source] std::io::Error);

/// An open port, which accepts already: engines dial as soon as they have read its number.
#[derive(Debug)]
pub(crate) struct Listener {
    listener: TcpListener,
    port: u16,
}

impl Listener {
    /// Opens a port of the system's choice on 127.0.0.1.
    pub(crate) async fn open() -> Result<Self, ServeError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = TcpListener::bind(address).await.map_err(ServeError)?;
        let port = listener.local_addr().map_err(ServeError)?.port();
        Ok(Self { listener, port })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Serves the daemon's own user, root, and those that the settings allow, until `ended`
    /// completes; then lets running calls finish.
    pub(crate) async fn serve(self, sessions: Arc<Sessions>, ended: impl Future<Output = ()>) {
        let stopping = CancellationToken::new();
        let connections = TaskTracker::new();
        tokio::select! {
            () = self.accept(&sessions, &stopping, &connections) => {}
            never = sessions.daemon().memory().give_back() => match never {},
            () = ended => {}
        }
        stopping.cancel();
        connections.close();
        connections.wait().await;
    }

    /// Accepts connections, for ever. Each has a task and a session of its own.
    async fn accept(
        &self,
        sessions: &Arc<Sessions>,
        stopping: &CancellationToken,
        connections: &TaskTracker,
    ) {
        let daemon = sessions.daemon();
        let pacer = AcceptPacer::new(|message| daemon.warn(message));
        let access = AccessPolicy::new(daemon.settings().allowed_users.clone());
        let refuser = Refuser::new();
        let services = Services::new(daemon.memory().clone());
        loop {
            let accepted = self.listener.accept().await.map(|(stream, _)| stream);
            // A failure concerns one connection, unless no descriptor is left, which was waited for.
            let Ok(stream) = pacer.pace(accepted).await else { continue };
            // Before anything is read from it, and before it has a session.
            if let Err(reason) = access.check(&stream).await {
                refuser.refuse(stream, reason);
                continue;
            }
            connections.spawn(serve(stream, services.clone(), Arc::clone(sessions), stopping.clone()));
        }
    }
}

async fn serve(
    stream: TcpStream,
    mut services: Services,
    sessions: Arc<Sessions>,
    stopping: CancellationToken,
) {
    // Every response is awaited, so small ones must not be delayed. A socket that refuses that is closed.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let _buffers = services.memory.used();
    let session = sessions.open();
    let call = |request| services.call(request, session.session());
    serve_connection(stream, call, SETTINGS, &stopping).await;
}

/// Both services.
#[derive(Clone, Debug)]
struct Services {
    pulumi: pulumirpc::ResourceProviderServer<Redacted<PulumiService>>,
    lumi: lumirpc::ResourceProviderServer<Redacted<LumiService>>,
    memory: Memory,
}

impl Services {
    fn new(memory: Memory) -> Self {
        Self {
            memory,
            pulumi: pulumirpc::ResourceProviderServer::new(Redacted(PulumiService))
                .max_decoding_message_size(LARGEST_MESSAGE)
                .max_encoding_message_size(LARGEST_MESSAGE),
            lumi: lumirpc::ResourceProviderServer::new(Redacted(LumiService))
                .max_decoding_message_size(LARGEST_MESSAGE)
                .max_encoding_message_size(LARGEST_MESSAGE),
        }
    }

    /// Makes a call of a session, which its handler finds in the request's extensions.
    fn call(
        &mut self,
        mut request: Request<Incoming>,
        session: Arc<Session>,
    ) -> BoxFuture<'static, Response<Body>> {
        request.extensions_mut().insert(session);
        let service = request.uri().path().split('/').nth(1).unwrap_or_default();
        let answer = match service {
            pulumirpc::SERVICE_NAME => self.pulumi.call(request),
            lumirpc::SERVICE_NAME => self.lumi.call(request),
            _ => return Box::pin(std::future::ready(unimplemented(request.uri().path()))),
        };
        let memory = self.memory.used();
        Box::pin(async move {
            let _memory = memory;
            match answer.await {
                Ok(answer) => with_text(of_undecodable(answer)),
                Err(never) => match never {},
            }
        })
    }
}
