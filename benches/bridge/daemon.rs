//! A shared daemon of isthmus, which plugins pass their calls on to.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::bail;
use isthmus_test_engine::Process;

use super::{BridgeSpec, explain, start};

/// How long a daemon may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running daemon. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct SharedDaemon {
    process: Process,
    socket: PathBuf,
}

impl SharedDaemon {
    /// Starts it with the home and the variables of its plugins, and waits until it listens.
    pub(crate) async fn start(isthmus: &Path, spec: &BridgeSpec) -> anyhow::Result<Self> {
        let socket = spec.home.join("run").join("daemon.sock");
        let arguments = ["daemon".as_ref(), "--socket".as_ref(), socket.as_os_str()];
        let process = start(isthmus, &arguments, spec)?;
        let began = Instant::now();
        while tokio::net::UnixStream::connect(&socket).await.is_err() {
            if began.elapsed() > PATIENCE {
                return Err(explain(&process, anyhow::anyhow!("the daemon does not listen")));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(Self { process, socket })
    }

    /// Where it listens, for the variable `ISTHMUS_DAEMON`.
    pub(crate) fn socket(&self) -> anyhow::Result<String> {
        match self.socket.to_str() {
            Some(socket) => Ok(socket.to_owned()),
            None => bail!("the path of the socket is not Unicode"),
        }
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends it as a service manager does: SIGINT, wait, SIGKILL.
    pub(crate) async fn end(mut self) {
        self.process.interrupt();
        if !self.process.ended_within(PATIENCE).await {
            self.process.kill().await;
        }
    }
}
