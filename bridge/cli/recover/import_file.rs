//! `isthmus recover import-file`: writes a file for `pulumi import --file`.
//!
//! A resource is imported under the provider resource that it was created with, because the default provider
//! may be configured for another account or region. Of its parent, a URN has only the type.

use std::collections::BTreeMap;

use base64::Engine as _;
use clap::Args;
use isthmus_cty::json::Json;
use isthmus_state::{OpenIntent, OperationId};
use prost::Message as _;

use super::error::RecoverError;
use super::open::{Journals, is_importable, is_lost_creation, warn_of_faults};
use crate::cli::json_root::readable;
use crate::cli::output::{Outcome, print, warn};
use isthmus_context::settings::Settings;
use isthmus_operations::resource::reports::import_command;
use isthmus_operations::resource::{Origin, mark};
use isthmus_package::schema::BASE_NAME;
use isthmus_package::urn::Urn;
use isthmus_session::process_context::own_plugin_version;

const EXAMPLES: &str = "\
Examples:
  isthmus recover import-file > import.json
  isthmus recover import-file 4f1d09ab37c2-12 > import.json
  isthmus recover import-file 4f1d09ab37c2-15 --id able-dog > import.json
  isthmus recover import-file 4f1d09ab37c2-16 --parent urn:pulumi:dev::shop::shop:index:Site::site > import.json
  pulumi import --file import.json

Without operations, isthmus writes all objects with a known id and without a parent. isthmus does not know the id of an object whose
creation was interrupted: look it up at the provider, and pass it with --id. Some providers import an object with another id than its own,
which their documentation describes: pass that id with --id, too. `pulumi stack --show-urns` shows the URN of a parent. An object that
isthmus has reported gets its name with `-recovered`, since an engine that goes on creates another one under the name: change it in the
file if yours has not. Do not import objects that the stack has.";

/// What the CLI calls a provider that programs do not name.
const DEFAULT_PROVIDER: &str = "default";

/// Write a file for `pulumi import --file` with the objects that a stack may not have.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ImportFile {
    /// Only these operations.
    #[arg(value_name = "OPERATION")]
    operations: Vec<OperationId>,
    /// Id to import the operation's object with, if isthmus knows none, or the provider imports with another
    #[arg(long, requires = "operations")]
    id: Option<String>,
    /// URN of the parent of the operation's resource, if it has one
    #[arg(long, value_name = "URN", requires = "operations")]
    parent: Option<String>,
    /// Only objects of this stack.
    #[arg(long)]
    stack: Option<String>,
}

impl ImportFile {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, RecoverError> {
        let open = Journals::configured(settings)?.open().await?;
        let mut is_whole = warn_of_faults(&open);
        let of_stack = |open: &&OpenIntent| {
            let stack = Urn(&open.intent.subject).stack().and_then(|stack| stack.split(':').nth(2));
            self.stack.as_deref().is_none_or(|wanted| stack == Some(wanted))
        };
        let mut file = File::default();
        for id in &self.operations {
            let found = open.intents.iter().find(|open| open.id == *id);
            let found = found.ok_or(RecoverError::NoSuchOperation(*id))?;
            file.add(self.chosen(found)?, self.parent.as_deref());
        }
        if self.operations.is_empty() {
            let is_wanted = |open: &&OpenIntent| is_importable(open) && !mark::is_presumably_known(open);
            for open in open.intents.iter().filter(is_wanted).filter(of_stack) {
                if Urn(&open.intent.subject).parent_type().is_none() {
                    file.add(open.clone(), None);
                    continue;
                }
                is_whole = false;
                let urn = &open.intent.subject;
                warn(&format!(
                    "{urn} is left out, because it has a parent. Name that: `{}`",
                    import_command(open)
                ));
            }
        }
        let is_unnamed = |open: &&OpenIntent| is_lost_creation(open) && !is_importable(open);
        for open in
            open.intents.iter().filter(is_unnamed).filter(of_stack).filter(|_| self.operations.is_empty())
        {
            is_whole = false;
            let (urn, id) = (&open.intent.subject, open.id);
            warn(&format!(
                "{urn} is left out, because its id is not known. Name that: `isthmus recover import-file {id} --id ID`"
            ));
        }
        print(&readable(&file.json()));
        Ok(Outcome::of(is_whole))
    }

    /// An operation that is named, as it is to be imported.
    fn chosen(&self, found: &OpenIntent) -> Result<OpenIntent, RecoverError> {
        let id = found.id;
        let is_only = self.operations.len() == 1;
        let mut chosen = found.clone();
        match &self.id {
            Some(own) if is_only && (is_lost_creation(found) || is_importable(found)) => {
                chosen.intent.key.id.clone_from(own);
            }
            Some(_) => return Err(RecoverError::IdOfSeveral),
            None if is_importable(found) => {}
            None if is_lost_creation(found) => return Err(RecoverError::NotMade(id)),
            None => return Err(RecoverError::NoCreation(id)),
        }
        let (urn, parent) = (Urn(&found.intent.subject), self.parent.as_deref());
        match (urn.parent_type(), parent) {
            (None, None) => Ok(chosen),
            (Some(wanted), Some(parent)) if is_only && Urn(parent).qualified_type() == Some(wanted) => {
                Ok(chosen)
            }
            (Some(wanted), None) => Err(RecoverError::Parent { id, wanted: wanted.to_owned() }),
            (wanted, Some(_)) => Err(RecoverError::OtherParent { id, wanted: wanted.map(str::to_owned) }),
        }
    }
}

/// The contents of an import file.
#[derive(Default)]
struct File {
    resources: Vec<(OpenIntent, Option<String>)>,
}

impl File {
    fn add(&mut self, open: OpenIntent, parent: Option<&str>) {
        self.resources.push((open, parent.map(str::to_owned)));
    }

    fn json(&self) -> Json {
        let mut names = Names::new(self.resources.iter().map(|(open, _)| name(open)));
        let resources = self
            .resources
            .iter()
            .map(|(open, parent)| resource(open, parent.as_deref(), &mut names))
            .collect();
        let mut members = Vec::new();
        if !names.by_urn.is_empty() {
            let table = names.by_urn.into_iter().map(|(urn, name)| (name, Json::String(urn))).collect();
            members.push(("nameTable".to_owned(), Json::Object(table)));
        }
        members.push(("resources".to_owned(), Json::Array(resources)));
        Json::Object(members)
    }
}

/// The names by which a file refers to resources that the stack has. The CLI takes them for those of its
/// resources as well, so that they must differ.
struct Names {
    taken: Vec<String>,
    by_urn: BTreeMap<String, String>,
}

impl Names {
    fn new(taken: impl Iterator<Item = String>) -> Self {
        Self { taken: taken.collect(), by_urn: BTreeMap::new() }
    }

    fn of(&mut self, urn: &str) -> String {
        if let Some(name) = self.by_urn.get(urn) {
            return name.clone();
        }
        let mut name = Urn(urn).name().to_owned();
        while self.taken.contains(&name) {
            name.push_str("-existing");
        }
        self.taken.push(name.clone());
        self.by_urn.insert(urn.to_owned(), name.clone());
        name
    }
}

fn name(open: &OpenIntent) -> String {
    let name = Urn(&open.intent.subject).name();
    // An engine that has been told goes on, and usually has created another one under the name.
    if open.marks.has(mark::SHOWN) { format!("{name}-recovered") } else { name.to_owned() }
}

fn resource(open: &OpenIntent, parent: Option<&str>, names: &mut Names) -> Json {
    let urn = Urn(&open.intent.subject);
    let text = |text: &str| Json::String(text.to_owned());
    let mut members = vec![
        ("type", text(urn.resource_type().unwrap_or_default())),
        ("name", Json::String(name(open))),
        ("id", text(&open.intent.key.id)),
    ];
    if let Some(parent) = parent {
        members.push(("parent", Json::String(names.of(parent))));
    }
    if let Ok(Origin { version, parameter, provider, .. }) = Origin::decode(&open.intent.companion[..]) {
        if !provider.is_empty() && !is_default(Urn(&provider).name()) {
            members.push(("provider", Json::String(names.of(&provider))));
        }
        if !parameter.is_empty() {
            let value = base64::engine::general_purpose::STANDARD.encode(parameter);
            let parameterization = [
                ("pluginName", text(BASE_NAME)),
                ("pluginVersion", Json::String(own_plugin_version().to_string())),
                ("value", Json::String(value)),
            ];
            let parameterization = parameterization.map(|(name, value)| (name.to_owned(), value)).to_vec();
            members.push(("version", Json::String(version)));
            members.push(("parameterization", Json::Object(parameterization)));
        }
    }
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Whether the engine has named the provider resource itself: `default`, or `default_VERSION`.
fn is_default(name: &str) -> bool {
    name.strip_prefix(DEFAULT_PROVIDER).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_existing_resources_differ_from_each_other_and_from_those_of_the_file() {
        let mut names = Names::new(["site", "east"].map(str::to_owned).into_iter());
        let providers =
            ["a::pulumi:providers:x::east", "b::pulumi:providers:x::west", "c::pulumi:providers:x::west"];
        let urns = providers.map(|rest| format!("urn:pulumi:dev::{rest}"));
        let given = [&urns[0], &urns[1], &urns[2], &urns[0]].map(|urn| names.of(urn));
        assert_eq!(given, ["east-existing", "west", "west-existing", "east-existing"]);
    }

    #[test]
    fn a_default_provider_is_known_by_its_name() {
        for (name, expected) in
            [("default", true), ("default_3_9_0", true), ("defaults", false), ("east", false)]
        {
            assert_eq!(is_default(name), expected, "{name}");
        }
    }
}
