//! `isthmus state dismiss`: acknowledges operations with an unknown outcome.

use clap::Args;
use isthmus_state::{OpenIntent, RecordNumber};

use super::error::StateError;
use super::open::open_existing_state_store;
use crate::cli::outcome::Outcome;
use crate::cli::output::print;
use crate::settings::Settings;

const EXAMPLES: &str = "\
Examples:
  isthmus state list --intents
  isthmus state dismiss 17

Every start of a plugin reports interrupted operations. Compare the real objects with the engine's state, correct the state if
necessary, and then acknowledge the operations. Objects are not changed. Exits with 3, and acknowledges nothing, when one of the
operations does not exist.";

/// Acknowledge operations with an unknown outcome.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Dismiss {
    /// Number of an interrupted operation.
    #[arg(required = true, value_name = "NUMBER")]
    numbers: Vec<i64>,
}

impl Dismiss {
    pub(super) async fn run(&self, settings: &Settings) -> Result<Outcome, StateError> {
        let state_store = open_existing_state_store(settings).await?;
        let open = state_store.journal().open_intents().await?;
        let report = |number: &i64| {
            let number = RecordNumber(*number);
            let readable = open.intents.iter().find(|open| open.number == number).map(OpenIntent::report);
            let damaged = || open.faults.iter().find(|fault| fault.number == Some(number));
            readable.or_else(|| Some(damaged()?.reason.clone()))
        };
        if let Some(number) = self.numbers.iter().find(|number| report(number).is_none()) {
            return Err(StateError::NoSuchIntent { number: *number, store: state_store.location() });
        }
        for (number, report) in self.numbers.iter().filter_map(|number| Some((*number, report(number)?))) {
            state_store.journal().dismiss(RecordNumber(number)).await?;
            print(&format!("dismissed {number}: {report}\n"));
        }
        Ok(Outcome::Done)
    }
}
