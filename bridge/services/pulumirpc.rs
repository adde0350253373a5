//! Today's service, `pulumirpc.ResourceProvider`.
//!
//! Each method decodes a message, calls the operation, and encodes the response.
//! `proto/pulumirpc/provider.proto` documents what an engine expects of each.

mod listing;
mod messages;
mod work;

use std::sync::Arc;

use bytes::Bytes;
use isthmus_common::fail_point;
use isthmus_grpc::LongAnswer;
use isthmus_proto::property::Struct;
use isthmus_proto::pulumirpc::resource_provider_server::ResourceProvider;
use isthmus_proto::pulumirpc::{
    CallRequest, CallResponse, CheckRequest, CheckResponse, ConfigureRequest, ConfigureResponse,
    CreateRequest, CreateResponse, DeleteRequest, DiffRequest, DiffResponse, GetMappingRequest,
    GetMappingResponse, GetMappingsRequest, GetMappingsResponse, GetSchemaRequest, GetSchemaResponse,
    InvokeRequest, InvokeResponse, ListRequest, ListResponse, ParameterizeRequest, ParameterizeResponse,
    PluginAttach, PluginInfo, ProviderHandshakeRequest, ProviderHandshakeResponse, ReadRequest, ReadResponse,
    UpdateRequest, UpdateResponse, parameterize_request,
};
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status};

use crate::attach::is_repeated;
use crate::config;
use crate::invoke::{self, Invocation};
use crate::list;
use crate::serve::{
    connected_session, limit, run_to_completion, session_of as session, show_texts, streamed,
};
use crate::status::{self, RequestError};
use isthmus_context::LARGEST_MESSAGE;
use isthmus_context::settings::WriteOnly;
use isthmus_operations::resource::{
    self, Changes, Comparison, EngineState, Naming, Operation, OperationError, OperationWarnings,
};
use isthmus_package::catalogue::{Identity, Package, TokenError};
use isthmus_package::urn::Urn;
use isthmus_package::{mapping, schema};
use isthmus_session::daemon::{Instance, Session, SessionError};
use messages::{autonaming_mode, difference, failures, paths, strict_version};
use work::{Work, parameterized};

/// The largest text in a response, beside a few bytes of encoding.
const LARGEST_TEXT: u64 = LARGEST_MESSAGE as u64 - 64;

/// The warning about a schema that is requested before a provider is chosen, as of `pulumi package add terraform-provider`.
const NO_PROVIDER: &str = "no Terraform provider is named, so this schema has no resources\nhelp: name a provider, as in `pulumi \
                           package add terraform-provider hashicorp/random`";

/// Stateless: all state is in the connection's session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PulumiService;

#[tonic::async_trait]
impl ResourceProvider for PulumiService {
    async fn handshake(
        &self,
        request: Request<ProviderHandshakeRequest>,
    ) -> Result<Response<ProviderHandshakeResponse>, Status> {
        let session = connected_session(&request)?;
        let request = request.into_inner();
        if !request.engine_address.is_empty() {
            session.attach_engine(&request.engine_address).map_err(status::of_session)?;
        }
        session.accept_secrets(true);
        session.accept_outputs_of_invokes(request.accepts_outputs_in_invoke);
        session.accept_preview_marks(request.invoke_with_preview);
        Ok(Response::new(ProviderHandshakeResponse {
            accept_secrets: true,
            accept_resources: false,
            accept_outputs: false,
            supports_autonaming_configuration: true,
            accepts_byte_string: false,
            accepts_outputs_in_invoke: request.accepts_outputs_in_invoke,
            accepts_outputs_in_call: false,
            accepts_outputs_in_check: false,
        }))
    }

    async fn attach(&self, request: Request<PluginAttach>) -> Result<Response<()>, Status> {
        let session = session(&request)?;
        session.attach_engine(&request.into_inner().address).map_err(status::of_session)?;
        Ok(Response::new(()))
    }

    async fn parameterize(
        &self,
        request: Request<ParameterizeRequest>,
    ) -> Result<Response<ParameterizeResponse>, Status> {
        let session = session(&request)?;
        let (version, package) = match request.into_inner().parameters {
            Some(parameterize_request::Parameters::Args(arguments)) => {
                let chosen = session.parameterize_by_arguments(&arguments.args).await;
                chosen.map(|package| (package.identity().version.to_string(), package))
            }
            Some(parameterize_request::Parameters::Value(value)) => {
                strict_version("the version in the SDK", &value.version)?;
                let chosen = session.parameterize_by_value(&value.value).await;
                // An engine compares the response with its request, in which an explicit provider may have the plugin's version.
                chosen.map(|package| (value.version, package))
            }
            None => {
                let text = "Parameterize has neither arguments nor a value".to_owned();
                return Err(RequestError::Invalid(text).into());
            }
        }
        .map_err(status::of_session)?;
        session.flush_logs(false).await;
        fail_point("parameterized");
        Ok(Response::new(ParameterizeResponse { name: package.identity().name.clone(), version }))
    }

    async fn get_plugin_info(&self, request: Request<()>) -> Result<Response<PluginInfo>, Status> {
        let session = connected_session(&request)?;
        let version = match session.package().await {
            Some(package) => package.identity().version.to_string(),
            None => session.context().plugin_version().to_string(),
        };
        Ok(Response::new(PluginInfo { version }))
    }

    async fn get_schema(
        &self,
        request: Request<GetSchemaRequest>,
    ) -> Result<Response<GetSchemaResponse>, Status> {
        let session = session(&request)?;
        LongAnswer::place(&request).await;
        // A package has no subpackages, so the name does not matter.
        let version = match request.into_inner().subpackage_version {
            text if text.is_empty() => None,
            text => Some(strict_version("invalid SubpackageVersion", &text)?),
        };
        let schema = match session.package().await {
            None => {
                session.warn_now([NO_PROVIDER.to_owned()]).await;
                schema::base_schema(&session.context().plugin_version().to_string()).into()
            }
            Some(package) => {
                let package = package_in(package, version);
                session.package_schema(package).await.map_err(of_token)?
            }
        };
        if schema.size() > LARGEST_TEXT {
            let (size, most) = (schema.size() >> 20, LARGEST_TEXT >> 20);
            return Err(RequestError::SchemaTooLarge { size, most }.into());
        }
        Ok(streamed(&session, GetSchemaResponse::default(), 1, schema))
    }

    async fn check_config(&self, request: Request<CheckRequest>) -> Result<Response<CheckResponse>, Status> {
        let session = session(&request)?;
        let Some(instance) = chosen(&session).await? else {
            let news = request.into_inner().news.unwrap_or_default();
            refuse_settings(&news)?;
            return Ok(Response::new(CheckResponse { inputs: Some(news), failures: Vec::new() }));
        };
        let request = request.into_inner();
        let mut warnings = OperationWarnings::default();
        let news = request.news.unwrap_or_default();
        let call = instance.calls.begin(&request.urn);
        let provider = instance.provider().within(&limit(&session, &call));
        let checked = config::check(&instance, &provider, &request.urn, news, &mut warnings).await;
        report(&session, &instance, &warnings, &request.urn).await;
        let checked = checked.map_err(status::of_operation)?;
        Ok(Response::new(CheckResponse {
            inputs: Some(checked.inputs),
            failures: failures(checked.failures),
        }))
    }

    async fn diff_config(&self, request: Request<DiffRequest>) -> Result<Response<DiffResponse>, Status> {
        let session = session(&request)?;
        let package = session.package().await;
        let shape = match &package {
            Some(package) => {
                let shape = package.config_shape();
                Arc::clone(&shape.map_err(|error| status::of_operation(error.into()))?.object)
            }
            None => Arc::default(),
        };
        let request = request.into_inner();
        let ignored = paths(&request.ignore_changes)?;
        let mut olds = request.old_inputs.unwrap_or_default();
        let news = request.news.unwrap_or_default();
        if let Some(package) = package {
            let plugin = session.context().plugin_version();
            config::hide_other_version(&mut olds, &news, &package.identity().version, plugin);
        }
        Ok(Response::new(difference(config::diff(&olds, &news, &ignored, &shape))))
    }

    async fn configure(
        &self,
        request: Request<ConfigureRequest>,
    ) -> Result<Response<ConfigureResponse>, Status> {
        let session = session(&request)?;
        let instance = chosen(&session).await?;
        let request = request.into_inner();
        session.accept_secrets(session.accepts_secrets() || request.accept_secrets);
        if let Some(instance) = instance {
            let arguments = match &request.args {
                Some(properties) => config::Arguments::Properties(properties),
                None => config::Arguments::Variables(&request.variables),
            };
            let mut warnings = OperationWarnings::default();
            let call = instance.calls.begin(request.urn.as_deref().unwrap_or_default());
            let provider = instance.provider().within(&limit(&session, &call));
            let configured = config::configure(&instance, &provider, arguments, &mut warnings).await;
            report(&session, &instance, &warnings, request.urn.as_deref().unwrap_or_default()).await;
            fail_point("provider-configured");
            configured.map_err(status::of_operation)?;
            // In the background: it must not delay the response.
            let (background, daemon) = (Arc::clone(&session), Arc::clone(session.daemon()));
            daemon.spawn(async move { background.warn_of_stale_sdk().await });
            fail_point("learning-operations");
            session.learn_operations(&instance.package.identity().name, request.urn.as_deref()).await;
        } else {
            refuse_settings(request.args.as_ref().unwrap_or(&Struct::new()))?;
        }
        Ok(Response::new(ConfigureResponse {
            accept_secrets: true,
            supports_preview: true,
            accept_resources: false,
            accept_outputs: false,
            supports_autonaming_configuration: true,
        }))
    }

    async fn invoke(&self, request: Request<InvokeRequest>) -> Result<Response<InvokeResponse>, Status> {
        let (session, instance) = parameterized(&request).await?;
        let is_repeated = is_repeated(&request);
        let request = request.into_inner();
        if is_repeated && !request.preview && invoke::is_action(&instance.package, &request.tok) {
            return Err(RequestError::ActionLostWithDaemon { action: request.tok }.into());
        }
        let call = instance.calls.begin("");
        let must_end = invoke::must_end(&instance.package, &request.tok);
        let running = Arc::clone(&session);
        let work = async move {
            let mut warnings = OperationWarnings::default();
            let arguments = request.args.unwrap_or_default();
            let provider = instance.provider().within(&limit(&session, &call));
            let invocation = Invocation {
                session: &session,
                instance: &instance,
                provider: &provider,
                token: &request.tok,
                arguments: &arguments,
                preview: request.preview,
            };
            let invoked = invoke::invoke(invocation, &mut warnings).await;
            report(&session, &instance, &warnings, "").await;
            match invoked {
                Ok(result) => Ok(InvokeResponse { r#return: Some(result), failures: Vec::new() }),
                Err(OperationError::Inputs(found)) => {
                    Ok(InvokeResponse { r#return: Some(Struct::new()), failures: failures(found) })
                }
                Err(error) => Err(status::of_operation(error)),
            }
        };
        if must_end { run_to_completion(running, work).await } else { work.await.map(Response::new) }
    }

    async fn call(&self, request: Request<CallRequest>) -> Result<Response<CallResponse>, Status> {
        let instance = chosen(&session(&request)?).await?;
        let token = request.into_inner().tok;
        // It is called on the provider of this session.
        let result = config::call(instance.as_deref(), &token).await.map_err(status::of_method)?;
        Ok(Response::new(CallResponse { r#return: Some(result), ..Default::default() }))
    }

    async fn check(&self, request: Request<CheckRequest>) -> Result<Response<CheckResponse>, Status> {
        let work = Work::begin(&request, |request| &request.urn).await?;
        let request = request.into_inner();
        let target = work.target(&request.r#type, request.olds.as_ref()).await?;
        let olds = request.olds.unwrap_or_default();
        let naming = Naming {
            resource: Urn(&request.urn).name(),
            olds: &olds,
            seed: &request.random_seed,
            autonaming_mode: autonaming_mode(request.autonaming.as_ref()),
        };
        let write_only = &work.instance.write_only;
        let news = write_only.reveal(&request.urn, request.news.unwrap_or_default(), &target.shape.object);
        let checking = resource::check(&target, news, Some(&naming));
        let checked = work.limited(&target, checking).await;
        work.instance.autonames.note(&request.urn, target.warnings.lock().is_name_generated);
        let mut checked = work.finish(&target, checked).await?;
        if work.session.settings().write_only == WriteOnly::Hash {
            write_only
                .hold(&request.urn, &mut checked.inputs, &olds, &target.shape.object)
                .map_err(RequestError::WriteOnly)?;
        }
        Ok(Response::new(CheckResponse {
            inputs: Some(checked.inputs),
            failures: failures(checked.failures),
        }))
    }

    async fn diff(&self, request: Request<DiffRequest>) -> Result<Response<DiffResponse>, Status> {
        let work = Work::begin(&request, |request| &request.urn).await?;
        let request = request.into_inner();
        let target = work.known_target(&request.r#type, &request.id, request.olds.as_ref()).await?;
        let target = target.compared(request.old_inputs.as_ref());
        let ignored = paths(&request.ignore_changes)?;
        let olds = request.olds.unwrap_or_default();
        let inputs = request.old_inputs.clone().unwrap_or_default();
        let comparison = Comparison {
            inputs: &inputs,
            olds: &olds,
            news: work.reveal(&target, request.news),
            ignore_changes: &ignored,
            is_name_generated: work.instance.autonames.contains(&request.urn),
        };
        let comparing = async {
            let prior = target.prior(&olds).await?;
            target.examine_interrupted_change(&prior).await;
            resource::diff(&target, &prior, comparison).await
        };
        let changes = work.limited(&target, comparing).await;
        Ok(Response::new(difference(work.finish(&target, changes).await?)))
    }

    async fn create(&self, request: Request<CreateRequest>) -> Result<Response<CreateResponse>, Status> {
        let work = Work::begin(&request, |request| &request.urn).await?;
        let request = request.into_inner();
        let (session, preview) = (Arc::clone(&work.session), request.preview);
        let work = async move {
            let target = work.configured_target(&request.r#type, None).await?;
            let target = target.timed(Operation::Create, request.timeout, None);
            if request.preview {
                let inputs = work.reveal(&target, request.properties);
                let planning = resource::preview_create(&target, &inputs);
                let planned = work.limited(&target, planning).await;
                let properties = Some(work.finish(&target, planned).await?);
                return Ok(CreateResponse { id: String::new(), properties, refresh_before_update: false });
            }
            let inputs = work.reveal_to_apply(&target, request.properties)?;
            let nothing = Struct::new();
            let state = EngineState { target: &target, id: "", olds: &nothing, inputs: &nothing };
            let created = work.limited(&target, resource::create(&target, &state, &inputs)).await;
            let created = work.finish_change(&target, created).await?;
            Ok(CreateResponse {
                id: created.id,
                properties: Some(created.properties),
                refresh_before_update: false,
            })
        };
        // A preview changes nothing: it ends with the call.
        if preview { work.await.map(Response::new) } else { run_to_completion(session, work).await }
    }

    async fn read(&self, request: Request<ReadRequest>) -> Result<Response<ReadResponse>, Status> {
        let work = Work::begin(&request, |request| &request.urn).await?;
        let request = request.into_inner();
        let target = work.configured_target(&request.r#type, request.properties.as_ref()).await?;
        let target =
            target.known_as(&request.id).timed(Operation::Read, request.timeout, request.inputs.as_ref());
        let reading = async {
            match request.properties.filter(|properties| !properties.is_empty()) {
                Some(properties) => {
                    let inputs = request.inputs.unwrap_or_default();
                    work.mentions(&request.id).await;
                    resource::refresh(&target, &request.id, &inputs, &properties).await
                }
                None => {
                    let imported = resource::import(&target, &request.id).await?;
                    if let Some(imported) = &imported {
                        let daemon = work.session.daemon();
                        daemon.operations().imported(&imported.id, work.session.caller());
                    }
                    Ok(imported)
                }
            }
        };
        let read = work.limited(&target, reading).await;
        let response = match work.finish(&target, read).await? {
            Some(found) => ReadResponse {
                id: found.id,
                properties: Some(found.properties),
                inputs: Some(found.inputs),
                refresh_before_update: false,
            },
            // Without an id, the engine takes a refreshed resource for deleted; without properties, it refuses to import one.
            None => ReadResponse::default(),
        };
        Ok(Response::new(response))
    }

    async fn list(&self, request: Request<ListRequest>) -> Result<Response<BoxStream<ListResponse>>, Status> {
        let (session, instance) = parameterized(&request).await?;
        let call = instance.calls.begin("");
        let ListRequest { token, query, limit, page_size, continuation_token } = request.into_inner();
        let at_least_one = |number| u64::try_from(number).ok().filter(|number| *number > 0);
        let query = list::Query {
            token,
            query: query.unwrap_or_default(),
            limit: at_least_one(limit),
            page_size: at_least_one(page_size),
            continuation: continuation_token,
        };
        let mut warnings = OperationWarnings::default();
        let provider = instance.provider().within(&crate::serve::limit(&session, &call));
        let started = list::begin_list(&instance, &provider, query, &mut warnings).await;
        report(&session, &instance, &warnings, "").await;
        let started = started.map_err(status::of_operation)?;
        let (results, stream) = listing::results();
        let daemon = Arc::clone(session.daemon());
        daemon.spawn(async move {
            match started {
                list::Started::Unknown => results.computed(),
                list::Started::Page(page) => {
                    let interrupted = call.interrupted();
                    listing::send_page(&session, &instance, &provider, *page, results, interrupted).await;
                }
            }
            drop(call);
        });
        Ok(Response::new(Box::pin(stream)))
    }

    async fn update(&self, request: Request<UpdateRequest>) -> Result<Response<UpdateResponse>, Status> {
        let work = Work::begin(&request, |request| &request.urn).await?;
        let request = request.into_inner();
        let (session, preview) = (Arc::clone(&work.session), request.preview);
        let work = async move {
            let target = work.known_target(&request.r#type, &request.id, request.olds.as_ref()).await?;
            let target = target.timed(Operation::Update, request.timeout, request.old_inputs.as_ref());
            let olds = request.olds.unwrap_or_default();
            let news = match request.preview {
                true => work.reveal(&target, request.news),
                false => work.reveal_to_apply(&target, request.news)?,
            };
            let ignored = paths(&request.ignore_changes)?;
            let inputs = request.old_inputs.clone().unwrap_or_default();
            let state = EngineState { target: &target, id: &request.id, olds: &olds, inputs: &inputs };
            let changes = Changes { inputs: &inputs, olds: &olds, news, ignore_changes: &ignored };
            let updating = async {
                let prior = target.prior(&olds).await?;
                if request.preview {
                    resource::preview_update(&target, &prior, changes).await
                } else {
                    resource::update(&target, &state, prior, changes).await
                }
            };
            let updated = work.limited(&target, updating).await;
            let properties = Some(work.finish_change(&target, updated).await?);
            Ok(UpdateResponse { properties, refresh_before_update: false })
        };
        if preview { work.await.map(Response::new) } else { run_to_completion(session, work).await }
    }

    async fn delete(&self, request: Request<DeleteRequest>) -> Result<Response<()>, Status> {
        let work = Work::begin(&request, |request| &request.urn).await?;
        let request = request.into_inner();
        run_to_completion(Arc::clone(&work.session), async move {
            let target = work.known_target(&request.r#type, &request.id, request.properties.as_ref()).await?;
            let target = target.timed(Operation::Delete, request.timeout, request.old_inputs.as_ref());
            let olds = request.properties.unwrap_or_default();
            let inputs = request.old_inputs.clone().unwrap_or_default();
            let state = EngineState { target: &target, id: &request.id, olds: &olds, inputs: &inputs };
            let deleting = async {
                let prior = target.prior(&olds).await?;
                resource::delete(&target, &state, &prior).await
            };
            let deleted = work.limited(&target, deleting).await;
            if deleted.is_ok() {
                // Another resource by this URN is checked before it is compared.
                work.instance.autonames.note(&request.urn, false);
            }
            work.finish(&target, deleted).await
        })
        .await
    }

    async fn cancel(&self, request: Request<()>) -> Result<Response<()>, Status> {
        let session = connected_session(&request)?;
        fail_point("cancel-received");
        session.run_ended().await;
        fail_point("run-ended");
        session.cancel().await;
        Ok(Response::new(()))
    }

    async fn get_mapping(
        &self,
        request: Request<GetMappingRequest>,
    ) -> Result<Response<GetMappingResponse>, Status> {
        let session = session(&request)?;
        LongAnswer::place(&request).await;
        let request = request.into_inner();
        let unknown = |error: mapping::UnknownProvider| RequestError::Invalid(error.to_string());
        let found = match session.package().await {
            Some(package) => {
                match mapping::mapped(&package, &request.key, &request.provider).map_err(unknown)? {
                    Some(name) => {
                        let name = name.to_owned();
                        Some((name, session.mapping(package).await.map_err(of_token)?))
                    }
                    None => None,
                }
            }
            None => mapping::base_mapped(&request.key, &request.provider).map_err(unknown)?.map(|name| {
                let plugin_version = session.context().plugin_version().to_string();
                (name.to_owned(), mapping::base_document(&plugin_version).into())
            }),
        };
        let Some((provider, data)) = found else { return Ok(Response::new(GetMappingResponse::default())) };
        Ok(streamed(&session, GetMappingResponse { provider, data: Bytes::new() }, 2, data))
    }

    async fn get_mappings(
        &self,
        request: Request<GetMappingsRequest>,
    ) -> Result<Response<GetMappingsResponse>, Status> {
        let session = session(&request)?;
        let key = request.into_inner().key;
        let providers = match session.package().await {
            Some(package) => mapping::mappings(&package, &key).into_iter().map(str::to_owned).collect(),
            None => mapping::base_mappings(&key).map(str::to_owned).into_iter().collect(),
        };
        Ok(Response::new(GetMappingsResponse { providers }))
    }
}

/// The session's provider; `None` for the plugin's own package, before Parameterize.
async fn chosen(session: &Arc<Session>) -> Result<Option<Arc<Instance>>, Status> {
    match session.instance().await {
        Ok(instance) => Ok(Some(instance)),
        Err(SessionError::NotParameterized) => Ok(None),
        Err(error) => Err(status::of_session(error)),
    }
}

/// The package in the version of a request, which may be another one: an engine asks for the version that it has
/// parameterized, and for an explicit provider that may be the plugin's.
fn package_in(package: Arc<Package>, version: Option<semver::Version>) -> Arc<Package> {
    match version {
        Some(version) if version != package.identity().version => {
            let identity = Identity { version, ..package.identity().clone() };
            Arc::new(Package::new(identity, Arc::clone(package.catalogue())))
        }
        _ => package,
    }
}

fn of_token(error: TokenError) -> Status {
    status::of_operation(error.into())
}

/// The plugin's own package has a provider resource too, without settings.
fn refuse_settings(config: &Struct) -> Result<(), Status> {
    if config::is_empty(config) { Ok(()) } else { Err(status::of_session(SessionError::NotParameterized)) }
}

/// Shows the warnings of a call that concerns no resource.
async fn report(session: &Session, instance: &Instance, warnings: &OperationWarnings, urn: &str) {
    let shape = instance.package.config_shape().ok();
    for warning in &warnings.diagnostics {
        let text = match &shape {
            Some(shape) => resource::describe(warning, &shape.object),
            None => warning.to_string(),
        };
        session.warn(text, urn);
    }
    show_texts(session, warnings, urn).await;
}
