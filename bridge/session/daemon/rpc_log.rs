//! The log of all messages to and from providers.
//!
//! Variable and format are those of the Go bridge, so that tools for its logs work: JSON objects,
//! each followed by a comma and a newline, with the request in protobuf text format and the
//! response as JSON. Unlike there, values are replaced by their lengths: configurations, states and
//! private data contain secrets that only a schema could tell apart. Schemas, names, paths and
//! diagnostics are complete, except for known secrets that a provider quotes.
//!
//! Failures of the file do not affect calls.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use isthmus_common::counted;
use isthmus_known_secrets::KnownSecrets;
use isthmus_provider::CallMessages;
use prost_reflect::{DynamicMessage, FieldDescriptor, MapKey, MessageDescriptor, Value};
use serde_json::Value as Json;

use crate::engine::{EngineLog, LogLine, Severity};
use crate::process_context::ProcessContext;
use isthmus_trace::transcript::key_text;
use isthmus_trace::transcript::methods::{METHODS, Method};

/// The Go bridge's variable for the file.
pub(super) const VARIABLE: &str = "PULUMI_TF_DEBUG_GRPC";

/// The only bytes without user data: types of attributes and parameters.
const TYPE: &str = "type";

/// State from before Terraform 0.12.
const FLATMAP: &str = "flatmap";

#[derive(Debug)]
pub(super) struct RpcLog {
    secrets: KnownSecrets,
    file: Mutex<Option<File>>,
}

impl RpcLog {
    /// Opens the log that the environment names. If that fails, warns and returns `None`.
    pub(super) fn of(context: &ProcessContext, log: EngineLog) -> Option<Self> {
        let path = context.environment().path(VARIABLE)?;
        match open(&context.resolve(&path)) {
            Ok(file) => Some(Self { secrets: log.secrets().clone(), file: Mutex::new(Some(file)) }),
            Err(error) => {
                let path = path.display();
                let message = format!("{VARIABLE}: failed to open {path}, so no call is logged: {error}");
                log.send(LogLine { severity: Severity::Warning, message, urn: String::new() });
                None
            }
        }
    }

    /// Appends a record. The first failure ends the log.
    pub(super) fn write(&self, messages: CallMessages<'_>) {
        let record = record(messages, &self.secrets);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // In one write, because several plugins may share the file.
        if let Some(open) = file.as_mut()
            && open.write_all(record.as_bytes()).is_err()
        {
            *file = None;
        }
    }
}

/// Opens the file, with access for its owner only if it is new. Other kinds of files could block
/// calls.
fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}

/// Texts are redacted before escaping: nested JSON escapes would change the secrets.
fn record(messages: CallMessages<'_>, secrets: &KnownSecrets) -> String {
    let name = messages.path.rsplit('/').next().unwrap_or_default();
    let types = METHODS.get(messages.path);
    let read = |message: &[u8], of: fn(&Method) -> &MessageDescriptor| {
        types.and_then(|types| DynamicMessage::decode(of(types).clone(), message).ok())
    };
    let request = read(messages.request, |types| &types.request);
    let response = messages.response.ok().and_then(|response| read(response, |types| &types.response));
    let mut record = serde_json::json!({
        "name": name,
        "call": messages.path,
        "request": request.map(|request| text_of(&request, secrets)).unwrap_or_default(),
        "response": response.map(|response| json_of(&response, secrets).to_string()).unwrap_or_default(),
    });
    if let Err(status) = messages.response {
        record["error"] =
            Json::from(vec![format!("{:?}: {}", status.code(), secrets.redact(status.message()))]);
    }
    format!("{record},\n")
}

/// Whether values of a field are withheld.
fn is_withheld(field: &FieldDescriptor) -> bool {
    match field.kind() {
        prost_reflect::Kind::Bytes => field.name() != TYPE,
        _ => field.name() == FLATMAP,
    }
}

fn withheld(length: usize) -> String {
    format!("<{} withheld>", counted(length, "byte"))
}

/// A message in protobuf text format, on one line.
fn text_of(message: &DynamicMessage, secrets: &KnownSecrets) -> String {
    let mut text = String::new();
    for (field, value) in message.fields() {
        match value {
            Value::List(elements) => {
                elements.iter().for_each(|element| add_text(&field, element, &mut text, secrets))
            }
            Value::Map(entries) => {
                for (key, value) in in_order(entries) {
                    let mut value_text = String::new();
                    write_text(&field, value, &mut value_text, secrets);
                    add(
                        &mut text,
                        &format!(
                            "{}:{{key:{} value:{value_text}}}",
                            field.name(),
                            quoted(&secrets.redact(&key))
                        ),
                    );
                }
            }
            value => add_text(&field, value, &mut text, secrets),
        }
    }
    text
}

fn add_text(field: &FieldDescriptor, value: &Value, text: &mut String, secrets: &KnownSecrets) {
    let mut own = format!("{}:", field.name());
    write_text(field, value, &mut own, secrets);
    add(text, &own);
}

fn add(text: &mut String, own: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(own);
}

fn write_text(field: &FieldDescriptor, value: &Value, text: &mut String, secrets: &KnownSecrets) {
    let written = match value {
        Value::Message(message) => write!(text, "{{{}}}", text_of(message, secrets)),
        Value::EnumNumber(number) => match field.kind().as_enum().and_then(|kind| kind.get_value(*number)) {
            Some(value) => write!(text, "{}", value.name()),
            None => write!(text, "{number}"),
        },
        value => write!(text, "{}", plain(field, value, secrets)),
    };
    written.expect("a string takes everything");
}

/// A message as JSON in the form of Go's generated code: field names of the contract, enums as
/// numbers, bytes in base64, unset fields left out.
fn json_of(message: &DynamicMessage, secrets: &KnownSecrets) -> Json {
    let members = message
        .fields()
        .map(|(field, value)| (field.name().to_owned(), json_of_value(&field, value, secrets)));
    Json::Object(members.collect())
}

fn json_of_value(field: &FieldDescriptor, value: &Value, secrets: &KnownSecrets) -> Json {
    match value {
        Value::Message(message) => json_of(message, secrets),
        Value::List(elements) => {
            elements.iter().map(|element| json_of_value(field, element, secrets)).collect()
        }
        Value::Map(entries) => {
            let members = in_order(entries).into_iter();
            Json::Object(
                members
                    .map(|(key, value)| {
                        (secrets.redact(&key).into_owned(), json_of_value(field, value, secrets))
                    })
                    .collect(),
            )
        }
        value => plain(field, value, secrets),
    }
}

/// A scalar. For a map's value, `field` is the map.
fn plain(field: &FieldDescriptor, value: &Value, secrets: &KnownSecrets) -> Json {
    match value {
        Value::Bytes(bytes) if is_withheld(field) => Json::from(withheld(bytes.len())),
        Value::Bytes(bytes) => {
            use base64::Engine as _;
            Json::from(base64::engine::general_purpose::STANDARD.encode(bytes))
        }
        Value::String(text) if is_withheld(field) => Json::from(withheld(text.len())),
        Value::String(text) => Json::from(&*secrets.redact(text)),
        Value::Bool(value) => Json::from(*value),
        Value::I32(number) | Value::EnumNumber(number) => Json::from(*number),
        Value::I64(number) => Json::from(*number),
        Value::U32(number) => Json::from(*number),
        Value::U64(number) => Json::from(*number),
        Value::F32(number) => Json::from(*number),
        Value::F64(number) => Json::from(*number),
        Value::Message(_) | Value::List(_) | Value::Map(_) => Json::Null,
    }
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

/// Sorted, because the order of Go's maps and of ours is random.
fn in_order(entries: &HashMap<MapKey, Value>) -> Vec<(String, &Value)> {
    let mut entries: Vec<_> = entries.iter().map(|(key, value)| (key_text(key), value)).collect();
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    entries
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    use isthmus_proto::tfplugin6::{self, attribute_path, diagnostic};
    use isthmus_proto::{tfplugin5, tfplugin6::attribute_path::step::Selector};
    use prost::Message as _;

    use super::*;

    fn dynamic(text: &'static str) -> Option<tfplugin6::DynamicValue> {
        Some(tfplugin6::DynamicValue { msgpack: text.into(), json: Default::default() })
    }

    #[test]
    fn a_record_has_everything_but_values() {
        let request = tfplugin6::read_resource::Request {
            type_name: "cloud_\"thing\"".to_owned(),
            current_state: dynamic("sesame"),
            private: "sesame".into(),
            client_capabilities: Some(tfplugin6::ClientCapabilities {
                write_only_attributes_allowed: true,
                ..Default::default()
            }),
            ..Default::default()
        };
        let step = attribute_path::Step { selector: Some(Selector::AttributeName("name".to_owned())) };
        let response = tfplugin6::read_resource::Response {
            new_state: dynamic("open sesame"),
            diagnostics: vec![tfplugin6::Diagnostic {
                severity: diagnostic::Severity::Warning.into(),
                summary: "Old".to_owned(),
                detail: String::new(),
                attribute: Some(tfplugin6::AttributePath { steps: vec![step] }),
            }],
            private: "sesame".into(),
            ..Default::default()
        };
        let text = record(
            CallMessages {
                path: "/tfplugin6.Provider/ReadResource",
                request: &request.encode_to_vec(),
                elapsed: Duration::ZERO,
                response: Ok(&response.encode_to_vec()),
            },
            &KnownSecrets::default(),
        );
        assert!(!text.contains("sesame"), "{text}");
        let record: Json = serde_json::from_str(text.strip_suffix(",\n").unwrap()).unwrap();
        assert_eq!(record["name"], "ReadResource");
        assert_eq!(record["call"], "/tfplugin6.Provider/ReadResource");
        assert_eq!(
            record["request"],
            "type_name:\"cloud_\\\"thing\\\"\" current_state:{msgpack:\"<6 bytes withheld>\"} \
             private:\"<6 bytes withheld>\" client_capabilities:{write_only_attributes_allowed:true}"
        );
        let response: Json = serde_json::from_str(record["response"].as_str().unwrap()).unwrap();
        let expected = serde_json::json!({
            "new_state": {"msgpack": "<11 bytes withheld>"},
            "diagnostics": [
                {"severity": 2, "summary": "Old", "attribute": {"steps": [{"attribute_name": "name"}]}},
            ],
            "private": "<6 bytes withheld>",
        });
        assert_eq!(response, expected);
        assert_eq!(record.get("error"), None);
    }

    #[test]
    fn stored_states_and_errors_are_told_without_values() {
        let raw = tfplugin5::RawState {
            json: "{\"token\":\"sesame\"}".into(),
            flatmap: [("token".to_owned(), "sesame".to_owned())].into(),
        };
        let request = tfplugin5::upgrade_resource_state::Request {
            type_name: "cloud_thing".to_owned(),
            version: 3,
            raw_state: Some(raw),
        };
        let status = tonic::Status::unavailable("gone");
        let text = record(
            CallMessages {
                path: "/tfplugin5.Provider/UpgradeResourceState",
                request: &request.encode_to_vec(),
                elapsed: Duration::ZERO,
                response: Err(&status),
            },
            &KnownSecrets::default(),
        );
        let record: Json = serde_json::from_str(text.strip_suffix(",\n").unwrap()).unwrap();
        assert_eq!(
            record["request"],
            "type_name:\"cloud_thing\" version:3 raw_state:{json:\"<18 bytes withheld>\" flatmap:{key:\"token\" \
             value:\"<6 bytes withheld>\"}}"
        );
        assert_eq!(record["response"], "");
        assert_eq!(record["error"], serde_json::json!(["Unavailable: gone"]));
    }

    #[test]
    fn schemas_are_there_in_full() {
        let attribute = tfplugin6::schema::Attribute {
            name: "size".to_owned(),
            r#type: "\"number\"".into(),
            required: true,
            ..Default::default()
        };
        let block = tfplugin6::schema::Block { attributes: vec![attribute], ..Default::default() };
        let schema = tfplugin6::Schema { version: 0, block: Some(block) };
        let response = tfplugin6::get_provider_schema::Response {
            resource_schemas: [("cloud_thing".to_owned(), schema.encode_to_vec().into())].into(),
            ..Default::default()
        };
        let text = record(
            CallMessages {
                path: "/tfplugin6.Provider/GetProviderSchema",
                request: &[],
                elapsed: Duration::ZERO,
                response: Ok(&response.encode_to_vec()),
            },
            &KnownSecrets::default(),
        );
        let record: Json = serde_json::from_str(text.strip_suffix(",\n").unwrap()).unwrap();
        let response: Json = serde_json::from_str(record["response"].as_str().unwrap()).unwrap();
        assert_eq!(
            response["resource_schemas"]["cloud_thing"]["block"]["attributes"][0],
            serde_json::json!({"name": "size", "type": "Im51bWJlciI=", "required": true})
        );
    }

    #[test]
    fn the_file_is_its_owners_and_what_is_no_file_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("calls");
        for _ in 0..2 {
            open(&path).unwrap().write_all(b"x").unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "xx");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(open(directory.path()).is_err());
        assert!(open(Path::new("/dev/full")).is_err());
        let pipe = directory.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        assert!(open(&pipe).is_err(), "no process reads it");
    }
}
