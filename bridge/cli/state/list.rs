//! `isthmus state list`: lists the store.

use clap::Args;
use isthmus_cty::json::Json;
use isthmus_state::stacks::kind_and_name;
use isthmus_state::{StackRecord, StoredStack};

use super::error::StateError;
use super::record::{Record, Records, records, warn_of};
use super::{EMPTY, open_existing_state_store};
use crate::cli::json_root::exact_document;
use crate::cli::output::{Outcome, inform, print};
use crate::cli::table::table;
use isthmus_context::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  isthmus state list
  isthmus state list --package random --type random_pet
  isthmus state list --json | jq -r '.records[].id'

NUMBER or TYPE/ID selects a record in the other commands. ADDRESS is the resource instance address of an object that was imported from a
Terraform state. A damaged object was left by a failed creation (Terraform: tainted): replace or delete it.

--stack lists the components, inputs, outputs and preserved records of an imported stack. `isthmus state export --format stacks |
isthmus state inspect -` shows them.

`isthmus recover` lists interrupted operations, whose outcome is unknown.

isthmus reports records that it cannot read on standard error, and lists the others; the exit code is then 1.";

/// List the objects in the store.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct List {
    /// Only objects of this package.
    #[arg(long)]
    package: Option<String>,
    /// Only objects of this Terraform resource type.
    #[arg(long = "type", value_name = "TYPE")]
    type_name: Option<String>,
    /// Write a JSON object, with an object in `records` for each record.
    #[arg(long)]
    json: bool,
    /// List the records of a stack that are not objects, without their values.
    #[arg(long, conflicts_with_all = ["package", "type_name"])]
    stack: bool,
}

impl List {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, StateError> {
        let state_store = match open_existing_state_store(settings).await {
            Ok(state_store) => state_store,
            Err(StateError::NoStore { key: None, .. }) => {
                inform(EMPTY);
                print(&match (self.json, self.stack) {
                    (true, _) => document(Vec::new()),
                    (false, false) => as_table(&[]),
                    (false, true) => stack_table(&[]),
                });
                return Ok(Outcome::Done);
            }
            Err(error) => return Err(error),
        };
        if self.stack {
            let StoredStack { records, faults } = state_store.stack_records().all().await?;
            warn_of(&faults);
            print(&if self.json { stack_json(&records) } else { stack_table(&records) });
            return Ok(Outcome::of(faults.is_empty()));
        }
        let Records { records: mut found, faults } = records(&state_store, self.package.as_deref()).await?;
        warn_of(&faults);
        if found.is_empty() && faults.is_empty() && self.package.is_none() {
            inform(EMPTY);
        }
        if let Some(type_name) = &self.type_name {
            found.retain(|record| record.key.type_name == *type_name);
        }
        if self.json {
            let all = found.iter().map(|record| Json::Object(record.summary()));
            print(&document(all.collect()));
        } else {
            print(&as_table(&found));
        }
        Ok(Outcome::of(faults.is_empty()))
    }
}

/// The records are in the same member, whichever of them are listed.
fn document(records: Vec<Json>) -> String {
    exact_document("state list", vec![("records", Json::Array(records))])
}

fn as_table(records: &[Record]) -> String {
    let rows = records.iter().map(|record| {
        [
            record.number().to_string(),
            record.key.package.clone(),
            record.key.type_name.clone(),
            record.key.id.clone(),
            record.condition().to_owned(),
            record.object.address.as_ref().map(ToString::to_string).unwrap_or_default(),
        ]
    });
    table(["NUMBER", "PACKAGE", "TYPE", "ID", "CONDITION", "ADDRESS"], rows)
}

fn stack_table(records: &[StackRecord]) -> String {
    let rows = records.iter().map(|record| {
        let (kind, name) = kind_and_name(&record.key);
        [record.place.number.0.to_string(), kind.to_owned(), name.to_owned()]
    });
    table(["NUMBER", "KIND", "ADDRESS"], rows)
}

fn stack_json(records: &[StackRecord]) -> String {
    let text = |text: &str| Json::String(text.to_owned());
    let object = |record: &StackRecord| {
        let (kind, name) = kind_and_name(&record.key);
        Json::Object(vec![
            ("number".to_owned(), Json::Number(record.place.number.0.to_string())),
            ("kind".to_owned(), text(kind)),
            ("address".to_owned(), text(name)),
            ("key".to_owned(), text(&record.key)),
        ])
    };
    document(records.iter().map(object).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::state::record::tests::record;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let records = [record(1, "able-dog", None), record(12, "a\nb", Some("module.m.random_pet.x"))];
        assert_eq!(
            as_table(&records),
            "NUMBER  PACKAGE  TYPE        ID        CONDITION  ADDRESS\n\
             1       random   random_pet  able-dog  ready\n\
             12      random   random_pet  \"a\\nb\"    ready      module.m.random_pet.x\n"
        );
    }
}
