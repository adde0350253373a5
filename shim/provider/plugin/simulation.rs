//! Providers of a simulation (`tests/simulation`): tasks instead of processes, at the other end of connections in memory.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::sync::Arc;

use http::uri::Authority;
use isthmus_common::BoxFuture;
use isthmus_grpc::{Channel, Stream};
use tokio::sync::watch;
use tokio_util::sync::DropGuard;

use super::connection::SETTINGS;
use super::{Exit, LaunchProblem, LaunchSpec, ProtocolVersion};

thread_local! {
    static LAUNCHER: RefCell<Option<Launcher>> = const { RefCell::new(None) };
}

/// Starts the providers of this thread.
pub type Launcher = Arc<dyn Fn(&LaunchSpec) -> SimulatedProcess + Send + Sync>;

/// Makes connections.
pub type Connect = Arc<dyn Fn() -> BoxFuture<'static, io::Result<Box<dyn Stream>>> + Send + Sync>;

/// A provider that a [`Launcher`] has started.
pub struct SimulatedProcess {
    /// Connects to it.
    pub connect: Connect,
    /// Its end, when it has ended.
    pub exit: watch::Receiver<Option<Exit>>,
    /// Kills it when it is dropped.
    pub kill: DropGuard,
    /// Which it speaks.
    pub protocol: ProtocolVersion,
}

impl fmt::Debug for SimulatedProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SimulatedProcess").field("exit", &self.exit).finish_non_exhaustive()
    }
}

/// Lets this thread start its providers by a launcher.
pub fn launch_by(launcher: Launcher) {
    LAUNCHER.set(Some(launcher));
}

/// Starts a provider by the launcher of this thread, if it has one.
pub(super) async fn launched(
    spec: &LaunchSpec,
) -> Option<Result<(SimulatedProcess, Channel), LaunchProblem>> {
    let launcher = LAUNCHER.with_borrow(Clone::clone)?;
    let process = launcher(spec);
    let connect = Arc::clone(&process.connect);
    let channel = Channel::new(Authority::from_static("localhost"), SETTINGS, move || connect());
    Some(match super::launch::first_call(&channel).await {
        Ok(()) => Ok((process, channel)),
        Err(problem) => Err(problem),
    })
}
