//! The daemon as a process of its own, driven as an engine does it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use isthmus_proto::property::Struct;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::pulumirpc::{
    CheckRequest, ConfigureRequest, CreateRequest, DeleteRequest, DiffRequest, DiffResponse,
    ErrorResourceInitFailed, ParameterizeRequest, ProviderHandshakeRequest, ReadRequest, UpdateRequest,
    parameterize_request,
};
use isthmus_sandbox::Protocol;
use prost::Message as _;
use tokio::process::{Child, ChildStdin, Command};
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

use crate::engine::Engine;
use crate::kinds::Provider;
use crate::providers::{Tools, variables};

/// How long anything may take. It is longer than a loaded machine needs, because running out of it is a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// The name that engines start the daemon by.
const PLUGIN: &str = "pulumi-resource-terraform-provider";

/// A daemon for one provider.
#[derive(Debug)]
pub(crate) struct Daemon {
    engine: Engine,
    client: ResourceProviderClient<Channel>,
    _child: Child,
    _stdin: Option<ChildStdin>,
    stderr: Arc<Mutex<String>>,
}

/// What an engine stores of a resource.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) id: String,
    pub(crate) inputs: Struct,
    pub(crate) outputs: Struct,
}

/// Why a call has failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    /// What is there all the same.
    pub(crate) half_made: Option<Stored>,
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self { reason, half_made: None }
    }
}

/// A resource as an engine names it.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) token: String,
    pub(crate) name: String,
}

impl Named {
    fn urn(&self) -> String {
        format!("urn:pulumi:test::tofu::{}::{}", self.token, self.name)
    }
}

impl Daemon {
    /// Starts one for this provider and configures it. Several can share the folder.
    pub(crate) async fn start(tools: &Tools, provider: Provider, protocol: Protocol, folder: &Path) -> Self {
        let engine = Engine::start().await;
        let home = folder.join(format!("daemon-{}", provider.name()));
        std::fs::create_dir_all(&home).expect("a folder in a folder of ours");
        std::fs::create_dir_all(folder.join("objects")).expect("a folder in a folder of ours");
        let plugin = home.join(PLUGIN);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_isthmus"), &plugin).expect("a link in a new folder");
        let providers = home.join("providers");
        tools.link_providers(&providers);
        let mut child = Command::new(plugin)
            .arg(engine.address())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("PULUMI_HOME", home.join("pulumi"))
            .env("ISTHMUS_HOME", home.join("isthmus"))
            .envs(variables(protocol, folder))
            .current_dir(&home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the daemon starts");
        let stderr = Arc::<Mutex<String>>::default();
        let pipe = child.stderr.take().expect("a pipe").into_owned_fd().expect("a descriptor");
        follow(pipe, Arc::clone(&stderr));
        let stdout = child.stdout.take().expect("a pipe").into_owned_fd().expect("a descriptor");
        let line = first_line(stdout).await;
        let port: u16 = line.trim().parse().unwrap_or_else(|_| {
            let stderr = stderr.lock().unwrap_or_else(PoisonError::into_inner);
            panic!("the daemon printed {line:?} for a port; its stderr: {stderr}")
        });
        let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}")).expect("an address");
        let channel = endpoint.connect().await.expect("the daemon accepts connections");
        let client = ResourceProviderClient::new(channel).max_decoding_message_size(400 * 1024 * 1024);
        let stdin = child.stdin.take();
        let daemon = Self { engine, client, _child: child, _stdin: stdin, stderr };
        let program = providers.join(format!("terraform-provider-{}", provider.name()));
        daemon.introduce(program.to_str().expect("a path in UTF-8")).await.expect("the daemon is ready");
        daemon
    }

    async fn introduce(&self, provider: &str) -> Result<(), Status> {
        let mut client = self.client.clone();
        let handshake = ProviderHandshakeRequest {
            engine_address: self.engine.address().to_owned(),
            configure_with_urn: true,
            ..ProviderHandshakeRequest::default()
        };
        client.handshake(handshake).await?;
        let args = parameterize_request::ParametersArgs { args: vec![provider.to_owned()] };
        let parameters = Some(parameterize_request::Parameters::Args(args));
        client.parameterize(ParameterizeRequest { parameters }).await?;
        let configure = ConfigureRequest {
            args: Some(Struct::new()),
            accept_secrets: true,
            accept_resources: true,
            sends_old_inputs: true,
            sends_old_inputs_to_delete: true,
            ..ConfigureRequest::default()
        };
        client.configure(configure).await?;
        Ok(())
    }

    /// Check: the inputs, or what is wrong with them.
    pub(crate) async fn check(
        &self,
        resource: &Named,
        olds: Option<&Struct>,
        news: &Struct,
    ) -> Result<Struct, String> {
        let request = CheckRequest {
            urn: resource.urn(),
            olds: Some(olds.cloned().unwrap_or_default()),
            news: Some(news.clone()),
            random_seed: vec![7; 32].into(),
            name: resource.name.clone(),
            r#type: resource.token.clone(),
            ..CheckRequest::default()
        };
        let answer = in_time(self.client.clone().check(request)).await?;
        match answer.failures.as_slice() {
            [] => Ok(answer.inputs.unwrap_or_default()),
            failures => Err(format!("Check complains: {failures:?}")),
        }
    }

    /// Diff.
    pub(crate) async fn diff(
        &self,
        resource: &Named,
        stored: &Stored,
        news: &Struct,
    ) -> Result<DiffResponse, String> {
        let request = DiffRequest {
            id: stored.id.clone(),
            urn: resource.urn(),
            olds: Some(stored.outputs.clone()),
            old_inputs: Some(stored.inputs.clone()),
            news: Some(news.clone()),
            name: resource.name.clone(),
            r#type: resource.token.clone(),
            ..DiffRequest::default()
        };
        in_time(self.client.clone().diff(request)).await
    }

    /// Create, or its preview.
    pub(crate) async fn create(
        &self,
        resource: &Named,
        inputs: &Struct,
        preview: bool,
    ) -> Result<Stored, Failure> {
        let request = CreateRequest {
            urn: resource.urn(),
            properties: Some(inputs.clone()),
            preview,
            name: resource.name.clone(),
            r#type: resource.token.clone(),
            ..CreateRequest::default()
        };
        let answer = change(self.client.clone().create(request), inputs).await?;
        let outputs = answer.properties.unwrap_or_default();
        Ok(Stored { id: answer.id, inputs: inputs.clone(), outputs })
    }

    /// Update, or its preview.
    pub(crate) async fn update(
        &self,
        resource: &Named,
        stored: &Stored,
        inputs: &Struct,
        preview: bool,
    ) -> Result<Stored, Failure> {
        let request = UpdateRequest {
            id: stored.id.clone(),
            urn: resource.urn(),
            olds: Some(stored.outputs.clone()),
            old_inputs: Some(stored.inputs.clone()),
            news: Some(inputs.clone()),
            preview,
            name: resource.name.clone(),
            r#type: resource.token.clone(),
            ..UpdateRequest::default()
        };
        let answer = change(self.client.clone().update(request), inputs).await?;
        let outputs = answer.properties.unwrap_or_default();
        Ok(Stored { id: stored.id.clone(), inputs: inputs.clone(), outputs })
    }

    /// Read of what is stored. `None`: it is gone.
    pub(crate) async fn refresh(&self, resource: &Named, stored: &Stored) -> Result<Option<Stored>, String> {
        self.read(resource, &stored.id, Some((&stored.inputs, &stored.outputs))).await
    }

    /// Read of what is not stored yet. `None`: there is no such thing.
    pub(crate) async fn import(&self, resource: &Named, id: &str) -> Result<Option<Stored>, String> {
        self.read(resource, id, None).await
    }

    async fn read(
        &self,
        resource: &Named,
        id: &str,
        stored: Option<(&Struct, &Struct)>,
    ) -> Result<Option<Stored>, String> {
        let request = ReadRequest {
            id: id.to_owned(),
            urn: resource.urn(),
            inputs: stored.map(|(inputs, _)| inputs.clone()),
            properties: stored.map(|(_, outputs)| outputs.clone()),
            name: resource.name.clone(),
            r#type: resource.token.clone(),
            ..ReadRequest::default()
        };
        let answer = in_time(self.client.clone().read(request)).await?;
        if answer.id.is_empty() {
            return Ok(None);
        }
        let (inputs, outputs) = (answer.inputs.unwrap_or_default(), answer.properties.unwrap_or_default());
        Ok(Some(Stored { id: answer.id, inputs, outputs }))
    }

    /// Delete.
    pub(crate) async fn delete(&self, resource: &Named, stored: &Stored) -> Result<(), String> {
        let request = DeleteRequest {
            id: stored.id.clone(),
            urn: resource.urn(),
            properties: Some(stored.outputs.clone()),
            old_inputs: Some(stored.inputs.clone()),
            name: resource.name.clone(),
            r#type: resource.token.clone(),
            ..DeleteRequest::default()
        };
        in_time(self.client.clone().delete(request)).await
    }

    /// The end of what the daemon and its engine said, for whoever has to find out what went wrong.
    pub(crate) fn last_words(&self) -> String {
        const LINES: usize = 30;
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = stderr.lines().collect();
        let told = self.engine.shown();
        let told =
            told.iter().rev().take(LINES).rev().map(|line| format!("{:?}: {}", line.severity, line.message));
        format!(
            "stderr of the daemon:\n{}\nwhat it told its engine:\n{}",
            lines[lines.len().saturating_sub(LINES)..].join("\n"),
            told.collect::<Vec<_>>().join("\n")
        )
    }
}

async fn in_time<T>(call: impl Future<Output = Result<tonic::Response<T>, Status>>) -> Result<T, String> {
    within_patience(call).await.map_err(|status| said(&status))
}

/// A call that may leave something half made.
async fn change<T>(
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
    inputs: &Struct,
) -> Result<T, Failure> {
    within_patience(call).await.map_err(|status| {
        let details = isthmus_proto::rpc::Status::decode(status.details()).expect("details are a status");
        let name = "type.googleapis.com/pulumirpc.ErrorResourceInitFailed";
        let detail = details.details.into_iter().find(|detail| detail.type_url == name);
        let half_made = detail.map(|detail| {
            let made = ErrorResourceInitFailed::decode(&*detail.value).expect("a detail of the type it says");
            Stored {
                id: made.id,
                inputs: made.inputs.unwrap_or_else(|| inputs.clone()),
                outputs: made.properties.unwrap_or_default(),
            }
        });
        Failure { reason: said(&status), half_made }
    })
}

async fn within_patience<T>(
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
) -> Result<T, Status> {
    let answer = tokio::time::timeout(PATIENCE, call).await;
    let answer = answer.unwrap_or_else(|_| Err(Status::deadline_exceeded("the daemon does not answer")));
    answer.map(tonic::Response::into_inner)
}

fn said(status: &Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}

/// The line that announces the port; the rest is read away.
async fn first_line(stdout: OwnedFd) -> String {
    let (sender, line) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut stdout = BufReader::new(std::fs::File::from(stdout));
        let mut line = String::new();
        drop(stdout.read_line(&mut line));
        // Nobody waits any longer if the test is over.
        drop(sender.send(line));
        drop(std::io::copy(&mut stdout, &mut std::io::sink()));
    });
    tokio::time::timeout(PATIENCE, line).await.ok().and_then(Result::ok).unwrap_or_default()
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
