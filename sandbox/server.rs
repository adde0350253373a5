//! The provider process: listens, handshakes, serves, exits.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use isthmus_grpc::{Incoming, Load, ServerSettings, serve_connection, unimplemented};
use isthmus_platform::process::ignore_interrupts;
use isthmus_platform::{IS_WINDOWS, local};
use isthmus_proto::goplugin::grpc_broker_server::{self, GrpcBrokerServer};
use isthmus_proto::goplugin::grpc_controller_server::{self, GrpcControllerServer};
use isthmus_proto::goplugin::grpc_stdio_server::{self, GrpcStdioServer};
use isthmus_proto::health::health_server::{self, HealthServer};
use isthmus_proto::{tfplugin5, tfplugin6};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::codegen::Service as _;
use tonic::codegen::http::{Request, Response};

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

/// A client makes as many calls as it likes, and the connection is local.
const SETTINGS: ServerSettings = ServerSettings { window: 1 << 20, most_calls: u32::MAX };

/// Why the sandbox cannot serve.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
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
    // They are meant for the host, which is in the same terminal and stops the plugin itself.
    ignore_interrupts().map_err(ServeError::Start)?;
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

    let socket = Socket::bind(&environment.socket_directory).await?;
    let provider = Arc::new(Provider::new(protocol, switches).map_err(ServeError::Calls)?);

    #[cfg(feature = "misbehaviour")]
    let identity = match handshake {
        Handshake::WrongCertificate => Some(Identity::generate()?),
        _ => identity,
    };
    let certificate = identity.as_ref().map(|identity| identity.certificate().as_ref());
    let network = if IS_WINDOWS { "tcp" } else { "unix" };
    let line = Line { protocol, network, address: &socket.address, certificate };
    #[cfg(not(feature = "misbehaviour"))]
    handshake::answer(&line).map_err(ServeError::Handshake)?;
    #[cfg(feature = "misbehaviour")]
    match handshake::answer(&line, handshake).map_err(ServeError::Handshake)? {
        Then::Exit(status) => return Ok(ExitCode::from(status)),
        Then::Serve => {}
    }
    let (major, tls) = (protocol.to_string(), encrypted.to_string());
    log::write(Level::Info, "the sandbox serves", &[("protocol", &major), ("tls", &tls)]);
    serve(&socket.listening, acceptor, provider).await?;
    log::write(Level::Debug, "the sandbox ends", &[]);
    Ok(ExitCode::SUCCESS)
}

/// Serves a provider on a socket until `GRPCController.Shutdown`.
///
/// # Errors
/// When a file of records cannot be opened; a failure of one connection affects only that one.
pub(crate) async fn serve(
    listening: &Listening,
    acceptor: Option<TlsAcceptor>,
    provider: Arc<Provider>,
) -> Result<(), ServeError> {
    let ended = CancellationToken::new();
    let services = Services::new(provider, &ended)?;
    tokio::select! {
        never = accept(listening, acceptor, &services, &ended) => match never {},
        () = ended.cancelled() => Ok(()),
    }
}

/// Accepts connections. Each has a task of its own, with its TLS handshake, so that a slow client does not delay others.
async fn accept(
    listening: &Listening,
    acceptor: Option<TlsAcceptor>,
    services: &Services,
    ended: &CancellationToken,
) -> Infallible {
    loop {
        let (acceptor, services, ended) = (acceptor.clone(), services.clone(), ended.clone());
        let accepted = match listening {
            Listening::Socket(listener) => listener.accept().await.map(|(stream, _)| {
                // Windows has pipes for local sockets, and a provider serves a port there.
                #[cfg(all(unix, feature = "misbehaviour"))]
                let services = services.on(Wire::of(&stream));
                tokio::spawn(serve_stream(stream, acceptor, services, ended))
            }),
            Listening::Port(listener) => listener.accept().await.map(|(stream, _)| {
                #[cfg(feature = "misbehaviour")]
                let services = services.on(Wire::of(&stream));
                tokio::spawn(serve_stream(stream, acceptor, services, ended))
            }),
        };
        match accepted {
            Ok(_) => {}
            Err(error) => {
                log::write(
                    Level::Warn,
                    "a connection could not be accepted",
                    &[("reason", &error.to_string())],
                );
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Serves a connection, with or without TLS.
async fn serve_stream(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    acceptor: Option<TlsAcceptor>,
    mut services: Services,
    ended: CancellationToken,
) {
    let call = |request: Request<Incoming>| services.call(request.map(Body::new));
    let Some(acceptor) = acceptor else {
        return serve_connection(stream, call, SETTINGS, &Load::unlimited(), &ended).await;
    };
    match ended.run_until_cancelled(acceptor.accept(stream)).await {
        Some(Ok(stream)) => serve_connection(stream, call, SETTINGS, &Load::unlimited(), &ended).await,
        Some(Err(error)) => {
            log::write(Level::Warn, "a client was refused", &[("reason", &error.to_string())]);
        }
        None => {}
    }
}

#[cfg(not(feature = "misbehaviour"))]
type Served<S> = S;
#[cfg(feature = "misbehaviour")]
type Served<S> = Recorded<Faulty<Imitation<S>>>;

/// The services of a plugin.
#[derive(Clone, Debug)]
struct Services {
    health: HealthServer<Health>,
    controller: GrpcControllerServer<Controller>,
    printer: GrpcStdioServer<Printer>,
    broker: GrpcBrokerServer<Broker>,
    provider: ProviderService,
    /// Below the connection that calls come over.
    #[cfg(feature = "misbehaviour")]
    wire: Option<Wire>,
}

/// The provider's service, of its protocol.
#[derive(Clone, Debug)]
enum ProviderService {
    V5(Served<tfplugin5::provider_server::ProviderServer<protocol5::Edge>>),
    V6(Served<tfplugin6::provider_server::ProviderServer<protocol6::Edge>>),
}

impl Services {
    fn new(provider: Arc<Provider>, ended: &CancellationToken) -> Result<Self, ServeError> {
        let printer = GrpcStdioServer::new(Printer(Arc::clone(provider.stdio())));
        let ended = ended.clone();
        #[cfg(not(feature = "misbehaviour"))]
        let controller = Controller { ended };
        #[cfg(feature = "misbehaviour")]
        let switches = provider.misbehaviour();
        #[cfg(feature = "misbehaviour")]
        let controller = Controller { behaviour: switches.shutdown, ended };
        #[cfg(feature = "misbehaviour")]
        let (minor, fault, requests) = (switches.minor, switches.fault.clone(), switches.requests.as_deref());
        #[cfg(feature = "misbehaviour")]
        let requests = requests.map(Requests::open).transpose().map_err(ServeError::Requests)?.map(Arc::new);
        macro_rules! served {
            ($service:expr) => {{
                let service = $service
                    .max_decoding_message_size(MAXIMUM_MESSAGE)
                    .max_encoding_message_size(MAXIMUM_MESSAGE);
                #[cfg(feature = "misbehaviour")]
                let service = Recorded::new(Faulty::new(Imitation::new(service, minor), fault), requests);
                service
            }};
        }
        let provider = match provider.protocol() {
            Protocol::V5 => ProviderService::V5(served!(tfplugin5::provider_server::ProviderServer::new(
                protocol5::Edge::new(provider)
            ))),
            Protocol::V6 => ProviderService::V6(served!(tfplugin6::provider_server::ProviderServer::new(
                protocol6::Edge::new(provider)
            ))),
        };
        Ok(Self {
            health: HealthServer::new(Health),
            controller: GrpcControllerServer::new(controller),
            printer,
            broker: GrpcBrokerServer::new(Broker),
            provider,
            #[cfg(feature = "misbehaviour")]
            wire: None,
        })
    }

    #[cfg(feature = "misbehaviour")]
    fn on(self, wire: Wire) -> Self {
        Self { wire: Some(wire), ..self }
    }

    /// Makes a call of the service that the request names.
    fn call(&mut self, request: Request<Body>) -> impl Future<Output = Response<Body>> + use<> {
        let path = request.uri().path().to_owned();
        let named = path.split('/').nth(1).unwrap_or_default();
        #[cfg(feature = "misbehaviour")]
        let request = {
            let mut request = request;
            if let Some(wire) = &self.wire {
                request.extensions_mut().insert(wire.clone());
            }
            request
        };
        let Self { health, controller, printer, broker, provider, .. } = self;
        let answer = match (named, provider) {
            (health_server::SERVICE_NAME, _) => Some(health.call(request)),
            (grpc_controller_server::SERVICE_NAME, _) => Some(controller.call(request)),
            (grpc_stdio_server::SERVICE_NAME, _) => Some(printer.call(request)),
            (grpc_broker_server::SERVICE_NAME, _) => Some(broker.call(request)),
            (tfplugin5::provider_server::SERVICE_NAME, ProviderService::V5(it)) => Some(it.call(request)),
            (tfplugin6::provider_server::SERVICE_NAME, ProviderService::V6(it)) => Some(it.call(request)),
            _ => None,
        };
        async move {
            let Some(answer) = answer else { return unimplemented(&path) };
            match answer.await {
                Ok(answer) => answer,
                Err(never) => match never {},
            }
        }
    }
}

/// Where connections come in, as in Terraform's plugin library.
pub(crate) enum Listening {
    /// A local socket.
    Socket(local::Listener),
    /// A port of this machine, on Windows.
    Port(TcpListener),
}

/// Where connections come in, and by which address; a file is removed on drop.
struct Socket {
    listening: Listening,
    address: String,
    path: Option<PathBuf>,
}

impl Socket {
    async fn bind(directory: &Path) -> Result<Self, ServeError> {
        if IS_WINDOWS {
            let bound =
                TcpListener::bind("127.0.0.1:0").await.and_then(|bound| Ok((bound.local_addr()?, bound)));
            let (address, listener) = bound.map_err(ServeError::Start)?;
            return Ok(Self {
                listening: Listening::Port(listener),
                address: address.to_string(),
                path: None,
            });
        }
        let digits = random::text(10, b"0123456789");
        let digits = digits.map_err(|diagnostic| ServeError::SocketName(diagnostic.summary))?;
        let path = directory.join(format!("plugin{digits}"));
        match local::Listener::bind(&path) {
            Ok(listener) => Ok(Self {
                listening: Listening::Socket(listener),
                address: path.display().to_string(),
                path: Some(path),
            }),
            Err(source) => Err(ServeError::Socket { socket: path, source }),
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            drop(std::fs::remove_file(path));
        }
    }
}
