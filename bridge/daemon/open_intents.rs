//! Reports of interrupted operations to the engines that they concern.

use isthmus_state::{Condition, EncryptedStore, EncryptedStoreError, Intent, OpenIntent, OpenIntents};

use super::Daemon;
use crate::engine::{EngineLog, LogLine, Severity};
use crate::resource::in_sentences;

impl Daemon {
    /// Reports the interrupted operations that concern an engine. Operations in progress are left
    /// out.
    pub(crate) async fn report_open_intents(&self, concerns: impl Fn(&Intent) -> bool, log: &EngineLog) {
        // A missing state directory is reported by each call that needs the store.
        let Ok(lazy) = &self.state_store else { return };
        let send_log = |severity, message| log.send(LogLine { severity, message, urn: String::new() });
        let reported = async {
            let Some(state_store) = lazy.existing().await? else { return Ok(()) };
            let OpenIntents { intents, faults } = state_store.journal().open_intents().await?;
            for fault in faults {
                let what_to_do = match fault.number {
                    Some(number) => format!("`isthmus state dismiss {}` acknowledges it", number.0),
                    None => "Restore the store from a backup".to_owned(),
                };
                send_log(
                    Severity::Warning,
                    format!(
                        "cannot read all interrupted operations: {}. Compare the provider's objects with the state. {what_to_do}",
                        fault.reason
                    ),
                );
            }
            let open = intents.into_iter().filter(|open| concerns(&open.intent));
            let (unconfirmed, open): (Vec<_>, Vec<_>) =
                open.partition(|open| matches!(open.condition, Condition::Unconfirmed));
            for open in open.iter().filter(|open| !matches!(open.condition, Condition::InProgress)) {
                let (report, number) = (open.report(), open.number.0);
                let what_to_do = format!(
                    "Compare the provider's objects with the engine's state and correct either. `isthmus state dismiss \
                     {number}` acknowledges the operation"
                );
                send_log(Severity::Warning, in_sentences(&[&report, &what_to_do]));
            }
            self.report_once(state_store, unconfirmed, log).await
        };
        if let Err(error) = reported.await {
            let reason = isthmus_common::error_chain(&error);
            send_log(Severity::Warning, format!("cannot check for interrupted operations: {reason}"));
        }
        // Delivered before the engine may end this process.
        log.flush().await;
    }

    /// Reports creations without a confirmed answer, once and as info: the engine usually has the
    /// answer and ended its plugin right after it. If it repeats the creation, that call warns.
    async fn report_once(
        &self,
        state_store: &EncryptedStore,
        unconfirmed: Vec<OpenIntent>,
        log: &EngineLog,
    ) -> Result<(), EncryptedStoreError> {
        for open in &unconfirmed {
            let advice = "If the engine does not have it, import it there, or delete it by hand";
            let message = in_sentences(&[&open.report(), advice]);
            log.send(LogLine { severity: Severity::Info, message, urn: String::new() });
        }
        // Dismissed only after they are delivered.
        log.flush().await;
        for open in unconfirmed {
            state_store.journal().dismiss(open.number).await?;
            self.unconfirmed.remember(open);
        }
        Ok(())
    }
}
