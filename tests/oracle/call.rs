//! Calls of an engine, and the answers to them as JSON.
//!
//! An answer is what the message says, with the JSON documents in it taken apart, so that a difference has a path that leads
//! to it. What is no answer but an error is `{"error": {"code": …, "message": …}}`.

use std::collections::{BTreeMap, HashMap};

use isthmus_proto::property::Struct;
use isthmus_proto::pulumirpc::resource_provider_client::ResourceProviderClient;
use isthmus_proto::pulumirpc::{
    CheckFailure, CheckRequest, CheckResponse, ConfigureRequest, CreateRequest, DeleteRequest, DiffRequest,
    DiffResponse, GetMappingRequest, GetMappingsRequest, GetSchemaRequest, InvokeRequest,
    ParameterizeRequest, PropertyDiff, ProviderHandshakeRequest, ReadRequest, UpdateRequest,
};
use isthmus_test_engine::{half_made, json_of};
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
    DiffConfig(DiffRequest),
    Diff(DiffRequest),
    Create(CreateRequest),
    Read(ReadRequest),
    Update(UpdateRequest),
    Delete(DeleteRequest),
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
            Self::DiffConfig(_) => "DiffConfig",
            Self::Diff(_) => "Diff",
            Self::Create(request) if request.preview => "Create (preview)",
            Self::Create(_) => "Create",
            Self::Read(request) if request.properties.is_none() => "Read (import)",
            Self::Read(_) => "Read (refresh)",
            Self::Update(request) if request.preview => "Update (preview)",
            Self::Update(_) => "Update",
            Self::Delete(_) => "Delete",
        }
    }

    /// Whether it is about a resource that exists, or is about to.
    pub(crate) const fn is_of_a_lifecycle(&self) -> bool {
        matches!(self, Self::Diff(_) | Self::Create(_) | Self::Read(_) | Self::Update(_) | Self::Delete(_))
    }

    /// Makes the call.
    pub(crate) async fn answer(self, mut client: ResourceProviderClient<Channel>) -> Json {
        self.answer_of(&mut client).await.unwrap_or_else(|status| {
            let mut error = json!({"code": format!("{:?}", status.code()), "message": status.message()});
            if let Some(left) = half_made(&status) {
                error["left"] = json!({"id": left.id, "properties": left.properties.as_ref().map(outputs), "reasons": left.reasons});
            }
            json!({ "error": error })
        })
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
            Self::DiffConfig(request) => compared(client.diff_config(request).await?.into_inner()),
            Self::Diff(request) => compared(client.diff(request).await?.into_inner()),
            Self::Create(request) => {
                let answer = client.create(request).await?.into_inner();
                json!({"id": answer.id, "properties": answer.properties.as_ref().map(outputs)})
            }
            Self::Read(request) => {
                let answer = client.read(request).await?.into_inner();
                json!({
                    "id": answer.id,
                    "properties": answer.properties.as_ref().map(outputs),
                    "inputs": answer.inputs.as_ref().map(json_of),
                })
            }
            Self::Update(request) => {
                json!({"properties": client.update(request).await?.into_inner().properties.as_ref().map(outputs)})
            }
            Self::Delete(request) => {
                client.delete(request).await?;
                json!({})
            }
        })
    }
}

/// Outputs, with the document in them taken apart.
fn outputs(bag: &Struct) -> Json {
    let mut outputs = json_of(bag);
    if let Some(Json::String(meta)) = outputs.get("__meta") {
        outputs["__meta"] = parsed(meta.as_bytes());
    }
    outputs
}

fn compared(answer: DiffResponse) -> Json {
    // Their order means nothing.
    let named = |names: Vec<String>| names.into_iter().map(|name| (name, json!(true))).collect::<Json>();
    let mut compared = json!({
        "changes": answer.changes().as_str_name(),
        "replaces": named(answer.replaces),
        "deleteBeforeReplace": answer.delete_before_replace,
        "stables": named(answer.stables),
        "diffs": named(answer.diffs),
    });
    if answer.has_detailed_diff {
        compared["detailedDiff"] = detailed(answer.detailed_diff);
    }
    compared
}

/// The kind of each change by its path. Where elements of a list change, how they are paired is a matter of taste: the
/// list is said to change, or to replace.
fn detailed(changes: HashMap<String, PropertyDiff>) -> Json {
    let mut detailed = BTreeMap::new();
    for (path, change) in changes {
        let (kind, from) = (change.kind().as_str_name(), if change.input_diff { " of inputs" } else { "" });
        match path.split_once('[') {
            None => {
                detailed.insert(path, format!("{kind}{from}"));
            }
            Some((list, _)) => {
                let all = detailed.entry(list.to_owned()).or_default();
                let change = if kind.ends_with("REPLACE") { "elements replace" } else { "elements change" };
                // "replace" is the later one.
                *all = std::mem::take(all).max(format!("{change}{from}"));
            }
        }
    }
    json!(detailed)
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
