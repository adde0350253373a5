//! The port and its connections.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use isthmus_common::BoxFuture;
use isthmus_grpc::{Incoming, unimplemented};
use isthmus_proto::daemon::{daemon_server as daemon, inspect_server as inspect};
use isthmus_proto::lumirpc::resource_provider_server as lumirpc;
use isthmus_proto::pulumirpc::resource_provider_server as pulumirpc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::body::Body;
use tonic::codegen::Service as _;
use tonic::codegen::http::{Request, Response};
use tonic::{Code, Status};
use tracing::{Instrument as _, Span};

use super::accept::AcceptPacer;
use super::access_control::{Admission, Authenticated, Bytes, Unauthenticated};
use super::health::StandardServices;
use super::inspect::InspectService;
use super::limits::{self, Limits};
use super::places::Place;
use super::plugins::{Peer, PluginConnection, PluginService};
use super::redacted::Redacted;
use super::refusal::Refuser;
use super::rejection::of_undecodable;
use super::streamed::with_text;
use crate::attach::{Here, Relay, RelayConnection};
use crate::handover::Handover;
use crate::lumirpc::LumiService;
use crate::pulumirpc::PulumiService;
use crate::status::RequestError;
use isthmus_context::LARGEST_MESSAGE;
use isthmus_session::authorization::{HandshakeError, Identity, LocalUsers, TokenDenied, Tokens};
use isthmus_session::daemon::{Daemon, Memory, Session, Sessions};
use isthmus_session::observe::ObservedCall;

/// How long a connection is open whose calls no token identifies.
const LONGEST_UNAUTHENTICATED: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
#[error("failed to open a port on 127.0.0.1")]
pub(crate) struct ServeError(#[source] io::Error);

/// The call that stops others, so it does not wait for them.
const CANCEL: &str = "Cancel";

/// Open sockets, which accept already: engines dial as soon as they have read a port's number.
#[derive(Debug)]
pub(crate) struct Listener {
    /// For engines.
    port: Option<TcpListener>,
    /// For plugins that pass on the calls of their engines.
    shared: Option<Shared>,
}

/// The sockets of a shared daemon.
#[derive(Debug)]
struct Shared {
    socket: UnixListener,
    handover: Arc<Handover>,
    admission: Admission,
}

/// A connection that was accepted.
enum Accepted {
    Engine(TcpStream),
    Plugin(UnixStream, Arc<Handover>),
    /// At the address of a shared daemon.
    Unauthenticated(Unauthenticated, Arc<Handover>),
}

impl Listener {
    /// Opens a port of the system's choice on 127.0.0.1, for engines.
    pub(crate) async fn open() -> Result<Self, ServeError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = TcpListener::bind(address).await.map_err(ServeError)?;
        Ok(Self { port: Some(listener), shared: None })
    }

    /// Serves plugins on a socket, until it is handed over, and authenticated ones at an address.
    pub(crate) fn shared(socket: UnixListener, handover: Arc<Handover>, admission: Admission) -> Self {
        Self { port: None, shared: Some(Shared { socket, handover, admission }) }
    }

    /// The port for engines; 0 without one.
    pub(crate) fn port(&self) -> u16 {
        let address = self.port.as_ref().and_then(|port| port.local_addr().ok());
        address.map_or(0, |address| address.port())
    }

    /// Serves the daemon's own user, root, and who identifies itself at its address, until `ended`
    /// completes; then lets running calls finish. Once the socket is handed over, it serves the
    /// connections that it has, and ends with the last of them.
    pub(crate) async fn serve(
        self,
        sessions: Arc<Sessions>,
        relay: Option<Arc<Relay>>,
        ended: impl Future<Output = ()>,
    ) {
        let stopping = CancellationToken::new();
        let connections = TaskTracker::new();
        let mut services = Services::new(sessions.daemon()).await;
        let handover = self.shared.as_ref().map(|shared| Arc::clone(&shared.handover));
        let mut listening = Some(self);
        let served = async {
            if let Some(listening) = &listening {
                tokio::select! {
                    () = listening.accept(&services, &sessions, relay.as_ref(), &stopping, &connections) => {}
                    () = handed_over(handover.as_deref()) => {}
                }
            }
            // The successor accepts from now on.
            listening = None;
            if let Some(pool) = sessions.daemon().pool() {
                pool.end_idle();
            }
            connections.close();
            connections.wait().await;
        };
        tokio::select! {
            () = served => {}
            never = sessions.daemon().memory().give_back() => match never {},
            never = collect(&sessions) => match never {},
            () = ended => {}
        }
        let mut probed = None;
        if let Some(handover) = handover {
            handover.end().await;
            // A socket of the service manager has a queue for the next daemon.
            if handover.has_ended_as_owner().await {
                probed = listening.and_then(|listening| listening.shared);
            }
        }
        stopping.cancel();
        services.standard.drain().await;
        connections.close();
        tokio::select! {
            () = connections.wait() => {}
            never = answer_probes(probed, &services, &sessions, &stopping) => match never {},
        }
    }

    /// Accepts connections, for ever. Each has a task and a session of its own.
    async fn accept(
        &self,
        services: &Services,
        sessions: &Arc<Sessions>,
        relay: Option<&Arc<Relay>>,
        stopping: &CancellationToken,
        connections: &TaskTracker,
    ) {
        let daemon = sessions.daemon();
        let pacer = AcceptPacer::new(|message| daemon.warn(message));
        let users = Arc::new(LocalUsers::open());
        let refuser = Refuser::new();
        let place = |peer| services.limits.connection(peer).or_else(|| pacer.refuse());
        loop {
            // A failure concerns one connection, unless no descriptor is left, which was waited for.
            let Ok(accepted) = pacer.pace(self.next(&users).await).await else { continue };
            let (services, sessions, stopping) = (services.clone(), Arc::clone(sessions), stopping.clone());
            // Who is at the other end is checked before anything is read from a connection, and before it has a session.
            match accepted {
                Accepted::Engine(stream) => match users.check(&stream).await {
                    Ok(()) => {
                        let Some(place) = place(peer_of(&stream)) else { continue };
                        let relay = relay.map(|relay| relay.connection());
                        drop(connections.spawn(served(stream, place, services, sessions, relay, stopping)));
                    }
                    Err(reason) => refuser.refuse(stream, reason),
                },
                Accepted::Plugin(stream, handover) => match users.check_local(&stream) {
                    Ok(user) => {
                        let Some(place) = place(process_of(&stream)) else { continue };
                        let host = Host { sessions, handover, services, stopping };
                        drop(connections.spawn(host.served(stream, place, user)));
                    }
                    Err(reason) => refuser.refuse(stream, reason),
                },
                Accepted::Unauthenticated(unauthenticated, handover) => {
                    let host = Host { sessions, handover, services, stopping };
                    let (users, refuser) = (Arc::clone(&users), refuser.clone());
                    drop(connections.spawn(host.served_unauthenticated(unauthenticated, users, refuser)));
                }
            }
        }
    }

    async fn next(&self, users: &LocalUsers) -> io::Result<Accepted> {
        let engine = async {
            match &self.port {
                Some(port) => Ok(Accepted::Engine(port.accept().await?.0)),
                None => pending().await,
            }
        };
        let plugin = async {
            match &self.shared {
                Some(shared) => {
                    Ok(Accepted::Plugin(shared.socket.accept().await?.0, Arc::clone(&shared.handover)))
                }
                None => pending().await,
            }
        };
        let unauthenticated = async {
            match self.shared.as_ref().and_then(|shared| Some((shared.admission.network.as_ref()?, shared))) {
                Some((network, shared)) => {
                    Ok(Accepted::Unauthenticated(network.accept(users).await?, Arc::clone(&shared.handover)))
                }
                None => pending().await,
            }
        };
        tokio::select! {
            accepted = engine => accepted,
            accepted = plugin => accepted,
            accepted = unauthenticated => accepted,
        }
    }
}

/// Serves those who connect to the socket while calls in progress are waited for: probes and operators. No session is opened any
/// more. Their connections end with this.
async fn answer_probes(
    shared: Option<Shared>,
    services: &Services,
    sessions: &Arc<Sessions>,
    ending: &CancellationToken,
) -> Infallible {
    let Some(shared) = shared else { return pending().await };
    // The network's listener ends here, so that plugins of other machines are refused at once.
    let Shared { socket, handover, admission } = shared;
    drop(admission);
    let daemon = sessions.daemon();
    let pacer = AcceptPacer::new(|message| daemon.warn(message));
    let users = LocalUsers::open();
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = pacer.pace(socket.accept().await).await else { continue };
        while connections.try_join_next().is_some() {}
        // Others are refused by the end of their connection.
        if let Ok(user) = users.check_local(&stream)
            && let Some(place) = services.limits.connection(process_of(&stream))
        {
            let (sessions, handover, services) =
                (Arc::clone(sessions), Arc::clone(&handover), services.clone());
            let host = Host { sessions, handover, services, stopping: ending.clone() };
            connections.spawn(host.serve_until(
                stream,
                place,
                Identity::User(user),
                Peer::Plugin,
                CancellationToken::new(),
            ));
        }
    }
}

fn peer_of(stream: &TcpStream) -> limits::Peer {
    let address = stream.peer_addr().map_or(Ipv4Addr::LOCALHOST.into(), |address| address.ip());
    limits::Peer::Address(address)
}

fn process_of(stream: &UnixStream) -> limits::Peer {
    limits::Peer::Process(stream.peer_cred().ok().and_then(|credentials| credentials.pid()))
}

/// Waits until the socket is handed over.
async fn handed_over(handover: Option<&Handover>) {
    match handover {
        Some(handover) => {
            handover.handed_over().await;
        }
        None => pending().await,
    }
}

/// Ends shared processes that nothing uses, and lends those that are hardly used.
async fn collect(sessions: &Sessions) -> Infallible {
    match sessions.daemon().pool() {
        Some(pool) => tokio::select! {
            never = pool.collect() => never,
            never = sessions.lend(pool) => never,
        },
        None => pending().await,
    }
}

/// As [`serve_engine`]; out of line, so that the future is on the stack for a moment only.
#[inline(never)]
fn served(
    stream: TcpStream,
    place: limits::Place,
    services: Services,
    sessions: Arc<Sessions>,
    relay: Option<Arc<RelayConnection>>,
    stopping: CancellationToken,
) -> BoxFuture<'static, ()> {
    Box::pin(serve_engine(stream, place, services, sessions, relay, stopping))
}

/// Serves an engine, whose calls go to another daemon if there is a `relay`.
async fn serve_engine(
    stream: TcpStream,
    place: limits::Place,
    mut services: Services,
    sessions: Arc<Sessions>,
    relay: Option<Arc<RelayConnection>>,
    stopping: CancellationToken,
) {
    // Every response is awaited, so small ones must not be delayed. A socket that refuses that is closed.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let _buffers = services.memory.used();
    let session = sessions.open(None);
    match relay {
        None => {
            let call = |request: Request<Incoming>| services.call(request, session.session());
            place.serve(stream, call, limits::ENGINE, &stopping).await;
        }
        Some(relay) => {
            let here = Local { services, session: session.session() };
            let call = |request| Arc::clone(&relay).call(request, here.clone());
            place.serve(stream, call, limits::ENGINE, &stopping).await;
        }
    }
}

/// What the connections of a shared daemon are served with.
struct Host {
    sessions: Arc<Sessions>,
    handover: Arc<Handover>,
    services: Services,
    stopping: CancellationToken,
}

impl Host {
    /// As [`Self::serve`] for a plugin of a local user; out of line, as [`served`].
    #[inline(never)]
    fn served(self, stream: UnixStream, place: limits::Place, user: u32) -> BoxFuture<'static, ()> {
        Box::pin(self.serve(stream, place, Identity::User(user), Peer::Plugin))
    }

    /// As [`Self::serve_unauthenticated`]; out of line, as [`served`].
    #[inline(never)]
    fn served_unauthenticated(
        self,
        unauthenticated: Unauthenticated,
        users: Arc<LocalUsers>,
        refuser: Refuser,
    ) -> BoxFuture<'static, ()> {
        Box::pin(self.serve_unauthenticated(unauthenticated, users, refuser))
    }

    /// Serves a peer whose calls are all of one identity. A plugin opens its session itself.
    async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin,
        place: limits::Place,
        identity: Identity,
        peer: Peer,
    ) {
        let stopping = self.stopping.clone();
        self.serve_until(stream, place, identity, peer, stopping).await;
    }

    /// The same, until `ended` is cancelled.
    async fn serve_until(
        self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin,
        place: limits::Place,
        identity: Identity,
        peer: Peer,
        ended: CancellationToken,
    ) {
        let _buffers = self.services.memory.used();
        let connection = self.connection(identity, peer);
        let mut services = self.services;
        let call = |request: Request<Incoming>| services.call_of_plugin(request, &connection);
        place.serve(stream, call, limits::PLUGIN, &ended).await;
    }

    /// Serves a peer at the daemon's address, once it has identified itself.
    async fn serve_unauthenticated(
        self,
        unauthenticated: Unauthenticated,
        users: Arc<LocalUsers>,
        refuser: Refuser,
    ) {
        let (stopping, address) = (self.stopping.clone(), unauthenticated.peer());
        let admitted = tokio::select! {
            admitted = unauthenticated.identify(&users) => admitted,
            () = stopping.cancelled() => return,
        };
        let Some(in_place) = self.services.limits.connection(address) else { return };
        match admitted {
            Ok(Authenticated::Local { stream, identity }) => {
                self.serve(stream, in_place, identity, Peer::PluginOrEngine).await
            }
            Ok(Authenticated::Certified { stream, identity }) => {
                self.serve(stream, in_place, identity, Peer::Plugin).await
            }
            Ok(Authenticated::ByToken { stream, tokens, place }) => {
                self.serve_holder(stream, in_place, tokens, place).await
            }
            Ok(Authenticated::Refused { stream, reason }) => refuser.refuse(stream, reason),
            Err(HandshakeError::Files(Some(fault))) => {
                self.sessions.daemon().warn(isthmus_common::error_chain(&fault));
            }
            Err(HandshakeError::Files(None) | HandshakeError::Peer) => {}
        }
    }

    /// Serves the holder of a token, which each call has: one that is withdrawn identifies no further call.
    async fn serve_holder(
        self,
        stream: Box<dyn Bytes>,
        in_place: limits::Place,
        tokens: Arc<Tokens>,
        place: Place,
    ) {
        let lost = place.lost();
        let mut place = Some(place);
        let _buffers = self.services.memory.used();
        let (mut services, stopping) = (self.services.clone(), self.stopping.clone());
        let known = Arc::new(OnceLock::<Arc<PluginConnection>>::new());
        let call = |request: Request<Incoming>| -> BoxFuture<'static, Response<Body>> {
            let denied = match tokens.identify(request.headers()) {
                Ok(identity) => {
                    let connection = known.get_or_init(|| {
                        place.take();
                        self.connection(identity.clone(), Peer::Plugin)
                    });
                    if *connection.identity() == identity {
                        return services.call_of_plugin(request, connection);
                    }
                    TokenDenied::Other
                }
                Err(denied) => denied,
            };
            if let TokenDenied::Unreadable(Some(fault)) = &denied {
                self.sessions.daemon().warn(isthmus_common::error_chain(fault));
            }
            Box::pin(ready(Status::from(RequestError::AccessDenied(denied.to_string())).into_http()))
        };
        let unauthenticated = async {
            tokio::select! {
                () = tokio::time::sleep(LONGEST_UNAUTHENTICATED) => {}
                () = lost.cancelled() => {}
            }
            if known.get().is_some() {
                pending::<()>().await;
            }
        };
        tokio::select! {
            () = in_place.serve(stream, call, limits::PLUGIN, &stopping) => {}
            () = unauthenticated => {}
        }
    }

    fn connection(&self, identity: Identity, peer: Peer) -> Arc<PluginConnection> {
        let (sessions, handover) = (Arc::clone(&self.sessions), Arc::clone(&self.handover));
        Arc::new(PluginConnection::new(sessions, handover, identity, peer, self.stopping.clone()))
    }
}

/// The services of this process, for one session.
#[derive(Clone, Debug)]
struct Local {
    services: Services,
    session: Arc<Session>,
}

impl Here for Local {
    fn call(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        self.services.clone().call(request, Arc::clone(&self.session))
    }

    fn session(&self) -> &Session {
        &self.session
    }
}

/// The services.
#[derive(Clone, Debug)]
struct Services {
    plugins: daemon::DaemonServer<PluginService>,
    inspect: inspect::InspectServer<InspectService>,
    standard: StandardServices,
    pulumi: pulumirpc::ResourceProviderServer<Redacted<PulumiService>>,
    lumi: lumirpc::ResourceProviderServer<Redacted<LumiService>>,
    memory: Memory,
    limits: Limits,
}

impl Services {
    async fn new(daemon: &Daemon) -> Self {
        Self {
            memory: daemon.memory().clone(),
            limits: Limits::new(daemon.settings().pool.processes),
            inspect: inspect::InspectServer::new(InspectService),
            standard: StandardServices::new().await,
            plugins: daemon::DaemonServer::new(PluginService)
                .max_decoding_message_size(LARGEST_MESSAGE)
                .max_encoding_message_size(LARGEST_MESSAGE),
            pulumi: pulumirpc::ResourceProviderServer::new(Redacted(PulumiService))
                .max_decoding_message_size(LARGEST_MESSAGE)
                .max_encoding_message_size(LARGEST_MESSAGE),
            lumi: lumirpc::ResourceProviderServer::new(Redacted(LumiService))
                .max_decoding_message_size(LARGEST_MESSAGE)
                .max_encoding_message_size(LARGEST_MESSAGE),
        }
    }

    /// Makes a call of a session, which its handler finds in the request's extensions.
    fn call<Content>(
        &mut self,
        mut request: Request<Content>,
        session: Arc<Session>,
    ) -> BoxFuture<'static, Response<Body>>
    where
        Content: http_body::Body<Data = bytes::Bytes, Error = Status> + Send + 'static,
    {
        let observed = session.observed().and_then(|observed| {
            observed.begin(request.uri().path(), request.headers(), session.context().environment())
        });
        let span = observed.as_ref().map_or_else(Span::none, ObservedCall::span);
        request.extensions_mut().insert(session);
        let service = request.uri().path().split('/').nth(1).unwrap_or_default();
        let answer = match service {
            pulumirpc::SERVICE_NAME => self.pulumi.call(request),
            lumirpc::SERVICE_NAME => self.lumi.call(request),
            _ => return Box::pin(ready(unimplemented(request.uri().path()))),
        };
        let memory = self.memory.used();
        Box::pin(async move {
            let _memory = memory;
            match answer.instrument(span).await {
                Ok(answer) => {
                    let answer = of_undecodable(answer);
                    if let Some(observed) = observed {
                        observed.end(code_of(&answer));
                    }
                    with_text(answer)
                }
                Err(never) => match never {},
            }
        })
    }

    /// Makes a call of a plugin: its own, or one of its engine in the session that it has opened.
    fn call_of_plugin(
        &mut self,
        mut request: Request<Incoming>,
        connection: &Arc<PluginConnection>,
    ) -> BoxFuture<'static, Response<Body>> {
        let answer = match request.uri().path().split('/').nth(1).unwrap_or_default() {
            daemon::SERVICE_NAME => {
                request.extensions_mut().insert(Arc::clone(connection));
                self.plugins.call(request)
            }
            inspect::SERVICE_NAME => {
                request.extensions_mut().insert(Arc::clone(connection));
                self.inspect.call(request)
            }
            service if StandardServices::have(service) => self.standard.call(request),
            _ => return self.call_of_engine(request, connection),
        };
        Box::pin(async move { answer.await.unwrap_or_else(|never| match never {}) })
    }

    /// Makes a call of a plugin's engine, in the session that the plugin has opened.
    fn call_of_engine(
        &mut self,
        request: Request<Incoming>,
        connection: &Arc<PluginConnection>,
    ) -> BoxFuture<'static, Response<Body>> {
        let in_progress = connection.call();
        let Some(session) = connection.session() else {
            let (mut services, connection) = (self.clone(), Arc::clone(connection));
            return Box::pin(async move {
                let _in_progress = in_progress;
                match connection.session_of_call() {
                    Ok(session) => services.call(request, session).await,
                    Err(status) => status.into_http(),
                }
            });
        };
        let turns = connection.turns().clone();
        let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        if method == CANCEL {
            turns.cancel();
            let call = self.call(request, session);
            return Box::pin(async move {
                let _in_progress = in_progress;
                call.await
            });
        }
        if let Some(turn) = turns.now() {
            let call = self.call(request, session);
            return Box::pin(async move {
                let _in_progress = in_progress;
                turn.make(call).await
            });
        }
        let mut services = self.clone();
        Box::pin(async move {
            let _in_progress = in_progress;
            // It is not read before its turn.
            let Some(turn) = turns.next().await else {
                return Status::from(RequestError::CancelledInTurn { method }).into_http();
            };
            turn.make(services.call(request, session)).await
        })
    }
}

/// The status of an answer. One that fails has no body, and its status in the head.
fn code_of(answer: &Response<Body>) -> Code {
    Status::from_header_map(answer.headers()).map_or(Code::Ok, |status| status.code())
}
