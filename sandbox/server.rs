//! The provider process: listens, handshakes, serves, exits.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll};

use isthmus_proto::goplugin::grpc_broker_server::GrpcBrokerServer;
use isthmus_proto::goplugin::grpc_controller_server::GrpcControllerServer;
use isthmus_proto::goplugin::grpc_stdio_server::GrpcStdioServer;
use isthmus_proto::health::health_server::HealthServer;
use isthmus_proto::{tfplugin5, tfplugin6};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::Server;
use tonic::transport::server::Connected;

#[cfg(not(feature = "misbehaviour"))]
use crate::handshake;
use crate::handshake::{Environment, Line};
use crate::log::{self, Level};
#[cfg(feature = "misbehaviour")]
use crate::misbehaviour::faults::{Faulty, Wire};
#[cfg(feature = "misbehaviour")]
use crate::misbehaviour::handshake::{self, Then};
#[cfg(feature = "misbehaviour")]
use crate::misbehaviour::imitation::Imitation;
#[cfg(feature = "misbehaviour")]
use crate::misbehaviour::requests::{Recorded, Requests};
#[cfg(feature = "misbehaviour")]
use crate::misbehaviour::{Handshake, Misbehaviour};
use crate::plumbing::{Broker, Controller, Health, Printer};
use crate::protocol::Protocol;
use crate::provider::Provider;
use crate::switches::Switches;
use crate::tls::{Identity, TlsError};
use crate::{protocol5, protocol6, random};

/// Maximum message size in both directions, as in Terraform's plugin library.
const MAXIMUM_MESSAGE: usize = 256 << 20;

/// Limit of accepted connections in the queue.
const WAITING_CONNECTIONS: usize = 16;

/// Why the sandbox cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The runtime or a signal handler.
    #[error("the sandbox could not start")]
    Start(#[source] io::Error),
    #[error("SANDBOX_CALLS cannot be opened for appending")]
    Calls(#[source] io::Error),
    #[cfg(feature = "misbehaviour")]
    #[error("SANDBOX_REQUESTS cannot be opened for appending")]
    Requests(#[source] io::Error),
    /// The socket cannot be created.
    #[error("no socket could be made at {} (a path may have 107 bytes)", socket.display())]
    Socket { socket: PathBuf, source: io::Error },
    /// The socket's name cannot be generated.
    #[error("no name for a socket could be made: {0}")]
    SocketName(String),
    /// The handshake line could not be written.
    #[error("the handshake could not be written")]
    Handshake(#[source] io::Error),
    #[error("TLS could not be set up")]
    Tls(#[from] TlsError),
    #[error("serving failed")]
    Serve(#[from] tonic::transport::Error),
}

/// Serves until the client shuts it down; returns the exit status.
pub(crate) fn run(environment: &Environment, switches: Switches) -> Result<ExitCode, ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(ServeError::Start)?;
    let code = runtime.block_on(serve_process(environment, switches));
    // Calls that hang do not delay the exit.
    runtime.shutdown_background();
    code
}

async fn serve_process(environment: &Environment, switches: Switches) -> Result<ExitCode, ServeError> {
    ignore_interrupts()?;
    #[cfg(feature = "misbehaviour")]
    let Misbehaviour { handshake, start_delay, .. } = switches.misbehaviour;
    #[cfg(feature = "misbehaviour")]
    tokio::time::sleep(start_delay).await;

    let protocol = switches.protocol;
    let protocol = protocol.unwrap_or_else(|| Protocol::negotiate(environment.protocol_versions.as_deref()));
    let identity = environment.client_certificate.as_ref().map(|_| Identity::generate()).transpose()?;
    let tls = identity.as_ref().zip(environment.client_certificate.as_deref());
    let tls = tls.map(|(identity, client)| identity.server_config(client)).transpose()?;
    let encrypted = tls.is_some();
    let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));

    let socket = Socket::bind(&environment.socket_directory)?;
    let provider = Arc::new(Provider::new(protocol, switches).map_err(ServeError::Calls)?);

    #[cfg(feature = "misbehaviour")]
    let identity = match handshake {
        Handshake::WrongCertificate => Some(Identity::generate()?),
        _ => identity,
    };
    let certificate = identity.as_ref().map(|identity| identity.certificate().as_ref());
    let line = Line { protocol, socket: &socket.path, certificate };
    #[cfg(not(feature = "misbehaviour"))]
    handshake::answer(&line).map_err(ServeError::Handshake)?;
    #[cfg(feature = "misbehaviour")]
    match handshake::answer(&line, handshake).map_err(ServeError::Handshake)? {
        Then::Exit(status) => return Ok(ExitCode::from(status)),
        Then::Serve => {}
    }
    let (major, tls) = (protocol.to_string(), encrypted.to_string());
    log::write(Level::Info, "the sandbox serves", &[("protocol", &major), ("tls", &tls)]);
    serve(&socket.listener, acceptor, provider, CancellationToken::new()).await?;
    log::write(Level::Debug, "the sandbox ends", &[]);
    Ok(ExitCode::SUCCESS)
}

/// Serves a provider on a socket until `ended` is cancelled, by `GRPCController.Shutdown`.
///
/// # Errors
/// When gRPC fails; a failure of one connection affects only that one.
pub async fn serve(
    listener: &UnixListener,
    acceptor: Option<TlsAcceptor>,
    provider: Arc<Provider>,
    ended: CancellationToken,
) -> Result<(), ServeError> {
    let (accepted, connections) = mpsc::channel(WAITING_CONNECTIONS);
    let handshakes = TaskTracker::new();
    let connections = ReceiverStream::new(connections);
    let served = router(provider, ended.clone())?.serve_with_incoming(connections);
    tokio::select! {
        served = served => served.map_err(ServeError::from),
        never = accept(listener, acceptor, &accepted, &handshakes, ended.clone()) => match never {},
        () = ended.cancelled() => Ok(()),
    }
}

/// Accepts connections. Each TLS handshake has its own task, so that a slow client does not delay
/// others.
async fn accept(
    listener: &UnixListener,
    acceptor: Option<TlsAcceptor>,
    accepted: &mpsc::Sender<io::Result<Connection>>,
    handshakes: &TaskTracker,
    ended: CancellationToken,
) -> std::convert::Infallible {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                log::write(
                    Level::Warn,
                    "a connection could not be accepted",
                    &[("reason", &error.to_string())],
                );
                tokio::task::yield_now().await;
                continue;
            }
        };
        let accepted = accepted.clone();
        match acceptor.clone() {
            None => drop(accepted.send(Ok(Connection::Plain(stream))).await),
            Some(acceptor) => {
                let ended = ended.clone();
                let shake = async move {
                    match acceptor.accept(stream).await {
                        Ok(stream) => drop(accepted.send(Ok(Connection::Tls(Box::new(stream)))).await),
                        Err(error) => {
                            log::write(
                                Level::Warn,
                                "a client was refused",
                                &[("reason", &error.to_string())],
                            );
                        }
                    }
                };
                handshakes.spawn(async move { ended.run_until_cancelled(shake).await });
            }
        }
    }
}

fn router(
    provider: Arc<Provider>,
    ended: CancellationToken,
) -> Result<tonic::transport::server::Router, ServeError> {
    let printer = GrpcStdioServer::new(Printer(Arc::clone(provider.stdio())));
    #[cfg(not(feature = "misbehaviour"))]
    let (health, controller) = (Health(), Controller { ended });
    #[cfg(feature = "misbehaviour")]
    let switches = provider.misbehaviour();
    #[cfg(feature = "misbehaviour")]
    let (health, controller) = (Health(switches.health), Controller { behaviour: switches.shutdown, ended });
    let router = Server::builder()
        .add_service(HealthServer::new(health))
        .add_service(GrpcControllerServer::new(controller))
        .add_service(printer)
        .add_service(GrpcBrokerServer::new(Broker));
    #[cfg(feature = "misbehaviour")]
    let (minor, fault, requests) = (switches.minor, switches.fault.clone(), switches.requests.as_deref());
    #[cfg(feature = "misbehaviour")]
    let requests = requests.map(Requests::open).transpose().map_err(ServeError::Requests)?.map(Arc::new);
    macro_rules! served {
        ($service:expr) => {{
            let service = $service;
            let service =
                service.max_decoding_message_size(MAXIMUM_MESSAGE).max_encoding_message_size(MAXIMUM_MESSAGE);
            #[cfg(feature = "misbehaviour")]
            let service = Recorded::new(Faulty::new(Imitation::new(service, minor), fault), requests);
            router.add_service(service)
        }};
    }
    Ok(match provider.protocol() {
        Protocol::V5 => {
            served!(tfplugin5::provider_server::ProviderServer::new(protocol5::Edge::new(provider)))
        }
        Protocol::V6 => {
            served!(tfplugin6::provider_server::ProviderServer::new(protocol6::Edge::new(provider)))
        }
    })
}

/// Ignores SIGINT: it is meant for the host, which is in the same terminal and stops the plugin
/// itself.
fn ignore_interrupts() -> Result<(), ServeError> {
    let interrupts = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
    // The handler outlives the listener.
    interrupts.map(drop).map_err(ServeError::Start)
}

/// A socket that is removed on drop.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    fn bind(directory: &Path) -> Result<Self, ServeError> {
        let digits = random::text(10, b"0123456789");
        let digits = digits.map_err(|diagnostic| ServeError::SocketName(diagnostic.summary))?;
        let path = directory.join(format!("plugin{digits}"));
        match UnixListener::bind(&path) {
            Ok(listener) => Ok(Self { listener, path }),
            Err(source) => Err(ServeError::Socket { socket: path, source }),
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

/// A connection with or without TLS.
#[derive(Debug)]
enum Connection {
    Plain(UnixStream),
    Tls(Box<TlsStream<UnixStream>>),
}

impl Connected for Connection {
    #[cfg(not(feature = "misbehaviour"))]
    type ConnectInfo = ();
    #[cfg(feature = "misbehaviour")]
    type ConnectInfo = Wire;

    #[cfg(not(feature = "misbehaviour"))]
    fn connect_info(&self) {}

    #[cfg(feature = "misbehaviour")]
    fn connect_info(&self) -> Wire {
        match self {
            Self::Plain(stream) => Wire::of(stream),
            Self::Tls(stream) => Wire::of(stream.get_ref().0),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, buffer),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
