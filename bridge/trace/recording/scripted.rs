//! A provider that answers from a recording: a small server of the plugin protocol in this process.
//!
//! A call is answered by the next recorded one of the same method among those of the engine's call that is replayed. Whether
//! its request is the recorded one is compared afterwards, with all others.

use std::collections::VecDeque;
use std::future::{Ready, ready};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use isthmus_cty::json::Json;
use isthmus_grpc::{Encoded, Load, ServerSettings, serve_connection};
use isthmus_platform::local;
use isthmus_proto::health::{HealthCheckResponse, health_check_response::ServingStatus};
use isthmus_proto::tfplugin6::{DynamicValue, upgrade_resource_state};
use isthmus_provider::plugin::LARGEST_MESSAGE;
use isthmus_provider::schema::Catalogue;
use prost::Message as _;
use prost_reflect::DynamicMessage;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::server::UnaryService;
use tonic::{Code, Status};

use super::format::text;
use super::reader::{read_message, read_open_bytes};
use super::recorded::RecordedCall;
use super::session::SCHEMAS;
use crate::walk::{METHODS, Schemas, Subject, bytes_of, decode, type_name};

const SETTINGS: ServerSettings = ServerSettings { window: 8 * 1024 * 1024, most_calls: u32::MAX };

/// What the provider answers. Clones share it.
#[derive(Clone, Debug)]
pub struct Script(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// All calls of the provider.
    all: Vec<Arc<RecordedCall>>,
    /// The rest of those of the engine's call.
    next: Mutex<VecDeque<Arc<RecordedCall>>>,
    catalogue: OnceLock<Arc<Catalogue>>,
}

impl Script {
    pub fn new(all: Vec<Arc<RecordedCall>>) -> Self {
        Self(Arc::new(Shared { all, next: Mutex::default(), catalogue: OnceLock::new() }))
    }

    /// The schemas by which values are encoded.
    pub fn set_catalogue(&self, catalogue: Arc<Catalogue>) {
        // It is set once.
        self.0.catalogue.set(catalogue).ok();
    }

    /// The next calls are those.
    pub(super) fn play(&self, calls: &[Arc<RecordedCall>]) {
        *self.0.next.lock().unwrap_or_else(PoisonError::into_inner) = calls.iter().cloned().collect();
    }

    /// Serves at a socket, in tasks of their own, until `ended`.
    pub fn serve(&self, socket: &PathBuf, ended: CancellationToken) -> std::io::Result<()> {
        let listener = local::Listener::bind(socket)?;
        let script = self.clone();
        tokio::spawn(async move {
            let connections = TaskTracker::new();
            loop {
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted,
                    () = ended.cancelled() => return,
                };
                let Ok((stream, _)) = accepted else { return };
                let (script, ended) = (script.clone(), ended.clone());
                connections.spawn(async move {
                    let call = |request: http::Request<_>| {
                        let method = Method { script: script.clone(), path: request.uri().path().to_owned() };
                        async move {
                            let mut server = tonic::server::Grpc::new(Encoded)
                                .max_decoding_message_size(LARGEST_MESSAGE)
                                .max_encoding_message_size(LARGEST_MESSAGE);
                            server.unary(method, request).await
                        }
                    };
                    serve_connection(stream, call, SETTINGS, &Load::unlimited(), &ended).await;
                });
            }
        });
        Ok(())
    }

    fn answer(&self, path: &str, request: &Bytes) -> Result<Bytes, Status> {
        let (service, method) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
        if service == "grpc.health.v1.Health" {
            return Ok(HealthCheckResponse { status: ServingStatus::Serving.into() }.encode_to_vec().into());
        }
        let unknown = || Status::unimplemented(format!("the recording has no call of {method}"));
        if matches!(method, "StopProvider" | "Stop") {
            return Ok(Bytes::new());
        }
        if SCHEMAS.contains(&method) {
            let recorded = self.0.all.iter().find(|call| call.method == method).ok_or_else(unknown)?;
            return match &recorded.outcome {
                Ok(response) => read_open_bytes(response).ok_or_else(unknown),
                Err(status) => Err(read_status(status)),
            };
        }
        let recorded = {
            let mut next = self.0.next.lock().unwrap_or_else(PoisonError::into_inner);
            let position = next.iter().position(|call| call.service == service && call.method == method);
            position.and_then(|position| next.remove(position))
        };
        let (types, catalogue) = METHODS.get(path).zip(self.0.catalogue.get()).ok_or_else(unknown)?;
        let request = decode(&types.request, request).ok_or_else(unknown)?;
        let type_name = type_name(&request).unwrap_or_default();
        let subject = Subject::Provider { method, type_name: &type_name, schemas: Schemas(catalogue) };
        // A call that is made once may have been made for another call of the engine.
        let equal = || {
            let mut calls = self.0.all.iter().filter(|call| call.service == service && call.method == method);
            calls
                .find(|call| read_message(&types.request, &call.request, subject).as_ref() == Some(&request))
                .cloned()
        };
        let Some(recorded) = recorded.or_else(equal) else {
            return unrecorded(method, &request).ok_or_else(unknown);
        };
        let response = recorded.outcome.as_ref().map_err(read_status)?;
        let message = read_message(&types.response, response, subject);
        let message = message.ok_or_else(|| {
            Status::failed_precondition(format!("the recorded response of {method} has withheld parts"))
        })?;
        Ok(message.encode_to_vec().into())
    }
}

/// Whether a call only confirms what is known: a configuration that was validated, or a state that is of the current schema.
/// Isthmus makes it once, and which call of the engine makes it depends on what was there before.
pub(super) fn only_confirms(method: &str) -> bool {
    method.starts_with("Validate") || matches!(method, "PrepareProviderConfig" | "UpgradeResourceState")
}

/// The response to such a call.
fn unrecorded(method: &str, request: &DynamicMessage) -> Option<Bytes> {
    if !only_confirms(method) {
        return None;
    }
    let state = request.get_field_by_name("raw_state");
    let json = state.as_ref().and_then(|state| state.as_message()).map(|state| bytes_of(state, "json"));
    let upgraded_state = json.map(|json| DynamicValue { msgpack: Bytes::new(), json });
    // The responses of the others have no field that is needed, and protocol 5 has the same numbers.
    Some(upgrade_resource_state::Response { upgraded_state, ..Default::default() }.encode_to_vec().into())
}

/// A status that was recorded.
fn read_status(status: &Json) -> Status {
    let name = text(status, "code");
    let code = (0..=16).map(Code::from_i32).find(|code| format!("{code:?}") == name).unwrap_or(Code::Unknown);
    Status::new(code, text(status, "message"))
}

struct Method {
    script: Script,
    path: String,
}

impl UnaryService<Bytes> for Method {
    type Response = Bytes;
    type Future = Ready<Result<tonic::Response<Bytes>, Status>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        ready(self.script.answer(&self.path, request.get_ref()).map(tonic::Response::new))
    }
}
