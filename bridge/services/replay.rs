//! The replay of a recording: the engine's calls are made again, against this isthmus and the recorded responses of the
//! provider, or against another provider.
//!
//! Each call goes through the service that an engine calls, and is recorded again, in memory; what differs between both
//! recordings is the result. Against another provider only what changes nothing is called.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::scratch::temporary_directory;
use isthmus_grpc::{Channel, ChannelSettings};
use isthmus_provider::plugin::{Address, ProtocolVersion, ReattachConfig};
use tokio_util::sync::CancellationToken;

use crate::serve::{Listener, ServeError};
use isthmus_context::settings::{DaemonChoice, Settings};
use isthmus_package::catalogue::{Identity, IdentityError};
use isthmus_package::parameters::{Arguments, ArgumentsError, Parameter, ParameterError};
use isthmus_session::daemon::{
    Daemon, Instance, OpenPackageError, Program, ProviderSource, Sessions, StartError, open_package,
};
use isthmus_session::engine::EngineLog;
use isthmus_session::process_context::{ProcessContext, StartedBy};
use isthmus_trace::recording::{
    Difference, Player, RecordedSession, Recording, RecordingError, Script, sessions,
};

const CONNECTION: ChannelSettings = ChannelSettings {
    stream_window: 8 * 1024 * 1024,
    connection_window: 8 * 1024 * 1024,
    largest_headers: 1024 * 1024,
};

/// How long this process may take to accept a connection of its own.
const CONNECTED_WITHIN: Duration = Duration::from_secs(10);

/// A recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error("{} has no session with a provider", .0.display())]
    Empty(std::path::PathBuf),
    #[error(
        "no call in {} can be replayed, so nothing was compared\nhelp: record a command that calls the provider, such as `pulumi preview`",
        .0.display()
    )]
    Nothing(std::path::PathBuf),
    #[error("session {session} of the recording has an invalid package parameter")]
    Parameter {
        session: String,
        #[source]
        source: ParameterError,
    },
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Arguments(#[from] ArgumentsError),
    #[error(transparent)]
    Open(Box<OpenPackageError>),
    #[error(transparent)]
    Start(Box<StartError>),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error("failed to create a temporary directory or a socket in it")]
    Directory(#[source] std::io::Error),
}

impl ReplayError {
    /// Whether the arguments are wrong.
    pub fn is_usage_error(&self) -> bool {
        matches!(self, Self::Arguments(_))
    }
}

impl From<OpenPackageError> for ReplayError {
    fn from(error: OpenPackageError) -> Self {
        Self::Open(Box::new(error))
    }
}

/// The provider that is called instead of the recorded one.
#[derive(Clone, Debug)]
pub struct OtherProvider {
    /// Path or address.
    pub provider: String,
    pub version: Option<String>,
}

/// What a replay has shown.
#[derive(Debug, Default)]
pub struct Replayed {
    /// Sessions with a provider.
    pub sessions: usize,
    /// Those of other providers than the one that is to be called instead.
    pub other_sessions: usize,
    /// Calls of an engine that were made again.
    pub calls: usize,
    /// Those that were not, by their methods.
    pub skipped: BTreeMap<String, usize>,
    pub differences: Vec<Difference>,
    pub warnings: Vec<String>,
}

/// Replays a recording.
pub async fn replay(
    path: &Path,
    settings: &Arc<Settings>,
    other: Option<&OtherProvider>,
) -> Result<Replayed, ReplayError> {
    let sessions = sessions(path)?;
    if sessions.is_empty() {
        return Err(ReplayError::Empty(path.to_owned()));
    }
    let mut replayed = Replayed::default();
    for session in sessions {
        // A session whose provider was not started has nothing to replay, and no schema.
        if session.protocol().is_none() {
            count_skipped(&session, &mut replayed);
            continue;
        }
        replay_session(&session, settings, other, &mut replayed).await?;
    }
    if replayed.calls == 0 {
        return Err(ReplayError::Nothing(path.to_owned()));
    }
    Ok(replayed)
}

fn count_skipped(session: &RecordedSession, replayed: &mut Replayed) {
    for call in session.calls.iter().filter(|call| call.is_engines()) {
        *replayed.skipped.entry(call.method.clone()).or_default() += 1;
    }
}

async fn replay_session(
    session: &RecordedSession,
    settings: &Arc<Settings>,
    other: Option<&OtherProvider>,
    replayed: &mut Replayed,
) -> Result<(), ReplayError> {
    let directory = temporary_directory("isthmus-replay-").map_err(ReplayError::Directory)?;
    // Nothing of the user's is read or written: neither the journal nor the state store.
    let settings = Settings {
        home: Some(directory.path().join("home")),
        store: None,
        key: None,
        daemon: DaemonChoice::Off,
        schema_cache: false,
        record: None,
        ..Settings::clone(settings)
    };
    let recording = Arc::new(Recording::in_memory());
    let context =
        ProcessContext::own(StartedBy::Other, Arc::new(settings)).recorded_by(Arc::clone(&recording));
    let log = EngineLog::start(None);
    let ended = CancellationToken::new();
    let daemon = Daemon::with_context(log.clone(), context);
    let (instance, script) = match other {
        Some(other) => (other.open(session, daemon.context(), &log, &mut replayed.warnings).await?, None),
        None => {
            let script =
                Script::new(session.calls.iter().filter(|call| !call.is_engines()).cloned().collect());
            let socket = directory.path().join("provider");
            script.serve(&socket, ended.clone()).map_err(ReplayError::Directory)?;
            let instance = open_recorded(session, socket, daemon.context(), &log).await?;
            script.set_catalogue(Arc::clone(instance.package.catalogue()));
            (instance, Some(script))
        }
    };
    let provider_type = &instance.package.identity().provider_type;
    if *provider_type != Identity::new(parameter(session)?)?.provider_type {
        // It would know none of the session's resources.
        replayed.other_sessions += 1;
        count_skipped(session, replayed);
        return Ok(());
    }
    replayed.sessions += 1;
    daemon.serve_only(instance);
    let listener = Listener::open().await?;
    let authority = format!("127.0.0.1:{}", listener.port()).parse().expect("an address is an authority");
    let channel = Channel::tcp(authority, CONNECTION, CONNECTED_WITHIN);
    let served = Sessions::new(Arc::clone(&daemon));
    let serving = tokio::spawn({
        let (served, ended) = (Arc::clone(&served), ended.clone());
        async move { listener.serve(served, None, ended.cancelled_owned()).await }
    });
    let player = Player::new(session, channel, recording, script);
    for call in session.calls.iter().filter(|call| call.is_engines()) {
        if call.is_replayed(other.is_some()) && player.play(call, &mut replayed.differences).await {
            replayed.calls += 1;
        } else {
            *replayed.skipped.entry(call.method.clone()).or_default() += 1;
        }
    }
    drop(player);
    served.finish().await;
    ended.cancel();
    // It has ended.
    serving.await.ok();
    Ok(())
}

fn parameter(session: &RecordedSession) -> Result<Parameter, ReplayError> {
    let json = session.parameter.as_ref().map(ToString::to_string).unwrap_or_default();
    Parameter::decode(json.as_bytes())
        .map_err(|source| ReplayError::Parameter { session: session.id.clone(), source })
}

/// Connects to the provider that answers from the recording.
async fn open_recorded(
    session: &RecordedSession,
    socket: std::path::PathBuf,
    context: &Arc<ProcessContext>,
    log: &EngineLog,
) -> Result<Arc<Instance>, ReplayError> {
    let identity = Identity::new(parameter(session)?)?;
    let protocol = session.protocol().unwrap_or(ProtocolVersion::V6);
    let running = ReattachConfig { protocol, process_id: None, test: true, address: Address::Unix(socket) };
    let source = ProviderSource { name: identity.provider_type.clone(), program: Program::Running(running) };
    let instance = Instance::start(identity, source, context, log, &mut Vec::new()).await;
    instance.map_err(|error| ReplayError::Start(Box::new(error)))
}

impl OtherProvider {
    /// Starts it as the package of a session.
    async fn open(
        &self,
        session: &RecordedSession,
        context: &Arc<ProcessContext>,
        log: &EngineLog,
        warnings: &mut Vec<String>,
    ) -> Result<Arc<Instance>, ReplayError> {
        let recorded = parameter(session)?;
        let mut arguments = vec![self.provider.clone()];
        arguments.extend(self.version.clone());
        arguments.extend(["--provider-name".to_owned(), session.package.clone()]);
        let arguments = Arguments { names: recorded.names, ..Arguments::parse(&arguments)? };
        Ok(open_package(arguments, None, context, log, &|_| {}, warnings).await?)
    }
}
