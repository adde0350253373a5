//! A bridge (isthmus or the Go bridge) as a process in its own group.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, ChildStdin, Command};
use tonic::transport::{Channel, Endpoint};

/// Timeout; longer than a loaded machine needs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The plugin name of either bridge.
const PLUGIN: &str = "pulumi-resource-terraform-provider";

/// The engine's own limit, in bytes.
const LARGEST_MESSAGE: usize = 400 * 1024 * 1024;

/// Variables for a bridge: the `TF_LOG` of the test run, so that all tests can run with providers that log, and a file in this
/// directory for what they log. Besides, a bridge sends it to the engine for debugging.
pub fn provider_logging(directory: &Path) -> Vec<(&'static str, OsString)> {
    let Some(level) = std::env::var_os("TF_LOG") else { return Vec::new() };
    vec![("TF_LOG", level), ("TF_LOG_PATH", directory.join("providers.log").into_os_string())]
}

/// A running bridge, killed with its provider on drop.
#[derive(Debug)]
pub struct Process {
    executable: PathBuf,
    child: Child,
    group: Pid,
    _stdin: Option<ChildStdin>,
    stderr: Arc<Mutex<String>>,
}

impl Process {
    /// Starts a bridge in an empty directory, for an engine at that address.
    pub fn start(executable: &Path, home: &Path, engine: &str, variables: &[(String, String)]) -> Self {
        let plugin = home.join(PLUGIN);
        std::os::unix::fs::symlink(executable, &plugin).expect("a link in a new directory");
        let mut child = Command::new(plugin)
            .arg(engine)
            // The environment of the test run has no effect, but for what providers log.
            .env_clear()
            .envs(provider_logging(home))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("PULUMI_HOME", home.join("pulumi"))
            .env("ISTHMUS_HOME", home.join("isthmus"))
            .env("ISTHMUS_OFFLINE", "true")
            .envs(variables.iter().cloned())
            .current_dir(home)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the bridge starts");
        let id = child.id().expect("a process that was not waited for");
        let group = i32::try_from(id).ok().and_then(Pid::from_raw).expect("a process id");
        let stderr = Arc::<Mutex<String>>::default();
        let pipe = child.stderr.take().expect("a pipe").into_owned_fd().expect("a descriptor");
        follow(pipe, Arc::clone(&stderr));
        let stdin = child.stdin.take();
        Self { executable: executable.to_owned(), child, group, _stdin: stdin, stderr }
    }

    /// Connects to it, once.
    ///
    /// # Panics
    /// When it does not respond.
    pub async fn client(&mut self) -> ResourceProviderClient<Channel> {
        let stdout = self.child.stdout.take().expect("a pipe, once").into_owned_fd().expect("a descriptor");
        let line = first_line(stdout).await;
        let port: u16 = line
            .trim()
            .parse()
            .unwrap_or_else(|_| panic!("{line:?} is printed for a port by {}", self.said()));
        let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}")).expect("an address");
        let channel = endpoint.connect().await;
        let channel =
            channel.unwrap_or_else(|error| panic!("{error}: no answer on the port of {}", self.said()));
        ResourceProviderClient::new(channel).max_decoding_message_size(LARGEST_MESSAGE)
    }

    /// Kills the bridge and no other process of its group, as an engine ends a plugin.
    pub fn kill_alone(&self) {
        // It fails only if the bridge has exited.
        let _ = kill_process(self.group, Signal::KILL);
    }

    /// Its standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its name and its output.
    #[must_use]
    pub fn said(&self) -> String {
        format!("{}; its stderr: {}", self.executable.display(), self.stderr())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The Go bridge's provider is in the bridge's group and would outlive it. It fails only if
        // all have exited.
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

/// The line with the port, empty after a timeout; the rest is discarded.
pub async fn first_line(stdout: OwnedFd) -> String {
    let (sender, line) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut stdout = BufReader::new(std::fs::File::from(stdout));
        let mut line = String::new();
        drop(stdout.read_line(&mut line));
        // The receiver is dropped if the test is over.
        drop(sender.send(line));
        drop(std::io::copy(&mut stdout, &mut std::io::sink()));
    });
    tokio::time::timeout(PATIENCE, line).await.ok().and_then(Result::ok).unwrap_or_default()
}

/// Collects stderr in a thread, which outlives the test's runtime.
fn follow(stderr: OwnedFd, collected: Arc<Mutex<String>>) {
    std::thread::spawn(move || {
        let mut stderr = std::fs::File::from(stderr);
        let mut buffer = [0; 8192];
        while let Ok(count @ 1..) = stderr.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..count]);
            collected.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
        }
    });
}
