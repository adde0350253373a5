//! One connection, as an engine has it, and the calls that are about no resource.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::pulumirpc::{
    CallRequest, CheckRequest, ConfigureRequest, ConfigureResponse, DiffRequest, DiffResponse,
    GetMappingRequest, GetMappingResponse, GetMappingsRequest, GetSchemaRequest, InvokeRequest, ListRequest,
    ParameterizeRequest, ParameterizeResponse, PluginAttach, ProviderHandshakeRequest,
    ProviderHandshakeResponse, list_response, parameterize_request,
};
use serde_json::{Value as Json, json};
use tonic::transport::Channel;
use tonic::{Response, Status};

use super::resource::{Checked, Resource};
use super::{PATIENCE, bag, json_of};

/// The engine's own limit on a message.
const LARGEST_MESSAGE: usize = 400 * 1024 * 1024;

/// The stack that tests work on, unless they say another one.
const STACK: &str = "test";

/// How much of a message the transcript shows.
const SHOWN: usize = 4000;

/// One connection.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    client: ResourceProviderClient<Channel>,
    transcript: Transcript,
    /// The stack that is worked on.
    stack: Arc<str>,
    /// How long a call may take.
    patience: Duration,
}

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listed {
    pub(crate) computed: bool,
    /// Id and name of each.
    pub(crate) results: Vec<(String, String)>,
    /// Empty at the end of the list.
    pub(crate) continuation: String,
    /// What came after the results instead of an end.
    pub(crate) error: Option<Status>,
}

/// What an engine and a daemon said to each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript(Arc<Mutex<Vec<String>>>);

impl Transcript {
    /// All of it.
    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// Adds a request or an answer.
    pub(crate) fn add(&self, direction: &str, what: &str, message: &impl Debug) {
        let mut text = format!("{message:?}");
        if let Some((end, _)) = text.char_indices().nth(SHOWN) {
            text.truncate(end);
            text.push('…');
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{direction} {what} {text}"));
    }
}

impl Session {
    pub(crate) fn new(channel: Channel, transcript: Transcript) -> Self {
        let client = ResourceProviderClient::new(channel)
            .max_decoding_message_size(LARGEST_MESSAGE)
            .max_encoding_message_size(usize::MAX);
        Self { client, transcript, stack: STACK.into(), patience: PATIENCE }
    }

    /// The same, about another stack.
    pub(crate) fn of_stack(self, stack: &str) -> Self {
        Self { stack: stack.into(), ..self }
    }

    /// The same, with calls that may take this long.
    pub(crate) fn patient(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The stack that is worked on.
    pub(super) fn stack(&self) -> &str {
        &self.stack
    }

    /// The bare client, for calls that no helper has.
    pub(crate) fn client(&self) -> ResourceProviderClient<Channel> {
        self.client.clone()
    }

    /// Makes a call: writes both sides down, and fails if it hangs.
    pub(crate) async fn call<Request, Answer, Answering>(
        &self,
        name: &str,
        request: Request,
        call: impl FnOnce(ResourceProviderClient<Channel>, Request) -> Answering,
    ) -> Result<Answer, Status>
    where
        Request: Debug,
        Answer: Debug,
        Answering: Future<Output = Result<Response<Answer>, Status>>,
    {
        self.transcript.add("→", name, &request);
        let answering = call(self.client(), request);
        let answer = tokio::time::timeout(self.patience, answering).await;
        let answer = answer.unwrap_or_else(|_| panic!("{name} hangs")).map(Response::into_inner);
        match &answer {
            Ok(answer) => self.transcript.add("←", name, answer),
            Err(status) => self.transcript.add("← failed:", name, status),
        }
        answer
    }

    pub(crate) async fn handshake(&self, engine: &str) -> Result<ProviderHandshakeResponse, Status> {
        self.send_handshake(engine, false).await
    }

    /// The handshake of an engine that takes outputs from an invoke.
    pub(crate) async fn handshake_with_outputs(
        &self,
        engine: &str,
    ) -> Result<ProviderHandshakeResponse, Status> {
        self.send_handshake(engine, true).await
    }

    async fn send_handshake(
        &self,
        engine: &str,
        accepts_outputs_in_invoke: bool,
    ) -> Result<ProviderHandshakeResponse, Status> {
        let request = ProviderHandshakeRequest {
            engine_address: engine.to_owned(),
            configure_with_urn: true,
            invoke_with_preview: true,
            accepts_outputs_in_invoke,
            ..Default::default()
        };
        self.call("Handshake", request, async |mut client, request| client.handshake(request).await).await
    }

    pub(crate) async fn attach(&self, engine: &str) -> Result<(), Status> {
        let request = PluginAttach { address: engine.to_owned() };
        self.call("Attach", request, async |mut client, request| client.attach(request).await).await
    }

    /// The version of the plugin, or of the provider that was chosen.
    pub(crate) async fn plugin_version(&self) -> Result<String, Status> {
        let answer =
            self.call("GetPluginInfo", (), async |mut client, request| client.get_plugin_info(request).await);
        Ok(answer.await?.version)
    }

    /// Chooses the provider by the words of a command line.
    pub(crate) async fn parameterize(&self, words: &[&str]) -> Result<ParameterizeResponse, Status> {
        let args = words.iter().map(|word| (*word).to_owned()).collect();
        let args = parameterize_request::ParametersArgs { args };
        self.send_parameters(Some(parameterize_request::Parameters::Args(args))).await
    }

    /// Chooses the provider by the bytes that an SDK remembers, and the version that they have.
    pub(crate) async fn parameterize_by_value(&self, value: &str) -> Result<ParameterizeResponse, Status> {
        let parsed: Json = serde_json::from_str(value).unwrap_or_default();
        let version = parsed["remote"]["version"].as_str().unwrap_or("0.0.0");
        self.parameterize_as(version, value).await
    }

    /// Chooses the provider by the bytes that an SDK remembers.
    pub(crate) async fn parameterize_as(
        &self,
        version: &str,
        value: &str,
    ) -> Result<ParameterizeResponse, Status> {
        let value = parameterize_request::ParametersValue {
            name: "sandbox".to_owned(),
            version: version.to_owned(),
            value: value.to_owned().into(),
        };
        self.send_parameters(Some(parameterize_request::Parameters::Value(value))).await
    }

    /// Sends Parameterize as it is.
    pub(crate) async fn send_parameters(
        &self,
        parameters: Option<parameterize_request::Parameters>,
    ) -> Result<ParameterizeResponse, Status> {
        let request = ParameterizeRequest { parameters };
        self.call("Parameterize", request, async |mut client, request| client.parameterize(request).await)
            .await
    }

    /// The package schema.
    pub(crate) async fn schema(&self) -> Result<Json, Status> {
        self.schema_of("", "").await
    }

    /// The schema of a package within the plugin, as engines ask for it once it is parameterized.
    pub(crate) async fn schema_of(&self, name: &str, version: &str) -> Result<Json, Status> {
        let (subpackage_name, subpackage_version) = (name.to_owned(), version.to_owned());
        let request = GetSchemaRequest { version: 0, subpackage_name, subpackage_version };
        let answer = self
            .call("GetSchema", request, async |mut client, request| client.get_schema(request).await)
            .await?;
        Ok(serde_json::from_str(&answer.schema).expect("a schema is JSON"))
    }

    pub(crate) async fn check_config(&self, olds: &Json, news: &Json) -> Result<Checked, Status> {
        self.send_check_config(PROVIDER_URN, olds, news).await
    }

    /// CheckConfig of a new provider resource.
    pub(crate) async fn check_config_of(&self, urn: &str, news: &Json) -> Result<Checked, Status> {
        self.send_check_config(urn, &json!({}), news).await
    }

    async fn send_check_config(&self, urn: &str, olds: &Json, news: &Json) -> Result<Checked, Status> {
        let request = CheckRequest {
            urn: urn.to_owned(),
            olds: Some(bag(olds)),
            news: Some(bag(news)),
            ..Default::default()
        };
        let answer =
            self.call("CheckConfig", request, async |mut client, request| client.check_config(request).await);
        Ok(Checked::from(answer.await?))
    }

    pub(crate) async fn diff_config(&self, olds: &Json, news: &Json) -> Result<DiffResponse, Status> {
        let request = DiffRequest {
            urn: PROVIDER_URN.to_owned(),
            olds: Some(bag(olds)),
            old_inputs: Some(bag(olds)),
            news: Some(bag(news)),
            ..Default::default()
        };
        self.call("DiffConfig", request, async |mut client, request| client.diff_config(request).await).await
    }

    pub(crate) async fn configure(&self, arguments: &Json) -> Result<ConfigureResponse, Status> {
        let request = ConfigureRequest {
            args: Some(bag(arguments)),
            accept_secrets: true,
            accept_resources: true,
            sends_old_inputs: true,
            sends_old_inputs_to_delete: true,
            urn: Some(PROVIDER_URN.replacen(STACK, &self.stack, 1)),
            ..Default::default()
        };
        self.call("Configure", request, async |mut client, request| client.configure(request).await).await
    }

    /// Calls a method of the provider resource.
    pub(crate) async fn call_method(&self, token: &str, arguments: &Json) -> Result<Json, Status> {
        let request = CallRequest { tok: token.to_owned(), args: Some(bag(arguments)), ..Default::default() };
        let answer =
            self.call("Call", request, async |mut client, request| client.call(request).await).await?;
        Ok(json_of(&answer.r#return.expect("Call answers with a result")))
    }

    /// The provider's configuration, for Terraform.
    pub(crate) async fn terraform_config(&self) -> Result<Json, Status> {
        self.call_method("pulumi:providers:settings/terraformConfig", &json!({})).await
    }

    /// Invokes a data source, a function and the like: its result, or the failures.
    pub(crate) async fn invoke(
        &self,
        token: &str,
        arguments: &Json,
    ) -> Result<Result<Json, Vec<(String, String)>>, Status> {
        self.send_invoke(token, arguments, false).await
    }

    /// Invokes as part of a preview.
    pub(crate) async fn preview_invoke(
        &self,
        token: &str,
        arguments: &Json,
    ) -> Result<Result<Json, Vec<(String, String)>>, Status> {
        self.send_invoke(token, arguments, true).await
    }

    async fn send_invoke(
        &self,
        token: &str,
        arguments: &Json,
        preview: bool,
    ) -> Result<Result<Json, Vec<(String, String)>>, Status> {
        let request = InvokeRequest { tok: token.to_owned(), args: Some(bag(arguments)), preview };
        let answer =
            self.call("Invoke", request, async |mut client, request| client.invoke(request).await).await?;
        let failures: Vec<_> =
            answer.failures.into_iter().map(|failure| (failure.property, failure.reason)).collect();
        Ok(match answer.r#return {
            Some(result) if failures.is_empty() => Ok(json_of(&result)),
            Some(_) | None => Err(failures),
        })
    }

    /// Lists what there is, one page of it.
    pub(crate) async fn list(&self, request: ListRequest) -> Result<Listed, Status> {
        self.transcript.add("→", "List", &request);
        let mut client = self.client();
        let mut listed = Listed::default();
        let whole = async {
            let mut stream = client.list(request).await?.into_inner();
            while let Some(answer) = stream.message().await.transpose() {
                match answer.map(|answer| answer.response) {
                    Ok(Some(list_response::Response::Computed(_))) => listed.computed = true,
                    Ok(Some(list_response::Response::Result(found))) => {
                        listed.results.push((found.id, found.name))
                    }
                    Ok(Some(list_response::Response::Continuation(rest))) => {
                        assert_eq!(listed.continuation, "", "a page ends once");
                        listed.continuation = rest.continuation_token;
                    }
                    Ok(None) => panic!("an answer says something"),
                    Err(status) => listed.error = Some(status),
                }
            }
            Ok::<_, Status>(())
        };
        tokio::time::timeout(PATIENCE, whole).await.expect("List hangs")?;
        self.transcript.add("←", "List", &listed);
        Ok(listed)
    }

    pub(crate) async fn mappings(&self, key: &str) -> Result<Vec<String>, Status> {
        let request = GetMappingsRequest { key: key.to_owned() };
        let answer =
            self.call("GetMappings", request, async |mut client, request| client.get_mappings(request).await);
        Ok(answer.await?.providers)
    }

    pub(crate) async fn mapping(&self, key: &str, provider: &str) -> Result<GetMappingResponse, Status> {
        let request = GetMappingRequest { key: key.to_owned(), provider: provider.to_owned() };
        self.call("GetMapping", request, async |mut client, request| client.get_mapping(request).await).await
    }

    pub(crate) async fn cancel(&self) -> Result<(), Status> {
        self.call("Cancel", (), async |mut client, request| client.cancel(request).await).await
    }

    /// Speaks about a resource.
    pub(crate) fn resource(&self, token: &str, name: &str) -> Resource {
        Resource::new(self.clone(), token, name)
    }

    /// Speaks about a note of the sandbox.
    pub(crate) fn note(&self) -> Resource {
        self.resource("sandbox:index/note:Note", "note")
    }

    /// Speaks about a resource of the sandbox that misbehaves.
    pub(crate) fn faulty(&self) -> Resource {
        self.resource("sandbox:index/faulty:Faulty", "faulty")
    }

    /// Speaks about a record of the conformance provider.
    pub(crate) fn record(&self) -> Resource {
        self.resource("conformance:index/record:Record", "record")
    }
}

/// The provider resource that sessions are for.
pub(crate) const PROVIDER_URN: &str = "urn:pulumi:test::contract::pulumi:providers:sandbox::default";
