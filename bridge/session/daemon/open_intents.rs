//! Reports of operations that are not settled to the engines that they concern, each once.

use isthmus_common::planted::{Bug, is_planted};
use std::sync::{Mutex, PoisonError};

use isthmus_common::fail_point;
use isthmus_state::{
    Condition, EncryptedStoreError, Intent, OpenIntent, OpenIntents, OperationId, OperationKind,
};

use super::Daemon;
use crate::engine::EngineLog;
use isthmus_operations::resource::{Caller, Reports, mark, reports};

/// An unconfirmed creation is reported to a legacy engine after so many starts of its plugin that did not
/// mention it.
const STARTS: u32 = 2;

impl Daemon {
    /// Reads what other processes have left in the journal of today's engines.
    pub async fn learn_operations(&self, log: &EngineLog) {
        if let Err(error) = self.operations.learn().await {
            warn_of_journal(&isthmus_common::error_chain(&error), log);
        }
    }

    /// Reports to the engine of a stack what it is to be told.
    pub(crate) async fn report_operations(
        &self,
        package: &str,
        stack: &str,
        caller: &Caller,
        log: &EngineLog,
    ) {
        let Reports { intents, faults } = self.operations.reports(package, stack, caller);
        if intents.is_empty() && faults.is_empty() {
            return;
        }
        let texts = intents.iter().map(reports::of_creation).chain(faults.iter().map(reports::of_fault));
        for message in texts {
            log.warn(message);
        }
        // They count as shown only when they are delivered.
        if !log.flush().await {
            return;
        }
        fail_point("reports-delivered");
        let ids: Vec<OperationId> =
            intents.iter().map(|open| open.id).chain(faults.iter().filter_map(|fault| fault.id)).collect();
        self.operations.shown(&ids).await;
        fail_point("reports-recorded");
    }

    /// Reports to a legacy engine what it is to be told of the state store's journal. It repeats updates and
    /// deletions that it has no answer to, so only creations are reported. Operations in progress are left out.
    pub async fn report_open_intents(&self, concerns: impl Fn(&Intent) -> bool, log: &EngineLog) {
        // A missing state directory is reported by each call that needs the store.
        let Ok(lazy) = &self.state_store else { return };
        let reported = async {
            let Some(state_store) = lazy.existing().await? else { return Ok(()) };
            let OpenIntents { intents, faults, .. } = state_store.journal().open_intents().await?;
            for fault in &faults {
                let message = reports::of_fault(fault);
                log.warn(message);
            }
            let creations = intents
                .into_iter()
                .filter(|open| open.intent.intention == OperationKind::Create && concerns(&open.intent));
            let (made, lost): (Vec<_>, Vec<_>) = creations.partition(is_made);
            let is_unconfirmed = |open: &&OpenIntent| matches!(open.condition, Condition::Unconfirmed);
            let unconfirmed: Vec<&OpenIntent> = made.iter().filter(is_unconfirmed).collect();
            let lost = lost.iter().filter(|open| !matches!(open.condition, Condition::InProgress));
            // Usually the engine has the answer: it ends its plugin right after the last one.
            let passed = unconfirmed.iter().copied().filter(|open| open.marks.count(mark::PASSED) >= STARTS);
            let due: Vec<&OpenIntent> =
                lost.chain(passed).filter(|open| !open.marks.has(mark::SHOWN)).collect();
            for open in &due {
                let message = reports::of_creation_for_legacy_engine(open);
                log.warn(message);
            }
            let is_delivered = log.flush().await;
            let journal = state_store.journal();
            if is_delivered || is_planted(Bug::ShownUndelivered) {
                journal.mark(&numbers(due.into_iter()), mark::SHOWN).await?;
            }
            journal.mark(&numbers(unconfirmed.into_iter()), mark::PASSED).await?;
            for open in made {
                self.unconfirmed.remember(open);
            }
            Ok::<_, EncryptedStoreError>(())
        };
        if let Err(error) = reported.await {
            warn_of_journal(&isthmus_common::error_chain(&error), log);
        }
        // Delivered before the engine may end this process.
        log.flush().await;
    }
}

/// Whether this is a creation whose object is in the store: the engine may have the answer, even while the process that sends it
/// may still run, of which on another machine only the age is known.
fn is_made(open: &OpenIntent) -> bool {
    match open.condition {
        Condition::Unconfirmed => true,
        Condition::InProgress => !open.intent.key.id.is_empty(),
        Condition::Interrupted | Condition::Ended { .. } => false,
    }
}

fn numbers<'a>(intents: impl Iterator<Item = &'a OpenIntent>) -> Vec<isthmus_state::RecordNumber> {
    intents.filter_map(|open| open.id.in_store()).collect()
}

fn warn_of_journal(reason: &str, log: &EngineLog) {
    let message = format!("cannot check for interrupted operations: {reason}");
    log.warn(message);
}

/// Creations for a legacy engine that ended processes stored, without confirmation that it has the answer.
///
/// Usually it has: it ends its plugin as soon as it has the last answer. A later call with the id shows
/// that it knows the resource; if it requests the same creation again, it had no answer.
#[derive(Debug, Default)]
pub struct UnconfirmedCreations(Mutex<Vec<OpenIntent>>);

impl UnconfirmedCreations {
    pub fn remember(&self, open: OpenIntent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(open);
    }

    /// Removes and returns those that match.
    pub fn take(&self, is_same: impl Fn(&OpenIntent) -> bool) -> Vec<OpenIntent> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extract_if(.., |open| is_same(open)).collect()
    }
}
