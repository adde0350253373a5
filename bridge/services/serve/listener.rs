//! The port and its connections.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use isthmus_platform::local;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::accept::AcceptPacer;
use super::access_control::{Admission, Unauthenticated};
use super::connections::{Host, served};
use super::limits;
use super::plugins::Peer;
use super::refusal::Refuser;
use super::router::Services;
use crate::attach::Relay;
use crate::handover::Handover;
use isthmus_session::authorization::{Identity, LocalUsers};
use isthmus_session::daemon::Sessions;

#[derive(Debug, thiserror::Error)]
#[error("failed to open a port on 127.0.0.1")]
pub struct ServeError(#[source] io::Error);

/// Open sockets, which accept already: engines dial as soon as they have read a port's number.
#[derive(Debug)]
pub struct Listener {
    /// For engines.
    port: Option<TcpListener>,
    /// For plugins that pass on the calls of their engines.
    shared: Option<Shared>,
    /// The connections of a simulation's engines.
    #[cfg(feature = "simulation")]
    simulated: Option<tokio::sync::Mutex<tokio::sync::mpsc::Receiver<Box<dyn isthmus_grpc::Stream>>>>,
}

/// The sockets of a shared daemon.
#[derive(Debug)]
struct Shared {
    socket: local::Listener,
    handover: Arc<Handover>,
    admission: Admission,
}

/// A connection that was accepted.
enum Accepted {
    Engine(TcpStream),
    Plugin(local::Stream, Arc<Handover>),
    #[cfg(feature = "simulation")]
    Simulated(Box<dyn isthmus_grpc::Stream>),
    /// At the address of a shared daemon.
    Unauthenticated(Unauthenticated, Arc<Handover>),
}

impl Listener {
    /// Opens a port of the system's choice on 127.0.0.1, for engines.
    pub async fn open() -> Result<Self, ServeError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = TcpListener::bind(address).await.map_err(ServeError)?;
        Ok(Self {
            port: Some(listener),
            shared: None,
            #[cfg(feature = "simulation")]
            simulated: None,
        })
    }

    /// Serves plugins on a socket, until it is handed over, and authenticated ones at an address.
    pub fn shared(socket: local::Listener, handover: Arc<Handover>, admission: Admission) -> Self {
        Self {
            port: None,
            shared: Some(Shared { socket, handover, admission }),
            #[cfg(feature = "simulation")]
            simulated: None,
        }
    }

    /// Serves the engines of a simulation (`tests/simulation`), whose connections come from there.
    #[cfg(feature = "simulation")]
    pub fn simulated(connections: tokio::sync::mpsc::Receiver<Box<dyn isthmus_grpc::Stream>>) -> Self {
        Self { port: None, shared: None, simulated: Some(tokio::sync::Mutex::new(connections)) }
    }

    /// The port for engines; 0 without one.
    pub fn port(&self) -> u16 {
        let address = self.port.as_ref().and_then(|port| port.local_addr().ok());
        address.map_or(0, |address| address.port())
    }

    /// Serves the daemon's own user, root, and who identifies itself at its address, until `ended`
    /// completes; then lets running calls finish. Once the socket is handed over, it serves the
    /// connections that it has, and ends with the last of them.
    pub async fn serve(
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
                        // Every response is awaited, so small ones must not be delayed. A socket that refuses that is closed.
                        if stream.set_nodelay(true).is_err() {
                            continue;
                        }
                        let Some(place) = place(peer_of(&stream)) else { continue };
                        let relay = relay.map(|relay| relay.connection());
                        drop(connections.spawn(served(stream, place, services, sessions, relay, stopping)));
                    }
                    Err(reason) => refuser.refuse(stream, reason),
                },
                #[cfg(feature = "simulation")]
                Accepted::Simulated(stream) => {
                    let Some(place) = place(limits::Peer::Process(None)) else { continue };
                    let relay = relay.map(|relay| relay.connection());
                    drop(connections.spawn(served(stream, place, services, sessions, relay, stopping)));
                }
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
        #[cfg(feature = "simulation")]
        if let Some(simulated) = &self.simulated {
            return match simulated.lock().await.recv().await {
                Some(stream) => Ok(Accepted::Simulated(stream)),
                None => pending().await,
            };
        }
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

fn process_of(stream: &local::Stream) -> limits::Peer {
    limits::Peer::Process(local::peer(stream).ok().and_then(|peer| peer.process))
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
