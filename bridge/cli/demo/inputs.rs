//! What the demonstration runs with: the options, and the provider, resource and inputs that they select.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use isthmus_proto::property::{Struct, Value};

use super::report::DemoError;
use crate::cli::output::explain_missing;

const EXAMPLES: &str = "\
Examples:
  isthmus demo
  isthmus demo --provider ./terraform-provider-random --resource random_pet --inputs inputs.json

Without a provider, isthmus uses its own sandbox provider, which only changes files in a temporary directory.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Demo {
    /// Provider binary (default: the sandbox provider).
    #[arg(long, requires_all = ["resource", "inputs"])]
    provider: Option<PathBuf>,
    /// Terraform resource type, such as `random_pet`.
    #[arg(long, requires = "provider")]
    resource: Option<String>,
    /// JSON file of the resource's inputs, by their Pulumi names.
    #[arg(long, requires = "provider")]
    inputs: Option<PathBuf>,
    /// JSON file of the inputs of an update.
    #[arg(long, requires = "provider")]
    changed_inputs: Option<PathBuf>,
    /// JSON file of the provider configuration.
    #[arg(long, requires = "provider")]
    config: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub(super) struct Role {
    /// The provider binary; `None` for the sandbox.
    pub(super) provider: Option<PathBuf>,
    pub(super) resource: String,
    pub(super) inputs: Struct,
    /// Inputs of an update in place.
    pub(super) updated: Option<Struct>,
    /// Inputs that require a replacement.
    pub(super) replaced: Option<Struct>,
    /// Inputs that may do either.
    pub(super) changed: Option<Struct>,
    pub(super) config: Struct,
}

impl Role {
    /// The sandbox's `sandbox_note`.
    pub(super) fn sandbox() -> Self {
        let note = |body: &str, color: &str| {
            let labels = Struct::from([("made-by", Value::from("demo"))]);
            Struct::from([
                ("title", Value::from("A note")),
                ("body", Value::from(body)),
                ("color", Value::from(color)),
                ("labels", Value::from(labels)),
            ])
        };
        Self {
            provider: None,
            resource: "sandbox_note".to_owned(),
            inputs: note("Written by the demonstration.", "yellow"),
            updated: Some(note("Written again.", "yellow")),
            replaced: Some(note("Written again.", "green")),
            changed: None,
            config: Struct::default(),
        }
    }

    /// The role that the command line sets, if any.
    pub(super) fn given(demo: &Demo) -> Result<Option<Self>, DemoError> {
        let (Some(provider), Some(resource), Some(inputs)) = (&demo.provider, &demo.resource, &demo.inputs)
        else {
            return Ok(None);
        };
        let provider = std::path::absolute(provider).map_err(|source| DemoError::Machine {
            what: format!("{} is not a path", provider.display()),
            source,
        })?;
        Ok(Some(Self {
            provider: Some(provider),
            resource: resource.clone(),
            inputs: read(inputs)?,
            updated: None,
            replaced: None,
            changed: demo.changed_inputs.as_deref().map(read).transpose()?,
            config: demo.config.as_deref().map(read).transpose()?.unwrap_or_default(),
        }))
    }
}

fn read(file: &Path) -> Result<Struct, DemoError> {
    let invalid = |reason: String| DemoError::Inputs { file: file.display().to_string(), reason };
    let text = fs::read(file).map_err(|error| invalid(explain_missing(file, error).to_string()))?;
    let json = serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))?;
    match property(json) {
        Value::Struct(bag) => Ok(bag),
        _ => Err(invalid("it is not an object".to_owned())),
    }
}

fn property(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(value),
        serde_json::Value::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        serde_json::Value::String(text) => Value::String(text),
        serde_json::Value::Array(items) => Value::List(items.into_iter().map(property).collect()),
        serde_json::Value::Object(members) => {
            Value::Struct(members.into_iter().map(|(name, value)| (name, property(value))).collect())
        }
    }
}
