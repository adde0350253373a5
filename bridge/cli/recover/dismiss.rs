//! `isthmus recover dismiss`: acknowledges operations.

use clap::Args;
use isthmus_common::printable;
use isthmus_operations::resource::reports;
use isthmus_state::{Condition, OperationId};

use super::error::RecoverError;
use super::open::Journals;
use crate::cli::output::{Outcome, print};
use isthmus_context::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  isthmus recover
  isthmus recover dismiss 4f1d09ab37c2-12

Compare the provider's objects with the stack, correct either, and then acknowledge the operations: isthmus no longer lists them. It
changes no objects. Dismiss a file of the journal that cannot be read by its name, 4f1d09ab37c2. The exit code is 3, and isthmus
acknowledges nothing, if one of the operations does not exist.";

/// Acknowledge operations whose objects you have imported or deleted.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Dismiss {
    #[arg(required = true, value_name = "OPERATION")]
    operations: Vec<OperationId>,
}

impl Dismiss {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, RecoverError> {
        let journals = Journals::configured(settings)?;
        let open = journals.open().await?;
        let mut reports = Vec::new();
        for id in &self.operations {
            let found = open.intents.iter().find(|open| open.id == *id);
            if found.is_some_and(|open| matches!(open.condition, Condition::InProgress)) {
                return Err(RecoverError::InProgress(*id));
            }
            let damaged = || open.faults.iter().find(|fault| fault.id == Some(*id));
            let report = found.map(reports::of_operation).or_else(|| Some(damaged()?.reason.clone()));
            reports.push(report.ok_or(RecoverError::NoSuchOperation(*id))?);
        }
        journals.dismiss(&self.operations).await?;
        for (id, report) in self.operations.iter().zip(reports) {
            print(&printable(&format!("dismissed {id}: {report}\n")));
        }
        Ok(Outcome::Done)
    }
}
