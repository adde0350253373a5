//! The log of all messages to and from providers.
//!
//! Variable and format are those of the Go bridge, so that tools for its logs work: JSON objects,
//! each followed by a comma and a newline, with the request in protobuf text format and the
//! response as JSON. Unlike there, values are replaced by their lengths: configurations, states and
//! private data contain secrets that only a schema could tell apart. Schemas, names, paths and
//! diagnostics are complete, except for known secrets that a provider quotes.
//!
//! Failures of the file do not affect calls.

use isthmus_platform::files::OpenFlags;
use isthmus_platform::files::{OpenOptionsExt as _, set_mode_of_new};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use isthmus_common::counted;
use isthmus_known_secrets::KnownSecrets;
use isthmus_provider::CallMessages;
use serde_json::Value as Json;

use crate::engine::EngineLog;
use crate::process_context::ProcessContext;
use isthmus_trace::walk::{METHODS, Traced, without_values};

/// The Go bridge's variable for the file.
pub(super) const VARIABLE: &str = "PULUMI_TF_DEBUG_GRPC";

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
                log.warn(message);
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
    let flags = OpenFlags { no_waiting: true, ..OpenFlags::default() };
    let is_new = matches!(path.try_exists(), Ok(false));
    let file = OpenOptions::new().append(true).create(true).mode(0o600).flags(flags).open(path)?;
    if is_new {
        set_mode_of_new(path, 0o600)?;
    }
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}

/// Texts are redacted before escaping: nested JSON escapes would change the secrets.
fn record(messages: CallMessages<'_>, secrets: &KnownSecrets) -> String {
    let name = messages.path.rsplit('/').next().unwrap_or_default();
    let types = METHODS.get(messages.path);
    let request = without_values(types.map(|types| &types.request), messages.request);
    let response = messages.response.ok();
    let response = response.map(|bytes| without_values(types.map(|types| &types.response), bytes));
    let mut record = serde_json::json!({
        "name": name,
        "call": messages.path,
        "request": text_of(&request, secrets),
        "response": response.map(|response| json_of(&response, secrets).to_string()).unwrap_or_default(),
    });
    if let Err(status) = messages.response {
        record["error"] =
            Json::from(vec![format!("{:?}: {}", status.code(), secrets.redact(status.message()))]);
    }
    format!("{record},\n")
}

/// A message in protobuf text format, on one line.
fn text_of(message: &Traced, secrets: &KnownSecrets) -> String {
    let members = match message {
        Traced::Object(members) => members.as_slice(),
        Traced::Path(path) => return text_of(path, secrets),
        _ => &[],
    };
    let mut texts = Vec::new();
    for (name, value) in members {
        match value {
            Traced::List(elements) => {
                texts.extend(
                    elements.iter().map(|element| format!("{name}:{}", field_text(element, secrets))),
                );
            }
            Traced::Entries(entries) => texts.extend(entries.iter().map(|(key, value)| {
                let key = Json::from(&*secrets.redact(key));
                format!("{name}:{{key:{key} value:{}}}", field_text(value, secrets))
            })),
            value => texts.push(format!("{name}:{}", field_text(value, secrets))),
        }
    }
    texts.join(" ")
}

fn field_text(value: &Traced, secrets: &KnownSecrets) -> String {
    match value {
        Traced::Object(_) | Traced::Path(_) => format!("{{{}}}", text_of(value, secrets)),
        Traced::Enum(Some(name), _) => name.clone(),
        value => json_of(value, secrets).to_string(),
    }
}

/// A message as JSON in the form of Go's generated code: field names of the contract, enums as
/// numbers, bytes in base64, unset fields left out.
fn json_of(value: &Traced, secrets: &KnownSecrets) -> Json {
    match value {
        Traced::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), json_of(value, secrets)));
            Json::Object(fields.collect())
        }
        Traced::Entries(entries) => {
            let entry =
                |(key, value): &(String, Traced)| (secrets.redact(key).into_owned(), json_of(value, secrets));
            Json::Object(entries.iter().map(entry).collect())
        }
        Traced::List(elements) => elements.iter().map(|element| json_of(element, secrets)).collect(),
        Traced::Path(path) => json_of(path, secrets),
        Traced::Bool(value) => Json::from(*value),
        Traced::Number(text) => text.parse().map_or(Json::Null, Json::Number),
        Traced::Enum(_, number) => Json::from(*number),
        Traced::Text(text) => Json::from(&*secrets.redact(text)),
        Traced::Open(bytes) => Json::from(base64::engine::general_purpose::STANDARD.encode(bytes)),
        Traced::Private(bytes) => withheld(bytes.len()),
        Traced::Withheld(length) => withheld(*length),
        // Without a schema there is none of the others.
        _ => Json::Null,
    }
}

fn withheld(length: usize) -> Json {
    Json::from(format!("<{} withheld>", counted(length, "byte")))
}

#[cfg(test)]
mod tests {
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
        assert_eq!(isthmus_platform::files::mode(&std::fs::metadata(&path).unwrap()) & 0o777, 0o600);
        assert!(open(directory.path()).is_err());
        assert!(open(Path::new("/dev/full")).is_err());
        let pipe = directory.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        assert!(open(&pipe).is_err(), "no process reads it");
    }
}
