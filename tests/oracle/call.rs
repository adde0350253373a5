//! Calls of an engine, and the answers to them as JSON.
//!
//! An answer is what the message says, with the JSON documents in it taken apart, so that a difference has a path that leads
//! to it. What is no answer but an error is `{"error": {"code": …, "message": …}}`.

use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::pulumirpc::{
    CheckFailure, CheckRequest, CheckResponse, ConfigureRequest, GetMappingRequest, GetMappingsRequest,
    GetSchemaRequest, InvokeRequest, ParameterizeRequest, ProviderHandshakeRequest,
};
use isthmus_test_engine::json_of;
use serde_json::{Value as Json, json};
use tonic::Status;
use tonic::transport::Channel;

/// A call.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Handshake(ProviderHandshakeRequest),
    Parameterize(ParameterizeRequest),
    GetPluginInfo,
    GetSchema(GetSchemaRequest),
    GetMapping(GetMappingRequest),
    GetMappings(GetMappingsRequest),
    CheckConfig(CheckRequest),
    Configure(ConfigureRequest),
    Check(CheckRequest),
    Invoke(InvokeRequest),
}

impl Call {
    /// What the contract calls it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Handshake(_) => "Handshake",
            Self::Parameterize(_) => "Parameterize",
            Self::GetPluginInfo => "GetPluginInfo",
            Self::GetSchema(_) => "GetSchema",
            Self::GetMapping(_) => "GetMapping",
            Self::GetMappings(_) => "GetMappings",
            Self::CheckConfig(_) => "CheckConfig",
            Self::Configure(_) => "Configure",
            Self::Check(_) => "Check",
            Self::Invoke(_) => "Invoke",
        }
    }

    /// Makes the call.
    pub(crate) async fn answer(self, mut client: ResourceProviderClient<Channel>) -> Json {
        self.answer_of(&mut client).await.unwrap_or_else(
            |status| json!({"error": {"code": format!("{:?}", status.code()), "message": status.message()}}),
        )
    }

    async fn answer_of(self, client: &mut ResourceProviderClient<Channel>) -> Result<Json, Status> {
        Ok(match self {
            Self::Handshake(request) => {
                let answer = client.handshake(request).await?.into_inner();
                json!({
                    "acceptSecrets": answer.accept_secrets,
                    "acceptResources": answer.accept_resources,
                    "supportsAutonaming": answer.supports_autonaming_configuration,
                })
            }
            Self::Parameterize(request) => {
                let answer = client.parameterize(request).await?.into_inner();
                json!({"name": answer.name, "version": answer.version})
            }
            Self::GetPluginInfo => json!({"version": client.get_plugin_info(()).await?.into_inner().version}),
            Self::GetSchema(request) => {
                parsed(client.get_schema(request).await?.into_inner().schema.as_bytes())
            }
            Self::GetMapping(request) => {
                let answer = client.get_mapping(request).await?.into_inner();
                json!({"provider": answer.provider, "data": parsed(&answer.data)})
            }
            Self::GetMappings(request) => {
                json!({"providers": client.get_mappings(request).await?.into_inner().providers})
            }
            Self::CheckConfig(request) => checked(client.check_config(request).await?.into_inner()),
            Self::Configure(request) => {
                let answer = client.configure(request).await?.into_inner();
                json!({
                    "acceptSecrets": answer.accept_secrets,
                    "supportsPreview": answer.supports_preview,
                    "acceptResources": answer.accept_resources,
                    "acceptOutputs": answer.accept_outputs,
                    "supportsAutonaming": answer.supports_autonaming_configuration,
                })
            }
            Self::Check(request) => checked(client.check(request).await?.into_inner()),
            Self::Invoke(request) => {
                let answer = client.invoke(request).await?.into_inner();
                if answer.failures.is_empty() {
                    json!({"return": answer.r#return.as_ref().map(json_of)})
                } else {
                    json!({"failures": failures(answer.failures)})
                }
            }
        })
    }
}

/// A document in an answer. An empty one is none.
fn parsed(document: &[u8]) -> Json {
    if document.is_empty() {
        return Json::Null;
    }
    serde_json::from_slice(document).unwrap_or_else(|_| json!(String::from_utf8_lossy(document)))
}

/// Nobody reads the inputs beside failures.
fn checked(answer: CheckResponse) -> Json {
    if answer.failures.is_empty() {
        json!({"inputs": answer.inputs.as_ref().map(json_of)})
    } else {
        json!({"failures": failures(answer.failures)})
    }
}

/// Failures are a set: engines show them all.
fn failures(failures: Vec<CheckFailure>) -> Json {
    let mut failures: Vec<_> =
        failures.into_iter().map(|failure| (failure.reason, failure.property)).collect();
    failures.sort();
    failures.into_iter().map(|(reason, property)| json!({"property": property, "reason": reason})).collect()
}
