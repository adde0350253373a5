//! `isthmus state show`: shows whole objects.

use clap::Args;
use isthmus_common::{counted, printable};
use isthmus_cty::json::Json;

use super::error::StateError;
use super::masking::{hide, private_data};
use super::open_existing_state_store;
use super::record::{Record, records};
use super::selector::Selector;
use crate::cli::json_root::exact_document;
use crate::cli::output::{Outcome, print};
use isthmus_context::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  isthmus state show 17
  isthmus state show random_pet/able-dog
  isthmus state show random_password/none --secrets --json | jq -r .value.result

isthmus shows values that are sensitive in the provider's schema or in an imported state as \"(secret)\", and leaves out private data,
unless you pass --secrets. The exit code is 3 if a record does not exist.";

/// Show objects with their values.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Show {
    /// Record, by NUMBER or TYPE/ID.
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<Selector>,
    /// Show secret values and private data.
    #[arg(long)]
    secrets: bool,
    /// Write a JSON object, with an object in `records` for each record.
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, StateError> {
        let state_store = open_existing_state_store(settings).await?;
        let all = records(&state_store, None).await?;
        let mut shown = Vec::new();
        for selector in &self.records {
            shown.push(all.find(selector, &state_store)?);
        }
        if self.json {
            let all = shown.into_iter().map(|record| Json::Object(members(record, self.secrets)));
            print(&exact_document("state show", vec![("records", Json::Array(all.collect()))]));
        } else {
            let all = shown.into_iter().map(|record| described(record, self.secrets));
            print(&printable(&all.collect::<Vec<_>>().join("\n")));
        }
        Ok(Outcome::Done)
    }
}

fn members(record: &Record, with_secrets: bool) -> Vec<(String, Json)> {
    let object = &record.object;
    let mut members = record.summary();
    let mut member = |name: &str, value| members.push((name.to_owned(), value));
    let texts = |texts: Vec<String>| Json::Array(texts.into_iter().map(Json::String).collect());
    let (value, hidden) = value(record, with_secrets);
    member("value", value);
    member("hidden", texts(hidden));
    member("sensitive", texts(object.sensitive_paths.iter().map(ToString::to_string).collect()));
    match &object.identity {
        Some(identity) => {
            member("identity", identity.json.clone());
            member("identity_schema_version", Json::Number(identity.schema_version.to_string()));
        }
        None => member("identity", Json::Null),
    }
    member("dependencies", texts(object.dependencies.clone()));
    member("create_before_destroy", Json::Bool(object.create_before_destroy));
    let deposed = object.address.as_ref().and_then(|address| address.deposed.as_ref());
    member("deposed", deposed.map_or(Json::Null, |key| Json::String(key.as_str().to_owned())));
    member("private", private_data(&object.private, with_secrets));
    members
}

fn described(record: &Record, with_secrets: bool) -> String {
    let object = &record.object;
    let mut lines = vec![format!("{} {:?}, record {}", record.key.type_name, record.key.id, record.number())];
    let mut line = |name: &str, text: &str| lines.push(format!("  {name:<16} {text}"));
    line("package", &record.key.package);
    line("provider", &object.provider);
    line("condition", record.condition());
    if let Some(address) = &object.address {
        line("address", &address.to_string());
    }
    if let Some(component) = &object.component {
        line("component", &component.to_string());
    }
    line("schema version", &object.schema_version.to_string());
    if let Some(identity) = &object.identity {
        line("identity", &format!("{} (version {})", identity.json, identity.schema_version));
    }
    if !object.dependencies.is_empty() {
        line("depends on", &object.dependencies.join(", "));
    }
    if object.create_before_destroy {
        line("replacement", "the new object is made before this one is deleted");
    }
    match object.private.len() {
        0 => {}
        _ if with_secrets => line("private data", &String::from_utf8_lossy(&object.private)),
        bytes => line("private data", &format!("{}, shown with --secrets", counted(bytes, "byte"))),
    }
    let (value, hidden) = value(record, with_secrets);
    if !hidden.is_empty() {
        line("hidden", &format!("{}; shown with --secrets", hidden.join(", ")));
    }
    let value = value.to_readable().replace('\n', "\n  ");
    lines.push(format!("  {value}\n"));
    lines.join("\n")
}

fn value(record: &Record, with_secrets: bool) -> (Json, Vec<String>) {
    let mut value = record.object.value.clone();
    let hidden = if with_secrets { Vec::new() } else { hide(&mut value, &record.object.sensitive_paths) };
    (value, hidden)
}

#[cfg(test)]
mod tests {
    use isthmus_cty::{AttributePath, PathStep};

    use super::*;
    use crate::cli::state::record::tests::record;

    fn password() -> Record {
        let mut record = record(3, "none", None);
        record.object.value = Json::parse(br#"{"length":1.50,"result":"hunter2"}"#).expect("JSON");
        record.object.sensitive_paths = vec![AttributePath(vec![PathStep::attribute("result")])];
        record.object.private = bytes::Bytes::from("hunter3");
        record
    }

    #[test]
    fn secrets_and_private_data_are_hidden_unless_they_are_asked_for() {
        let (text, json) =
            (described(&password(), false), Json::Object(members(&password(), false)).to_string());
        assert!(!text.contains("hunter") && !json.contains("hunter"), "{text}{json}");
        assert!(
            text.contains("\"length\": 1.50") && text.contains("7 bytes, shown with --secrets"),
            "{text}"
        );
        assert!(json.contains(r#""hidden":["result"]"#), "{json}");
        let (text, json) =
            (described(&password(), true), Json::Object(members(&password(), true)).to_string());
        assert!(text.contains("hunter2") && text.contains("hunter3"), "{text}");
        assert!(json.contains("hunter2") && json.contains("aHVudGVyMw=="), "{json}");
    }
}
