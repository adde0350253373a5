//! The floor: the provider calls that an engine's requests amount to, made by a bare client.
//!
//! No bridge can be faster than the provider behind it and the connection to it (mutual TLS over a socket, as go-plugin
//! has it). The values are encoded once, before anything is timed, and nothing is decoded but the messages themselves;
//! so what a bridge takes beyond the floor is its own: the second connection, the translation, its checks and its
//! book-keeping. The client itself runs in the harness, where a bridge is a process of its own.

mod requests;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, anyhow, bail};
use isthmus_cty::Value;
use isthmus_proto::tfplugin6;
use isthmus_provider::plugin::{LaunchSpec, LogSink, Plugin};
use isthmus_provider::{CallObserver, Client, KnownSchema, Provider, Rpc};

use crate::bridge::Startup;
use crate::calls::{Call, Samples, milliseconds};
use crate::processes::{Executable, Processes, Tree, Usage};
use crate::workload::{Case, Change, Suite};
use requests::{Requests, attributes};

/// A running provider, configured, and what will be asked of it.
#[derive(Debug)]
pub(crate) struct Floor {
    provider: Provider,
    client: FloorClient,
}

impl Floor {
    /// Starts the provider, and leads one resource of each type through its life to learn the requests.
    pub(crate) async fn start(suite: Suite, executable: &Path) -> anyhow::Result<(Self, Startup)> {
        let began = Instant::now();
        let mut spec = LaunchSpec::new(suite.package(), executable);
        // Terraform says no level, and providers log everything then.
        spec.environment = spec.environment.with("TF_LOG", "trace");
        let plugin = Plugin::launch(spec, LogSink::discard()).await?;
        let mut warnings = Vec::new();
        let (provider, _) = Provider::start(
            suite.package(),
            plugin,
            CallObserver::default(),
            KnownSchema::Nothing,
            &mut warnings,
        )
        .await?;
        let parameterized = milliseconds(began.elapsed());
        let schema = provider.catalogue().provider()?;
        let config = attributes(&schema, &[])?;
        provider.validate_config(&config, &mut warnings).await?;
        provider.configure(&config, &mut warnings).await?;
        let configured = milliseconds(began.elapsed());

        let client = Client::new(provider.plugin().channel(), provider.protocol());
        let mut requests = HashMap::new();
        for case in suite.cases() {
            let schema = provider.catalogue().resource(case.type_name)?;
            let learned = Requests::learn(&client, case, &schema)
                .await
                .with_context(|| format!("learning the requests of {}", case.type_name))?;
            requests.insert(case.type_name, learned);
        }
        let client = FloorClient { client, requests: Arc::new(requests) };
        let startup = Startup { port: None, parameterized, schema: None, schema_bytes: None, configured };
        Ok((Self { provider, client }, startup))
    }

    /// For the calls of resources.
    pub(crate) fn client(&self) -> FloorClient {
        self.client.clone()
    }

    /// What the provider has used. There is no bridge.
    pub(crate) fn usage(&self, provider: Executable) -> anyhow::Result<Usage> {
        let id = self.provider.plugin().process_id().context("the provider is gone")?;
        Ok(Tree::of(id)?.usage(provider))
    }

    /// The provider's processes.
    pub(crate) fn processes(&self, provider: Executable) -> anyhow::Result<Processes> {
        let id = self.provider.plugin().process_id().context("the provider is gone")?;
        Ok(Tree::of(id)?.processes(provider))
    }

    /// Ends the provider.
    pub(crate) async fn end(self) {
        self.provider.shutdown().await;
    }
}

/// The connection to a provider. Copies share it.
#[derive(Clone, Debug)]
pub(crate) struct FloorClient {
    client: Client,
    requests: Arc<HashMap<&'static str, Requests>>,
}

impl FloorClient {
    /// Makes the calls of one resource's life.
    pub(crate) async fn live(&self, case: &Case, samples: &mut Samples) -> anyhow::Result<()> {
        let requests = self.requests.get(case.type_name).context("a type that was not learned")?;
        self.walk(case, requests, samples).await.with_context(|| case.type_name.to_owned())
    }

    async fn walk(&self, case: &Case, requests: &Requests, samples: &mut Samples) -> anyhow::Result<()> {
        let began = Instant::now();
        validate(&self.client, requests.validate.clone()).await?;
        samples.add(Call::Check, began.elapsed());

        let began = Instant::now();
        plan(&self.client, requests.plan_create.clone()).await?;
        samples.add(Call::CreatePreview, began.elapsed());

        let began = Instant::now();
        plan(&self.client, requests.plan_create.clone()).await?;
        apply(&self.client, requests.apply_create.clone()).await?;
        samples.add(Call::Create, began.elapsed());

        let began = Instant::now();
        upgrade(&self.client, requests.upgrade.clone()).await?;
        plan(&self.client, requests.plan_same.clone()).await?;
        samples.add(Call::Diff, began.elapsed());

        let began = Instant::now();
        upgrade(&self.client, requests.upgrade.clone()).await?;
        read(&self.client, requests.read.clone()).await?;
        samples.add(Call::Read, began.elapsed());

        let began = Instant::now();
        validate(&self.client, requests.validate_changed.clone()).await?;
        samples.add(Call::Check, began.elapsed());

        let began = Instant::now();
        upgrade(&self.client, requests.upgrade.clone()).await?;
        plan(&self.client, requests.plan_changed.clone()).await?;
        samples.add(Call::DiffChanged, began.elapsed());

        if case.change == Change::InPlace {
            let began = Instant::now();
            upgrade(&self.client, requests.upgrade.clone()).await?;
            plan(&self.client, requests.plan_changed.clone()).await?;
            samples.add(Call::UpdatePreview, began.elapsed());

            let began = Instant::now();
            upgrade(&self.client, requests.upgrade.clone()).await?;
            plan(&self.client, requests.plan_changed.clone()).await?;
            apply(&self.client, requests.apply_changed.clone()).await?;
            samples.add(Call::Update, began.elapsed());
        }

        let began = Instant::now();
        apply(&self.client, requests.destroy.clone()).await?;
        samples.add(Call::Delete, began.elapsed());
        Ok(())
    }
}

async fn validate(
    client: &Client,
    request: tfplugin6::validate_resource_config::Request,
) -> anyhow::Result<()> {
    let answer: tfplugin6::validate_resource_config::Response =
        client.call(Rpc::ValidateResourceConfig, request).await?;
    without_errors(&answer.diagnostics)
}

async fn plan(
    client: &Client,
    request: tfplugin6::plan_resource_change::Request,
) -> anyhow::Result<tfplugin6::plan_resource_change::Response> {
    let answer: tfplugin6::plan_resource_change::Response =
        client.call(Rpc::PlanResourceChange, request).await?;
    without_errors(&answer.diagnostics)?;
    Ok(answer)
}

async fn apply(
    client: &Client,
    request: tfplugin6::apply_resource_change::Request,
) -> anyhow::Result<tfplugin6::apply_resource_change::Response> {
    let answer: tfplugin6::apply_resource_change::Response =
        client.call(Rpc::ApplyResourceChange, request).await?;
    without_errors(&answer.diagnostics)?;
    Ok(answer)
}

async fn upgrade(client: &Client, request: tfplugin6::upgrade_resource_state::Request) -> anyhow::Result<()> {
    let answer: tfplugin6::upgrade_resource_state::Response =
        client.call(Rpc::UpgradeResourceState, request).await?;
    without_errors(&answer.diagnostics)
}

async fn read(client: &Client, request: tfplugin6::read_resource::Request) -> anyhow::Result<()> {
    let answer: tfplugin6::read_resource::Response = client.call(Rpc::ReadResource, request).await?;
    without_errors(&answer.diagnostics)
}

fn without_errors(diagnostics: &[tfplugin6::Diagnostic]) -> anyhow::Result<()> {
    let error = tfplugin6::diagnostic::Severity::Error;
    match diagnostics.iter().find(|diagnostic| diagnostic.severity() == error) {
        Some(diagnostic) => bail!("{}: {}", diagnostic.summary, diagnostic.detail),
        None => Ok(()),
    }
}

/// The bytes of a value that a provider must have sent.
fn sent(value: Option<tfplugin6::DynamicValue>, what: &str) -> anyhow::Result<tfplugin6::DynamicValue> {
    value.ok_or_else(|| anyhow!("the provider sent no {what}"))
}

/// A null of any type.
fn null() -> anyhow::Result<tfplugin6::DynamicValue> {
    requests::encode(&Value::Null, &isthmus_cty::Type::Dynamic)
}
