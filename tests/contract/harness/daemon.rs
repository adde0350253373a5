//! A shared daemon: `isthmus daemon` as a process of its own.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use http::uri::Authority;
use isthmus_grpc::{Channel, ChannelSettings, Stream};
use tokio::process::{Child, Command};

use super::PATIENCE;
use super::engine::{Output, isolate};
use super::processes::{self, Signal};

/// A running daemon. It is killed when this goes.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    socket: PathBuf,
    stderr: Output,
}

/// The socket of the daemon in a directory.
pub(crate) fn socket_in(directory: &Path) -> PathBuf {
    directory.join("run").join("daemon.sock")
}

impl Daemon {
    /// Starts a daemon in a directory, and waits until it listens; `None` if one listens there already.
    pub(crate) async fn start(
        executable: &Path,
        directory: &Path,
        variables: &[(String, OsString)],
    ) -> Option<Self> {
        Self::start_by(&[], executable, directory, variables).await
    }

    /// The same, by a command whose last argument is the program that it starts.
    pub(crate) async fn start_by(
        starter: &[String],
        executable: &Path,
        directory: &Path,
        variables: &[(String, OsString)],
    ) -> Option<Self> {
        let socket = socket_in(directory);
        if isthmus_platform::local::Stream::connect(&socket).await.is_ok() {
            return None;
        }
        let mut words = starter.iter().map(OsStr::new).chain([executable.as_os_str()]);
        let mut command = Command::new(words.next().expect("there is the executable"));
        command.args(words).arg("daemon").arg("--socket").arg(&socket).stdin(Stdio::null());
        Some(Self::run(command, directory, variables).await)
    }

    /// Starts one that replaces the one in the directory, and waits until it listens.
    pub(crate) async fn replacing(directory: &Path, variables: &[(String, OsString)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isthmus"));
        command.arg("daemon").arg("--replace").arg("--socket").arg(socket_in(directory)).stdin(Stdio::null());
        Self::run(command, directory, variables).await
    }

    /// Starts one as a service manager does, which has opened its socket.
    #[cfg(unix)]
    pub(crate) async fn activated(
        listener: std::os::fd::OwnedFd,
        directory: &Path,
        variables: &[(String, OsString)],
    ) -> Self {
        let mut command = Command::new("sh");
        command.arg("-c").arg("exec 3<&0 0</dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" daemon");
        command.arg(env!("CARGO_BIN_EXE_isthmus")).stdin(listener);
        Self::run(command, directory, variables).await
    }

    async fn run(mut command: Command, directory: &Path, variables: &[(String, OsString)]) -> Self {
        isolate(&mut command, directory);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("the daemon starts");
        let stderr = Output::of(&mut child);
        let daemon = Self { child, socket: socket_in(directory), stderr };
        daemon.said("listening on").await;
        daemon
    }

    /// Waits until it has written this to standard error.
    pub(crate) async fn said(&self, text: &str) {
        self.stderr.wait_for(text).await;
    }

    /// What it has written to standard error.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Where it listens.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id().expect("a process that was not waited for")
    }

    /// Kills it, and waits for its end.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.expect("it is a child");
    }

    /// Opens a connection, as a plugin does.
    pub(crate) async fn channel(&self) -> Channel {
        channel(self.socket.clone()).await
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        processes::signal(self.process(), signal);
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&mut self) {
        tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .expect("it ends in time")
            .expect("it is a child");
    }
}

/// Opens a connection to a daemon's socket.
pub(crate) async fn channel(socket: PathBuf) -> Channel {
    let settings =
        ChannelSettings { stream_window: 1 << 20, connection_window: 1 << 20, largest_headers: 1 << 20 };
    let channel = Channel::new(Authority::from_static("isthmus"), settings, move || {
        let connecting = isthmus_platform::local::Stream::connect(socket.clone());
        async move { Ok(Box::new(connecting.await?) as Box<dyn Stream>) }
    });
    channel.connect().await.expect("it accepts connections");
    channel
}
