//! What the calls of both services are about, for the audit log and for traces.

use isthmus_proto::{lumirpc, pulumirpc};

use isthmus_package::urn::Urn;
use isthmus_session::observe::Subject;

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
