//! One connection to a daemon, with its session.

use std::io;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::Authority;
use http::{HeaderValue, header};
use isthmus_common::BoxFuture;
use isthmus_grpc::{Channel, ChannelSettings, Incoming};
use isthmus_proto::daemon::daemon_client::DaemonClient;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::{Code, Status};
use tower::Service as _;

use super::destination::{DaemonLocation, Destination};
use super::engine_side::carry;
use super::network::{Connected, NetworkError};
use super::socket::{DaemonSocket, SocketError};

/// Schemas have megabytes. The engine's log, which may wait for the engine, has room of its own.
const SETTINGS: ChannelSettings =
    ChannelSettings { stream_window: 8 << 20, connection_window: 64 << 20, largest_headers: 1 << 20 };

/// How long a daemon may take to open a session, which involves no provider.
const OPENING: Duration = Duration::from_secs(10);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error(transparent)]
    Network(#[from] Box<NetworkError>),
    /// The daemon does not answer.
    #[error("the daemon does not answer: {}", .0.message())]
    Unanswered(Box<Status>),
    #[error("the daemon has opened no session within {} seconds", OPENING.as_secs())]
    Silent,
    /// It serves others only, or does not understand this plugin.
    #[error("the daemon refuses this plugin: {}", .0.message())]
    Refused(Box<Status>),
}

/// A session of a daemon. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Link {
    channel: AuthorizedChannel,
    _engine: AbortOnDropHandle<()>,
}

impl Link {
    /// Connects and opens a session. Its calls reach the engine at the address in `engine`.
    pub(super) async fn open(
        daemon: &Destination,
        engine: watch::Receiver<Option<String>>,
    ) -> Result<Self, LinkError> {
        let Connected { stream, authorization } = match &daemon.place {
            DaemonLocation::Socket(path) => {
                let stream = Box::new(DaemonSocket::connect(path).await?);
                Connected { stream, authorization: None }
            }
            DaemonLocation::Addresses(replicas) => replicas.connect().await.map_err(Box::new)?,
        };
        let stream = Mutex::new(Some(stream));
        // A connection that is lost is not made again: its session is lost with it.
        let channel = Channel::new(Authority::from_static("isthmus"), SETTINGS, move || {
            let stream = stream.lock().map_or(None, |mut stream| stream.take());
            std::future::ready(match stream {
                Some(stream) => Ok(stream),
                None => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            })
        });
        let channel = AuthorizedChannel { channel, authorization };
        let mut client = DaemonClient::new(channel.clone());
        let opened = tokio::time::timeout(OPENING, client.open(daemon.open.clone())).await;
        opened.map_err(|_| LinkError::Silent)?.map_err(|status| match status.code() {
            Code::Unavailable | Code::Cancelled | Code::Unknown => LinkError::Unanswered(Box::new(status)),
            _ => LinkError::Refused(Box::new(status)),
        })?;
        let engine = AbortOnDropHandle::new(tokio::spawn(carry(client, engine)));
        Ok(Self { channel, _engine: engine })
    }

    /// Passes on a call.
    pub(super) fn call(
        &self,
        request: Request<Body>,
    ) -> BoxFuture<'static, Result<Response<Incoming>, Status>> {
        self.channel.clone().call(request)
    }
}

/// A connection, each of whose calls identifies the plugin.
#[derive(Clone, Debug)]
pub(super) struct AuthorizedChannel {
    pub(super) channel: Channel,
    pub(super) authorization: Option<HeaderValue>,
}

impl tower::Service<Request<Body>> for AuthorizedChannel {
    type Response = Response<Incoming>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Response<Incoming>, Status>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Status>> {
        self.channel.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
        }
        self.channel.call(request)
    }
}
