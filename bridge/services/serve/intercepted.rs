//! What happens around every call of both services, before its handler and after it.
//!
//! Secrets that an engine marks in a request are noted, so that texts which quote them are found; those that schemas call sensitive
//! are noted where values pass to and from a provider (`isthmus_provider`). In a shared daemon the call goes into the trace and the
//! audit log, and where the session is recorded, into the recording. The response is redacted (`redaction.rs`).

use isthmus_known_secrets::{KnownSecrets, Retention};
use isthmus_proto::property::Struct;
use isthmus_proto::{lumirpc, pulumirpc};
use prost::Message as _;
use tonic::codegen::BoxStream;
use tonic::{Code, Request, Response, Status};

use super::connected_session;
use super::redaction::{clean, redacted_status};
use crate::status::RequestError;
use isthmus_context::settings::RECORD;
use isthmus_package::urn::Urn;
use isthmus_session::daemon::Session;
use isthmus_session::engine::Severity;
use isthmus_session::observe::{AuditedCall, Subject};
use isthmus_translate::marked_secrets::note_secrets;

/// A service, and what happens around each of its calls.
#[derive(Clone, Debug)]
pub(super) struct Intercepted<Service>(pub(super) Service);

/// The texts of a response that may quote a secret.
trait Texts {
    fn redact(&mut self, _: &KnownSecrets) {}

    /// The encoded response, for a recording; `None` if it is a stream.
    fn encoded(&self) -> Option<Vec<u8>>;
}

impl Texts for BoxStream<pulumirpc::ListResponse> {
    fn encoded(&self) -> Option<Vec<u8>> {
        None
    }
}

macro_rules! answers {
    (with failures: $($failing:ty),+; without: $($other:ty),+ $(,)?) => {
        $(impl Texts for $failing {
            fn redact(&mut self, secrets: &KnownSecrets) {
                for failure in &mut self.failures {
                    clean(&mut failure.reason, secrets);
                }
            }

            fn encoded(&self) -> Option<Vec<u8>> {
                Some(self.encode_to_vec())
            }
        })+
        $(impl Texts for $other {
            fn encoded(&self) -> Option<Vec<u8>> {
                Some(self.encode_to_vec())
            }
        })+
    };
}

answers! {
    with failures: pulumirpc::CheckResponse, pulumirpc::InvokeResponse, pulumirpc::CallResponse, lumirpc::CheckResponse;
    without: (), pulumirpc::ProviderHandshakeResponse, pulumirpc::ParameterizeResponse, pulumirpc::PluginInfo,
        pulumirpc::GetSchemaResponse, pulumirpc::DiffResponse, pulumirpc::ConfigureResponse, pulumirpc::CreateResponse,
        pulumirpc::ReadResponse, pulumirpc::UpdateResponse, pulumirpc::GetMappingResponse, pulumirpc::GetMappingsResponse,
        lumirpc::NameResponse, lumirpc::DiffResponse, lumirpc::CreateResponse, lumirpc::GetResponse, lumirpc::UpdateResponse,
}

/// Each method notes the secrets in the listed bags of its request, and redacts its response.
macro_rules! intercepted {
    ($service:path: $($method:ident($request:ty) -> $response:ty, $retention:ident [$($bag:ident),*];)+) => {
        #[tonic::async_trait]
        impl<Service: $service> $service for Intercepted<Service> {
            $(async fn $method(&self, request: Request<$request>) -> Result<Response<$response>, Status> {
                let session = connected_session(&request)?;
                $(note_in(request.get_ref().$bag.as_ref(), session.secrets(), Retention::$retention);)*
                let audited = audit(&session, stringify!($method), request.get_ref())?;
                let recorded =
                    session.recorder().map(|recorder| (recorder, recorder.begin(stringify!($method), request.get_ref())));
                let call = self.0.$method(request);
                let answer = match &recorded {
                    None => call.await,
                    Some((_, open)) => open.observe(call).await,
                };
                if let Some(audited) = audited {
                    audited.end(answer.as_ref().map_or_else(Status::code, |_| Code::Ok));
                }
                let redacted = answer.map(|mut answer| {
                    answer.get_mut().redact(session.secrets());
                    answer
                });
                let answered = match redacted {
                    Ok(answer) => Ok(answer),
                    Err(status) => {
                        let status = redacted_status(status, &session).await;
                        if let Some(observed) = session.observed() {
                            observed.failed(stringify!($method), &status);
                        }
                        Err(status)
                    }
                };
                if let Some((recorder, open)) = &recorded {
                    let response = answered.as_ref().map(|answer| answer.get_ref().encoded());
                    let package = if recorder.needs_package(open) { session.package().await } else { None };
                    if let Err(error) = recorder.end(open, package, response) {
                        warn_of_recording(&session, &error).await;
                    }
                }
                answered
            })+
        }
    };
}

intercepted! { pulumirpc::resource_provider_server::ResourceProvider:
    handshake(pulumirpc::ProviderHandshakeRequest) -> pulumirpc::ProviderHandshakeResponse, Usual [];
    attach(pulumirpc::PluginAttach) -> (), Usual [];
    parameterize(pulumirpc::ParameterizeRequest) -> pulumirpc::ParameterizeResponse, Usual [];
    get_plugin_info(()) -> pulumirpc::PluginInfo, Usual [];
    get_schema(pulumirpc::GetSchemaRequest) -> pulumirpc::GetSchemaResponse, Usual [];
    get_mapping(pulumirpc::GetMappingRequest) -> pulumirpc::GetMappingResponse, Usual [];
    get_mappings(pulumirpc::GetMappingsRequest) -> pulumirpc::GetMappingsResponse, Usual [];
    check_config(pulumirpc::CheckRequest) -> pulumirpc::CheckResponse, Session [olds, news];
    diff_config(pulumirpc::DiffRequest) -> pulumirpc::DiffResponse, Session [olds, news, old_inputs];
    configure(pulumirpc::ConfigureRequest) -> pulumirpc::ConfigureResponse, Session [args];
    invoke(pulumirpc::InvokeRequest) -> pulumirpc::InvokeResponse, Usual [args];
    call(pulumirpc::CallRequest) -> pulumirpc::CallResponse, Usual [args];
    check(pulumirpc::CheckRequest) -> pulumirpc::CheckResponse, Usual [olds, news];
    diff(pulumirpc::DiffRequest) -> pulumirpc::DiffResponse, Usual [olds, news, old_inputs];
    create(pulumirpc::CreateRequest) -> pulumirpc::CreateResponse, Usual [properties];
    read(pulumirpc::ReadRequest) -> pulumirpc::ReadResponse, Usual [properties, inputs];
    list(pulumirpc::ListRequest) -> BoxStream<pulumirpc::ListResponse>, Usual [query];
    update(pulumirpc::UpdateRequest) -> pulumirpc::UpdateResponse, Usual [olds, news, old_inputs];
    delete(pulumirpc::DeleteRequest) -> (), Usual [properties, old_inputs];
    cancel(()) -> (), Usual [];
}

// This engine marks no secrets.
intercepted! { lumirpc::resource_provider_server::ResourceProvider:
    name(lumirpc::NameRequest) -> lumirpc::NameResponse, Usual [];
    check(lumirpc::CheckRequest) -> lumirpc::CheckResponse, Usual [];
    diff(lumirpc::DiffRequest) -> lumirpc::DiffResponse, Usual [];
    create(lumirpc::CreateRequest) -> lumirpc::CreateResponse, Usual [];
    get(lumirpc::GetRequest) -> lumirpc::GetResponse, Usual [];
    update(lumirpc::UpdateRequest) -> lumirpc::UpdateResponse, Usual [];
    delete(lumirpc::DeleteRequest) -> (), Usual [];
}

/// Notes what a call is about, in a shared daemon: in its trace, and before it is made in the audit log.
fn audit(
    session: &Session,
    method: &'static str,
    request: &impl HasSubject,
) -> Result<Option<AuditedCall>, Status> {
    let Some(observed) = session.observed() else { return Ok(None) };
    let redact = |name: &mut String| clean(name, session.secrets());
    let subject = request.subject();
    observed.note(subject);
    let audited = observed.audit(method, subject, redact);
    audited.map_err(|error| RequestError::Audit(error).into())
}

/// The session is recorded no further, which must not fail a call that has been made.
async fn warn_of_recording(session: &Session, error: &std::io::Error) {
    let message = format!("{}: failed to write, so nothing is recorded from here on: {error}", RECORD.name);
    session.send_log(Severity::Warning, message, "");
    session.flush_logs(true).await;
}

fn note_in(bag: Option<&Struct>, secrets: &KnownSecrets, retention: Retention) {
    if let Some(bag) = bag {
        note_secrets(bag, secrets, retention);
    }
}

/// A request, as far as it says what it is about.
pub(super) trait HasSubject {
    fn subject(&self) -> Subject<'_> {
        Subject::default()
    }
}

fn of_urn(urn: &str, is_preview: bool) -> Subject<'_> {
    let urn = Urn(urn);
    let resource_type = urn.resource_type().unwrap_or_default();
    Subject { resource_type, resource_name: urn.name(), is_preview }
}

fn of_type(resource_type: &str) -> Subject<'_> {
    Subject { resource_type, ..Subject::default() }
}

macro_rules! subjects {
    (none: $($other:ty),+; $($request:ty: |$this:ident| $subject:expr;)+) => {
        $(impl HasSubject for $request {
            fn subject(&self) -> Subject<'_> {
                let $this = self;
                $subject
            }
        })+
        $(impl HasSubject for $other {})+
    };
}

subjects! {
    none: (), pulumirpc::ProviderHandshakeRequest, pulumirpc::PluginAttach, pulumirpc::ParameterizeRequest,
        pulumirpc::GetSchemaRequest, pulumirpc::GetMappingRequest, pulumirpc::GetMappingsRequest;
    pulumirpc::CallRequest: |request| of_type(&request.tok);
    pulumirpc::CheckRequest: |request| of_urn(&request.urn, false);
    pulumirpc::ConfigureRequest: |request| of_urn(request.urn.as_deref().unwrap_or_default(), false);
    pulumirpc::CreateRequest: |request| of_urn(&request.urn, request.preview);
    pulumirpc::DeleteRequest: |request| of_urn(&request.urn, false);
    pulumirpc::DiffRequest: |request| of_urn(&request.urn, false);
    pulumirpc::InvokeRequest: |request| of_type(&request.tok);
    pulumirpc::ListRequest: |request| of_type(&request.token);
    pulumirpc::ReadRequest: |request| of_urn(&request.urn, false);
    pulumirpc::UpdateRequest: |request| of_urn(&request.urn, request.preview);
    lumirpc::CheckRequest: |request| of_type(&request.r#type);
    lumirpc::CreateRequest: |request| of_type(&request.r#type);
    lumirpc::DeleteRequest: |request| of_type(&request.r#type);
    lumirpc::DiffRequest: |request| of_type(&request.r#type);
    lumirpc::GetRequest: |request| of_type(&request.r#type);
    lumirpc::NameRequest: |request| of_type(&request.r#type);
    lumirpc::UpdateRequest: |request| of_type(&request.r#type);
}
