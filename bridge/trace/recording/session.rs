//! The recorder of a session: writes each call of the engine when it has ended, with those of the provider.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use isthmus_cty::json::Json;
use isthmus_known_secrets::KnownSecrets;
use isthmus_proto::property::Struct;
use isthmus_proto::rpc;
use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use tonic::{Code, Status};

use super::Recording;
use super::bags::BagRule;
use super::call::{Captured, OpenCall};
use super::messages::{Configuration, MessageWriter, Subject, decode, open_bytes, withheld};
use super::placeholders::Placeholders;
use super::values::object;
use crate::transcript::methods::METHODS;
use crate::transcript::{Masks, Schemas, type_name};
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
    secrets: KnownSecrets,
    placeholders: Mutex<Placeholders>,
    /// Those of a provider's configuration before Configure, which an engine sends without marks.
    unmarked: Mutex<Placeholders>,
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
        let unmarked = Mutex::new(Placeholders::of_unmarked(secrets.clone(), recording.is_replay()));
        Self {
            recording,
            id: random_uuid(),
            sequence: AtomicU64::new(1),
            has_package: AtomicBool::new(false),
            secrets,
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
        let mut masks = Masks::new(self.secrets.clone());
        if let (About::Member(shape), Some(request)) = (&about, &request) {
            add_marks(&mut masks, request, shape);
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
        let mut writer = MessageWriter {
            subject: Subject::Engine(about.rule(configuration)),
            placeholders: &mut placeholders,
            masks: &masks,
            configuration,
        };
        let request =
            request.map_or_else(|| withheld(call.request.len()), |request| writer.message(&request));
        let outcome = match response {
            Ok(None) => ("response", withheld(0)),
            Ok(Some(bytes)) => {
                let bytes = Bytes::from(bytes);
                let message = types.and_then(|types| decode(&types.response, &bytes));
                (
                    "response",
                    message.map_or_else(|| withheld(bytes.len()), |message| writer.message(&message)),
                )
            }
            Err(status) => ("status", engine_status(status, &mut writer, types.map(|types| &types.response))),
        };
        // Last, because what the engine has as a secret is one here too.
        let mut children = Vec::new();
        for captured in call.take() {
            children.push(self.provider_line(
                &captured,
                call.sequence,
                package.as_deref(),
                &mut placeholders,
                &masks,
                configuration,
            ));
        }
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
        captured: &Captured,
        parent: u64,
        package: Option<&Package>,
        placeholders: &mut Placeholders,
        masks: &Masks,
        configuration: Configuration,
    ) -> Json {
        let (service, method) = captured.path.trim_start_matches('/').split_once('/').unwrap_or_default();
        let types = METHODS.get(captured.path);
        let request = types.and_then(|types| decode(&types.request, &captured.request));
        let type_name = request.as_ref().and_then(type_name).unwrap_or_default();
        let mut write = |message: Option<DynamicMessage>, length: usize| match (message, package) {
            (Some(message), Some(package)) => {
                let schemas = Schemas(package.catalogue());
                let subject = Subject::Provider { method, type_name: &type_name, schemas };
                MessageWriter { subject, placeholders: &mut *placeholders, masks, configuration }
                    .message(&message)
            }
            _ => withheld(length),
        };
        let is_schema = SCHEMAS.contains(&method);
        let request = if is_schema { object([]) } else { write(request, captured.request.len()) };
        let outcome = match &captured.response {
            Ok(bytes) if is_schema => ("response", open_bytes(bytes)),
            Ok(bytes) => {
                let message = types.and_then(|types| decode(&types.response, bytes));
                ("response", write(message, bytes.len()))
            }
            Err((code, text)) => ("status", status(*code, &placeholders.message(text))),
        };
        self.line(self.next(), "provider", service, method, Some(parent), request, outcome, captured.elapsed)
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
    matches!(
        method,
        "CheckConfig"
            | "DiffConfig"
            | "Configure"
            | "Invoke"
            | "Call"
            | "Check"
            | "Diff"
            | "Create"
            | "Read"
            | "List"
            | "Update"
            | "Delete"
    )
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

/// Masks in the provider's messages what is marked in the engine's.
fn add_marks(masks: &mut Masks, request: &DynamicMessage, shape: &ResourceShape) {
    for (_, value) in request.fields() {
        let Some(message) = value.as_message() else { continue };
        // What cannot be read reaches no provider.
        if let Ok(bag) = Struct::decode(message.encode_to_vec().as_slice())
            && let Ok(config) = config_from_stored(&bag, &shape.object, &shape.schema.block, Unknowns::Keep)
        {
            masks.add_paths(&config.secrets);
        }
    }
}

fn status(code: Code, text: &str) -> Json {
    object([("code", Json::String(format!("{code:?}"))), ("message", Json::String(text.to_owned()))])
}

/// A status of the service, with the half-made resource in its details.
fn engine_status(
    failed: &Status,
    writer: &mut MessageWriter<'_>,
    response: Option<&MessageDescriptor>,
) -> Json {
    let message = writer.placeholders.message(failed.message());
    let mut shown = status(failed.code(), &message);
    let details = rpc::Status::decode(failed.details()).map(|status| status.details).unwrap_or_default();
    let init_failed = response.and_then(|response| response.parent_pool().get_message_by_name(INIT_FAILED));
    let details: Vec<Json> = details
        .iter()
        .map(|detail| {
            let known = init_failed.as_ref().filter(|_| detail.type_url.ends_with(INIT_FAILED));
            let message = known.and_then(|known| decode(known, &Bytes::copy_from_slice(&detail.value)));
            let message =
                message.map_or_else(|| withheld(detail.value.len()), |message| writer.message(&message));
            object([("type", Json::String(detail.type_url.clone())), ("value", message)])
        })
        .collect();
    if let (Json::Object(members), false) = (&mut shown, details.is_empty()) {
        members.push(("details".to_owned(), Json::Array(details)));
    }
    shown
}
