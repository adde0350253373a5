//! What was begun and never ended is told when an engine comes that it concerns.

use isthmus_state::{Condition, EncryptedStore, EncryptedStoreError, Intent, OpenIntent, OpenIntents};

use super::Daemon;
use crate::engine::{EngineLog, LogLine, Severity};
use crate::resource::in_sentences;

impl Daemon {
    /// Tells an engine what was begun and never ended, as far as it concerns it. What somebody is still doing is left out.
    pub(crate) async fn report_open_intents(&self, concerns: impl Fn(&Intent) -> bool, log: &EngineLog) {
        // That there is no place for a store is told whenever something would have to be kept in it.
        let Ok(lazy) = &self.state_store else { return };
        let say = |severity, message| log.send(LogLine { severity, message, urn: String::new() });
        let told = async {
            let Some(state_store) = lazy.existing().await? else { return Ok(()) };
            let OpenIntents { intents, faults } = state_store.journal().open_intents().await?;
            for fault in faults {
                let what_to_do = match fault.number {
                    Some(number) => format!("`isthmus state dismiss {}` acknowledges it", number.0),
                    None => "Restore the store from a backup".to_owned(),
                };
                say(
                    Severity::Warning,
                    format!(
                        "cannot read all interrupted operations: {}. Compare the provider's objects with the state. {what_to_do}",
                        fault.reason
                    ),
                );
            }
            let open = intents.into_iter().filter(|open| concerns(&open.intent));
            let (unanswered, open): (Vec<_>, Vec<_>) =
                open.partition(|open| matches!(open.condition, Condition::Unanswered));
            for open in open.iter().filter(|open| !matches!(open.condition, Condition::UnderWay)) {
                let (report, number) = (open.report(), open.number.0);
                let what_to_do = format!(
                    "Compare the provider's objects with the engine's state and correct either. `isthmus state dismiss \
                     {number}` acknowledges the operation"
                );
                say(Severity::Warning, in_sentences(&[&report, &what_to_do]));
            }
            self.tell_once(state_store, unanswered, log).await
        };
        if let Err(error) = told.await {
            let reason = isthmus_common::error_chain(&error);
            say(Severity::Warning, format!("cannot check for interrupted operations: {reason}"));
        }
        // It is to be there before the engine may end this process.
        log.flush().await;
    }

    /// In nearly every case the engine had the answer, and ended its plugin right then. So that is no warning, and is told
    /// once; it becomes one if the engine asks for the same again.
    async fn tell_once(
        &self,
        state_store: &EncryptedStore,
        unanswered: Vec<OpenIntent>,
        log: &EngineLog,
    ) -> Result<(), EncryptedStoreError> {
        for open in &unanswered {
            let advice = "If the engine does not have it, import it there, or delete it by hand";
            let message = in_sentences(&[&open.report(), advice]);
            log.send(LogLine { severity: Severity::Info, message, urn: String::new() });
        }
        // Not forgotten before it is told.
        log.flush().await;
        for open in unanswered {
            state_store.journal().dismiss(open.number).await?;
            self.unconfirmed.remember(open);
        }
        Ok(())
    }
}
