//! Both bridges as processes, and a pair of them that is asked the same.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use isthmus_proto::pulumirpc::ProviderHandshakeRequest;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::process::{Child, ChildStdin, Command};
use tonic::transport::{Channel, Endpoint};

use crate::call::Call;
use crate::engine::Engine;
use crate::tools::Cache;

/// How long anything may take. It is longer than a loaded machine needs, because running out of it is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The name that engines start either by.
const PLUGIN: &str = "pulumi-resource-terraform-provider";

/// The engine's own limit, in bytes.
const LARGEST_MESSAGE: usize = 400 * 1024 * 1024;

/// Environment variables beside those that every process gets.
pub(crate) type Variables = Vec<(String, String)>;

/// Both bridges, started alike.
#[derive(Debug)]
pub(crate) struct Pair {
    ours: Bridge,
    theirs: Bridge,
}

impl Pair {
    /// Starts both.
    pub(crate) async fn start(cache: &Cache, variables: &Variables) -> Self {
        let ours = Path::new(env!("CARGO_BIN_EXE_isthmus"));
        let theirs = fixtures::tools::tool("go-bridge");
        let (ours, theirs) =
            tokio::join!(Bridge::start(ours, cache, variables), Bridge::start(&theirs, cache, variables));
        Self { ours, theirs }
    }

    /// Makes the same call to both: our answer, and that of the Go bridge.
    pub(crate) async fn ask(&self, call: Call) -> (Json, Json) {
        tokio::join!(self.ours.ask(call.clone()), self.theirs.ask(call))
    }

    /// What an engine says first.
    pub(crate) async fn handshake(&self) -> (Json, Json) {
        tokio::join!(self.ours.handshake(), self.theirs.handshake())
    }
}

/// A running bridge. It is killed with its provider when this goes.
#[derive(Debug)]
struct Bridge {
    engine: Engine,
    client: ResourceProviderClient<Channel>,
    process: Running,
    _folder: TempDir,
}

impl Bridge {
    async fn start(executable: &Path, cache: &Cache, variables: &Variables) -> Self {
        let engine = Engine::start().await;
        let folder = tempfile::tempdir().expect("a temporary directory");
        let mut variables = variables.clone();
        let path = cache.path().to_str().expect("a path in UTF-8").to_owned();
        variables.push(("PULUMI_DYNAMIC_TF_PLUGIN_CACHE_DIR".to_owned(), path));
        let mut process = Running::start(executable, folder.path(), engine.address(), &variables);
        let port = process.port().await;
        let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}")).expect("an address");
        let channel = endpoint.connect().await.unwrap_or_else(|error| {
            panic!("nobody answers on the port of {}: {error}\n{}", executable.display(), process.said())
        });
        let client = ResourceProviderClient::new(channel).max_decoding_message_size(LARGEST_MESSAGE);
        Self { engine, client, process, _folder: folder }
    }

    async fn ask(&self, call: Call) -> Json {
        let name = call.name();
        tokio::time::timeout(PATIENCE, call.answer(self.client.clone())).await.unwrap_or_else(|_| {
            panic!("{} does not answer {name}\n{}", self.process.executable.display(), self.process.said())
        })
    }

    async fn handshake(&self) -> Json {
        let request = ProviderHandshakeRequest {
            engine_address: self.engine.address().to_owned(),
            configure_with_urn: true,
            supports_views: true,
            supports_refresh_before_update: true,
            invoke_with_preview: true,
            ..ProviderHandshakeRequest::default()
        };
        self.ask(Call::Handshake(request)).await
    }
}

/// The process, in a group of its own.
#[derive(Debug)]
struct Running {
    executable: PathBuf,
    child: Child,
    group: Pid,
    _stdin: Option<ChildStdin>,
    stderr: Arc<Mutex<String>>,
}

impl Running {
    fn start(executable: &Path, folder: &Path, engine: &str, variables: &Variables) -> Self {
        let plugin = folder.join(PLUGIN);
        std::os::unix::fs::symlink(executable, &plugin).expect("a link in a new directory");
        let mut command = Command::new(plugin);
        command
            .arg(engine)
            // Settings of whoever runs the test are not compared.
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", folder)
            .env("PULUMI_HOME", folder.join("pulumi"))
            .env("ISTHMUS_HOME", folder.join("isthmus"))
            // Whether there is a network must not matter: nobody listens here.
            .env("HTTPS_PROXY", "http://127.0.0.1:1")
            .env("ISTHMUS_OFFLINE", "true")
            .envs(variables.iter().cloned())
            .current_dir(folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the bridge starts");
        let id = child.id().expect("a process that was not waited for");
        let group = i32::try_from(id).ok().and_then(Pid::from_raw).expect("a process id");
        let stdin = child.stdin.take();
        let stderr = Arc::<Mutex<String>>::default();
        follow(
            child.stderr.take().expect("a pipe").into_owned_fd().expect("a descriptor"),
            Arc::clone(&stderr),
        );
        Self { executable: executable.to_owned(), child, group, _stdin: stdin, stderr }
    }

    /// Reads the line that announces the port; the rest is read away.
    async fn port(&mut self) -> u16 {
        let stdout = self.child.stdout.take().expect("a pipe, once").into_owned_fd().expect("a descriptor");
        let (sender, line) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(std::fs::File::from(stdout));
            let mut line = String::new();
            drop(stdout.read_line(&mut line));
            // Nobody waits any longer if the test is over.
            drop(sender.send(line));
            drop(std::io::copy(&mut stdout, &mut std::io::sink()));
        });
        let line = tokio::time::timeout(PATIENCE, line).await.ok().and_then(Result::ok).unwrap_or_default();
        line.trim().parse().unwrap_or_else(|_| {
            panic!("{} printed {line:?} for a port\n{}", self.executable.display(), self.said())
        })
    }

    fn said(&self) -> String {
        format!("its stderr: {}", self.stderr.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The Go bridge's provider is in the bridge's group and would outlive it.
        // It can only fail because all of them are gone.
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

/// Collects stderr in a thread, so that it is there even when the test's runtime is not.
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
