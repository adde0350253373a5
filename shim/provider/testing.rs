//! A fake provider server in the test's process: it returns prepared responses, in both protocols,
//! and records requests.
//!
//! It handles methods by name and messages as bytes, so that tests check what is sent.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use isthmus_cty::{ObjectType, Type, Value, msgpack};
use isthmus_grpc::Encoded;
use isthmus_proto::tfplugin6;
use prost::Message;
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::task::JoinSet;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::Status;
use tonic::server::{NamedService, ServerStreamingService, UnaryService};

use super::{CallObserver, Diagnostic, KnownSchema, Provider, ProviderError, SchemaUpdate};
use crate::plugin::{Address, LogRecord, LogSink, Plugin, ProtocolVersion, ReattachConfig};

/// Prepared responses and recorded requests.
#[derive(Clone, Default)]
pub(super) struct Script(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    answers: HashMap<String, VecDeque<Result<Bytes, Status>>>,
    calls: Vec<(String, Bytes)>,
}

/// A running server, and a provider connected to it.
pub(super) struct Stage {
    pub(super) provider: Provider,
    pub(super) news: SchemaUpdate,
    pub(super) script: Script,
    records: Arc<Mutex<Vec<LogRecord>>>,
    _server: JoinSet<()>,
    _directory: TempDir,
}

impl Script {
    /// Prepares the response to the next call of a method. A method without one is not implemented.
    pub(super) fn answer(&self, method: &str, answer: impl Message) {
        self.prepare(method, Ok(answer.encode_to_vec().into()));
    }

    pub(super) fn fail(&self, method: &str, status: Status) {
        self.prepare(method, Err(status));
    }

    /// Takes back what was prepared for a method: it is not implemented.
    pub(super) fn forget(&self, method: &str) {
        self.with(|lines| lines.answers.remove(method));
    }

    /// The called methods, in order.
    pub(super) fn calls(&self) -> Vec<String> {
        self.with(|lines| lines.calls.iter().map(|(method, _)| method.clone()).collect())
    }

    /// The request of the only call of a method.
    pub(super) fn request<Request: Message + Default>(&self, method: &str) -> Request {
        let requests: Vec<Bytes> = self.with(|lines| {
            let of_method = lines.calls.iter().filter(|(called, _)| called == method);
            of_method.map(|(_, request)| request.clone()).collect()
        });
        let [request] = &*requests else { panic!("{method} was called {} times", requests.len()) };
        Request::decode(request.clone()).expect("the request is a message")
    }

    fn prepare(&self, method: &str, answer: Result<Bytes, Status>) {
        self.with(|lines| lines.answers.entry(method.to_owned()).or_default().push_back(answer));
    }

    fn call(&self, method: &str, request: Bytes) -> Result<Bytes, Status> {
        self.with(|lines| {
            lines.calls.push((method.to_owned(), request));
            let prepared = lines.answers.get_mut(method).and_then(VecDeque::pop_front);
            prepared
                .unwrap_or_else(|| Err(Status::unimplemented(format!("no answer to {method} is prepared"))))
        })
    }

    fn stream(&self, method: &str, request: Bytes) -> Vec<Result<Bytes, Status>> {
        self.with(|lines| {
            lines.calls.push((method.to_owned(), request));
            lines.answers.remove(method).unwrap_or_default().into()
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Lines) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Stage {
    /// Starts a server of protocol 6 with this schema, and a provider.
    pub(super) async fn of(schema: tfplugin6::get_provider_schema::Response) -> Self {
        let script = Script::default();
        script.answer("GetProviderSchema", schema);
        let (started, _) = Self::start(ProtocolVersion::V6, script, KnownSchema::Nothing).await;
        started.unwrap_or_else(|error| panic!("the provider did not start: {error}"))
    }

    /// The logged messages.
    pub(super) fn logged(&self) -> Vec<String> {
        let records = self.records.lock().expect("no panic elsewhere");
        records.iter().map(|record| record.message.clone()).collect()
    }

    /// Starts a server with prepared responses.
    pub(super) async fn start(
        protocol: ProtocolVersion,
        script: Script,
        known: KnownSchema<'_>,
    ) -> (Result<Self, ProviderError>, Vec<Diagnostic>) {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = directory.path().join("provider.sock");
        let listener = UnixListener::bind(&socket).expect("a socket in the test's own directory");
        let mut server = JoinSet::new();
        let router = tonic::transport::Server::builder()
            .add_service(Peer::<0>(healthy()))
            .add_service(Peer::<5>(script.clone()))
            .add_service(Peer::<6>(script.clone()));
        server.spawn(async move {
            let incoming = UnixListenerStream::new(listener);
            router.serve_with_incoming(incoming).await.expect("the server ends with its test");
        });
        let config =
            ReattachConfig { protocol, process_id: None, test: true, address: Address::Unix(socket) };
        let records = Arc::<Mutex<Vec<LogRecord>>>::default();
        let received = Arc::clone(&records);
        let sink = LogSink::new(move |record| received.lock().expect("no panic elsewhere").push(record));
        let plugin = Plugin::reattach("scripted", config, sink).await.expect("it listens");
        let mut warnings = Vec::new();
        let provider =
            Provider::start("scripted", plugin, CallObserver::default(), known, &mut warnings).await;
        let stage = provider.map(|(provider, news)| Self {
            provider,
            news,
            script,
            records,
            _server: server,
            _directory: directory,
        });
        (stage, warnings)
    }
}

/// A value in its encoded form.
pub(super) fn wire(value: &Value, own: &Type) -> Option<tfplugin6::DynamicValue> {
    let msgpack = msgpack::encode(value, own).expect("the test's value fits its type").into();
    Some(tfplugin6::DynamicValue { msgpack, json: Bytes::new() })
}

/// Decodes a value, which must be MessagePack.
pub(super) fn unwired(message: Option<&tfplugin6::DynamicValue>, own: &Type) -> Value {
    let message = message.expect("a value was sent");
    assert!(
        message.json.is_empty() && !message.msgpack.is_empty(),
        "values are sent as MessagePack: {message:?}"
    );
    msgpack::decode(&message.msgpack, own).expect("what is sent fits its type")
}

/// The identity of an object: attribute `key` with this text. `?`: an unknown one.
pub(super) fn identity(text: &str) -> Option<tfplugin6::ResourceIdentityData> {
    let key = if text == "?" { Value::unknown() } else { text.into() };
    let attributes = [(Arc::from("key"), Type::String)].into();
    let own = Type::Object(Arc::new(ObjectType { attributes, ..ObjectType::default() }));
    let value = Value::Object([(Arc::from("key"), key)].into());
    Some(tfplugin6::ResourceIdentityData { identity_data: wire(&value, &own) })
}

/// An identity that no schema allows.
pub(super) fn strange_identity() -> Option<tfplugin6::ResourceIdentityData> {
    let identity_data = wire(&Value::from("strange"), &Type::String);
    Some(tfplugin6::ResourceIdentityData { identity_data })
}

/// Prepares the identity schema of a resource type, for [`identity`].
pub(super) fn answer_identity_schema(script: &Script, type_name: &str) {
    let key = tfplugin6::resource_identity_schema::IdentityAttribute {
        name: "key".to_owned(),
        r#type: Bytes::from_static(b"\"string\""),
        required_for_import: true,
        ..Default::default()
    };
    let schema = tfplugin6::ResourceIdentitySchema { version: 0, identity_attributes: vec![key] };
    let answer = tfplugin6::get_resource_identity_schemas::Response {
        identity_schemas: [(type_name.to_owned(), schema)].into(),
        diagnostics: Vec::new(),
    };
    script.answer("GetResourceIdentitySchemas", answer);
}

/// A diagnostic about the whole object.
pub(super) fn diagnostic(severity: tfplugin6::diagnostic::Severity, summary: &str) -> tfplugin6::Diagnostic {
    tfplugin6::Diagnostic { severity: severity.into(), summary: summary.to_owned(), ..Default::default() }
}

fn healthy() -> Script {
    let script = Script::default();
    let serving = isthmus_proto::health::health_check_response::ServingStatus::Serving.into();
    script.answer("Check", isthmus_proto::health::HealthCheckResponse { status: serving });
    script
}

/// A service: protocol 5, protocol 6, or health.
#[derive(Clone)]
struct Peer<const SERVICE: usize>(Script);

impl NamedService for Peer<0> {
    const NAME: &'static str = "grpc.health.v1.Health";
}

impl NamedService for Peer<5> {
    const NAME: &'static str = "tfplugin5.Provider";
}

impl NamedService for Peer<6> {
    const NAME: &'static str = "tfplugin6.Provider";
}

impl<const SERVICE: usize> tower::Service<http::Request<tonic::body::Body>> for Peer<SERVICE> {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        let method = Method { script: self.0.clone(), method };
        Box::pin(async move {
            let mut server = tonic::server::Grpc::new(Encoded);
            if method.method == "ListResource" {
                return Ok(server.server_streaming(method, request).await);
            }
            Ok(server.unary(method, request).await)
        })
    }
}

struct Method {
    script: Script,
    method: String,
}

impl UnaryService<Bytes> for Method {
    type Response = Bytes;
    type Future = Ready<Result<tonic::Response<Bytes>, Status>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        ready(self.script.call(&self.method, request.into_inner()).map(tonic::Response::new))
    }
}

/// All prepared responses are events of one stream.
impl ServerStreamingService<Bytes> for Method {
    type Response = Bytes;
    type ResponseStream = tokio_stream::Iter<std::vec::IntoIter<Result<Bytes, Status>>>;
    type Future = Ready<Result<tonic::Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let events = self.script.stream(&self.method, request.into_inner());
        ready(Ok(tonic::Response::new(tokio_stream::iter(events))))
    }
}
