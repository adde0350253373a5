//! The service for plugins that pass on the calls of their engines: `isthmus.daemon.v1`.
//!
//! A plugin's connection has no session until its `Open`, which names the environment and the working directory that the
//! calls are about.

use isthmus_platform::files::os_string;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use bytes::BytesMut;
use isthmus_common::Environment;
use isthmus_proto::daemon::daemon_server::Daemon;
use isthmus_proto::daemon::{self, HandOverRequest, HandOverResponse, OpenRequest, OpenResponse};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex, split};
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, Streaming};

use super::turns::Turns;
use crate::handover::{Handover, HandoverError};
use crate::status::RequestError;
use isthmus_context::settings::{self, Settings};
use isthmus_session::authorization::Identity;
use isthmus_session::daemon::{ClientSide, Session, SessionGuard, Sessions};
use isthmus_session::engine::OfferedConnections;
use isthmus_session::process_context::{ProcessContext, StartedBy};

/// Bytes in each direction between a plugin and the engine's client.
const BUFFER: usize = 64 * 1024;

/// Bytes of one message to the engine's client.
const LARGEST_PART: usize = 16 * 1024;

/// A connection of a plugin.
#[derive(Debug)]
pub(super) struct PluginConnection {
    sessions: Arc<Sessions>,
    handover: Arc<Handover>,
    /// Whose calls they are.
    identity: Identity,
    peer: Peer,
    engine: OfferedConnections,
    session: OnceLock<SessionGuard>,
    /// The engine's calls in progress.
    calls: TaskTracker,
    /// Those of them that are worked on.
    turns: Turns,
    /// The daemon ends.
    ending: CancellationToken,
}

impl PluginConnection {
    /// `ending` is cancelled when the daemon ends.
    pub(super) fn new(
        sessions: Arc<Sessions>,
        handover: Arc<Handover>,
        identity: Identity,
        peer: Peer,
        ending: CancellationToken,
    ) -> Self {
        let (engine, session, calls) = (OfferedConnections::default(), OnceLock::new(), TaskTracker::new());
        let turns = Turns::new();
        Self { sessions, handover, identity, peer, engine, session, calls, turns, ending }
    }

    /// Whose calls they are.
    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// Cancelled when the daemon ends.
    pub(super) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    /// Notes a call of the engine, as long as the result is held.
    pub(super) fn call(&self) -> TaskTrackerToken {
        self.calls.token()
    }

    /// The places of the engine's calls.
    pub(super) fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Waits until the daemon ends and the last call of the engine has ended, whose log lines go first. It does not keep the
    /// session open.
    fn over(&self) -> impl Future<Output = ()> + Send + 'static {
        let (ending, calls) = (self.ending.clone(), self.calls.clone());
        async move {
            ending.cancelled().await;
            calls.close();
            calls.wait().await;
        }
    }

    /// The session, once it is open.
    pub(super) fn session(&self) -> Option<Arc<Session>> {
        self.session.get().map(SessionGuard::session)
    }

    fn open(&self, request: OpenRequest) -> Result<(), Status> {
        if self.ending.is_cancelled() {
            return Err(RequestError::Draining.into());
        }
        let context = context(request, &self.identity, self.sessions.daemon().context())?;
        let client = ClientSide { context, engine: Some(self.engine.clone()) };
        let opened = self.session.set(self.sessions.open(Some(client)));
        opened.map_err(|_| RequestError::Invalid("the connection has a session already".to_owned()).into())
    }

    /// The session of a call: where an engine attaches to the daemon itself, its first call opens it.
    pub(super) fn session_of_call(&self) -> Result<Arc<Session>, Status> {
        if let Some(session) = self.session() {
            return Ok(session);
        }
        match self.peer {
            Peer::Plugin => Err(RequestError::NoSession.into()),
            Peer::PluginOrEngine => {
                let opened = self.session.get_or_init(|| {
                    let context = self.sessions.daemon().context().of_attached_engine(self.identity.clone());
                    self.sessions.open(Some(ClientSide { context, engine: None }))
                });
                Ok(opened.session())
            }
        }
    }
}

/// What is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Plugin,
    /// A process of this machine; engines attach to a daemon that runs already by `PULUMI_DEBUG_PROVIDERS`.
    PluginOrEngine,
}

/// The context of a plugin's session. Settings of the daemon count only in the daemon's environment.
fn context(
    request: OpenRequest,
    identity: &Identity,
    daemon: &ProcessContext,
) -> Result<ProcessContext, Status> {
    let variables = request.environment.into_iter();
    let variables = variables
        .filter_map(|variable| Some((os_string(variable.name.into())?, os_string(variable.value.into())?)));
    let environment: Environment = variables.filter(|(name, _)| settings::is_sent(name)).collect();
    if identity.is_remote() && environment.value(settings::LOCK_FILE.name).is_some() {
        // Without it, what it pins would not be.
        return Err(RequestError::Invalid(format!(
            "{lock} names a file of another machine than the daemon's, which does not pin what the daemon starts\nhelp: unset {lock}, \
             or set ISTHMUS_DAEMON=off",
            lock = settings::LOCK_FILE.name
        ))
        .into());
    }
    let own = environment.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings = Settings::parse(own).map_err(RequestError::Settings)?;
    let sent = Some(request.working_directory).filter(|directory| !directory.is_empty());
    let plugin_version = semver::Version::parse(&request.plugin_version);
    let plugin_version =
        plugin_version.map_err(|error| RequestError::Invalid(format!("invalid plugin version: {error}")))?;
    let started_by = if request.started_by_engine { StartedBy::Engine } else { StartedBy::Other };
    Ok(daemon.of_plugin(
        started_by,
        &environment,
        sent.and_then(|directory| os_string(directory.into())).map(PathBuf::from),
        Arc::new(settings),
        plugin_version,
        identity.clone(),
    ))
}

#[derive(Clone, Debug)]
pub(super) struct PluginService;

pub(super) fn connection<Message>(request: &Request<Message>) -> Result<Arc<PluginConnection>, Status> {
    let connection = request.extensions().get::<Arc<PluginConnection>>().cloned();
    connection.ok_or_else(|| RequestError::NoConnection.into())
}

#[tonic::async_trait]
impl Daemon for PluginService {
    async fn open(&self, request: Request<OpenRequest>) -> Result<Response<OpenResponse>, Status> {
        connection(&request)?.open(request.into_inner())?;
        Ok(Response::new(OpenResponse { version: env!("CARGO_PKG_VERSION").to_owned() }))
    }

    async fn engine(
        &self,
        request: Request<Streaming<daemon::Bytes>>,
    ) -> Result<Response<BoxStream<daemon::Bytes>>, Status> {
        let connection = connection(&request)?;
        let (ours, theirs) = duplex(BUFFER);
        if !connection.engine.offer(ours) {
            return Err(
                RequestError::Invalid("connections to the engine are waiting already".to_owned()).into()
            );
        }
        let (mut to_engine, mut from_engine) = split(theirs);
        let mut received = request.into_inner();
        tokio::spawn(async move {
            while let Some(Ok(message)) = received.next().await {
                if from_engine.write_all(&message.content).await.is_err() {
                    return;
                }
            }
            // An error means that it is closed already.
            drop(from_engine.shutdown().await);
        });
        let (send, sent) = mpsc::channel(1);
        let over = connection.over();
        tokio::spawn(async move {
            let sending = async {
                loop {
                    let mut content = BytesMut::with_capacity(LARGEST_PART);
                    let read = tokio::select! {
                        read = to_engine.read_buf(&mut content) => read,
                        // The plugin has gone.
                        () = send.closed() => return,
                    };
                    // An end and an error are alike: the daemon has closed the connection.
                    match read {
                        Ok(1..) => {}
                        Ok(0) | Err(_) => return,
                    }
                    if send.send(Ok(daemon::Bytes { content: content.freeze() })).await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                () = sending => {}
                () = over => {}
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(sent))))
    }

    async fn hand_over(
        &self,
        request: Request<HandOverRequest>,
    ) -> Result<Response<HandOverResponse>, Status> {
        let connection = connection(&request)?;
        let meeting = os_string(request.into_inner().socket.into())
            .map(PathBuf::from)
            .ok_or_else(|| RequestError::Invalid("invalid path of a socket".to_owned()))?;
        let Identity::User(user) = connection.identity else {
            return Err(RequestError::from(HandoverError::Remote).into());
        };
        let handover = Arc::clone(&connection.handover);
        // In a task of its own: whether it has happened must not depend on who waits for the answer.
        let handed_over = tokio::spawn(async move { handover.hand_over(user, &meeting).await }).await;
        match handed_over {
            Ok(handed_over) => handed_over.map_err(RequestError::from)?,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
        Ok(Response::new(HandOverResponse {}))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use isthmus_platform::process::User;
    use isthmus_proto::daemon::Variable;

    use super::*;

    #[test]
    fn a_lock_file_that_would_pin_nothing_is_refused() {
        let lock = Variable {
            name: Bytes::from_static(b"ISTHMUS_LOCK_FILE"),
            value: Bytes::from_static(b".terraform.lock.hcl"),
        };
        let request = OpenRequest {
            plugin_version: "1.4.0".to_owned(),
            environment: vec![lock],
            ..OpenRequest::default()
        };
        let daemon = ProcessContext::own(StartedBy::Other, Arc::default());
        let opened = |user| context(request.clone(), &user, &daemon);
        let refused = opened(Identity::Token("build".into())).expect_err("it is refused");
        assert!(refused.message().contains("ISTHMUS_LOCK_FILE names a file of another machine"), "{refused}");
        let own = opened(Identity::User(User::current())).expect("it is served");
        assert!(own.settings().lock_file.is_some());
    }
}
