//! The recorder of a session: writes each call of the engine when it has ended, with those of the provider.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use isthmus_cty::json::Json;
use isthmus_known_secrets::KnownSecrets;
use isthmus_proto::property::Struct;
use isthmus_proto::rpc;
use prost::Message as _;
use prost_reflect::{DynamicMessage, FieldDescriptor, MessageDescriptor};
use tonic::{Code, Status};

use super::Recording;
use super::bags::BagRule;
use super::call::OpenCall;
use super::format::{object, open_bytes, withheld};
use super::placeholders::Placeholders;
use super::writer::Writer;
use crate::walk::{CapturedCall, METHODS, MessageWalk, Schemas, SecretPaths, Subject, decode};
use isthmus_context::random_uuid::random_uuid;
use isthmus_package::catalogue::Package;
use isthmus_package::parameters::ParameterSource;
use isthmus_package::shape::ResourceShape;
use isthmus_package::urn::Urn;
use isthmus_translate::inputs::{Unknowns, config_from_stored};

/// The service whose calls are recorded.
pub(super) const SERVICE: &str = "pulumirpc.ResourceProvider";

/// Type of the message in a status about a half-made resource.
const INIT_FAILED: &str = "pulumirpc.ErrorResourceInitFailed";

/// Responses that are no secrets and no messages of values: they are recorded as they are.
pub(super) const SCHEMAS: [&str; 3] = ["GetProviderSchema", "GetSchema", "GetResourceIdentitySchemas"];

/// Records a session.
#[derive(Debug)]
pub struct SessionRecorder {
    recording: Arc<Recording>,
    id: String,
    sequence: AtomicU64,
    has_package: AtomicBool,
    placeholders: Mutex<Placeholders>,
    /// Those of a provider's configuration before Configure, which an engine sends without marks.
    unmarked: Mutex<Placeholders>,
}

/// How a call has a provider's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Configuration {
    /// Not at all.
    None,
    /// With marks, as in Configure.
    Marked,
    /// Without: every value of it may be a secret.
    Unmarked,
}

/// What a call of an engine is about.
enum About {
    /// Nothing with properties.
    Nothing,
    Member(Arc<ResourceShape>),
    /// Neither arguments nor results of one have a shape.
    Function,
    /// The query of a list.
    List,
    /// A member that the package does not have.
    Unknown,
}

impl About {
    fn rule(&self, configuration: Configuration) -> BagRule<'_> {
        let is_marked = configuration == Configuration::Marked;
        match self {
            Self::Member(shape) if configuration != Configuration::None => {
                BagRule::Configuration { shape: &shape.object, is_marked }
            }
            // The configuration has properties that are the engine's.
            Self::Member(shape) if shape.schema.block.has_secrets && !shape.token.is_empty() => {
                BagRule::Stored(&shape.object)
            }
            Self::Member(shape) => BagRule::Shape(&shape.object),
            Self::List => BagRule::Marks,
            // Hosts of programs take the marks off what they pass to functions.
            Self::Nothing | Self::Function | Self::Unknown => BagRule::Everything,
        }
    }
}

impl SessionRecorder {
    /// Records a session with these secrets.
    pub fn new(recording: Arc<Recording>, secrets: KnownSecrets) -> Self {
        let placeholders = Mutex::new(Placeholders::new(secrets.clone(), recording.is_replay()));
        let unmarked = Mutex::new(Placeholders::of_unmarked(secrets, recording.is_replay()));
        Self {
            recording,
            id: random_uuid(),
            sequence: AtomicU64::new(1),
            has_package: AtomicBool::new(false),
            placeholders,
            unmarked,
        }
    }

    /// A call of the engine begins.
    pub fn begin(&self, method: &str, request: &impl prost::Message) -> Arc<OpenCall> {
        OpenCall::begin(self.next(), method, request.encode_to_vec().into())
    }

    fn next(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether the end of a call needs the package. Others must not wait for a call that chooses it.
    pub fn needs_package(&self, call: &OpenCall) -> bool {
        call.method == "Parameterize" || has_bags(&call.method)
    }

    /// A call has ended. A response that is a stream has no bytes.
    ///
    /// # Errors
    /// Once, when the file cannot be written: the session is recorded no further.
    pub fn end(
        &self,
        call: &OpenCall,
        package: Option<Arc<Package>>,
        response: Result<Option<Vec<u8>>, &Status>,
    ) -> Result<(), std::io::Error> {
        let elapsed = call.begun.elapsed();
        let types = METHODS.get(&format!("/{SERVICE}/{}", call.method));
        let request = types.and_then(|types| decode(&types.request, &call.request));
        let about = match (&package, &request) {
            (Some(package), Some(request)) => about(&call.method, request, package),
            (None, _) if has_bags(&call.method) => About::Unknown,
            _ => About::Nothing,
        };
        let mut paths = SecretPaths::none();
        if let (About::Member(shape), Some(request)) = (&about, &request) {
            add_marks(&mut paths, request, shape);
        }
        let configuration = configuration(&call.method);
        let placeholders = match configuration {
            Configuration::Unmarked => &self.unmarked,
            Configuration::None | Configuration::Marked => &self.placeholders,
        };
        let mut placeholders = placeholders.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = Vec::new();
        if let Some(package) = package.as_ref().filter(|_| !self.has_package.swap(true, Ordering::Relaxed)) {
            lines.push(self.package_line(package));
        }
        let walk = MessageWalk {
            subject: Subject::Engine,
            paths: &paths,
            is_unmarked: configuration == Configuration::Unmarked,
            are_states_marked: false,
        };
        let mut writer = Writer {
            placeholders: &mut placeholders,
            bags: about.rule(configuration),
            has_secret_keys: configuration != Configuration::None,
        };
        let request = match request {
            Some(request) => writer.write(&walk.message(&request)),
            None => withheld(call.request.len()),
        };
        let types = types.map(|types| &types.response);
        let outcome = match response {
            Ok(None) => ("response", withheld(0)),
            Ok(Some(bytes)) => ("response", writer.write(&walk.encoded(types, &bytes))),
            Err(status) => ("status", engine_status(status, &mut writer, walk, types)),
        };
        // Last, because what the engine has as a secret is one here too.
        let schemas = package.as_ref().map(|package| Schemas(package.catalogue()));
        let calls = call.provider.take().into_iter();
        let children: Vec<_> = calls
            .map(|captured| self.provider_line(&captured, call.sequence, schemas, &mut writer, walk))
            .collect();
        lines.push(self.line(
            call.sequence,
            "engine",
            SERVICE,
            &call.method,
            None,
            request,
            outcome,
            elapsed,
        ));
        lines.extend(children);
        self.recording.append(lines)
    }

    fn package_line(&self, package: &Package) -> Json {
        let text = |text: &str| Json::String(text.to_owned());
        let identity = package.identity();
        let source = match &identity.parameter.source {
            ParameterSource::Remote { url, .. } => url,
            ParameterSource::Local { path } => path,
        };
        object([
            ("kind", text("session")),
            ("session", text(&self.id)),
            (
                "package",
                object([("name", text(&identity.name)), ("version", text(&identity.version.to_string()))]),
            ),
            (
                "provider",
                object([
                    ("source", text(source)),
                    ("version", identity.provider_version().map_or(Json::Null, text)),
                ]),
            ),
            ("parameter", Json::parse(&identity.parameter.encode()).unwrap_or(Json::Null)),
        ])
    }

    fn provider_line(
        &self,
        captured: &CapturedCall,
        parent: u64,
        schemas: Option<Schemas<'_>>,
        writer: &mut Writer<'_>,
        walk: MessageWalk<'_>,
    ) -> Json {
        let (request, response) = if SCHEMAS.contains(&captured.method) {
            (object([]), captured.response.as_ref().map(|bytes| open_bytes(bytes)))
        } else {
            let (request, response) = captured.traced(schemas, walk);
            (writer.write(&request), response.map(|response| writer.write(&response)))
        };
        let outcome = match response {
            Ok(response) => ("response", response),
            Err((code, text)) => ("status", status(*code, &writer.placeholders.message(text))),
        };
        let CapturedCall { service, method, elapsed, .. } = captured;
        self.line(self.next(), "provider", service, method, Some(parent), request, outcome, *elapsed)
    }

    #[expect(clippy::too_many_arguments, reason = "they are the members of the line")]
    fn line(
        &self,
        sequence: u64,
        side: &str,
        service: &str,
        method: &str,
        parent: Option<u64>,
        request: Json,
        (outcome, response): (&str, Json),
        elapsed: Duration,
    ) -> Json {
        let text = |text: &str| Json::String(text.to_owned());
        object([
            ("kind", text("call")),
            ("session", text(&self.id)),
            ("sequence", Json::Number(sequence.to_string())),
            ("side", text(side)),
            ("service", text(service)),
            ("method", text(method)),
            ("parent", parent.map_or(Json::Null, |parent| Json::Number(parent.to_string()))),
            ("request", request),
            (outcome, response),
            ("milliseconds", Json::Number(format!("{:.3}", elapsed.as_secs_f64() * 1e3))),
        ])
    }
}

/// How a method has the provider's configuration.
fn configuration(method: &str) -> Configuration {
    match method {
        "CheckConfig" | "DiffConfig" => Configuration::Unmarked,
        "Configure" => Configuration::Marked,
        _ => Configuration::None,
    }
}

/// Whether a method has properties of the package's members.
fn has_bags(method: &str) -> bool {
    let types = METHODS.get(&format!("/{SERVICE}/{method}"));
    let is_bag =
        |field: FieldDescriptor| field.kind().as_message().is_some_and(|kind| kind.name() == "Struct");
    types.is_some_and(|types| types.request.fields().any(is_bag))
}

fn about(method: &str, request: &DynamicMessage, package: &Package) -> About {
    let text = |field: &str| {
        let value = request.get_field_by_name(field);
        value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let member = |shape: Option<Arc<ResourceShape>>| shape.map_or(About::Unknown, About::Member);
    match method {
        "CheckConfig" | "DiffConfig" | "Configure" => member(package.config_shape().ok()),
        "Invoke" => {
            let token = text("tok");
            match package.data_source_by_token(&token) {
                Ok(shape) => About::Member(shape),
                Err(_) => About::Function,
            }
        }
        "Call" => About::Function,
        "List" => About::List,
        method if has_bags(method) => {
            let (urn, own) = (text("urn"), text("type"));
            let token = if own.is_empty() { Urn(&urn).resource_type().unwrap_or_default() } else { &own };
            member(package.resource_by_token(token).ok())
        }
        _ => About::Nothing,
    }
}

/// Adds the paths to what is marked in the engine's message.
fn add_marks(paths: &mut SecretPaths, request: &DynamicMessage, shape: &ResourceShape) {
    for (_, value) in request.fields() {
        let Some(message) = value.as_message() else { continue };
        // What cannot be read reaches no provider.
        if let Ok(bag) = Struct::decode(message.encode_to_vec().as_slice())
            && let Ok(config) = config_from_stored(&bag, &shape.object, &shape.schema.block, Unknowns::Keep)
        {
            paths.add(&config.secrets);
        }
    }
}

fn status(code: Code, text: &str) -> Json {
    object([("code", Json::String(format!("{code:?}"))), ("message", Json::String(text.to_owned()))])
}

/// A status of the service, with the half-made resource in its details.
fn engine_status(
    failed: &Status,
    writer: &mut Writer<'_>,
    walk: MessageWalk<'_>,
    response: Option<&MessageDescriptor>,
) -> Json {
    let message = writer.placeholders.message(failed.message());
    let mut shown = status(failed.code(), &message);
    let details = rpc::Status::decode(failed.details()).map(|status| status.details).unwrap_or_default();
    let init_failed = response.and_then(|response| response.parent_pool().get_message_by_name(INIT_FAILED));
    let details = details.iter().map(|detail| {
        let known = init_failed.as_ref().filter(|_| detail.type_url.ends_with(INIT_FAILED));
        let value = writer.write(&walk.encoded(known, &detail.value));
        object([("type", Json::String(detail.type_url.clone())), ("value", value)])
    });
    let details: Vec<Json> = details.collect();
    if let (Json::Object(members), false) = (&mut shown, details.is_empty()) {
        members.push(("details".to_owned(), Json::Array(details)));
    }
    shown
}
