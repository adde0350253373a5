//! What a provider was asked, as it recorded it, in a form that can be compared and shown.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use bytes::Bytes;
use isthmus_cty::{Type, Value, decode_dynamic, json};
use isthmus_proto::tfplugin6;
use isthmus_sandbox::RequestRecord;
use serde_json::{Value as Json, json};

use crate::providers::Schemas;

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    /// The method, as protocol 6 calls it.
    pub(crate) method: &'static str,
    /// The type of the resource, if it is about one.
    pub(crate) type_name: String,
    /// Its fields.
    pub(crate) fields: Json,
}

/// The record of one side and one provider, read as it grows.
#[derive(Debug)]
pub(crate) struct Record {
    path: PathBuf,
    position: u64,
}

impl Record {
    pub(crate) const fn new(path: PathBuf) -> Self {
        Self { path, position: 0 }
    }

    /// What was added since it was last read.
    pub(crate) fn added(&mut self, schemas: &Schemas) -> Vec<Request> {
        let Ok(mut file) = std::fs::File::open(&self.path) else { return Vec::new() };
        let mut text = String::new();
        file.seek(SeekFrom::Start(self.position)).expect("a file can be read from anywhere");
        let read = file.read_to_string(&mut text).expect("the record is text");
        self.position += u64::try_from(read).expect("a length fits");
        let records = text.lines().map(|line| {
            let record: RequestRecord = serde_json::from_str(line).expect("a line is a record");
            let message = record.message().expect("a message in base64");
            (record.method, message)
        });
        records.filter_map(|(method, message)| Request::read(&method, &message, schemas)).collect()
    }
}

impl Request {
    /// Reads a request. Those of the plugin library's own services are not of interest. Both protocols have the same field
    /// numbers in what is read here.
    fn read(method: &str, message: &Bytes, schemas: &Schemas) -> Option<Self> {
        let (service, method) = method.trim_start_matches('/').split_once('/')?;
        if !service.starts_with("tfplugin") {
            return None;
        }
        Some(match method {
            "ValidateResourceTypeConfig" | "ValidateResourceConfig" => {
                let request: tfplugin6::validate_resource_config::Request = decoded(message);
                let own = schemas.resource(&request.type_name);
                Self {
                    method: "ValidateResourceConfig",
                    fields: json!({
                        "config": dynamic(request.config.as_ref(), &own),
                        "client_capabilities": capabilities(request.client_capabilities),
                    }),
                    type_name: request.type_name,
                }
            }
            "UpgradeResourceState" => {
                let request: tfplugin6::upgrade_resource_state::Request = decoded(message);
                let own = schemas.resource(&request.type_name);
                let raw = request.raw_state.unwrap_or_default();
                Self {
                    method: "UpgradeResourceState",
                    fields: json!({"version": request.version, "raw_state": stored(&raw.json, &own)}),
                    type_name: request.type_name,
                }
            }
            "ReadResource" => {
                let request: tfplugin6::read_resource::Request = decoded(message);
                let own = schemas.resource(&request.type_name);
                Self {
                    method: "ReadResource",
                    fields: json!({
                        "current_state": dynamic(request.current_state.as_ref(), &own),
                        "private": text(&request.private),
                        "provider_meta": is_there(request.provider_meta.as_ref()),
                        "client_capabilities": capabilities(request.client_capabilities),
                        "current_identity": identity(request.current_identity),
                    }),
                    type_name: request.type_name,
                }
            }
            "PlanResourceChange" => {
                let request: tfplugin6::plan_resource_change::Request = decoded(message);
                let own = schemas.resource(&request.type_name);
                Self {
                    method: "PlanResourceChange",
                    fields: json!({
                        "prior_state": dynamic(request.prior_state.as_ref(), &own),
                        "proposed_new_state": dynamic(request.proposed_new_state.as_ref(), &own),
                        "config": dynamic(request.config.as_ref(), &own),
                        "prior_private": text(&request.prior_private),
                        "provider_meta": is_there(request.provider_meta.as_ref()),
                        "client_capabilities": capabilities(request.client_capabilities),
                        "prior_identity": identity(request.prior_identity),
                        "planned_private": text(&request.planned_private),
                    }),
                    type_name: request.type_name,
                }
            }
            "ApplyResourceChange" => {
                let request: tfplugin6::apply_resource_change::Request = decoded(message);
                let own = schemas.resource(&request.type_name);
                Self {
                    method: "ApplyResourceChange",
                    fields: json!({
                        "prior_state": dynamic(request.prior_state.as_ref(), &own),
                        "planned_state": dynamic(request.planned_state.as_ref(), &own),
                        "config": dynamic(request.config.as_ref(), &own),
                        "planned_private": text(&request.planned_private),
                        "provider_meta": is_there(request.provider_meta.as_ref()),
                        "planned_identity": identity(request.planned_identity),
                    }),
                    type_name: request.type_name,
                }
            }
            "ImportResourceState" => {
                let request: tfplugin6::import_resource_state::Request = decoded(message);
                Self {
                    method: "ImportResourceState",
                    fields: json!({
                        "id": request.id,
                        "client_capabilities": capabilities(request.client_capabilities),
                        "identity": identity(request.identity),
                    }),
                    type_name: request.type_name,
                }
            }
            "GenerateResourceConfig" => {
                let request: tfplugin6::generate_resource_config::Request = decoded(message);
                let own = schemas.resource(&request.type_name);
                Self {
                    method: "GenerateResourceConfig",
                    fields: json!({"state": dynamic(request.state.as_ref(), &own)}),
                    type_name: request.type_name,
                }
            }
            "UpgradeResourceIdentity" => {
                let request: tfplugin6::upgrade_resource_identity::Request = decoded(message);
                let raw = request.raw_identity.unwrap_or_default();
                Self {
                    method: "UpgradeResourceIdentity",
                    fields: json!({"version": request.version, "raw_identity": text(&raw.json)}),
                    type_name: request.type_name,
                }
            }
            "ConfigureProvider" | "Configure" => {
                let request: tfplugin6::configure_provider::Request = decoded(message);
                Self {
                    method: "ConfigureProvider",
                    fields: json!({
                        "terraform_version": request.terraform_version,
                        "config": dynamic(request.config.as_ref(), &schemas.provider()),
                        "client_capabilities": capabilities(request.client_capabilities),
                    }),
                    type_name: String::new(),
                }
            }
            "ValidateProviderConfig" | "PrepareProviderConfig" => {
                let request: tfplugin6::validate_provider_config::Request = decoded(message);
                Self {
                    method: "ValidateProviderConfig",
                    fields: json!({"config": dynamic(request.config.as_ref(), &schemas.provider())}),
                    type_name: String::new(),
                }
            }
            "GetProviderSchema" | "GetSchema" => Self::bare("GetProviderSchema"),
            "GetResourceIdentitySchemas" => Self::bare("GetResourceIdentitySchemas"),
            "StopProvider" | "Stop" => Self::bare("StopProvider"),
            other => panic!("nobody should have called {other} here"),
        })
    }

    const fn bare(method: &'static str) -> Self {
        Self { method, type_name: String::new(), fields: Json::Null }
    }

    /// What it is for: the method, whether there is something before, and whether there is to be something.
    pub(crate) fn role(&self) -> (&'static str, bool, bool) {
        (self.method, self.fields["prior_state"].is_null(), self.fields["config"].is_null())
    }

    /// Whether it changes something: how often it is made matters.
    pub(crate) fn acts(&self) -> bool {
        self.method == "ApplyResourceChange"
    }
}

fn decoded<M: prost::Message + Default>(message: &Bytes) -> M {
    M::decode(message.clone()).expect("a message of the protocol")
}

fn dynamic(value: Option<&tfplugin6::DynamicValue>, own: &Type) -> Json {
    let Some(value) = value else { return json!("(absent)") };
    shown(&decode_dynamic(&value.msgpack, &value.json, own).expect("a value of the type"))
}

fn stored(document: &[u8], own: &Type) -> Json {
    match json::from_json(document, own) {
        Ok(value) => shown(&value),
        Err(error) => json!({"(does not conform)": error.to_string(), "json": text(document)}),
    }
}

fn capabilities(capabilities: Option<tfplugin6::ClientCapabilities>) -> Json {
    capabilities.map_or(json!("(absent)"), |capabilities| json!(format!("{capabilities:?}")))
}

fn identity(identity: Option<tfplugin6::ResourceIdentityData>) -> Json {
    let Some(identity) = identity else { return json!("(absent)") };
    json!(identity.identity_data.map(|data| hex::encode(&data.msgpack)))
}

fn is_there(value: Option<&tfplugin6::DynamicValue>) -> Json {
    json!(value.is_some())
}

fn text(bytes: &[u8]) -> Json {
    json!(String::from_utf8_lossy(bytes))
}

/// A value as JSON in which different values look different.
pub(crate) fn shown(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Unknown(None) => json!({"(unknown)": ""}),
        Value::Unknown(Some(refinements)) => json!({"(unknown)": format!("{refinements:?}")}),
        Value::Bool(truth) => json!(truth),
        Value::Number(number) => json!({"(number)": number.to_decimal_text()}),
        Value::String(text) => json!(text.as_ref()),
        Value::List(elements) => elements.iter().map(shown).collect(),
        Value::Set(elements) => json!({"(set)": elements.iter().map(shown).collect::<Json>()}),
        Value::Tuple(elements) => json!({"(tuple)": elements.iter().map(shown).collect::<Json>()}),
        Value::Map(entries) => json!({"(map)": members(entries)}),
        Value::Object(attributes) => members(attributes),
        Value::Dynamic(inner) => json!({"(dynamic)": [format!("{:?}", inner.0), shown(&inner.1)]}),
    }
}

fn members(members: &BTreeMap<std::sync::Arc<str>, Value>) -> Json {
    Json::Object(members.iter().map(|(name, value)| (name.to_string(), shown(value))).collect())
}
