//! The objects that a provider makes, and the provider.
//!
//! The objects are in no process: who asks a second time finds what the first time has made, whoever has died meanwhile. The provider
//! is one of protocol 6 with a single resource type. Whether a change fails, before or after it has had an effect, the seed decides.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use isthmus_common::BoxFuture;
use isthmus_cty::{ObjectType, Type, Value, decode_dynamic, json, msgpack};
use isthmus_grpc::{Encoded, Load, ServerSettings, serve_connection};
use isthmus_proto::health::{HealthCheckResponse, health_check_response::ServingStatus};
use isthmus_proto::tfplugin6::{self as message, schema};
use prost::Message;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::server::UnaryService;
use tower::Service;

use crate::dice::Dice;
use crate::network::{self, End};
use crate::world::{self, Shared};

/// The error of an import of nothing.
pub(crate) const GONE: &str = "there is no such thing";

/// The resource type.
pub(crate) const THING: &str = "sim_thing";

/// All objects, and how changes of them end.
#[derive(Debug, Default)]
pub(crate) struct Cloud {
    pub(crate) objects: BTreeMap<String, Object>,
    /// The ids of objects that others have made.
    pub(crate) of_others: BTreeSet<String>,
    made: u64,
    pub(crate) manners: Manners,
    dice: Dice,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// Stack and resource that it was made for.
    pub(crate) name: String,
    pub(crate) body: String,
    pub(crate) color: String,
    /// How often it was changed.
    pub(crate) version: u64,
}

/// How changes end. Each number is that of changes of which one does so; 0: none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manners {
    /// It fails, and has done nothing.
    pub(crate) refuses: u64,
    /// It fails, and has done it, and says so.
    pub(crate) half_fails: u64,
    /// It answers with a status, and has done it.
    pub(crate) breaks: u64,
    /// It takes up to so many milliseconds.
    pub(crate) slow: u64,
}

impl Cloud {
    pub(crate) fn new(dice: Dice) -> Self {
        Self { dice, ..Self::default() }
    }

    fn one_in(&mut self, times: u64) -> bool {
        times > 0 && self.dice.one_in(times)
    }

    /// Somebody else changes an object.
    pub(crate) fn drift(&mut self) {
        let length = self.objects.len();
        if length == 0 {
            return;
        }
        let index = self.dice.index(length);
        if let Some(object) = self.objects.values_mut().nth(index) {
            object.body.push('~');
            object.version += 1;
        }
    }

    /// Somebody else makes an object; returns its id.
    pub(crate) fn find(&mut self, name: &str) -> String {
        let object =
            Object { name: name.to_owned(), body: "found".into(), color: "color 0".into(), version: 1 };
        let id = self.insert(object);
        self.of_others.insert(id.clone());
        id
    }

    fn insert(&mut self, object: Object) -> String {
        self.made += 1;
        let id = format!("thing-{}", self.made);
        self.objects.insert(id.clone(), object);
        id
    }

    /// Somebody else deletes an object; returns its id.
    pub(crate) fn lose(&mut self) -> Option<String> {
        let length = self.objects.len();
        if length == 0 {
            return None;
        }
        let index = self.dice.index(length);
        let id = self.objects.keys().nth(index).cloned()?;
        self.objects.remove(&id);
        Some(id)
    }
}

fn object_type() -> Type {
    let attributes = ["id", "name", "body", "color", "version"];
    let attributes = attributes.map(|name| (Arc::from(name), Type::String)).into();
    Type::Object(Arc::new(ObjectType { attributes, ..ObjectType::default() }))
}

fn encoded(value: &Value) -> Option<message::DynamicValue> {
    let msgpack = msgpack::encode(value, &object_type()).expect("a value of the type").into();
    Some(message::DynamicValue { msgpack, json: Bytes::new() })
}

fn decoded(message: Option<&message::DynamicValue>) -> Result<Value, Status> {
    let message = message.ok_or_else(|| Status::invalid_argument("a value is missing"))?;
    decode_dynamic(&message.msgpack, &message.json, &object_type())
        .map_err(|error| Status::invalid_argument(error.to_string()))
}

fn text_of(value: &Value, name: &str) -> String {
    value.attribute(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl Object {
    fn value(&self, id: &str) -> Value {
        Value::object([
            ("id", Value::string(id)),
            ("name", Value::string(&self.name)),
            ("body", Value::string(&self.body)),
            ("color", Value::string(&self.color)),
            ("version", Value::string(self.version.to_string())),
        ])
    }
}

fn error(summary: &str) -> Vec<message::Diagnostic> {
    vec![message::Diagnostic {
        severity: message::diagnostic::Severity::Error.into(),
        summary: summary.to_owned(),
        ..message::Diagnostic::default()
    }]
}

fn schema() -> message::get_provider_schema::Response {
    let attribute = |name: &str, required, optional, computed| schema::Attribute {
        name: name.to_owned(),
        r#type: Bytes::from_static(b"\"string\""),
        required,
        optional,
        computed,
        ..schema::Attribute::default()
    };
    let attributes = vec![
        attribute("id", false, false, true),
        attribute("name", true, false, false),
        attribute("body", false, true, false),
        attribute("color", true, false, false),
        attribute("version", false, false, true),
    ];
    let block = schema::Block { attributes, ..schema::Block::default() };
    let thing = message::Schema { version: 0, block: Some(block) };
    let provider = message::Schema { version: 0, block: Some(schema::Block::default()) };
    message::get_provider_schema::Response {
        provider: Some(provider),
        resource_schemas: [(THING.to_owned(), thing.encode_to_vec().into())].into(),
        server_capabilities: Some(message::ServerCapabilities {
            get_provider_schema_optional: true,
            ..message::ServerCapabilities::default()
        }),
        ..message::get_provider_schema::Response::default()
    }
}

/// Serves as a provider's process, until it is asked to end or nobody can connect any more.
pub(crate) async fn provide(mut connections: mpsc::UnboundedReceiver<End>, cloud: Shared<Cloud>) {
    let load = Load::new(network::LOAD);
    let ended = CancellationToken::new();
    loop {
        let end = tokio::select! {
            () = ended.cancelled() => return,
            end = connections.recv() => match end {
                Some(end) => end,
                None => return,
            },
        };
        let mut provider = Provider { cloud: cloud.clone(), ended: ended.clone() };
        let (load, ended) = (load.clone(), ended.clone());
        tokio::spawn(async move {
            let call = |request| {
                let answer = provider.call(request);
                async move { answer.await.unwrap_or_else(|never| match never {}) }
            };
            serve_connection(end, call, SETTINGS, &load, &ended).await;
        });
    }
}

const SETTINGS: ServerSettings = ServerSettings { window: 1 << 20, most_calls: u32::MAX };

#[derive(Clone, Debug)]
struct Provider {
    cloud: Shared<Cloud>,
    ended: CancellationToken,
}

impl Service<http::Request<isthmus_grpc::Incoming>> for Provider {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<isthmus_grpc::Incoming>) -> Self::Future {
        let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        let method = Method { provider: self.clone(), name: method };
        Box::pin(async move { Ok(tonic::server::Grpc::new(Encoded).unary(method, request).await) })
    }
}

struct Method {
    provider: Provider,
    name: String,
}

impl UnaryService<Bytes> for Method {
    type Response = Bytes;
    type Future = BoxFuture<'static, Result<tonic::Response<Bytes>, Status>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let (provider, name) = (self.provider.clone(), self.name.clone());
        Box::pin(async move {
            let answer = provider.answer(&name, request.into_inner()).await?;
            Ok(tonic::Response::new(answer))
        })
    }
}

fn of<Request: Message + Default>(request: Bytes) -> Result<Request, Status> {
    Request::decode(request).map_err(|error| Status::invalid_argument(error.to_string()))
}

fn answer(answer: impl Message) -> Result<Bytes, Status> {
    Ok(answer.encode_to_vec().into())
}

impl Provider {
    async fn answer(&self, method: &str, request: Bytes) -> Result<Bytes, Status> {
        match method {
            "Check" => answer(HealthCheckResponse { status: ServingStatus::Serving.into() }),
            "Shutdown" => {
                self.ended.cancel();
                answer(isthmus_proto::goplugin::Empty {})
            }
            "GetProviderSchema" => answer(schema()),
            "ValidateProviderConfig" => answer(message::validate_provider_config::Response::default()),
            "ConfigureProvider" => answer(message::configure_provider::Response::default()),
            "StopProvider" => answer(message::stop_provider::Response::default()),
            "ValidateResourceConfig" => answer(message::validate_resource_config::Response::default()),
            "UpgradeResourceState" => answer(upgrade(&of(request)?)?),
            "PlanResourceChange" => answer(plan(&of(request)?)?),
            "ApplyResourceChange" => answer(self.apply(&of(request)?).await?),
            "ReadResource" => answer(self.read(&of(request)?)?),
            "ImportResourceState" => answer(self.import(&of(request)?)),
            other => Err(Status::unimplemented(other.to_owned())),
        }
    }

    async fn apply(
        &self,
        request: &message::apply_resource_change::Request,
    ) -> Result<message::apply_resource_change::Response, Status> {
        let (prior, planned) =
            (decoded(request.prior_state.as_ref())?, decoded(request.planned_state.as_ref())?);
        let (before, after) = self.cloud.with(|cloud| {
            let slow = cloud.manners.slow.max(2);
            (cloud.dice.below(slow), cloud.dice.below(slow))
        });
        tokio::time::sleep(Duration::from_millis(before)).await;
        let refuses = self.cloud.with(|cloud| {
            let refuses = cloud.manners.refuses;
            cloud.one_in(refuses)
        });
        if refuses {
            world::count("changes that the provider refuses");
            return Ok(message::apply_resource_change::Response {
                new_state: encoded(&prior),
                diagnostics: error("refused on purpose"),
                ..message::apply_resource_change::Response::default()
            });
        }
        let Some(new) = self.cloud.with(|cloud| change(cloud, &prior, &planned)) else {
            return Ok(message::apply_resource_change::Response {
                new_state: encoded(&prior),
                diagnostics: error("there is no such thing any more"),
                ..message::apply_resource_change::Response::default()
            });
        };
        // Whoever is killed now has made it.
        tokio::time::sleep(Duration::from_millis(after)).await;
        let (half_fails, breaks) = self.cloud.with(|cloud| {
            let Manners { half_fails, breaks, .. } = cloud.manners;
            (cloud.one_in(half_fails), cloud.one_in(breaks))
        });
        if breaks {
            world::count("changes whose answer is a status");
            return Err(Status::unknown("broken on purpose"));
        }
        let diagnostics = if half_fails { error("failed half-way on purpose") } else { Vec::new() };
        if half_fails {
            world::count("changes that fail half-way");
        }
        Ok(message::apply_resource_change::Response {
            new_state: encoded(&new),
            diagnostics,
            ..message::apply_resource_change::Response::default()
        })
    }

    fn read(
        &self,
        request: &message::read_resource::Request,
    ) -> Result<message::read_resource::Response, Status> {
        let current = decoded(request.current_state.as_ref())?;
        let id = text_of(&current, "id");
        let new = self.cloud.with(|cloud| cloud.objects.get(&id).map(|object| object.value(&id)));
        Ok(message::read_resource::Response {
            new_state: encoded(&new.unwrap_or(Value::Null)),
            ..message::read_resource::Response::default()
        })
    }

    fn import(
        &self,
        request: &message::import_resource_state::Request,
    ) -> message::import_resource_state::Response {
        let found =
            self.cloud.with(|cloud| cloud.objects.get(&request.id).map(|object| object.value(&request.id)));
        let imported = found.map(|state| message::import_resource_state::ImportedResource {
            type_name: THING.to_owned(),
            state: encoded(&state),
            ..message::import_resource_state::ImportedResource::default()
        });
        message::import_resource_state::Response {
            diagnostics: if imported.is_none() { error(GONE) } else { Vec::new() },
            imported_resources: imported.into_iter().collect(),
            ..message::import_resource_state::Response::default()
        }
    }
}

/// What a change does to the objects. `None`: the object is not there.
fn change(cloud: &mut Cloud, prior: &Value, planned: &Value) -> Option<Value> {
    let id = text_of(prior, "id");
    if planned.is_null() {
        cloud.objects.remove(&id);
        world::count("deletions");
        world::note(|| format!("cloud: {id} is deleted"));
        return Some(Value::Null);
    }
    let (body, color, name) = (text_of(planned, "body"), text_of(planned, "color"), text_of(planned, "name"));
    if prior.is_null() {
        let object = Object { name, body, color, version: 1 };
        let id = cloud.insert(object.clone());
        world::count("creations");
        world::note(|| format!("cloud: {id} is created as {}", object.name));
        return Some(object.value(&id));
    }
    let object = cloud.objects.get_mut(&id)?;
    object.body = body;
    object.version += 1;
    world::count("updates");
    world::note(|| format!("cloud: {id} is updated to {}", object.body));
    Some(object.value(&id))
}

fn upgrade(
    request: &message::upgrade_resource_state::Request,
) -> Result<message::upgrade_resource_state::Response, Status> {
    let raw = request.raw_state.as_ref().ok_or_else(|| Status::invalid_argument("no state"))?;
    let value = json::from_json(&raw.json, &object_type())
        .map_err(|error| Status::invalid_argument(error.to_string()))?;
    Ok(message::upgrade_resource_state::Response {
        upgraded_state: encoded(&value),
        ..message::upgrade_resource_state::Response::default()
    })
}

fn plan(
    request: &message::plan_resource_change::Request,
) -> Result<message::plan_resource_change::Response, Status> {
    let (prior, proposed) =
        (decoded(request.prior_state.as_ref())?, decoded(request.proposed_new_state.as_ref())?);
    let mut answer = message::plan_resource_change::Response::default();
    if proposed.is_null() {
        answer.planned_state = encoded(&proposed);
        return Ok(answer);
    }
    let is_new = prior.is_null();
    let is_changed =
        ["name", "body", "color"].iter().any(|name| prior.attribute(name) != proposed.attribute(name));
    let replaces = ["name", "color"].iter().any(|name| prior.attribute(name) != proposed.attribute(name));
    let attribute = |name: &str| proposed.attribute(name).cloned().unwrap_or(Value::Null);
    let computed = |name: &str, is_unknown| if is_unknown { Value::unknown() } else { attribute(name) };
    let planned = Value::object([
        ("id", computed("id", is_new || replaces)),
        ("name", attribute("name")),
        ("body", attribute("body")),
        ("color", attribute("color")),
        ("version", computed("version", is_new || is_changed)),
    ]);
    if !is_new {
        for name in ["name", "color"] {
            if prior.attribute(name) != proposed.attribute(name) {
                use message::attribute_path::{Step, step::Selector};
                let selector = Some(Selector::AttributeName(name.to_owned()));
                answer.requires_replace.push(message::AttributePath { steps: vec![Step { selector }] });
            }
        }
    }
    answer.planned_state = encoded(&planned);
    Ok(answer)
}
