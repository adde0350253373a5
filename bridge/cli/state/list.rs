//! `isthmus state list`: what is in the store.

use clap::Args;
use isthmus_shim::cty::json::Json;

use super::error::StateError;
use super::record::{Record, records};
use super::{Outcome, open_vault, print};

const EXAMPLES: &str = "\
Examples:
  isthmus state list
  isthmus state list --package random --type random_pet
  isthmus state list --json | jq -r '.[].id'

NUMBER and TYPE/ID name a record for the other commands. ADDRESS is what a Terraform state called the object, if it came
from one. A damaged object is one that a failed creation left behind: it has to be replaced or deleted.";

/// List the objects in the store.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct List {
    /// Only those of this package.
    #[arg(long)]
    package: Option<String>,
    /// Only those of this type, in Terraform's spelling.
    #[arg(long = "type", value_name = "TYPE")]
    type_name: Option<String>,
    /// Write a JSON array, with an object for each record.
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) async fn run(&self) -> Result<Outcome, StateError> {
        let vault = open_vault().await?;
        let mut found = records(&vault, self.package.as_deref()).await?;
        if let Some(type_name) = &self.type_name {
            found.retain(|record| record.key.type_name == *type_name);
        }
        if self.json {
            let all = found.iter().map(|record| Json::Object(record.summary()));
            print(&(Json::Array(all.collect()).to_readable() + "\n"));
        } else {
            print(&table(&found));
        }
        Ok(Outcome::Done)
    }
}

const HEAD: [&str; 6] = ["NUMBER", "PACKAGE", "TYPE", "ID", "CONDITION", "ADDRESS"];

fn table(records: &[Record]) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(records.iter().map(|record| {
        [
            record.number().to_string(),
            record.key.package.clone(),
            record.key.type_name.clone(),
            in_one_line(&record.key.id),
            record.condition().to_owned(),
            record.object.address.as_ref().map(ToString::to_string).unwrap_or_default(),
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// An id may contain anything, and must not spoil the terminal.
fn in_one_line(id: &str) -> String {
    let has_control = id.chars().any(char::is_control);
    if has_control { format!("{id:?}") } else { id.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::state::record::tests::record;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let records = [record(1, "able-dog", None), record(12, "a\nb", Some("module.m.random_pet.x"))];
        assert_eq!(
            table(&records),
            "NUMBER  PACKAGE  TYPE        ID        CONDITION  ADDRESS\n\
             1       random   random_pet  able-dog  ready\n\
             12      random   random_pet  \"a\\nb\"    ready      module.m.random_pet.x\n"
        );
    }
}
