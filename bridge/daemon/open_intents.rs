//! What was begun and never ended is told when an engine comes that it concerns.

use isthmus_shim::state::{Condition, Intent};

use super::Daemon;

impl Daemon {
    /// Tells what was begun and never ended, as far as it concerns whoever asks. What somebody is still doing is left out.
    pub async fn report_open_intents(&self, concerns: impl Fn(&Intent) -> bool, say: impl Fn(String)) {
        // That there is no place for a store is told whenever something would have to be kept in it.
        let Ok(lazy) = &self.vault else { return };
        let open = async {
            match lazy.existing().await? {
                Some(vault) => vault.open_intents().await,
                None => Ok(Vec::new()),
            }
        };
        match open.await {
            Ok(open) => open
                .iter()
                .filter(|open| !matches!(open.condition, Condition::UnderWay) && concerns(&open.intent))
                .for_each(|open| {
                    let (report, number) = (open.report(), open.number.0);
                    say(format!(
                        "{report}. See what the provider has, and put it right there or in the engine's state. This is \
                         intent {number} of the journal, and is told until it is dismissed"
                    ));
                }),
            Err(error) => {
                say(format!("what was begun and never ended is not known: {}", isthmus_shim::error_chain(&error)));
            }
        }
    }
}
