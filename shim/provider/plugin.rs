//! One provider process: launch, connection, supervision, shutdown.
//!
//! A Terraform provider is a gRPC server by the conventions of HashiCorp's go-plugin: settings in the
//! environment, a handshake line on standard output, a socket, temporary certificates, a log on
//! standard error. This module implements these conventions; clients of the provider protocol use
//! [`Plugin::channel`].
//!
//! - `launch` is the start, in the steps `executable`, `environment`, `socket_directory`,
//!   `handshake`, `tls`, `connection` and `health`, with the errors in `error`.
//! - `supervise` is for a running child, with `process` for its exit and `logs`, `lines` and `stdio`
//!   for its output; `isthmus_platform::supervise` starts and kills it.
//! - `reattach` is for providers that another program started.
//!
//! No provider outlives the daemon, however it exits. A provider that floods its output, crashes or
//! hangs costs a bounded amount of memory and an error with its name.

mod connection;
mod environment;
mod error;
mod executable;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod handshake;
mod health;
mod launch;
mod lines;
mod log_level;
mod logs;
mod process;
mod reattach;
mod similar_path;
#[cfg(feature = "simulation")]
pub mod simulation;
mod socket_directory;
mod stdio;
mod supervise;
mod tls;

use std::sync::Arc;
use std::time::{Duration, Instant};

use isthmus_grpc::Channel;
use isthmus_proto::goplugin::Empty;
use isthmus_proto::goplugin::grpc_controller_client::GrpcControllerClient;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;

pub(crate) use connection::STREAM_SETTINGS;
pub use connection::{ConnectionError, LARGEST_MESSAGE};
pub(crate) use environment::GO_PLUGIN_VARIABLES;
pub use error::{LaunchError, LaunchProblem};
pub use executable::{ExecutableError, inspect};
pub use handshake::{Address, AddressError, Handshake, HandshakeError, ProtocolVersion, Transport};
pub use health::Health;
pub use launch::LaunchSpec;
pub use log_level::{LOG_VARIABLES, Level, LogLevel};
pub use logs::{LogRecord, LogSink, Origin};
pub use process::Exit;
pub use reattach::{ReattachConfig, ReattachError, ReattachSyntaxError, parse_reattach_providers};
pub use similar_path::similar_path;
pub use socket_directory::SocketDirectoryError;
pub use tls::TlsSetupError;

use isthmus_known_secrets::KnownSecrets;
use isthmus_platform::supervise::resident_memory;
pub use isthmus_platform::supervise::{Ending, ForeignProcess, Guardian, OtherSessions, guardian_role};
use launch::{ANSWER_TIMEOUT, Launched, first_call};
use logs::Logs;
use supervise::{Readers, Supervision};

/// A running provider. Dropping it kills a process that was launched; [`Plugin::shutdown`] stops it
/// gracefully.
#[derive(Debug)]
pub struct Plugin {
    name: Arc<str>,
    channel: Channel,
    protocol: ProtocolVersion,
    logs: Logs,
    life: Life,
    since: Instant,
}

/// Ownership of the process.
#[derive(Debug)]
enum Life {
    /// Launched by this program.
    Child(Supervision),
    /// Started by another program.
    Reattached(Reattached),
    /// A task of this thread.
    #[cfg(feature = "simulation")]
    Simulated(simulation::SimulatedProcess),
}

#[derive(Debug)]
struct Reattached {
    config: ReattachConfig,
    /// `None` if the process is not visible from here.
    process: Option<Arc<ForeignProcess>>,
    exit: watch::Receiver<Option<Exit>>,
    _watcher: AbortOnDropHandle<()>,
    _readers_end: DropGuard,
}

impl Plugin {
    /// Launches a provider and connects to it. When this returns, it has responded to a first call.
    ///
    /// # Errors
    /// With the cause, and the exit and last output of the process, which is not left running; nor
    /// is it after cancellation.
    pub async fn launch(spec: LaunchSpec, logs: LogSink) -> Result<Self, LaunchError> {
        #[cfg(feature = "simulation")]
        if let Some(launched) = simulation::launched(&spec).await {
            let name: Arc<str> = spec.name.into();
            let failed = |problem| LaunchError::reattach(&name, &Address::Unix("simulated".into()), problem);
            let (process, channel) = launched.map_err(failed)?;
            let (protocol, logs) = (process.protocol, Logs::new(Arc::clone(&name), logs));
            return Ok(Self {
                name,
                channel,
                protocol,
                logs,
                life: Life::Simulated(process),
                since: Instant::now(),
            });
        }
        let Launched { supervision, channel, protocol } = launch::launch(&spec, logs.clone()).await?;
        let name: Arc<str> = spec.name.into();
        let logs = Logs::new(Arc::clone(&name), logs);
        Ok(Self { name, channel, protocol, logs, life: Life::Child(supervision), since: Instant::now() })
    }

    /// Connects to a running provider.
    ///
    /// # Errors
    /// When the connection fails, or it does not respond.
    pub async fn reattach(
        name: impl Into<String>,
        config: ReattachConfig,
        logs: LogSink,
    ) -> Result<Self, LaunchError> {
        let name: Arc<str> = name.into().into();
        let failed = |problem| LaunchError::reattach(&name, &config.address, problem);
        let channel = connection::connect(&config.address, None, ANSWER_TIMEOUT)
            .await
            .map_err(|error| failed(LaunchProblem::from(error)))?;
        first_call(&channel).await.map_err(failed)?;
        let logs = Logs::new(Arc::clone(&name), logs);
        let reattached = Reattached::watch(config, &channel, logs.clone());
        let protocol = reattached.config.protocol;
        Ok(Self { name, channel, protocol, logs, life: Life::Reattached(reattached), since: Instant::now() })
    }

    /// The connection for clients of the provider protocol. Calls fail with UNAVAILABLE after the
    /// process has exited; see [`Plugin::exited`] and [`LARGEST_MESSAGE`].
    pub fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// The name in its launch specification.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Secrets that are redacted in its log and exit.
    pub fn secrets(&self) -> &KnownSecrets {
        self.logs.secrets()
    }

    /// Logs what this library has to say of the provider's answers.
    pub(crate) fn log(&self, level: Level, message: String) {
        self.logs.log(Origin::Core, level, message);
    }

    /// Its protocol version.
    pub fn protocol(&self) -> ProtocolVersion {
        self.protocol
    }

    /// The process id while it is running, if known.
    pub fn process_id(&self) -> Option<u32> {
        match &self.life {
            Life::Child(supervision) => supervision.process_id(),
            Life::Reattached(reattached) if reattached.exit.borrow().is_some() => None,
            Life::Reattached(reattached) => reattached.config.process_id,
            #[cfg(feature = "simulation")]
            Life::Simulated(_) => None,
        }
    }

    /// When it was launched, or attached to.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// The resident memory of its process and of those that it has started, in bytes. `None` if
    /// another program has started it, or it has exited. This blocks.
    pub fn resident_memory(&self) -> Option<u64> {
        match &self.life {
            Life::Child(_) => Some(resident_memory(self.process_id()?)).filter(|memory| *memory > 0),
            Life::Reattached(_) => None,
            #[cfg(feature = "simulation")]
            Life::Simulated(_) => None,
        }
    }

    /// Its exit, if it has exited.
    pub fn exit(&self) -> Option<Exit> {
        match &self.life {
            Life::Child(supervision) => supervision.exit(),
            Life::Reattached(reattached) => reattached.exit.borrow().clone(),
            #[cfg(feature = "simulation")]
            Life::Simulated(process) => process.exit.borrow().clone(),
        }
    }

    /// Waits for its exit, for ever if its process is not visible from here.
    pub async fn exited(&self) -> Exit {
        match &self.life {
            Life::Child(supervision) => supervision.exited().await,
            Life::Reattached(reattached) => reattached.exited().await,
            #[cfg(feature = "simulation")]
            Life::Simulated(process) => supervise::published(&process.exit).await,
        }
    }

    /// Queries its health.
    ///
    /// # Errors
    /// When it does not respond.
    pub async fn health(&self) -> Result<Health, Status> {
        health::health(&self.channel).await
    }

    /// Stops it as Terraform does: requests it, waits for 2 s, and kills it with its process group.
    /// May be called repeatedly and concurrently. A provider of a test harness is not stopped.
    pub async fn shutdown(&self) {
        match &self.life {
            Life::Child(supervision) => {
                if supervision.exit().is_none() {
                    let asked = tokio::time::Instant::now();
                    self.ask_to_end(supervision.exited()).await;
                    supervision.end_within(SHUTDOWN_GRACE.saturating_sub(asked.elapsed())).await;
                }
            }
            Life::Reattached(reattached) if reattached.config.test || self.exit().is_some() => {}
            Life::Reattached(reattached) => {
                let asked = tokio::time::Instant::now();
                self.ask_to_end(reattached.exited()).await;
                if let Some(process) = &reattached.process {
                    let left = SHUTDOWN_GRACE.saturating_sub(asked.elapsed());
                    if timeout(left, reattached.exited()).await.is_err() {
                        process.kill();
                    }
                }
            }
            #[cfg(feature = "simulation")]
            Life::Simulated(process) => self.ask_to_end(supervise::published(&process.exit)).await,
        }
    }

    /// The response is irrelevant: the provider stops its server at once, so that this call usually
    /// fails.
    async fn ask_to_end(&self, exited: impl Future<Output = Exit>) {
        let mut controller = GrpcControllerClient::new(self.channel.clone());
        tokio::select! {
            _ = controller.shutdown(Empty {}) => {}
            _ = exited => {}
            () = tokio::time::sleep(SHUTDOWN_GRACE) => {}
        }
    }
}

/// How long a provider may take to exit, as in Terraform.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

impl Reattached {
    fn watch(config: ReattachConfig, channel: &Channel, logs: Logs) -> Self {
        let process = config.process_id.and_then(ForeignProcess::find).map(Arc::new);
        let (sender, exit) = watch::channel(None);
        let (readers, readers_end) = Readers::new();
        readers.spawn(stdio::follow_prints(channel.clone(), logs.clone()));
        let watched = process.clone();
        let watcher = tokio::spawn(async move {
            match &watched {
                Some(process) => process.ended().await,
                None => std::future::pending().await,
            }
            sender.send_replace(Some(Exit::new(Ending::Unknown, logs.last_words())));
        });
        Self { config, process, exit, _watcher: AbortOnDropHandle::new(watcher), _readers_end: readers_end }
    }

    async fn exited(&self) -> Exit {
        supervise::published(&self.exit).await
    }
}

#[cfg(test)]
mod tests;
