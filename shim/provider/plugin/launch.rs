//! Launches a provider until it responds to calls, as Terraform does.
//!
//! After a failure or cancellation, no process and no file is left: each step's result owns what it
//! created.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use isthmus_common::{Environment, fail_point};
use isthmus_grpc::Channel;
use isthmus_platform::IS_WINDOWS;
use isthmus_platform::supervise::{Guardian, OtherSessions, Program, SpawnError, spawn};

use super::connection::connect;
use super::environment::child_environment;
use super::error::{LaunchError, LaunchProblem};
use super::executable::{absolute, explain, inspect};
use super::handshake::{Handshake, ProtocolVersion, Transport};
use super::health::{Health, health};
use super::logs::{LogSink, Logs};
use super::socket_directory::SocketDirectory;
use super::stdio::follow_prints;
use super::supervise::Supervision;
use super::tls::ClientIdentity;

/// How to launch a provider.
#[derive(Clone, Debug)]
pub struct LaunchSpec {
    /// Name in messages and log records. Providers' own log lines have a level of their own where it is their type.
    pub name: String,
    /// The executable; not searched in `PATH`.
    pub executable: PathBuf,
    /// Arguments; providers need none.
    pub args: Vec<OsString>,
    /// Variables to inherit; this process's by default.
    pub environment: Environment,
    /// Working directory; ours by default.
    pub working_directory: Option<PathBuf>,
    /// Timeout of the handshake line; 60 s in Terraform.
    pub start_timeout: Duration,
    /// Whether to use mutual TLS. Without it, only the private socket directory protects the
    /// connection.
    pub mutual_tls: bool,
    /// Kills it when we cannot.
    pub guardian: Guardian,
    /// What to do with processes in other sessions.
    pub other_sessions: OtherSessions,
}

impl LaunchSpec {
    /// Launches `executable` as Terraform would.
    pub fn new(name: impl Into<String>, executable: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            executable: executable.into(),
            args: Vec::new(),
            environment: Environment::current(),
            working_directory: None,
            start_timeout: Duration::from_secs(60),
            mutual_tls: true,
            guardian: Guardian::thread(),
            other_sessions: OtherSessions::Leave,
        }
    }
}

/// A provider that has responded to its first call.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) supervision: Supervision,
    pub(super) channel: Channel,
    pub(super) protocol: ProtocolVersion,
}

pub(super) async fn launch(spec: &LaunchSpec, sink: LogSink) -> Result<Launched, LaunchError> {
    let executable = absolute(&spec.executable);
    let failed = |problem: LaunchProblem| LaunchError::start(&spec.name, &executable, problem);
    let logs = Logs::new(Arc::from(spec.name.as_str()), sink);
    let identity =
        spec.mutual_tls.then(ClientIdentity::generate).transpose().map_err(|error| failed(error.into()))?;

    let (supervision, first_line) =
        start(spec, &executable, identity.as_ref(), &logs).await.map_err(failed)?;
    let outcome = async {
        let line = announced(&supervision, first_line, spec.start_timeout).await?;
        fail_point("provider-announced");
        let transport = if identity.is_some() { Transport::MutualTls } else { Transport::Plain };
        let handshake = Handshake::parse(&line, transport)?;
        let channel = join(&handshake, identity.as_ref()).await?;
        supervision.readers().spawn(follow_prints(channel.clone(), logs.clone()));
        first_call(&channel).await?;
        fail_point("provider-connected");
        Ok((channel, handshake.protocol))
    };
    match outcome.await {
        Ok((channel, protocol)) => Ok(Launched { supervision, channel, protocol }),
        Err(problem) => {
            // The exit status of a process that is about to exit is more informative than our
            // signal.
            let end = supervision.end_within(GRACE_AFTER_FAILURE).await;
            Err(failed(problem).with_end(end))
        }
    }
}

/// Connects to the provider for the first time and checks that it responds.
///
/// Go verifies our certificate after our side of the TLS handshake is complete, so a connection
/// alone is no proof. A server without the health service counts as healthy.
pub(super) async fn first_call(channel: &Channel) -> Result<(), LaunchProblem> {
    match tokio::time::timeout(ANSWER_TIMEOUT, health(channel)).await {
        Ok(Ok(Health::Serving | Health::Unknown)) => Ok(()),
        Ok(Ok(Health::NotServing)) => Err(LaunchProblem::NotServing),
        Ok(Err(status)) => Err(unanswered(status)),
        Err(_) => Err(unanswered(tonic::Status::deadline_exceeded("no answer to the health check"))),
    }
}

fn unanswered(status: tonic::Status) -> LaunchProblem {
    LaunchProblem::Unanswered { answer: status.code().description().to_owned(), source: Box::new(status) }
}

/// Timeout of the first call.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a failed process may take to exit by itself.
const GRACE_AFTER_FAILURE: Duration = Duration::from_millis(300);
/// Delays between retries when the file is open for writing, for instance by a thread that forked
/// during an installation.
const BUSY_PAUSES: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(100), Duration::from_millis(200)];

async fn start(
    spec: &LaunchSpec,
    executable: &Path,
    identity: Option<&ClientIdentity>,
    logs: &Logs,
) -> Result<(Supervision, tokio::sync::oneshot::Receiver<Vec<u8>>), LaunchProblem> {
    let sockets = prepare(spec, executable, logs).await?;
    let environment = child_environment(
        &spec.name,
        &spec.environment,
        identity.map(ClientIdentity::pem),
        sockets.as_ref().map(SocketDirectory::path),
    );
    let program = Program {
        executable: executable.to_owned(),
        args: spec.args.clone(),
        environment,
        working_directory: spec.working_directory.clone(),
        other_sessions: spec.other_sessions,
    };
    let mut pauses = BUSY_PAUSES.into_iter();
    let child = loop {
        match spawn(&spec.guardian, program.clone()).await {
            Ok(child) => break child,
            Err(SpawnError::Guardian(error)) => return Err(LaunchProblem::Guardian(error)),
            Err(SpawnError::Program(error)) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                match pauses.next() {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => return Err(LaunchProblem::Busy(error)),
                }
            }
            Err(SpawnError::Program(error)) => {
                return Err(match explain(executable, error) {
                    Ok(explained) => explained.into(),
                    Err(other) => LaunchProblem::Spawn(other),
                });
            }
        }
    };
    fail_point("provider-spawned");
    Ok(Supervision::start(child, sockets, logs))
}

/// Checks the specification, and creates the socket directory.
async fn prepare(
    spec: &LaunchSpec,
    executable: &Path,
    logs: &Logs,
) -> Result<Option<SocketDirectory>, LaunchProblem> {
    let (executable, logs) = (executable.to_owned(), logs.clone());
    let working_directory = spec.working_directory.clone();
    let blocking = isthmus_common::spawn_blocking(move || {
        inspect(&executable)?;
        if let Some(directory) = working_directory {
            let problem = match std::fs::metadata(&directory) {
                Ok(metadata) if metadata.is_dir() => None,
                Ok(_) => Some(io::ErrorKind::NotADirectory.into()),
                Err(error) => Some(error),
            };
            if let Some(source) = problem {
                return Err(LaunchProblem::WorkingDirectory { directory, source });
            }
        }
        // go-plugin listens on a port there.
        Ok(if IS_WINDOWS { None } else { Some(SocketDirectory::create(&logs)?) })
    });
    blocking.await.unwrap_or_else(|error| Err(LaunchProblem::Spawn(io::Error::other(error))))
}

async fn announced(
    supervision: &Supervision,
    first_line: tokio::sync::oneshot::Receiver<Vec<u8>>,
    within: Duration,
) -> Result<Vec<u8>, LaunchProblem> {
    tokio::select! {
        biased;
        line = first_line => match line {
            Ok(line) => Ok(line),
            // The output has ended. Usually the process has exited, but was not reaped yet.
            Err(_) => match tokio::time::timeout(GRACE_AFTER_FAILURE, supervision.exited()).await {
                Ok(_) => Err(LaunchProblem::EndedEarly),
                Err(_) => Err(LaunchProblem::OutputClosed),
            },
        },
        _ = supervision.exited() => Err(LaunchProblem::EndedEarly),
        () = tokio::time::sleep(within) => Err(LaunchProblem::Silent { within }),
    }
}

async fn join(handshake: &Handshake, identity: Option<&ClientIdentity>) -> Result<Channel, LaunchProblem> {
    let tls = match (identity, &handshake.certificate) {
        (Some(identity), Some(certificate)) => Some(identity.client_configuration(certificate.clone())?),
        // The handshake contains a certificate exactly when there is a client identity.
        (None, _) | (_, None) => None,
    };
    Ok(connect(&handshake.address, tls, ANSWER_TIMEOUT).await?)
}
