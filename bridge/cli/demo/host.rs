//! The engine's side of the demonstration: starts the daemon as an engine does, and serves its
//! callbacks.

use isthmus_platform::files::give_name;
use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use isthmus_common::error_chain;
use isthmus_common::scratch::{ScratchDirectory, temporary_directory};
use isthmus_grpc::{Channel, ChannelSettings, Load, ServerSettings, serve_connection, unimplemented};
use isthmus_proto::property::Struct;
use isthmus_proto::{lumirpc, pulumirpc};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tonic::codegen::Service as _;
use tonic::{Request, Response, Status};

use super::inputs::Role;
use super::report::{DemoError, Step};
use crate::cli::output::warn;
use crate::cli::{PULUMI_PLUGIN, SANDBOX_PROVIDER};
use isthmus_services::lumirpc::PLUGIN_PREFIX;
use isthmus_session::authorization::LocalUsers;
use isthmus_session::daemon::CALL_MARK;

use isthmus_context::settings;

#[derive(Debug)]
pub(super) struct Host {
    pub(super) channel: Channel,
    /// The provider binary.
    pub(super) provider: PathBuf,
    /// The directory of the sandbox's objects.
    pub(super) objects: PathBuf,
    engine: Engine,
    child: Child,
    _server: AbortOnDropHandle<()>,
    _directory: ScratchDirectory,
}

/// Serves the daemon's callbacks and records them.
#[derive(Clone, Debug, Default)]
struct Engine {
    calls: Arc<Mutex<Vec<String>>>,
    config: Struct,
}

impl Host {
    /// Starts the daemon as a plugin of today's engines.
    pub(super) async fn start_today(role: &Role, protocol: Option<u8>) -> Result<Self, DemoError> {
        Self::start(role, protocol, PULUMI_PLUGIN.to_owned(), |port| format!("127.0.0.1:{port}")).await
    }

    /// Starts the daemon as a plugin of the legacy engine.
    pub(super) async fn start_lumi(role: &Role, protocol: Option<u8>) -> Result<Self, DemoError> {
        let name = format!("{PLUGIN_PREFIX}{}", package(role));
        Self::start(role, protocol, name, |port| format!(":{port}")).await
    }

    async fn start(
        role: &Role,
        protocol: Option<u8>,
        name: String,
        address: impl Fn(u16) -> String,
    ) -> Result<Self, DemoError> {
        let directory = temporary_directory("demo-of-isthmus-")
            .map_err(|source| machine("failed to create a temporary directory", source))?;
        let program = std::env::current_exe()
            .map_err(|source| machine("the program does not know its file", source))?;
        let plugin = link(&program, directory.path(), &name)?;
        let provider = match &role.provider {
            Some(provider) => provider.clone(),
            None => link(&program, directory.path(), SANDBOX_PROVIDER)?,
        };
        let objects = directory.path().join("objects");
        std::fs::create_dir(&objects)
            .map_err(|source| machine("no directory for objects can be made", source))?;

        let engine = Engine { config: role.config.clone(), ..Engine::default() };
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .map_err(|source| machine("no port can be opened", source))?;
        let port = listener.local_addr().map_err(|source| machine("the port has no number", source))?.port();
        let server = AbortOnDropHandle::new(tokio::spawn(serve(listener, engine.clone())));

        let mut command = Command::new(plugin);
        // The user's settings, such as the state store, do not apply to the demonstration.
        for name in isthmus_common::own_variables() {
            command.env_remove(name);
        }
        command
            .arg(address(port))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true);
        // Nor do the state store and its keys.
        for setting in settings::ALL {
            command.env_remove(setting.name);
        }
        command
            .env(settings::LOG_CALLS.name, "true")
            .env(settings::HOME.name, directory.path().join("home"))
            .env(settings::PROVIDER.name, &provider);
        if role.provider.is_none() {
            command.env("SANDBOX_DIR", &objects);
        }
        if let Some(protocol) = protocol {
            command.env("SANDBOX_PROTOCOL", protocol.to_string());
        }
        let mut child = command.spawn().map_err(|source| machine("the daemon cannot be started", source))?;
        let port = read_port(&mut child).await?;
        let address = format!("127.0.0.1:{port}");
        let address = address.parse().map_err(|_| DemoError::Start(format!("invalid address {address}")))?;
        let channel = Channel::tcp(address, CLIENT, CONNECTING);
        channel.connect().await.map_err(|error| DemoError::Start(error.to_string()))?;
        Ok(Self { channel, provider, objects, engine, child, _server: server, _directory: directory })
    }

    /// Makes a call, and records its duration and its Terraform calls.
    pub(super) async fn step<Answer>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<Response<Answer>, Status>>,
    ) -> Result<(Answer, Step), DemoError> {
        self.engine.take_calls();
        let begun = Instant::now();
        let answer = call.await;
        let elapsed = begun.elapsed();
        let answer =
            answer.map_err(|status| DemoError::Call { step: name, reason: status.message().to_owned() })?;
        Ok((answer.into_inner(), Step { name, elapsed, calls: self.engine.take_calls() }))
    }

    /// Ends the daemon as an engine does: closes its standard input, and waits.
    pub(super) async fn end(mut self) {
        drop(self.child.stdin.take());
        // If it does not end in time, dropping it kills it.
        let _ = tokio::time::timeout(Duration::from_secs(10), self.child.wait()).await;
    }
}

impl Engine {
    fn log(&self, message: &str) {
        let calls = message.lines().filter_map(|line| line.strip_prefix(CALL_MARK)).map(str::to_owned);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).extend(calls);
    }

    fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Responses have a schema at most.
const CLIENT: ChannelSettings =
    ChannelSettings { stream_window: 8 << 20, connection_window: 8 << 20, largest_headers: 16 << 20 };

const CONNECTING: Duration = Duration::from_secs(5);

/// Requests are log lines.
const SERVER: ServerSettings = ServerSettings { window: 1 << 20, most_calls: 100 };

/// Serves own connections only: the configuration may contain secrets.
async fn serve(listener: TcpListener, engine: Engine) {
    let users = LocalUsers::open();
    while let Ok((stream, _)) = listener.accept().await {
        match users.check(&stream).await {
            Ok(()) => drop(tokio::spawn(serve_daemon(stream, engine.clone()))),
            Err(denied) => warn(&format!("a connection was refused: {}", error_chain(&denied))),
        }
    }
}

async fn serve_daemon(stream: TcpStream, engine: Engine) {
    let mut today = pulumirpc::engine_server::EngineServer::new(engine.clone());
    let mut lumi = lumirpc::engine_server::EngineServer::new(engine);
    let call = |request: http::Request<_>| {
        let path = request.uri().path().to_owned();
        let answer = match path.split('/').nth(1) {
            Some(pulumirpc::engine_server::SERVICE_NAME) => Some(today.call(request)),
            Some(lumirpc::engine_server::SERVICE_NAME) => Some(lumi.call(request)),
            Some(_) | None => None,
        };
        async move {
            match answer {
                Some(answer) => answer.await.unwrap_or_else(|never| match never {}),
                None => unimplemented(&path),
            }
        }
    };
    serve_connection(stream, call, SERVER, &Load::unlimited(), &CancellationToken::new()).await;
}

#[tonic::async_trait]
impl pulumirpc::engine_server::Engine for Engine {
    async fn log(&self, request: Request<pulumirpc::LogRequest>) -> Result<Response<()>, Status> {
        Self::log(self, &request.into_inner().message);
        Ok(Response::new(()))
    }
}

#[tonic::async_trait]
impl lumirpc::engine_server::Engine for Engine {
    async fn log(&self, request: Request<lumirpc::LogRequest>) -> Result<Response<()>, Status> {
        Self::log(self, &request.into_inner().message);
        Ok(Response::new(()))
    }

    async fn read_locations(
        &self,
        _: Request<lumirpc::ReadLocationsRequest>,
    ) -> Result<Response<lumirpc::ReadLocationsResponse>, Status> {
        Ok(Response::new(lumirpc::ReadLocationsResponse { properties: Some(self.config.clone()) }))
    }
}

/// The package of a provider: the part of its file name after `terraform-provider-`.
pub(super) fn package(role: &Role) -> String {
    let name = match &role.provider {
        None => SANDBOX_PROVIDER,
        Some(provider) => provider.file_name().and_then(|name| name.to_str()).unwrap_or_default(),
    };
    let name = name.strip_suffix(EXE_SUFFIX).unwrap_or(name);
    name.strip_prefix("terraform-provider-").unwrap_or(name).to_owned()
}

async fn read_port(child: &mut Child) -> Result<u16, DemoError> {
    let stdout =
        child.stdout.take().ok_or_else(|| DemoError::Start("it has no standard output".to_owned()))?;
    let mut line = String::new();
    BufReader::new(stdout)
        .read_line(&mut line)
        .await
        .map_err(|source| machine("the daemon's standard output cannot be read", source))?;
    line.trim().parse().map_err(|_| DemoError::Start(format!("instead of a port it printed {line:?}")))
}

fn link(program: &Path, directory: &Path, name: &str) -> Result<PathBuf, DemoError> {
    let path = directory.join(format!("{name}{EXE_SUFFIX}"));
    give_name(program, &path)
        .map_err(|source| machine("the program cannot be linked under another name", source))?;
    Ok(path)
}

fn machine(what: &str, source: std::io::Error) -> DemoError {
    DemoError::Machine { what: what.to_owned(), source }
}
