//! `isthmus recover import-file`: writes a file for `pulumi import --file`.

use base64::Engine as _;
use clap::Args;
use isthmus_cty::json::Json;
use isthmus_state::{OpenIntent, OperationId};
use prost::Message as _;

use super::error::RecoverError;
use super::open::{Journals, is_importable, is_lost_creation, warn_of_faults};
use crate::cli::outcome::Outcome;
use crate::cli::output::print;
use crate::cli::plugin::plugin_version;
use crate::package::PackageReference;
use crate::package::schema::BASE_NAME;
use crate::settings::Settings;
use crate::urn::Urn;

const EXAMPLES: &str = "\
Examples:
  isthmus recover import-file > import.json
  isthmus recover import-file 4f1d09ab37c2-12 > import.json
  isthmus recover import-file 4f1d09ab37c2-15 --id able-dog > import.json
  pulumi import --file import.json

Without operations, all objects are written whose ids are known. The id of an object whose creation was cut short is that which the provider has;
with --id it is imported all the same. An object that was reported is imported under its name with `-recovered`,
since an engine that goes on creates another one under the name: change it in the file if yours has not. What the stack has must not be imported.";

/// Write a file for `pulumi import --file` with the objects that a stack may not have.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ImportFile {
    /// Only these operations.
    #[arg(value_name = "OPERATION")]
    operations: Vec<OperationId>,
    /// The id of the object of the one operation, where it is not known
    #[arg(long, requires = "operations")]
    id: Option<String>,
    /// Only objects of this stack.
    #[arg(long)]
    stack: Option<String>,
}

impl ImportFile {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, RecoverError> {
        let open = Journals::configured(settings)?.open().await?;
        let is_whole = warn_of_faults(&open);
        let of_stack = |open: &&OpenIntent| {
            let stack = Urn(&open.intent.subject).stack().and_then(|stack| stack.split(':').nth(2));
            self.stack.as_deref().is_none_or(|wanted| stack == Some(wanted))
        };
        let mut chosen = Vec::new();
        for id in &self.operations {
            let found = open.intents.iter().find(|open| open.id == *id);
            let found = found.ok_or(RecoverError::NoSuchOperation(*id))?;
            let mut found = found.clone();
            match &self.id {
                Some(own) if self.operations.len() == 1 && is_lost_creation(&found) => {
                    found.intent.key.id.clone_from(own);
                }
                Some(_) => return Err(RecoverError::KnownId),
                None if is_importable(&found) => {}
                None if is_lost_creation(&found) => return Err(RecoverError::NotMade(*id)),
                None => return Err(RecoverError::NoCreation(*id)),
            }
            chosen.push(found);
        }
        if self.operations.is_empty() {
            let known = open.intents.iter().filter(|open| is_importable(open) && !open.is_ended);
            chosen.extend(known.filter(of_stack).cloned());
        }
        let resources = chosen.iter().map(entry).collect();
        let file = Json::Object(vec![("resources".to_owned(), Json::Array(resources))]);
        print(&(file.to_readable() + "\n"));
        Ok(Outcome::of(is_whole))
    }
}

fn entry(open: &OpenIntent) -> Json {
    let urn = Urn(&open.intent.subject);
    // An engine that has been told goes on, and usually has created another one under the name.
    let name = if open.is_shown { format!("{}-recovered", urn.name()) } else { urn.name().to_owned() };
    let text = |text: &str| Json::String(text.to_owned());
    let mut members = vec![
        ("type", text(urn.resource_type().unwrap_or_default())),
        ("name", Json::String(name)),
        ("id", text(&open.intent.key.id)),
    ];
    if let Ok(PackageReference { version, parameter }) = PackageReference::decode(&open.intent.companion[..])
        && !parameter.is_empty()
    {
        let value = base64::engine::general_purpose::STANDARD.encode(parameter);
        let parameterization = [
            ("pluginName", text(BASE_NAME)),
            ("pluginVersion", Json::String(plugin_version().to_string())),
            ("value", Json::String(value)),
        ];
        let parameterization = parameterization.map(|(name, value)| (name.to_owned(), value)).to_vec();
        members.push(("version", Json::String(version)));
        members.push(("parameterization", Json::Object(parameterization)));
    }
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}
