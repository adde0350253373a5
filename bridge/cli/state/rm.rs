//! `isthmus state rm`: removes records and leaves their objects as they are.

use clap::Args;
use isthmus_common::printable;

use super::error::StateError;
use super::open_existing_state_store;
use super::record::records;
use super::selector::Selector;
use crate::cli::output::{Outcome, print};
use crate::cli::table::in_one_line;
use isthmus_context::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  isthmus state export --output before.tfstate && isthmus state rm 17
  isthmus state rm random_pet/able-dog random_pet/shy-cat
  isthmus state rm OTPToutput.address CMPTcomponent.main

isthmus does not destroy the real objects. If the engine still has the resource, its next use imports the object by its id, provided that
the provider supports import; generated values such as passwords are lost, so export first. The exit code is 3, and isthmus removes
nothing, if one of the records does not exist. A record of a stack, from `isthmus state list --stack`, is only missing in later exports.";

/// Remove records from the store without destroying their objects.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Rm {
    /// Record, by NUMBER or TYPE/ID; of a stack, by NUMBER or key.
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<Selector>,
}

impl Rm {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, StateError> {
        let state_store = open_existing_state_store(settings).await?;
        let all = records(&state_store, None).await?;
        let stack = state_store.stack_records().all().await?;
        let damaged = |number| (number, "which was damaged".to_owned());
        let (mut objects, mut others) = (Vec::new(), Vec::new());
        for selector in &self.records {
            if let Some(record) = stack.records.iter().find(|record| selector.selects_stack_record(record)) {
                others.push((record.place.number, in_one_line(&record.key)));
            } else if let Some(number) = selector.damaged(&stack.faults) {
                others.push(damaged(number));
            } else if let Some(number) = selector.damaged(&all.faults) {
                objects.push(damaged(number));
            } else {
                let record = all.find(selector, &state_store)?;
                objects.push((record.place.number, record.key.to_string()));
            }
        }
        for (number, _) in &objects {
            state_store.remove(*number).await?;
        }
        for (number, _) in &others {
            state_store.stack_records().remove(*number).await?;
        }
        for (number, what) in objects.into_iter().chain(others) {
            print(&printable(&format!("removed record {}, {what}\n", number.0)));
        }
        Ok(Outcome::Done)
    }
}
