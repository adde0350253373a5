//! `isthmus recover list`: lists the operations that are not settled.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use isthmus_common::counted;
use isthmus_cty::json::Json;
use isthmus_proto::property::{Struct, Value as Property};
use isthmus_state::{Condition, OpenIntent, OpenIntents, OperationId, OperationKind};
use prost::Message as _;

use super::error::RecoverError;
use super::open::{Journals, is_importable, take_ended, warn_of_faults};
use super::stack::KnownObjects;
use crate::cli::json_root::exact_document;
use crate::cli::output::{Outcome, inform, print};
use crate::cli::table::table;
use isthmus_context::settings::Settings;
use isthmus_operations::resource::reports::{import_command, of_operation, refresh_command};
use isthmus_operations::resource::{Origin, mark};
use isthmus_package::urn::Urn;
use isthmus_translate::property::{PropertyView, classify};

/// What stands for a secret value.
const HIDDEN: &str = "(secret)";

/// What is not known of objects whose run has ended in order.
const MAY_HAVE_LEFT: &str = "an object whose run has ended stays in this list until an engine mentions it, which none does where the object has left its stack \
     by `pulumi state move`, `pulumi state delete`, `deletedWith` or `retainOnDelete`: it may be in another stack, or gone\n\
     help: `--export FILE` settles what a stack has; compare the others with the provider, and dismiss them";

const EXAMPLES: &str = "\
Examples:
  isthmus recover list --stack dev
  isthmus recover list --json | jq -r '.operations[].urn'
  pulumi stack export | isthmus recover list --all --export -

`isthmus recover --help` describes the conditions.";

/// List operations whose outcome an engine may not know.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct List {
    /// Only operations of this stack.
    #[arg(long)]
    stack: Option<String>,
    /// Only operations of this package.
    #[arg(long)]
    package: Option<String>,
    /// List also the objects of runs that have ended in order, which engines presumably know.
    #[arg(long)]
    all: bool,
    /// Settle the operations whose objects are in this output of `pulumi stack export` (`-`: standard input).
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Write a JSON object, with an object in `operations` for each operation.
    #[arg(long)]
    json: bool,
    /// Write secret values, with --json.
    #[arg(long, requires = "json")]
    show_secrets: bool,
}

impl List {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, RecoverError> {
        let journals = Journals::configured(settings)?;
        let mut open = journals.open().await?;
        let is_whole = warn_of_faults(&open);
        let missing = (!open.has_journal).then(|| journals.location());
        if let Some(file) = &self.export {
            settle_known(&journals, &mut open, file).await?;
        }
        let ended = if self.all { 0 } else { take_ended(&mut open) };
        open.intents.retain(|open| {
            let stack = Urn(&open.intent.subject).stack().and_then(|stack| stack.split(':').nth(2));
            self.stack.as_deref().is_none_or(|wanted| stack == Some(wanted))
                && self.package.as_ref().is_none_or(|package| open.intent.key.package == *package)
        });
        if self.json {
            let all = open.intents.iter().map(|open| self.object(open));
            print(&exact_document("recover list", vec![("operations", Json::Array(all.collect()))]));
        } else if open.intents.is_empty() {
            inform(&match &missing {
                None => "nothing to recover: engines know the outcome of every change".to_owned(),
                Some(place) => format!(
                    "nothing to recover: {place} has no journal, in which isthmus records changes before it makes them; \
                     ISTHMUS_HOME names another home directory"
                ),
            });
        } else {
            print(&as_table(&open.intents));
            if open.intents.iter().any(mark::is_presumably_known) {
                inform(MAY_HAVE_LEFT);
            }
        }
        if ended > 0 && !self.json {
            let objects =
                if ended == 1 { "object was created by a run" } else { "objects were created by runs" };
            inform(&format!(
                "{ended} {objects} that ended in order; --all lists them until an engine mentions them"
            ));
        }
        Ok(Outcome::of(is_whole))
    }

    fn object(&self, open: &OpenIntent) -> Json {
        let text = |text: &str| Json::String(text.to_owned());
        let key = &open.intent.key;
        let mut members = vec![
            ("operation", text(&open.id.to_string())),
            ("kind", text(open.intent.intention.noun())),
            ("condition", text(if mark::is_presumably_known(open) { "made" } else { condition(open) })),
            ("since", Json::String(time(open.since))),
            ("package", text(&key.package)),
            ("type", text(&key.type_name)),
            ("urn", text(&open.intent.subject)),
            ("id", text(&key.id)),
            ("reported", Json::Bool(open.marks.has(mark::SHOWN))),
            ("ended", Json::Bool(mark::is_presumably_known(open))),
            ("report", text(&of_operation(open))),
        ];
        let is_of_today = Urn(&open.intent.subject).stack().is_some();
        let origin = is_of_today.then(|| Origin::decode(&open.intent.companion[..]).ok()).flatten();
        let Origin { provider, backend, .. } = origin.unwrap_or_default();
        for (name, value) in [("provider", provider), ("backend", backend)] {
            if !value.is_empty() {
                members.push((name, Json::String(value)));
            }
        }
        if let Some(command) = command(open) {
            members.push(("command", Json::String(command)));
        }
        if !open.object.is_empty()
            && let Ok(properties) = Struct::decode(&open.object[..])
        {
            members.push(("properties", json_of(&Property::Struct(properties), self.show_secrets)));
        }
        Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// Settles the creations of objects that a stack has.
async fn settle_known(journals: &Journals, open: &mut OpenIntents, file: &Path) -> Result<(), RecoverError> {
    let known = KnownObjects::read(file)?;
    let settled: Vec<OperationId> =
        open.intents.extract_if(.., |open| known.have(open)).map(|open| open.id).collect();
    journals.dismiss(&settled).await?;
    inform(&match settled.len() {
        0 => "the stack has the object of no operation".to_owned(),
        number => format!("settled {}, whose objects the stack has", counted(number, "operation")),
    });
    Ok(())
}

fn as_table(intents: &[OpenIntent]) -> String {
    let rows = intents.iter().map(|open| {
        let key = &open.intent.key;
        let id = if key.id.is_empty() { "-".to_owned() } else { key.id.clone() };
        [
            open.id.to_string(),
            time(open.since),
            open.intent.intention.noun().to_owned(),
            condition(open).to_owned(),
            key.type_name.clone(),
            id,
            open.intent.subject.clone(),
        ]
    });
    let mut text = table(["OPERATION", "SINCE", "KIND", "CONDITION", "TYPE", "ID", "RESOURCE"], rows);
    let of = |is_wanted: fn(&OpenIntent) -> bool| {
        intents.iter().filter(move |open| is_wanted(open)).filter_map(command)
    };
    for (heading, commands) in [
        ("Where the object exists, and a stack does not have it:", of(is_creation).collect::<Vec<_>>()),
        ("Where a stack still has the object:", of(|open| !is_creation(open)).collect()),
    ] {
        if !commands.is_empty() {
            text.push_str(&format!("\n{heading}\n"));
            for command in commands {
                text.push_str(&format!("  {command}\n"));
            }
        }
    }
    text
}

fn is_creation(open: &OpenIntent) -> bool {
    open.intent.intention == OperationKind::Create
}

/// The command that takes the object over; `None` if nothing was created, or it is in progress.
fn command(open: &OpenIntent) -> Option<String> {
    let import =
        || Some(format!("{} > import.json && pulumi import --file import.json", import_command(open)));
    match open.condition {
        _ if is_importable(open) => import(),
        Condition::Interrupted | Condition::Ended { .. } if Urn(&open.intent.subject).stack().is_some() => {
            if is_creation(open) {
                import()
            } else {
                Some(refresh_command(open))
            }
        }
        _ => None,
    }
}

fn condition(open: &OpenIntent) -> &'static str {
    match open.condition {
        Condition::InProgress => "in progress",
        Condition::Unconfirmed if mark::is_presumably_known(open) => "ended",
        Condition::Unconfirmed => "made",
        Condition::Interrupted | Condition::Ended { .. } => "unknown",
    }
}

fn time(since: SystemTime) -> String {
    prost_types::Timestamp::from(since).to_string()
}

fn json_of(property: &Property, with_secrets: bool) -> Json {
    if !with_secrets && matches!(classify(property), Ok(PropertyView::Secret(_))) {
        return Json::String(HIDDEN.to_owned());
    }
    match property {
        Property::Null => Json::Null,
        Property::Bool(value) => Json::Bool(*value),
        Property::Number(number) => Json::Number(number.to_string()),
        Property::String(text) => Json::String(text.clone()),
        Property::List(elements) => {
            Json::Array(elements.iter().map(|element| json_of(element, with_secrets)).collect())
        }
        Property::Struct(members) => {
            let members = members.iter().map(|(name, value)| (name.to_owned(), json_of(value, with_secrets)));
            Json::Object(members.collect())
        }
    }
}
