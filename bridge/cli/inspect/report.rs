//! What was seen of a resource: its schema, and each step with the calls of both sides.

use isthmus_cty::json::Json;

use super::schema_rows::SchemaRow;
use crate::cli::json_root::exact_document;
use isthmus_trace::transcript::{ProviderCall, Shown};

#[derive(Debug)]
pub(super) struct Report {
    /// Address or path, as a package has it.
    pub(super) provider: String,
    pub(super) version: Option<String>,
    /// Version of the plugin protocol.
    pub(super) protocol: u8,
    /// Terraform's resource type.
    pub(super) resource_type: String,
    /// Pulumi's token.
    pub(super) token: String,
    pub(super) schema: Vec<SchemaRow>,
    /// Whether the schema has more rows.
    pub(super) is_cut: bool,
    pub(super) steps: Vec<Step>,
    /// What the engine would do.
    pub(super) action: Action,
}

/// A call of an engine, and the calls of the provider that it causes.
#[derive(Debug)]
pub(super) struct Step {
    /// The engine's method, and `(preview)` for a preview.
    pub(super) method: &'static str,
    pub(super) request: Shown,
    /// The response, or the text of the status.
    pub(super) response: Result<Shown, String>,
    pub(super) warnings: Vec<String>,
    /// Whether the response has failures.
    pub(super) is_refused: bool,
    pub(super) provider: Vec<ProviderCall>,
}

/// What an engine would do after these calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A step has failed, so nothing.
    Refused,
    Create,
    Nothing,
    Update,
    Replace,
    /// A replacement whose old object is deleted first.
    DeleteAndReplace,
}

impl Action {
    /// For scripts.
    fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Create => "create",
            Self::Nothing => "none",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::DeleteAndReplace => "delete-replace",
        }
    }

    /// For people.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Create => "the resource would be created",
            Self::Nothing => "nothing would change",
            Self::Update => "the resource would be updated in place",
            Self::Replace => "the resource would be replaced: created anew, then the old one deleted",
            Self::DeleteAndReplace => {
                "the resource would be replaced: the old one deleted, then created anew"
            }
        }
    }
}

impl Report {
    /// The step that failed.
    pub(super) fn failure(&self) -> Option<&'static str> {
        let failed = self.steps.iter().find(|step| step.response.is_err() || step.is_refused);
        failed.map(|step| step.method)
    }

    /// As JSON.
    pub(super) fn document(&self) -> String {
        let text = |text: &str| Json::String(text.to_owned());
        let provider = object([
            ("source", text(&self.provider)),
            ("version", self.version.as_deref().map_or(Json::Null, text)),
            ("protocol", Json::Number(self.protocol.to_string())),
        ]);
        exact_document(
            "inspect",
            vec![
                ("provider", provider),
                (
                    "resource",
                    object([("terraform", text(&self.resource_type)), ("pulumi", text(&self.token))]),
                ),
                ("action", text(self.action.name())),
                ("schema", Json::Array(self.schema.iter().map(SchemaRow::to_json).collect())),
                ("steps", Json::Array(self.steps.iter().map(Step::to_json).collect())),
            ],
        )
    }
}

impl Step {
    fn to_json(&self) -> Json {
        let mut pulumi = vec![
            ("method".to_owned(), Json::String(self.method.to_owned())),
            ("request".to_owned(), self.request.to_json()),
            response(&self.response),
        ];
        let warnings = self.warnings.iter().map(|warning| Json::String(warning.clone()));
        pulumi.push(("warnings".to_owned(), Json::Array(warnings.collect())));
        let terraform = self.provider.iter().map(|call| {
            Json::Object(vec![
                ("method".to_owned(), Json::String(call.method.clone())),
                ("request".to_owned(), call.request.to_json()),
                response(&call.response),
            ])
        });
        object([("pulumi", Json::Object(pulumi)), ("terraform", Json::Array(terraform.collect()))])
    }
}

fn response(response: &Result<Shown, String>) -> (String, Json) {
    match response {
        Ok(response) => ("response".to_owned(), response.to_json()),
        Err(text) => ("error".to_owned(), Json::String(text.clone())),
    }
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(name, value)| (name.to_owned(), value)).into())
}
