//! One provider process: started, spoken to, watched, and ended.
//!
//! A Terraform provider is a program that serves gRPC to the one who started it, by the conventions of HashiCorp's
//! go-plugin: settings in the environment, one line of handshake on standard output, a socket, certificates made for
//! the occasion, a log on standard error. This module knows these conventions and nothing of the provider protocol
//! itself, whose clients run over [`Plugin::channel`].
//!
//! - `launch` goes through the whole start, with `executable`, `environment`, `socket_directory`, `guardian`, `handshake`, `tls`,
//!   `connection` and `health` for its steps; `error` words what can go wrong.
//! - `supervise` looks after a running child, with `process` for its end and `logs`, `lines` and `stdio` for its
//!   output; `guardian` and `spawn` are what runs between the daemon and the child.
//! - `reattach` and `foreign` are for providers that somebody else started.
//!
//! Two promises hold throughout. No provider outlives the daemon, however that ends. And a provider may print, crash,
//! hang or lie as it likes: it costs a fixed amount of memory and an error that names it.

mod connection;
mod environment;
mod error;
mod executable;
mod foreign;
mod guardian;
mod handshake;
mod health;
mod launch;
mod lines;
mod logs;
mod process;
mod reattach;
mod similar_path;
mod socket_directory;
mod spawn;
mod spec;
mod stdio;
mod supervise;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use isthmus_proto::goplugin::Empty;
use isthmus_proto::goplugin::grpc_controller_client::GrpcControllerClient;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;
use tokio_util::task::AbortOnDropHandle;
use tonic::Status;
use tonic::transport::Channel;

pub use connection::{ConnectionError, LARGEST_MESSAGE};
pub(crate) use environment::GO_PLUGIN_VARIABLES;
pub use error::{LaunchError, LaunchProblem};
pub use executable::{ExecutableError, inspect};
pub use foreign::ForeignProcess;
pub use guardian::{Guardian, OtherSessions, guardian_role};
pub use handshake::{Address, AddressError, Handshake, HandshakeError, ProtocolVersion, Transport};
pub use health::Health;
pub use logs::{Level, LogRecord, LogSink, Origin};
pub use process::{Ending, Exit};
pub use reattach::{ReattachConfig, ReattachError, ReattachSyntaxError, parse_reattach_providers};
pub use similar_path::similar_path;
pub use socket_directory::SocketDirectoryError;
pub use spec::LaunchSpec;
pub use tls::TlsSetupError;

use crate::KnownSecrets;
use launch::{ANSWER_TIMEOUT, Launched, first_call};
use logs::Logs;
use supervise::{Readers, Supervision};

/// A running provider. Dropping it kills the process that was launched for it; [`Plugin::shutdown`] is the polite end.
#[derive(Debug)]
pub struct Plugin {
    name: Arc<str>,
    channel: Channel,
    protocol: ProtocolVersion,
    logs: Logs,
    life: Life,
}

/// Whose process it is.
#[derive(Debug)]
enum Life {
    /// Ours.
    Child(Supervision),
    /// Somebody else's.
    Reattached(Reattached),
}

#[derive(Debug)]
struct Reattached {
    config: ReattachConfig,
    /// None when its process cannot be seen from here.
    process: Option<Arc<ForeignProcess>>,
    exit: watch::Receiver<Option<Exit>>,
    _watcher: AbortOnDropHandle<()>,
    _readers_end: DropGuard,
}

impl Plugin {
    /// Starts a provider and connects to it. When this returns, it has answered a first call.
    ///
    /// # Errors
    /// The text says what was expected, what was found, how the process ended and what it said last. Nothing is left
    /// running then; neither when the call is cancelled.
    pub async fn launch(spec: LaunchSpec, logs: LogSink) -> Result<Self, LaunchError> {
        let Launched { supervision, channel, protocol } = launch::launch(&spec, logs.clone()).await?;
        let name: Arc<str> = spec.name.into();
        let logs = Logs::new(Arc::clone(&name), logs);
        Ok(Self { name, channel, protocol, logs, life: Life::Child(supervision) })
    }

    /// Connects to a provider that is running already.
    ///
    /// # Errors
    /// When it cannot be connected to, or does not answer.
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
        Ok(Self { name, channel, protocol, logs, life: Life::Reattached(reattached) })
    }

    /// The connection, for the client of the provider protocol. Calls on it fail with UNAVAILABLE once the process
    /// has ended; [`Plugin::exited`] then tells why. See [`LARGEST_MESSAGE`].
    pub fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// The name that it was launched under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is redacted in its log, and in the texts of its end.
    pub fn secrets(&self) -> &KnownSecrets {
        self.logs.secrets()
    }

    /// Logs what this library has to say of the provider's answers.
    pub(crate) fn log(&self, level: Level, message: String) {
        self.logs.log(Origin::Core, level, message);
    }

    /// The one protocol that it serves.
    pub fn protocol(&self) -> ProtocolVersion {
        self.protocol
    }

    /// The process, while there is one and its id is known.
    pub fn process_id(&self) -> Option<u32> {
        match &self.life {
            Life::Child(supervision) => supervision.process_id(),
            Life::Reattached(reattached) if reattached.exit.borrow().is_some() => None,
            Life::Reattached(reattached) => reattached.config.process_id,
        }
    }

    /// How it ended, if it has.
    pub fn exit(&self) -> Option<Exit> {
        match &self.life {
            Life::Child(supervision) => supervision.exit(),
            Life::Reattached(reattached) => reattached.exit.borrow().clone(),
        }
    }

    /// Waits for its end. Never comes for a reattached provider whose process cannot be seen from here.
    pub async fn exited(&self) -> Exit {
        match &self.life {
            Life::Child(supervision) => supervision.exited().await,
            Life::Reattached(reattached) => reattached.exited().await,
        }
    }

    /// Asks it how it is.
    ///
    /// # Errors
    /// When it does not answer, as it does not after its end.
    pub async fn health(&self) -> Result<Health, Status> {
        health::health(&self.channel).await
    }

    /// Ends it as Terraform core does: asks it to, waits for 2 s, and kills it then, with everything that it started.
    /// May be called again, and at the same time. A provider of a test harness is left alone.
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
        }
    }

    /// The answer does not matter: the provider stops its server at once, so that this very call mostly breaks off.
    async fn ask_to_end(&self, exited: impl Future<Output = Exit>) {
        let mut controller = GrpcControllerClient::new(self.channel.clone());
        tokio::select! {
            _ = controller.shutdown(Empty {}) => {}
            _ = exited => {}
            () = tokio::time::sleep(SHUTDOWN_GRACE) => {}
        }
    }
}

/// How long a provider may take to end when asked to, as in Terraform core.
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
