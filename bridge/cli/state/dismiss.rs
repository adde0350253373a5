//! `isthmus state dismiss`: ends the reports of a change whose end nobody knows.

use clap::Args;
use isthmus_shim::state::RecordNumber;

use super::error::StateError;
use super::{Outcome, open_vault, print};

const EXAMPLES: &str = "\
Examples:
  isthmus state list --intents
  isthmus state dismiss 17

Each start of a plugin tells of changes that were begun and whose end is not known. When you have seen what the provider has,
and put right what the engine believes, dismiss them. Objects are left alone, in the store and at the provider. Exits with 3,
and dismisses nothing, when one of the changes does not exist.";

/// Dismiss changes whose end is not known, so that they are told no more.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Dismiss {
    /// Which, by their numbers.
    #[arg(required = true, value_name = "NUMBER")]
    numbers: Vec<i64>,
}

impl Dismiss {
    pub(super) async fn run(&self) -> Result<Outcome, StateError> {
        let vault = open_vault().await?;
        let open = vault.open_intents().await?;
        let find = |number: &i64| open.iter().find(|open| open.number == RecordNumber(*number));
        if let Some(number) = self.numbers.iter().find(|number| find(number).is_none()) {
            return Err(StateError::NoSuchIntent { number: *number, store: vault.location() });
        }
        for open in self.numbers.iter().filter_map(find) {
            vault.dismiss(open.number).await?;
            print(&format!("dismissed {}: {}\n", open.number.0, open.report()));
        }
        Ok(Outcome::Done)
    }
}
