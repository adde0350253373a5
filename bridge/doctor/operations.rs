//! Operations that were interrupted, as far as the journal has them.

use isthmus_state::{Condition, FaultEffect};

use super::finding::{Finding, Judgement};
use super::state_store::Store;
use super::world::World;
use crate::error_code::{ErrorCode, of_journal};
use crate::home;
use crate::resource::reports;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// Number of operations whose outcome an engine may not know.
    interrupted: usize,
    in_progress: usize,
    /// What of the journal cannot be read.
    unread: Vec<(ErrorCode, String)>,
    location: String,
}

/// `None` if there is no place for a journal.
pub(super) async fn gather(world: &World, store: &Store) -> Option<Facts> {
    let journal = home::journal(world.settings(), store).ok()?;
    let mut facts = Facts { location: journal.location(), ..Facts::default() };
    match journal.open_intents().await {
        Ok(open) => {
            let open_ones = || open.intents.iter().filter(|open| !open.is_presumably_known());
            let is_in_progress = |condition: &Condition| matches!(condition, Condition::InProgress);
            facts.in_progress = open_ones().filter(|open| is_in_progress(&open.condition)).count();
            facts.interrupted = open_ones().count() - facts.in_progress;
            let unread = open.faults.iter().filter(|fault| fault.effect == FaultEffect::Unread);
            facts.unread.extend(unread.map(|fault| (ErrorCode::JournalUnreadable, reports::of_fault(fault))));
        }
        Err(error) => facts.unread.push((of_journal(&error), isthmus_common::error_chain(&error))),
    }
    Some(facts)
}

pub(super) fn judge(facts: &Facts) -> Judgement {
    let Facts { interrupted, in_progress, unread, location } = facts;
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
