//! A program as a process in its own group: a bridge (isthmus or the Go bridge), or a shared daemon.

use std::env::consts::EXE_EXTENSION;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use isthmus_platform::supervise::ForeignProcess;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tonic::transport::{Channel, Endpoint};

/// Timeout; longer than a loaded machine needs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The plugin name of either bridge.
pub const PLUGIN: &str = "pulumi-resource-terraform-provider";

/// The engine's own limit, in bytes.
const LARGEST_MESSAGE: usize = 400 * 1024 * 1024;

/// Variables for a bridge: the `TF_LOG` of the test run, so that all tests can run with providers that log, and a file in this
/// directory for what they log. Besides, a bridge sends it to the engine for debugging.
pub fn provider_logging(directory: &Path) -> Vec<(&'static str, OsString)> {
    let Some(level) = std::env::var_os("TF_LOG") else { return Vec::new() };
    vec![("TF_LOG", level), ("TF_LOG_PATH", directory.join("providers.log").into_os_string())]
}

/// The environment of the test run has no effect on the command; its user's files are in this directory.
pub fn isolate(command: &mut Command, home: &Path) {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env(isthmus_platform::HOME, home)
        .env("PULUMI_HOME", home.join("pulumi"))
        .env("ISTHMUS_HOME", home.join("isthmus"));
    // Windows finds its own libraries by the first.
    for name in ["SystemRoot", "TEMP", "TMP"].into_iter().filter(|_| isthmus_platform::IS_WINDOWS) {
        command.envs(std::env::var_os(name).map(|value| (name, value)));
    }
}

/// A pipe of a child as a file, which a thread reads without a runtime.
macro_rules! file {
    ($pipe:expr) => {{
        #[cfg(unix)]
        let owned = $pipe.into_owned_fd();
        #[cfg(windows)]
        let owned = $pipe.into_owned_handle();
        std::fs::File::from(owned.expect("a pipe that nothing reads"))
    }};
}

/// The standard error of a process so far. A thread collects it, which outlives the test's runtime.
#[derive(Clone, Debug)]
pub struct Output(Arc<watch::Sender<String>>);

impl Output {
    /// Collects that of a process that was just started with a pipe.
    ///
    /// # Panics
    /// When it has none.
    pub fn of(child: &mut Child) -> Self {
        let mut pipe = file!(child.stderr.take().expect("a pipe"));
        let output = Self(Arc::new(watch::Sender::new(String::new())));
        let collected = Arc::clone(&output.0);
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..count]);
                collected.send_modify(|collected| collected.push_str(&text));
            }
        });
        output
    }

    /// What it is.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.borrow().clone()
    }

    /// Waits for a text in it.
    ///
    /// # Panics
    /// When it does not come in time.
    pub async fn wait_for(&self, wanted: &str) {
        let mut text = self.0.subscribe();
        let found = tokio::time::timeout(PATIENCE, text.wait_for(|text| text.contains(wanted))).await;
        assert!(found.is_ok_and(|found| found.is_ok()), "{wanted:?} is not on stderr: {}", self.text());
    }
}

/// A running program, killed with its group on drop.
#[derive(Debug)]
pub struct Process {
    executable: PathBuf,
    child: Child,
    id: u32,
    _stdin: Option<ChildStdin>,
    stderr: Output,
}

impl Process {
    /// Starts a bridge for an engine at that address, in a directory that is empty or that it was started in before.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(executable: &Path, home: &Path, engine: &str, variables: &[(String, String)]) -> Self {
        let plugin = home.join(PLUGIN).with_extension(EXE_EXTENSION);
        if !plugin.exists() {
            isthmus_platform::files::give_name(executable, &plugin).expect("a name in a new directory");
        }
        let mut command = Command::new(plugin);
        isolate(&mut command, home);
        command
            .arg(engine)
            .envs(provider_logging(home))
            .env("ISTHMUS_OFFLINE", "true")
            .envs(variables.iter().cloned())
            .current_dir(home);
        Self::of(command).expect("the bridge starts")
    }

    /// Starts a program as an engine does: as the leader of a group, with an input that is never written to.
    ///
    /// # Errors
    /// When it does not start.
    ///
    /// # Panics
    /// When the system gives it no number.
    pub fn of(mut command: Command) -> io::Result<Self> {
        group::lead(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let executable = PathBuf::from(command.as_std().get_program());
        let mut child = command.spawn()?;
        let id = child.id().expect("a process that was not waited for");
        let stderr = Output::of(&mut child);
        let stdin = child.stdin.take();
        Ok(Self { executable, child, id, _stdin: stdin, stderr })
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The port that a bridge prints first, once.
    ///
    /// # Errors
    /// What it prints instead, or nothing in time.
    ///
    /// # Panics
    /// When it is asked for again.
    pub async fn port(&mut self) -> Result<u16, String> {
        let stdout = self.child.stdout.take().expect("a pipe, once");
        let line = first_line(stdout).await;
        line.trim().parse().map_err(|_| format!("{line:?} is printed for a port by {}", self.said()))
    }

    /// Connects to it, once.
    ///
    /// # Panics
    /// When it does not respond.
    pub async fn client(&mut self) -> ResourceProviderClient<Channel> {
        let port = self.port().await.unwrap_or_else(|fault| panic!("{fault}"));
        let client = connect(port).await;
        client.unwrap_or_else(|error| panic!("{error}: no answer on the port of {}", self.said()))
    }

    /// Sends SIGINT to its group, as engines do.
    pub fn interrupt(&self) {
        group::interrupt(self.id);
    }

    /// Whether it ends within this time.
    pub async fn ended_within(&mut self, time: Duration) -> bool {
        tokio::time::timeout(time, self.child.wait()).await.is_ok()
    }

    /// Ends it by force, without its children, if it has not ended.
    pub async fn kill(&mut self) {
        // It fails only if it has exited.
        let _ = self.child.kill().await;
    }

    /// Kills it and no other process of its group, as an engine ends a plugin.
    pub fn kill_alone(&self) {
        if let Some(process) = ForeignProcess::find(self.id) {
            process.kill();
        }
    }

    /// Its standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Its name and its output.
    #[must_use]
    pub fn said(&self) -> String {
        format!("{}; its stderr: {}", self.executable.display(), self.stderr())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The Go bridge's provider is in the bridge's group and would outlive it.
        group::kill(self.id);
    }
}

/// Opens a connection to a bridge, as an engine does.
///
/// # Errors
/// When nothing listens on the port.
///
/// # Panics
/// Never: a port makes an address.
pub async fn connect(port: u16) -> Result<ResourceProviderClient<Channel>, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}")).expect("an address");
    Ok(ResourceProviderClient::new(endpoint.connect().await?)
        .max_decoding_message_size(LARGEST_MESSAGE)
        .max_encoding_message_size(LARGEST_MESSAGE))
}

/// The line with the port, empty after a timeout; the rest is discarded.
pub async fn first_line(stdout: ChildStdout) -> String {
    let stdout = file!(stdout);
    let (sender, line) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        drop(stdout.read_line(&mut line));
        // The receiver is dropped if the test is over.
        drop(sender.send(line));
        drop(io::copy(&mut stdout, &mut io::sink()));
    });
    tokio::time::timeout(PATIENCE, line).await.ok().and_then(Result::ok).unwrap_or_default()
}

/// The group of a process and its children.
#[cfg(unix)]
mod group {
    use rustix::process::{Pid, Signal, kill_process_group};
    use tokio::process::Command;

    pub(super) fn lead(command: &mut Command) {
        command.process_group(0);
    }

    pub(super) fn interrupt(leader: u32) {
        signal(leader, Signal::INT);
    }

    pub(super) fn kill(leader: u32) {
        signal(leader, Signal::KILL);
    }

    fn signal(leader: u32, signal: Signal) {
        let group = i32::try_from(leader).ok().and_then(Pid::from_raw).expect("a process id");
        // It fails only if all have exited.
        let _ = kill_process_group(group, signal);
    }
}

/// The same on Windows, where a job ends the children of isthmus.
#[cfg(windows)]
mod group {
    use isthmus_platform::supervise::ForeignProcess;
    use tokio::process::Command;

    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;

    pub(super) fn lead(command: &mut Command) {
        command.creation_flags(CREATE_NEW_PROCESS_GROUP);
    }

    pub(super) fn interrupt(leader: u32) {
        isthmus_platform::process::terminate(leader);
    }

    pub(super) fn kill(leader: u32) {
        if let Some(process) = ForeignProcess::find(leader) {
            process.kill();
        }
    }
}
