//! The service of the engine of 2017, `lumirpc.ResourceProvider`.
//!
//! As in `pulumirpc`, each method takes a message apart, calls what does the work, and puts the answer together. What
//! that engine does with each call is written beside the contract in `proto/lumirpc/provider.proto`. It reads no meaning
//! into the codes of errors; they are those that today's engine would get.

mod name;

use std::sync::Arc;
use std::time::Duration;

use isthmus_proto::lumirpc::resource_provider_server::ResourceProvider;
use isthmus_proto::lumirpc::{
    CheckFailure, CheckRequest, CheckResponse, CreateRequest, CreateResponse, DeleteRequest, DiffRequest,
    DiffResponse, GetRequest, GetResponse, NameRequest, NameResponse, UpdateRequest, UpdateResponse,
};
use isthmus_proto::property::Struct;
use isthmus_shim::provider::Limit;
use isthmus_shim::state::Unanswered;
use tonic::{Request, Response, Status};

use super::{limit, session_of, status};
use crate::daemon::{Call, Instance, Session};
use crate::resource::{self, Keeper, KeptError, Notes, Operation, Target, Timeouts};
use crate::settings;

use name::{NameProperties, NamePropertiesError, resource_name, without_names};

/// The service. It has no state but its settings: all else is in the connection's session and in the store.
#[derive(Clone, Debug)]
pub(super) struct LumiService {
    /// A setting that cannot be read is told whenever a name is asked for: another name would be another resource.
    names: Arc<Result<NameProperties, NamePropertiesError>>,
}

impl LumiService {
    /// The service with the settings of the environment.
    pub(super) fn new() -> Self {
        Self { names: Arc::new(NameProperties::read()) }
    }

    /// The properties that name resources of a type.
    async fn name_properties(&self, session: &Arc<Session>, type_token: &str) -> Result<&[String], Status> {
        let names = match &*self.names {
            Ok(names) if names.is_empty() => return Ok(&[]),
            Ok(names) => names,
            Err(error) => return Err(Status::failed_precondition(error.to_string())),
        };
        let instance = session.instance().await.map_err(status::of_session)?;
        let shape = instance
            .package
            .resource_by_short_token(type_token)
            .map_err(|error| status::of_operation(error.into()))?;
        Ok(names.of(&shape.terraform_type))
    }
}

#[tonic::async_trait]
impl ResourceProvider for LumiService {
    async fn name(&self, request: Request<NameRequest>) -> Result<Response<NameResponse>, Status> {
        let session = session_of(&request)?;
        let request = request.into_inner();
        let configured = self.name_properties(&session, &request.r#type).await?;
        let name = resource_name(&request.r#type, &request.properties.unwrap_or_default(), configured)
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        Ok(Response::new(NameResponse { name }))
    }

    async fn check(&self, request: Request<CheckRequest>) -> Result<Response<CheckResponse>, Status> {
        let (work, request) = Work::begin(request).await?;
        let keeper = work.keeper(&request.r#type).await?;
        let mut notes = Notes::default();
        let properties = request.properties.unwrap_or_default();
        let configured = self.name_properties(&work.session, &request.r#type).await?;
        // A resource that cannot be named was refused before this call.
        let name = resource_name(&request.r#type, &properties, configured).unwrap_or_default();
        let inputs = without_names(Some(properties), &keeper.target.shape);
        let checked = work.limited(&keeper, keeper.check(&name, inputs.clone(), &mut notes)).await;
        let checked = work.finish(&keeper, notes, checked).await?;
        // Only what comes on top of the inputs, which is a made-up name: the engine stores it and sends it again. A provider's
        // own defaults are not among it: it fills them in by itself, the same each time, and the engine would hold on to
        // them when a newer provider has others.
        let defaults: Struct = checked
            .inputs
            .into_iter()
            .filter(|(name, _)| inputs.get(name).is_none_or(|value| value.is_null()))
            .filter(|(_, value)| !value.is_null())
            .collect();
        let failures = checked
            .failures
            .into_iter()
            .map(|failure| CheckFailure { property: failure.property, reason: failure.reason })
            .collect();
        Ok(Response::new(CheckResponse { defaults: (!defaults.is_empty()).then_some(defaults), failures }))
    }

    async fn diff(&self, request: Request<DiffRequest>) -> Result<Response<DiffResponse>, Status> {
        let (work, request) = Work::begin(request).await?;
        let keeper = work.configured_keeper(&request.r#type).await?;
        let mut notes = Notes::default();
        let olds = without_names(request.olds, &keeper.target.shape);
        let news = without_names(request.news, &keeper.target.shape);
        let replaces = work.limited(&keeper, keeper.diff(&request.id, &olds, &news, &mut notes)).await;
        let replaces = work.finish(&keeper, notes, replaces).await?;
        Ok(Response::new(DiffResponse { replaces }))
    }

    async fn create(&self, request: Request<CreateRequest>) -> Result<Response<CreateResponse>, Status> {
        let (work, request) = Work::begin(request).await?;
        work.through(move |work| async move {
            let keeper = work.configured_keeper(&request.r#type).await?.doing(Operation::Create);
            let mut notes = Notes::default();
            let keeper = keeper.of(subject(&request.r#type, request.properties.as_ref()));
            let inputs = without_names(request.properties, &keeper.target.shape);
            let made = work.limited(&keeper, keeper.create(&inputs, &mut notes)).await;
            let made = work.finish(&keeper, notes, made).await?;
            work.answered_soon(made.unanswered);
            Ok(CreateResponse { id: made.id, properties: Some(made.outputs) })
        })
        .await
    }

    async fn get(&self, request: Request<GetRequest>) -> Result<Response<GetResponse>, Status> {
        let (work, request) = Work::begin(request).await?;
        let keeper = work.configured_keeper(&request.r#type).await?.doing(Operation::Read);
        let mut notes = Notes::default();
        let properties = work.limited(&keeper, keeper.get(&request.id, &mut notes)).await;
        let properties = work.finish(&keeper, notes, properties).await?;
        Ok(Response::new(GetResponse { properties }))
    }

    async fn update(&self, request: Request<UpdateRequest>) -> Result<Response<UpdateResponse>, Status> {
        let (work, request) = Work::begin(request).await?;
        work.through(move |work| async move {
            let keeper = work.configured_keeper(&request.r#type).await?.doing(Operation::Update);
            let mut notes = Notes::default();
            let keeper = keeper.of(subject(&request.r#type, request.news.as_ref()));
            let olds = without_names(request.olds, &keeper.target.shape);
            let news = without_names(request.news, &keeper.target.shape);
            let outputs = work.limited(&keeper, keeper.update(&request.id, &olds, &news, &mut notes)).await;
            let outputs = work.finish(&keeper, notes, outputs).await?;
            Ok(UpdateResponse { properties: Some(outputs) })
        })
        .await
    }

    async fn delete(&self, request: Request<DeleteRequest>) -> Result<Response<()>, Status> {
        let (work, request) = Work::begin(request).await?;
        work.through(move |work| async move {
            let keeper = work.configured_keeper(&request.r#type).await?.doing(Operation::Delete);
            let mut notes = Notes::default();
            let keeper = keeper.of(subject(&request.r#type, request.properties.as_ref()));
            let properties = without_names(request.properties, &keeper.target.shape);
            let deleted = work.limited(&keeper, keeper.delete(&request.id, &properties, &mut notes)).await;
            work.finish(&keeper, notes, deleted).await
        })
        .await
    }
}

/// When an answer counts as given. Handing it to the system takes microseconds, and then it arrives even if this process is
/// killed.
const ANSWERED_AFTER: Duration = Duration::from_millis(20);

/// A call about one resource. This engine names none by its URN.
struct Work {
    session: Arc<Session>,
    instance: Arc<Instance>,
    call: Call,
}

impl Work {
    async fn begin<Message>(request: Request<Message>) -> Result<(Self, Message), Status> {
        let session = session_of(&request)?;
        let instance = session.instance().await.map_err(status::of_session)?;
        let call = instance.calls.begin("");
        Ok((Self { session, instance, call }, request.into_inner()))
    }

    async fn keeper(&self, type_token: &str) -> Result<Keeper<'_>, Status> {
        let vault = self
            .session
            .daemon()
            .vault()
            .await
            .map_err(|error| Status::failed_precondition(isthmus_shim::error_chain(&error)))?;
        let shape = self
            .instance
            .package
            .resource_by_short_token(type_token)
            .map_err(|error| status::of_operation(error.into()))?;
        let identity = self.instance.package.identity();
        Ok(Keeper {
            target: Target {
                provider: &self.instance.provider,
                shape,
                package: identity,
                keep_secrets: false,
                timeouts: Timeouts::default(),
                memory: None,
            },
            vault,
            package: &identity.name,
            subject: String::new(),
            provider_type: &identity.provider_type,
            unanswered: Some(self.session.daemon().unanswered()),
            withhold_sensitive: settings::SENSITIVE_OUTPUTS.is_withhold(),
        })
    }

    async fn configured_keeper(&self, type_token: &str) -> Result<Keeper<'_>, Status> {
        let mut warnings = Vec::new();
        let configuring = self.instance.ensure_configured(&mut warnings);
        self.limit().within(configuring).await.map_err(status::of_configuring)?;
        self.keeper(type_token).await
    }

    /// Notes that the engine has the answer, when it has. If this process is killed before, the next one tells of the object.
    fn answered_soon(&self, unanswered: Unanswered) {
        self.session.daemon().spawn(async move {
            tokio::time::sleep(ANSWERED_AFTER).await;
            // Without the note, the next start tells what need not be told.
            unanswered.answered().await.ok();
        });
    }

    /// How long somebody waits for the call. This engine sets no time.
    fn limit(&self) -> Limit {
        limit(&self.session, &self.call)
    }

    /// Does an operation for as long as somebody waits for it.
    async fn limited<T>(
        &self,
        keeper: &Keeper<'_>,
        operation: impl Future<Output = Result<T, KeptError>>,
    ) -> Result<T, KeptError> {
        let limit = self.limit();
        limit.within(operation).await.map_err(|error| keeper.explained(error, &limit))
    }

    /// Shows the provider's warnings, and turns the error where there is one.
    async fn finish<T>(
        &self,
        keeper: &Keeper<'_>,
        notes: Notes,
        outcome: Result<T, KeptError>,
    ) -> Result<T, Status> {
        for warning in &notes.warnings {
            let text = resource::describe(warning, &keeper.target.shape.object);
            self.session.warn(text, "");
        }
        self.session.settle(!notes.warnings.is_empty()).await;
        outcome.map_err(of_kept)
    }

    /// As in `pulumirpc`: what a provider has begun is finished, even if the engine stops listening.
    async fn through<Answer, Doing>(
        self,
        work: impl FnOnce(Arc<Self>) -> Doing,
    ) -> Result<Response<Answer>, Status>
    where
        Answer: Send + 'static,
        Doing: Future<Output = Result<Answer, Status>> + Send + 'static,
    {
        let daemon = Arc::clone(self.session.daemon());
        let done = daemon.spawn(work(Arc::new(self)));
        done.await
            .map_err(|error| Status::unknown(format!("the operation broke off: {error}")))?
            .map(Response::new)
    }
}

/// What is reported of a change that never ended: the name that its program gives a resource, or its type's.
fn subject(type_token: &str, properties: Option<&Struct>) -> String {
    let name = properties.and_then(|properties| resource_name(type_token, properties, &[]).ok());
    name.unwrap_or_else(|| type_token.to_owned())
}

fn of_kept(error: KeptError) -> Status {
    let text = isthmus_shim::error_chain(&error);
    match error {
        KeptError::Operation(error) => status::of_operation(error),
        KeptError::Undone { .. } => Status::aborted(text),
        KeptError::LeftBehind { .. } | KeptError::NotStored { .. } => Status::unknown(text),
        KeptError::Vault(_)
        | KeptError::Unknown { .. }
        | KeptError::Ambiguous { .. }
        | KeptError::Gone { .. } => Status::failed_precondition(text),
    }
}
