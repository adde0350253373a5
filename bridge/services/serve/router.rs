//! The services of a process, and the way of a call to its service.

use std::future::ready;
use std::sync::Arc;

use isthmus_common::BoxFuture;
use isthmus_grpc::{Incoming, unimplemented};
use isthmus_proto::daemon::{daemon_server as daemon, inspect_server as inspect};
use isthmus_proto::lumirpc::resource_provider_server as lumirpc;
use isthmus_proto::pulumirpc::resource_provider_server as pulumirpc;
use tonic::body::Body;
use tonic::codegen::Service as _;
use tonic::codegen::http::{HeaderMap, Request, Response};
use tonic::{Code, Status};
use tracing::{Instrument as _, Span};

use super::health::StandardServices;
use super::inspect::InspectService;
use super::intercepted::Intercepted;
use super::limits::Limits;
use super::plugins::{PluginConnection, PluginService};
use super::streamed::with_text;
use crate::lumirpc::LumiService;
use crate::pulumirpc::PulumiService;
use crate::status::RequestError;
use isthmus_context::LARGEST_MESSAGE;
use isthmus_session::daemon::{Daemon, MemoryReleaser, Session};
use isthmus_session::observe::ObservedCall;

/// The call that stops others, so it does not wait for them.
const CANCEL: &str = "Cancel";

/// The services.
#[derive(Clone, Debug)]
pub(super) struct Services {
    plugins: daemon::DaemonServer<PluginService>,
    inspect: inspect::InspectServer<InspectService>,
    pub(super) standard: StandardServices,
    pulumi: pulumirpc::ResourceProviderServer<Intercepted<PulumiService>>,
    lumi: lumirpc::ResourceProviderServer<Intercepted<LumiService>>,
    pub(super) memory: MemoryReleaser,
    pub(super) limits: Limits,
}

impl Services {
    pub(super) async fn new(daemon: &Daemon) -> Self {
        Self {
            memory: daemon.memory().clone(),
            limits: Limits::new(daemon.settings().pool.processes),
            inspect: inspect::InspectServer::new(InspectService),
            standard: StandardServices::new().await,
            plugins: daemon::DaemonServer::new(PluginService)
                .max_decoding_message_size(LARGEST_MESSAGE)
                .max_encoding_message_size(LARGEST_MESSAGE),
            pulumi: pulumirpc::ResourceProviderServer::new(Intercepted(PulumiService))
                .max_decoding_message_size(LARGEST_MESSAGE)
                .max_encoding_message_size(LARGEST_MESSAGE),
            lumi: lumirpc::ResourceProviderServer::new(Intercepted(LumiService))
                .max_decoding_message_size(LARGEST_MESSAGE)
                .max_encoding_message_size(LARGEST_MESSAGE),
        }
    }

    /// Makes a call of a session, which its handler finds in the request's extensions.
    pub(super) fn call<Content>(
        &mut self,
        mut request: Request<Content>,
        session: Arc<Session>,
    ) -> BoxFuture<'static, Response<Body>>
    where
        Content: http_body::Body<Data = bytes::Bytes, Error = Status> + Send + 'static,
    {
        let observed = session.observed().and_then(|observed| {
            observed.begin(request.uri().path(), request.headers(), session.context().environment())
        });
        let span = observed.as_ref().map_or_else(Span::none, ObservedCall::span);
        request.extensions_mut().insert(session);
        let service = request.uri().path().split('/').nth(1).unwrap_or_default();
        let answer = match service {
            pulumirpc::SERVICE_NAME => self.pulumi.call(request),
            lumirpc::SERVICE_NAME => self.lumi.call(request),
            _ => return Box::pin(ready(unimplemented(request.uri().path()))),
        };
        let memory = self.memory.used();
        Box::pin(async move {
            let _memory = memory;
            match answer.instrument(span).await {
                Ok(answer) => {
                    let answer = of_undecodable(answer);
                    if let Some(observed) = observed {
                        observed.end(code_of(&answer));
                    }
                    with_text(answer)
                }
                Err(never) => match never {},
            }
        })
    }

    /// Makes a call of a plugin: its own, or one of its engine in the session that it has opened.
    pub(super) fn call_of_plugin(
        &mut self,
        mut request: Request<Incoming>,
        connection: &Arc<PluginConnection>,
    ) -> BoxFuture<'static, Response<Body>> {
        let answer = match request.uri().path().split('/').nth(1).unwrap_or_default() {
            daemon::SERVICE_NAME => {
                request.extensions_mut().insert(Arc::clone(connection));
                self.plugins.call(request)
            }
            inspect::SERVICE_NAME => {
                request.extensions_mut().insert(Arc::clone(connection));
                self.inspect.call(request)
            }
            service if StandardServices::have(service) => self.standard.call(request),
            _ => return self.call_of_engine(request, connection),
        };
        Box::pin(async move { answer.await.unwrap_or_else(|never| match never {}) })
    }

    /// Makes a call of a plugin's engine, in the session that the plugin has opened.
    fn call_of_engine(
        &mut self,
        request: Request<Incoming>,
        connection: &Arc<PluginConnection>,
    ) -> BoxFuture<'static, Response<Body>> {
        let in_progress = connection.call();
        let Some(session) = connection.session() else {
            let (mut services, connection) = (self.clone(), Arc::clone(connection));
            return Box::pin(async move {
                let _in_progress = in_progress;
                match connection.session_of_call() {
                    Ok(session) => services.call(request, session).await,
                    Err(status) => status.into_http(),
                }
            });
        };
        let turns = connection.turns().clone();
        let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        if method == CANCEL {
            turns.cancel();
            let call = self.call(request, session);
            return Box::pin(async move {
                let _in_progress = in_progress;
                call.await
            });
        }
        if let Some(turn) = turns.now() {
            let call = self.call(request, session);
            return Box::pin(async move {
                let _in_progress = in_progress;
                turn.make(call).await
            });
        }
        let mut services = self.clone();
        Box::pin(async move {
            let _in_progress = in_progress;
            // It is not read before its turn.
            let Some(turn) = turns.next().await else {
                return Status::from(RequestError::CancelledInTurn { method }).into_http();
            };
            turn.make(services.call(request, session)).await
        })
    }
}

/// The status of an answer. One that fails has no body, and its status in the head.
fn code_of(answer: &Response<Body>) -> Code {
    Status::from_header_map(answer.headers()).map_or(Code::Ok, |status| status.code())
}

/// The response with INVALID_ARGUMENT in place of INTERNAL, if the request cannot be decoded.
///
/// tonic answers INTERNAL, which the engine reads as an unknown outcome (see `status`). But such
/// requests have reached no handler, and no handler here answers INTERNAL: that code only comes
/// from tonic, for a message that is not protobuf, nests too deeply, is not UTF-8, is truncated, or
/// is missing.
fn of_undecodable<Body>(mut response: Response<Body>) -> Response<Body> {
    // The status is in the headers exactly if the response has no body.
    if let Some(status) = Status::from_header_map(response.headers())
        && status.code() == Code::Internal
    {
        let invalid = Status::from(RequestError::Invalid(format!("invalid request: {}", status.message())));
        let mut headers = HeaderMap::new();
        // A text from a header fits into one.
        if invalid.add_header(&mut headers).is_ok() {
            response.headers_mut().extend(headers);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: &Status) -> Status {
        let mut response = Response::new(());
        status.add_header(response.headers_mut()).expect("headers");
        let response = of_undecodable(response);
        Status::from_header_map(response.headers()).expect("a status")
    }

    #[test]
    fn only_what_no_handler_answers_becomes_an_invalid_argument() {
        let answer = answered(&Status::internal("failed to decode Protobuf message: wire type"));
        assert_eq!(answer.code(), Code::InvalidArgument);
        assert_eq!(answer.message(), "invalid request: failed to decode Protobuf message: wire type");
        for code in [Code::Unknown, Code::OutOfRange, Code::Unimplemented, Code::FailedPrecondition] {
            let answer = answered(&Status::new(code, "as it was"));
            assert_eq!((answer.code(), answer.message()), (code, "as it was"));
        }
        let good = of_undecodable(Response::new(()));
        assert!(good.headers().is_empty(), "an answer with a body has its status behind it");
    }
}
