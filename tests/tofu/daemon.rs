//! The daemon as a process of its own, driven as an engine does it; and the Go bridge in its place, driven in the same way.

use std::path::Path;

use isthmus_proto::property::Struct;
use isthmus_proto::pulumirpc::diff_response::DiffChanges;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::pulumirpc::{
    CheckRequest, ConfigureRequest, CreateRequest, DeleteRequest, DiffRequest, DiffResponse,
    ParameterizeRequest, ProviderHandshakeRequest, ReadRequest, UpdateRequest, parameterize_request,
};
use isthmus_test_engine::{Engine, Line, PATIENCE, Process, half_made};
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::kinds::Provider;
use crate::legacy::Plugin;
use crate::providers::{Service, Setting, link_providers, variables};
use crate::steps::Decision;

/// Isthmus for one provider, driven through one of its services.
#[derive(Debug)]
pub(crate) enum Isthmus {
    Pulumirpc(Daemon),
    Lumirpc(Plugin),
}

/// A daemon for one provider, or a Go bridge. It is killed with its provider when this goes.
#[derive(Debug)]
pub(crate) struct Daemon {
    engine: Engine,
    client: ResourceProviderClient<Channel>,
    takes_secrets: bool,
    process: Process,
}

/// What to start, and with what.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    /// The program that stands between an engine and a provider.
    pub(crate) bridge: &'a Path,
    /// The provider's program.
    pub(crate) provider: &'a Path,
    /// What the provider, and the program before it, are told by their environment.
    pub(crate) variables: &'a [(String, String)],
    /// An empty directory.
    pub(crate) home: &'a Path,
    /// The provider's configuration.
    pub(crate) configuration: Struct,
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
    pub(crate) options: Options,
}

/// The options of a resource that reach a provider.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// `ignoreChanges`.
    pub(crate) ignore: Vec<String>,
    /// `customTimeouts`, of whatever operation there is, in seconds; 0 is none.
    pub(crate) timeout: f64,
}

impl Named {
    fn urn(&self) -> String {
        format!("urn:pulumi:test::tofu::{}::{}", self.token, self.name)
    }
}

impl Isthmus {
    /// Starts it with this configuration. All that is started for a world shares the directory.
    pub(crate) async fn start(
        provider: Provider,
        setting: Setting,
        configuration: &Struct,
        directory: &Path,
    ) -> Self {
        match setting.service {
            Service::Pulumirpc => {
                Self::Pulumirpc(Daemon::start(provider, setting, configuration.clone(), directory).await)
            }
            Service::Lumirpc => {
                Self::Lumirpc(Plugin::start(provider, setting, configuration, directory).await)
            }
        }
    }

    /// The inputs by which the engine goes on, or what is wrong with them.
    pub(crate) async fn check(
        &self,
        resource: &Named,
        stored: Option<&Stored>,
        news: &Struct,
    ) -> Result<Struct, String> {
        match self {
            Self::Pulumirpc(daemon) => {
                daemon.check(resource, stored.map(|stored| &stored.inputs), news).await
            }
            Self::Lumirpc(plugin) => plugin.check(resource, news).await,
        }
    }

    /// What the engine does to a stored resource for these inputs, and the answer to Diff that it goes by.
    pub(crate) async fn decide(
        &self,
        resource: &Named,
        stored: &Stored,
        inputs: &Struct,
    ) -> Result<(Decision, String), String> {
        let daemon = match self {
            Self::Pulumirpc(daemon) => daemon,
            Self::Lumirpc(plugin) => return plugin.decide(resource, stored, inputs).await,
        };
        let difference = daemon.diff(resource, stored, inputs).await?;
        let replaces = !difference.replaces.is_empty();
        let decision = match (difference.changes(), replaces, difference.delete_before_replace) {
            (DiffChanges::DiffNone, ..) => Decision::Nothing,
            (_, false, _) => Decision::Update,
            (_, true, false) => Decision::ReplaceCreatingFirst,
            (_, true, true) => Decision::ReplaceDeletingFirst,
        };
        Ok((decision, format!("{difference:?}")))
    }

    /// Create.
    pub(crate) async fn create(&self, resource: &Named, inputs: &Struct) -> Result<Stored, Failure> {
        match self {
            Self::Pulumirpc(daemon) => daemon.create(resource, inputs, false).await,
            Self::Lumirpc(plugin) => plugin.create(resource, inputs).await,
        }
    }

    /// Update.
    pub(crate) async fn update(
        &self,
        resource: &Named,
        stored: &Stored,
        inputs: &Struct,
    ) -> Result<Stored, Failure> {
        match self {
            Self::Pulumirpc(daemon) => daemon.update(resource, stored, inputs, false).await,
            Self::Lumirpc(plugin) => plugin.update(resource, stored, inputs).await,
        }
    }

    /// Delete.
    pub(crate) async fn delete(&self, resource: &Named, stored: &Stored) -> Result<(), String> {
        match self {
            Self::Pulumirpc(daemon) => daemon.delete(resource, stored).await,
            Self::Lumirpc(plugin) => plugin.delete(resource, stored).await,
        }
    }

    /// The end of its messages, for the report of a failure.
    pub(crate) fn last_messages(&self) -> String {
        let (stderr, told) = match self {
            Self::Pulumirpc(daemon) => (daemon.stderr(), daemon.all_told()),
            Self::Lumirpc(plugin) => (plugin.stderr(), plugin.shown()),
        };
        const LINES: usize = 30;
        let lines: Vec<&str> = stderr.lines().collect();
        let told =
            told.iter().rev().take(LINES).rev().map(|line| format!("{:?}: {}", line.severity, line.message));
        format!(
            "stderr of isthmus:\n{}\nits messages to the engine:\n{}",
            lines[lines.len().saturating_sub(LINES)..].join("\n"),
            told.collect::<Vec<_>>().join("\n")
        )
    }
}

impl Daemon {
    /// Starts one for this provider and configures it. Several can share the directory.
    pub(crate) async fn start(
        provider: Provider,
        setting: Setting,
        configuration: Struct,
        directory: &Path,
    ) -> Self {
        let home = directory.join(format!("daemon-{}", provider.name()));
        std::fs::create_dir_all(directory.join("objects")).expect("a directory in a directory of ours");
        let providers = home.join("providers");
        if !providers.exists() {
            link_providers(&providers);
        }
        let launch = Launch {
            bridge: Path::new(env!("CARGO_BIN_EXE_isthmus")),
            provider: &providers.join(format!("terraform-provider-{}", provider.name())),
            variables: &variables(setting, directory).map(|(name, value)| (name.to_owned(), value)),
            home: &home,
            configuration,
        };
        Self::launch(&launch).await.unwrap_or_else(|reason| panic!("the daemon is not ready: {reason}"))
    }

    /// Starts either program and configures its provider; or says why it refuses.
    pub(crate) async fn launch(launch: &Launch<'_>) -> Result<Self, String> {
        let Launch { bridge, provider, variables, home, configuration } = launch;
        let engine = Engine::start().await;
        std::fs::create_dir_all(home).expect("a directory in a directory of ours");
        let mut process = Process::start(bridge, home, engine.address(), variables);
        let client = process.client().await;
        let mut daemon = Self { engine, client, takes_secrets: false, process };
        let provider = provider.to_str().expect("a path in UTF-8");
        daemon.introduce(provider, configuration).await.map_err(|status| said(&status))?;
        Ok(daemon)
    }

    async fn introduce(&mut self, provider: &str, configuration: &Struct) -> Result<(), Status> {
        let mut client = self.client.clone();
        let handshake = ProviderHandshakeRequest {
            engine_address: self.engine.address().to_owned(),
            configure_with_urn: true,
            invoke_with_preview: true,
            ..ProviderHandshakeRequest::default()
        };
        // The Go bridge does not know it.
        if let Err(status) = client.handshake(handshake).await
            && status.code() != Code::Unimplemented
        {
            return Err(status);
        }
        let args = parameterize_request::ParametersArgs { args: vec![provider.to_owned()] };
        let parameters = Some(parameterize_request::Parameters::Args(args));
        let package = client.parameterize(ParameterizeRequest { parameters }).await?.into_inner().name;
        let check = CheckRequest {
            urn: format!("urn:pulumi:test::tofu::pulumi:providers:{package}::default"),
            olds: Some(Struct::new()),
            news: Some(configuration.clone()),
            ..CheckRequest::default()
        };
        let checked = client.check_config(check).await?.into_inner();
        if let Some(failure) = checked.failures.first() {
            return Err(Status::invalid_argument(failure.reason.clone()));
        }
        let configure = ConfigureRequest {
            args: Some(checked.inputs.unwrap_or_default()),
            accept_secrets: true,
            accept_resources: true,
            sends_old_inputs: true,
            sends_old_inputs_to_delete: true,
            ..ConfigureRequest::default()
        };
        self.takes_secrets = client.configure(configure).await?.into_inner().accept_secrets;
        Ok(())
    }

    /// Whether it wants to be told what is secret. Others are given plain values.
    pub(crate) const fn takes_secrets(&self) -> bool {
        self.takes_secrets
    }

    /// For calls that are not here.
    pub(crate) fn client(&self) -> ResourceProviderClient<Channel> {
        self.client.clone()
    }

    /// Kills it, and nothing that it has started.
    pub(crate) fn kill(&self) {
        self.process.kill_alone();
    }

    /// What it has written to its standard error.
    pub(crate) fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// What it told its engine, of whatever.
    pub(crate) fn all_told(&self) -> Vec<Line> {
        self.engine.shown()
    }

    /// What it told its engine of a resource.
    pub(crate) fn told(&self, resource: &Named) -> Vec<Line> {
        self.engine.shown().into_iter().filter(|line| line.urn == resource.urn()).collect()
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
            failures => {
                let all = failures.iter().map(|failure| match failure.property.as_str() {
                    "" => failure.reason.clone(),
                    property => format!("{property}: {}", failure.reason),
                });
                Err(all.collect::<Vec<_>>().join("; "))
            }
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
            ignore_changes: resource.options.ignore.clone(),
            name: resource.name.clone(),
            r#type: resource.token.clone(),
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
            timeout: resource.options.timeout,
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
            timeout: resource.options.timeout,
            ignore_changes: resource.options.ignore.clone(),
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
            timeout: resource.options.timeout,
            name: resource.name.clone(),
            r#type: resource.token.clone(),
            ..DeleteRequest::default()
        };
        in_time(self.client.clone().delete(request)).await
    }
}

/// A call, within the time that an answer may take.
pub(crate) async fn in_time<T>(
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
) -> Result<T, String> {
    within_patience(call).await.map_err(|status| said(&status))
}

/// A call that may leave something half made.
async fn change<T>(
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
    inputs: &Struct,
) -> Result<T, Failure> {
    within_patience(call).await.map_err(|status| {
        let half_made = half_made(&status).map(|made| Stored {
            id: made.id,
            inputs: made.inputs.unwrap_or_else(|| inputs.clone()),
            outputs: made.properties.unwrap_or_default(),
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

/// What an engine shows of a failed call.
pub(crate) fn said(status: &Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}
