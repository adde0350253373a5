//! The service for plugins that pass on the calls of their engines: `isthmus.daemon.v1`.
//!
//! A plugin's connection has no session until its `Open`, which names the environment and the working directory that the
//! calls are about.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};
use isthmus_common::Environment;
use isthmus_proto::daemon::daemon_server::Daemon;
use isthmus_proto::daemon::{self, OpenRequest, OpenResponse};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex, split};
use tokio::sync::mpsc;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, Streaming};

use crate::daemon::{PluginSide, Session, SessionGuard, Sessions};
use crate::engine::OfferedConnections;
use crate::process_context::{ProcessContext, StartedBy};
use crate::settings::Settings;
use crate::status::RequestError;

/// Bytes in each direction between a plugin and the engine's client.
const BUFFER: usize = 64 * 1024;

/// Bytes of one message to the engine's client.
const LARGEST_PART: usize = 16 * 1024;

/// A connection of a plugin.
#[derive(Debug)]
pub(super) struct PluginConnection {
    sessions: Arc<Sessions>,
    /// Whose process it is.
    user: u32,
    engine: OfferedConnections,
    session: OnceLock<SessionGuard>,
    /// The engine's calls in progress.
    calls: TaskTracker,
    /// The daemon ends.
    ending: CancellationToken,
}

impl PluginConnection {
    /// `ending` is cancelled when the daemon ends.
    pub(super) fn new(sessions: Arc<Sessions>, user: u32, ending: CancellationToken) -> Self {
        let (engine, session, calls) = (OfferedConnections::new(), OnceLock::new(), TaskTracker::new());
        Self { sessions, user, engine, session, calls, ending }
    }

    /// Notes a call of the engine, as long as the result is held.
    pub(super) fn call(&self) -> TaskTrackerToken {
        self.calls.token()
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
        let context = context(request, self.user)?;
        let plugin = PluginSide { context, engine: self.engine.clone() };
        let opened = self.session.set(self.sessions.open(Some(plugin)));
        opened.map_err(|_| RequestError::Invalid("the connection has a session already".to_owned()).into())
    }
}

fn context(request: OpenRequest, user: u32) -> Result<ProcessContext, Status> {
    let os_string = |bytes: Bytes| OsString::from_vec(bytes.into());
    let variables = request.environment.into_iter();
    let environment: Environment =
        variables.map(|variable| (os_string(variable.name), os_string(variable.value))).collect();
    let own = environment.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings = Settings::parse(own).map_err(RequestError::Settings)?;
    let working_directory = Some(request.working_directory).filter(|directory| !directory.is_empty());
    let plugin_version = semver::Version::parse(&request.plugin_version);
    let plugin_version =
        plugin_version.map_err(|error| RequestError::Invalid(format!("invalid plugin version: {error}")))?;
    let started_by = if request.started_by_engine { StartedBy::Engine } else { StartedBy::Other };
    Ok(ProcessContext::of_plugin(
        started_by,
        environment,
        working_directory.map(|directory| PathBuf::from(os_string(directory))),
        Arc::new(settings),
        plugin_version,
        user,
    ))
}

#[derive(Clone, Debug)]
pub(super) struct PluginService;

fn connection<Message>(request: &Request<Message>) -> Result<Arc<PluginConnection>, Status> {
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
}
