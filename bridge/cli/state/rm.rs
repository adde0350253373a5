//! `isthmus state rm`: removes records and leaves their objects as they are.

use clap::Args;

use super::error::StateError;
use super::open::open_existing_state_store;
use super::record::records;
use super::selector::Selector;
use crate::cli::outcome::Outcome;
use crate::cli::output::print;
use crate::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  isthmus state export --output before.tfstate && isthmus state rm 17
  isthmus state rm random_pet/able-dog random_pet/shy-cat

The real objects are not destroyed. If the engine still has the resource, its object is imported by its id on its next use, provided that
the provider supports import; generated values such as passwords are lost, so export first. Exits with 3, and removes nothing, when one
of the records does not exist.";

/// Remove records from the store without destroying their objects.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Rm {
    /// Record, by NUMBER or TYPE/ID.
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<Selector>,
}

impl Rm {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, StateError> {
        let state_store = open_existing_state_store(settings).await?;
        let all = records(&state_store, None).await?;
        let mut prior_for_delete = Vec::new();
        for selector in &self.records {
            prior_for_delete.push(match all.damaged(selector) {
                Some(number) => (number, "which was damaged".to_owned()),
                None => {
                    let record = all.find(selector, &state_store)?;
                    (record.place.number, record.key.to_string())
                }
            });
        }
        for (number, what) in prior_for_delete {
            state_store.remove(number).await?;
            print(&format!("removed record {}, {what}\n", number.0));
        }
        Ok(Outcome::Done)
    }
}
