//! A bridge, driven as an engine drives it: started, asked to become a package, configured, and ended.

mod daemon;
mod life;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use isthmus_proto::property::Struct;
use isthmus_proto::pulumirpc::parameterize_request::{Parameters, ParametersArgs};
use isthmus_proto::pulumirpc::{
    CheckRequest, ConfigureRequest, GetSchemaRequest, ParameterizeRequest, ProviderHandshakeRequest,
};
use isthmus_test_engine::Process;
use serde::Serialize;
use tokio::process::Command;
use tonic::Code;

use crate::calls::milliseconds;
use crate::engine::{Client, Engine, Took};
use crate::processes::{Executable, Identity, Processes, Tree, Usage};
use crate::workload::Suite;

pub(crate) use daemon::SharedDaemon;
pub(crate) use life::BridgeClient;

/// How long the engine waits for a plugin to end after SIGINT before it kills it.
const GRACE: Duration = Duration::from_secs(5);
/// How long after its bridge's violent death a provider may take to notice.
const ORPHAN_GRACE: Duration = Duration::from_secs(3);

/// How to start a bridge.
#[derive(Debug)]
pub(crate) struct BridgeSpec {
    /// The file, whose name and directory say that it is a plugin.
    pub(crate) executable: PathBuf,
    /// Where it finds its user's files, and keeps its own from one start to the next.
    pub(crate) home: PathBuf,
    /// What is in its environment beside what is usual.
    pub(crate) variables: Vec<(&'static str, String)>,
}

/// How long a start took, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Startup {
    /// From the start of the process to the line with its port. The floor has no port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) port: Option<f64>,
    /// From the start of the process to the answer of Parameterize; for the floor, to that of the schema call.
    pub(crate) parameterized: f64,
    /// GetSchema alone. The floor has no such call: the package's schema is the bridge's own work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<f64>,
    /// Size of the package's schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schema_bytes: Option<usize>,
    /// From the start of the process to the answer of Configure.
    pub(crate) configured: f64,
}

/// How a bridge ended.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Ended {
    /// From Cancel to the end of the process, in milliseconds.
    pub(crate) milliseconds: f64,
    /// Not by force.
    pub(crate) by_itself: bool,
    /// Processes that were below it and live on.
    pub(crate) children_left: usize,
}

/// What was left of a bridge that was killed.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Killed {
    /// How many processes it had below it.
    pub(crate) children: usize,
    /// How many of them lived on.
    pub(crate) children_left: usize,
}

/// A running bridge, configured.
#[derive(Debug)]
pub(crate) struct Bridge {
    process: Process,
    client: Client,
}

impl Bridge {
    /// Starts it and says what an engine says first.
    pub(crate) async fn open(spec: &BridgeSpec, engine: &Engine) -> anyhow::Result<Self> {
        let mut process = of_bridge(spec, engine)?;
        let outcome = async {
            let mut client = engine.connect(port(&mut process).await?).await?;
            greet(&mut client, engine, spec).await?;
            anyhow::Ok(client)
        };
        match outcome.await {
            Ok(client) => Ok(Self { process, client }),
            Err(error) => Err(explain(&process, error)),
        }
    }

    /// Asks it to become the package of a provider, and returns the package's name and version.
    pub(crate) async fn parameterize(&mut self, provider: &Path) -> anyhow::Result<(String, String)> {
        parameterize(&mut self.client, provider).await.map_err(|error| explain(&self.process, error))
    }

    /// Asks it for the package's schema, which takes so many milliseconds.
    pub(crate) async fn schema(&mut self, package: &(String, String)) -> anyhow::Result<(String, f64)> {
        schema(&mut self.client, package).await.map_err(|error| explain(&self.process, error))
    }

    /// Goes through the calls that an engine makes before the first resource.
    pub(crate) async fn start(
        spec: &BridgeSpec,
        engine: &Engine,
        suite: Suite,
        provider: &Path,
    ) -> anyhow::Result<(Self, Startup)> {
        let began = Instant::now();
        let mut process = of_bridge(spec, engine)?;
        let outcome = async {
            let port = port(&mut process).await?;
            let port_at = began.elapsed();
            let mut client = engine.connect(port).await?;
            let startup = introduce(&mut client, engine, spec, suite, provider, began, port_at).await?;
            anyhow::Ok((client, startup))
        };
        match outcome.await {
            Ok((client, startup)) => Ok((Self { process, client }, startup)),
            Err(error) => Err(explain(&process, error)),
        }
    }

    /// Starts it, and makes the calls that an engine makes before the first resource of a stack whose program needs no schema.
    pub(crate) async fn of_stack(
        spec: &BridgeSpec,
        engine: &Engine,
        stack: &str,
        provider: &Path,
        configuration: Struct,
    ) -> anyhow::Result<Self> {
        let mut bridge = Self::open(spec, engine).await?;
        let (package, _) = bridge.parameterize(provider).await?;
        match configure(&mut bridge.client, stack, &package, configuration).await {
            Ok(()) => Ok(bridge),
            Err(error) => Err(bridge.explain(error)),
        }
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// For the calls of resources.
    pub(crate) fn client(&self) -> BridgeClient {
        BridgeClient::new(self.client.clone())
    }

    /// Adds what the bridge said last.
    pub(crate) fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        explain(&self.process, error)
    }

    /// What it and its provider have used.
    pub(crate) fn usage(&self, provider: Executable) -> anyhow::Result<Usage> {
        Ok(Tree::of(self.process.id())?.usage(provider))
    }

    /// Its processes and its provider's.
    pub(crate) fn processes(&self, provider: Executable) -> anyhow::Result<Processes> {
        Ok(Tree::of(self.process.id())?.processes(provider))
    }

    /// Ends it as an engine does: Cancel, hang up, SIGINT, wait, SIGKILL.
    pub(crate) async fn end(self) -> anyhow::Result<Ended> {
        let Self { mut process, mut client } = self;
        let children = Tree::of(process.id())?.below(process.id());
        let began = Instant::now();
        match tokio::time::timeout(GRACE, client.cancel(())).await {
            Ok(Err(status)) if status.code() != Code::Unimplemented => {
                return Err(explain(&process, anyhow::Error::new(status).context("Cancel failed")));
            }
            // An engine does not wait for longer either.
            Ok(_) | Err(_) => {}
        }
        drop(client);
        process.interrupt();
        let by_itself = process.ended_within(GRACE).await;
        let milliseconds = milliseconds(began.elapsed());
        process.kill().await;
        let children_left = left_of(&children, Duration::ZERO).await;
        Ok(Ended { milliseconds, by_itself, children_left })
    }

    /// Kills it as the kernel does when memory runs out, and looks what lives on.
    pub(crate) async fn kill(self) -> anyhow::Result<Killed> {
        let Self { mut process, client } = self;
        let children = Tree::of(process.id())?.below(process.id());
        process.kill().await;
        let children_left = left_of(&children, ORPHAN_GRACE).await;
        drop(client);
        Ok(Killed { children: children.len(), children_left })
    }
}

/// How many of these processes outlive `grace`. They are ended then, so that they disturb nobody.
async fn left_of(children: &[Identity], grace: Duration) -> usize {
    let deadline = Instant::now() + grace;
    let alive = || children.iter().filter(|child| child.is_alive()).count();
    while alive() > 0 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let left = alive();
    for child in children {
        child.kill();
    }
    left
}

/// Starts a bridge as an engine does.
fn of_bridge(spec: &BridgeSpec, engine: &Engine) -> anyhow::Result<Process> {
    start(&spec.executable, &[engine.address().as_ref()], spec)
}

/// Starts a program with these arguments, in the environment of a bridge.
fn start(executable: &Path, arguments: &[&OsStr], spec: &BridgeSpec) -> anyhow::Result<Process> {
    let mut command = Command::new(executable);
    command.args(arguments).current_dir(&spec.home);
    // Settings of whoever runs the harness would be measured along: logs, caches, attached providers.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["TF_", "ISTHMUS_", "PULUMI_"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command.env("PULUMI_HOME", &spec.home).env("PULUMI_PROJECT", "isthmus").env("PULUMI_CONFIG", "{}");
    command.env("ISTHMUS_OFFLINE", "true");
    command.envs(spec.variables.iter().map(|(name, value)| (name, value)));
    Process::of(command).with_context(|| format!("{} cannot be started", executable.display()))
}

async fn port(process: &mut Process) -> anyhow::Result<u16> {
    process.port().await.map_err(anyhow::Error::msg)
}

/// Adds what the process has printed to an error.
fn explain(process: &Process, error: anyhow::Error) -> anyhow::Error {
    anyhow!("{error:#}\n{}", process.said())
}

/// What an engine says to a plugin that has just started.
async fn greet(client: &mut Client, engine: &Engine, spec: &BridgeSpec) -> anyhow::Result<()> {
    let directory = spec.home.to_string_lossy().into_owned();
    let handshake = ProviderHandshakeRequest {
        engine_address: engine.address(),
        root_directory: Some(directory.clone()),
        program_directory: Some(directory),
        configure_with_urn: true,
        supports_views: true,
        supports_refresh_before_update: true,
        invoke_with_preview: true,
        ..ProviderHandshakeRequest::default()
    };
    match client.handshake(handshake).await {
        // The Go bridge has no Handshake, and engines then go by what Configure answers.
        Err(status) if status.code() != Code::Unimplemented => {
            return Err(status).context("Handshake failed");
        }
        Ok(_) | Err(_) => {}
    }
    client.get_plugin_info(()).await.context("GetPluginInfo failed")?;
    Ok(())
}

async fn parameterize(client: &mut Client, provider: &Path) -> anyhow::Result<(String, String)> {
    let provider =
        provider.to_str().context("the path of the provider is not Unicode, which the protocol demands")?;
    let arguments = ParametersArgs { args: vec![provider.to_owned()] };
    let parameterize = ParameterizeRequest { parameters: Some(Parameters::Args(arguments)) };
    let package = client.parameterize(parameterize).await.context("Parameterize failed")?.into_inner();
    Ok((package.name, package.version))
}

async fn schema(client: &mut Client, (name, version): &(String, String)) -> anyhow::Result<(String, f64)> {
    let request =
        GetSchemaRequest { version: 0, subpackage_name: name.clone(), subpackage_version: version.clone() };
    let answer = client.get_schema(request).await.context("GetSchema failed")?;
    let took = Took::of(&answer);
    Ok((answer.into_inner().schema, milliseconds(took)))
}

async fn introduce(
    client: &mut Client,
    engine: &Engine,
    spec: &BridgeSpec,
    suite: Suite,
    provider: &Path,
    began: Instant,
    port_at: Duration,
) -> anyhow::Result<Startup> {
    greet(client, engine, spec).await?;
    let package = parameterize(client, provider).await?;
    let parameterized = milliseconds(began.elapsed());
    if package.0 != suite.package() {
        bail!("Parameterize made the package {:?}, {:?} was expected", package.0, suite.package());
    }

    let (schema, schema_took) = schema(client, &package).await?;
    for case in suite.cases() {
        if !schema.contains(case.token) {
            bail!("the schema has no resource {}", case.token);
        }
    }

    configure(client, "bench", &package.0, Struct::new()).await?;
    Ok(Startup {
        port: Some(milliseconds(port_at)),
        parameterized,
        schema: Some(schema_took),
        schema_bytes: Some(schema.len()),
        configured: milliseconds(began.elapsed()),
    })
}

/// Configures the provider of a stack.
async fn configure(
    client: &mut Client,
    stack: &str,
    package: &str,
    configuration: Struct,
) -> anyhow::Result<()> {
    let token = format!("pulumi:providers:{package}");
    let urn = format!("urn:pulumi:{stack}::isthmus::{token}::default");
    let check = CheckRequest {
        urn: urn.clone(),
        olds: Some(Struct::new()),
        news: Some(configuration),
        name: "default".to_owned(),
        r#type: token.clone(),
        ..CheckRequest::default()
    };
    let checked = client.check_config(check).await.context("CheckConfig failed")?.into_inner();
    if let Some(failure) = checked.failures.first() {
        bail!("CheckConfig refused the configuration: {} {}", failure.property, failure.reason);
    }
    let configure = ConfigureRequest {
        args: checked.inputs,
        accept_secrets: true,
        accept_resources: true,
        sends_old_inputs: true,
        sends_old_inputs_to_delete: true,
        id: Some("bench".to_owned()),
        urn: Some(urn),
        name: Some("default".to_owned()),
        r#type: Some(token),
        ..ConfigureRequest::default()
    };
    client.configure(configure).await.context("Configure failed")?;
    Ok(())
}
