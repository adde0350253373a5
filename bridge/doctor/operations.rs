//! Operations that were interrupted, as far as the journal has them.

use isthmus_state::{Condition, OpenIntents, StoreAddress};

use super::finding::{Finding, Judgement};
use super::state_store::Store;
use super::world::World;
use isthmus_context::error_code::ErrorCode;
use isthmus_operations::resource::{JournalError, OperationJournal, mark, reports};
use isthmus_session::error_code::of_journal;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UnsettledOperations {
    /// Number of operations whose outcome an engine may not know.
    interrupted: usize,
    in_progress: usize,
    /// What of the journal cannot be read.
    unread: Vec<(ErrorCode, String)>,
    location: String,
}

/// `None` if there is no place for a journal. The journal of a state store is read if the store `is_usable`.
pub(super) async fn gather(world: &World, store: &Store, is_usable: bool) -> Option<UnsettledOperations> {
    let journal = OperationJournal::configured(world.settings(), store).ok()?;
    let mut facts = UnsettledOperations { location: journal.location(), ..UnsettledOperations::default() };
    let is_in_files = !matches!(world.settings().store, Some(StoreAddress::Server(_)));
    if is_in_files || is_usable {
        facts.take(journal.open_intents().await);
    }
    if let Ok(store) = store
        && is_in_files
        && is_usable
        && let Ok(Some(store)) = store.existing().await
    {
        facts.take(store.journal().open_intents().await.map_err(JournalError::from));
    }
    Some(facts)
}

impl UnsettledOperations {
    fn take(&mut self, read: Result<OpenIntents, JournalError>) {
        let open = match read {
            Ok(open) => open,
            Err(error) => {
                return self.unread.push((of_journal(&error), isthmus_common::error_chain(&error)));
            }
        };
        for open in open.intents.iter().filter(|open| !mark::is_presumably_known(open)) {
            let is_in_progress = matches!(open.condition, Condition::InProgress);
            *(if is_in_progress { &mut self.in_progress } else { &mut self.interrupted }) += 1;
        }
        let unread = open.faults.iter();
        self.unread.extend(unread.map(|fault| (ErrorCode::JournalUnreadable, reports::of_fault(fault))));
    }
}

pub(super) fn judge(facts: &UnsettledOperations) -> Judgement {
    let UnsettledOperations { interrupted, in_progress, unread, location } = facts;
    let mut findings: Vec<Finding> = unread.iter().map(|(code, text)| Finding::fault(*code, text)).collect();
    if *interrupted > 0 {
        let text = match interrupted {
            1 => "1 operation was interrupted, and an engine may not know its outcome".to_owned(),
            _ => format!("{interrupted} operations were interrupted, and engines may not know their outcome"),
        };
        findings.push(Finding::fault(ErrorCode::InterruptedOperations, &text));
    }
    Judgement::new(format!("{interrupted} interrupted, {in_progress} in progress; {location}"), findings)
}
