//! The port and its connections.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use isthmus_proto::{lumirpc, pulumirpc};
use tokio::net::TcpListener;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::body::Body;
use tonic::transport::Server;
use tower::util::MapResponseLayer;

use super::LARGEST_MESSAGE;
use super::accept::AcceptPacer;
use super::access::AccessPolicy;
use super::connection::Connection;
use super::redacted::Redacted;
use super::refusal::Refuser;
use super::rejection::of_undecodable;
use super::streamed::with_text;
use crate::daemon::Sessions;
use crate::lumirpc::LumiService;
use crate::pulumirpc::PulumiService;

/// Flow control window in bytes. Schemas have megabytes, and the connection is local.
const WINDOW: u32 = 8 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("failed to open a port on 127.0.0.1")]
    Bind(#[source] std::io::Error),
    #[error("the server failed")]
    Serve(#[source] tonic::transport::Error),
}

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
        let listener = TcpListener::bind(address).await.map_err(ServeError::Bind)?;
        let port = listener.local_addr().map_err(ServeError::Bind)?.port();
        Ok(Self { listener, port })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Serves the daemon's own user, root, and those that the settings allow, until `ended`
    /// completes; then lets running calls finish.
    pub(crate) async fn serve(
        self,
        sessions: Arc<Sessions>,
        ended: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let pulumi =
            pulumirpc::resource_provider_server::ResourceProviderServer::new(Redacted(PulumiService))
                .max_decoding_message_size(LARGEST_MESSAGE)
                .max_encoding_message_size(LARGEST_MESSAGE);
        let lumi = lumirpc::resource_provider_server::ResourceProviderServer::new(Redacted(LumiService))
            .max_decoding_message_size(LARGEST_MESSAGE)
            .max_encoding_message_size(LARGEST_MESSAGE);
        let warning = Arc::clone(sessions.daemon());
        let pacer = Arc::new(AcceptPacer::new(move |message| warning.warn(message)));
        let (refuser, refusing) = Refuser::new();
        let access = Arc::new(AccessPolicy::new(sessions.daemon().settings().allowed_users.clone()));
        let refuser = Arc::new(refuser);
        let connections = TcpListenerStream::new(self.listener)
            .then(move |accepted| {
                let (sessions, pacer) = (Arc::clone(&sessions), Arc::clone(&pacer));
                let (access, refuser) = (Arc::clone(&access), Arc::clone(&refuser));
                async move {
                    let stream = pacer.pace(accepted).await?;
                    // Before anything is read from it, and before it has a session.
                    if let Err(reason) = access.check(&stream).await {
                        refuser.refuse(stream, reason);
                        return Ok(None);
                    }
                    // Every response is awaited, so small ones must not be delayed.
                    stream.set_nodelay(true)?;
                    let session = sessions.open();
                    Ok(Some(Connection::new(stream, session.session(), session)))
                }
            })
            .filter_map(|accepted: std::io::Result<Option<Connection<_, _>>>| accepted.transpose());
        let serving = Server::builder()
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .layer(MapResponseLayer::new(|response| with_text(of_undecodable::<Body>(response))))
            .add_service(pulumi)
            .add_service(lumi)
            .serve_with_incoming_shutdown(connections, ended);
        let refusing = async {
            refusing.await;
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            served = serving => served.map_err(ServeError::Serve),
            never = refusing => match never {},
        }
    }
}
