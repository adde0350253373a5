//! What an accepted connection is served with, by the kind of its peer: an engine, a plugin of this machine, or one that has to
//! identify itself first.

use isthmus_platform::process::User;
use std::future::{pending, ready};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use isthmus_common::BoxFuture;
use isthmus_grpc::Incoming;
use isthmus_platform::local;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};

use super::access_control::{Authenticated, Bytes, Unauthenticated};
use super::limits;
use super::places::Place;
use super::plugins::{Peer, PluginConnection};
use super::refusal::Refuser;
use super::router::Services;
use crate::attach::{OwnServices, RelayConnection};
use crate::handover::Handover;
use crate::status::RequestError;
use isthmus_session::authorization::{HandshakeError, Identity, LocalUsers, TokenDenied, Tokens};
use isthmus_session::daemon::{Session, Sessions};

/// How long a connection is open whose calls no token identifies.
const LONGEST_UNAUTHENTICATED: Duration = Duration::from_secs(10);

/// As [`serve_engine`]; out of line, so that the future is on the stack for a moment only.
#[inline(never)]
pub(super) fn served(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    place: limits::ConnectionPlace,
    services: Services,
    sessions: Arc<Sessions>,
    relay: Option<Arc<RelayConnection>>,
    stopping: CancellationToken,
) -> BoxFuture<'static, ()> {
    Box::pin(serve_engine(stream, place, services, sessions, relay, stopping))
}

/// Serves an engine, whose calls go to another daemon if there is a `relay`.
async fn serve_engine(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    place: limits::ConnectionPlace,
    mut services: Services,
    sessions: Arc<Sessions>,
    relay: Option<Arc<RelayConnection>>,
    stopping: CancellationToken,
) {
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
pub(super) struct Host {
    pub(super) sessions: Arc<Sessions>,
    pub(super) handover: Arc<Handover>,
    pub(super) services: Services,
    pub(super) stopping: CancellationToken,
}

impl Host {
    /// As [`Self::serve`] for a plugin of a local user; out of line, as [`served`].
    #[inline(never)]
    pub(super) fn served(
        self,
        stream: local::Stream,
        place: limits::ConnectionPlace,
        user: User,
    ) -> BoxFuture<'static, ()> {
        Box::pin(self.serve(stream, place, Identity::User(user), Peer::Plugin))
    }

    /// As [`Self::serve_unauthenticated`]; out of line, as [`served`].
    #[inline(never)]
    pub(super) fn served_unauthenticated(
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
        place: limits::ConnectionPlace,
        identity: Identity,
        peer: Peer,
    ) {
        let stopping = self.stopping.clone();
        self.serve_until(stream, place, identity, peer, stopping).await;
    }

    /// The same, until `ended` is cancelled.
    pub(super) async fn serve_until(
        self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin,
        place: limits::ConnectionPlace,
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
        in_place: limits::ConnectionPlace,
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

impl OwnServices for Local {
    fn call(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        self.services.clone().call(request, Arc::clone(&self.session))
    }

    fn session(&self) -> &Session {
        &self.session
    }
}
