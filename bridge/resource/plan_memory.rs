//! Earlier plans of a session.
//!
//! An engine plans and applies in separate calls, and does not pass the provider's plan to the
//! second. Core does: the plan of a replacement's new object gets the private data of the plan that
//! required the replacement, and an applied plan is compared with the earlier one. So plans are
//! remembered by URN for the lifetime of the provider's process, outside of which they mean
//! nothing. Operations work without an earlier plan, as when an engine updates a resource without
//! Diff.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_provider::{Action, EarlierPlan, Handover, Plan, Resource};

use super::failed_deletes::FailedDeletes;

/// Limit in bytes, beyond which the oldest entry is dropped. The plans of a large stack take some
/// megabytes.
const ROOM: usize = 64 << 20;

/// Size of an entry besides its plans: its places in the tables.
const OVERHEAD: usize = 512;

#[derive(Debug, Default)]
pub(crate) struct PlanMemory {
    remembered: Mutex<Remembered>,
}

/// What is remembered of a resource beside the engine's state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory<'a> {
    pub urn: &'a str,
    /// The engine's id for it; empty before it is created.
    pub id: &'a str,
    pub plans: &'a PlanMemory,
    pub failed_deletes: &'a FailedDeletes,
}

#[derive(Debug, Default)]
struct Remembered {
    entries: HashMap<Box<str>, Entry>,
    /// URNs by their last update, oldest first.
    by_age: BTreeMap<u64, Box<str>>,
    time: u64,
    size: usize,
}

#[derive(Debug, Default)]
struct Entry {
    creation: Latest,
    change: Latest,
    handover: Option<Handover>,
    noted: u64,
}

/// The latest plan with unknown inputs, which is a preview's, and the latest without.
#[derive(Debug, Default)]
struct Latest {
    in_part: Option<Arc<EarlierPlan>>,
    in_whole: Option<Arc<EarlierPlan>>,
}

impl Memory<'_> {
    /// Records a plan that is not applied in the same call.
    pub(super) fn note(&self, resource: &Resource<'_>, plan: &Plan) {
        // A deferred plan is not binding.
        let is_postponed = plan.deferral.is_some();
        let kept = resource.keep(plan).filter(|_| !is_postponed).map(Arc::new);
        self.plans.update(self.urn, |entry| {
            let slot = if plan.action == Action::Create {
                &mut entry.creation
            } else {
                entry.handover = plan.handover().filter(|_| !is_postponed);
                &mut entry.change
            };
            match kept {
                Some(kept) if kept.is_wholly_known() => slot.in_whole = Some(kept),
                Some(kept) => *slot = Latest { in_part: Some(kept), in_whole: None },
                None => *slot = Latest::default(),
            }
        });
    }

    /// Takes the handover of the plan that required a replacement.
    pub(super) fn take_handover(&self) -> Option<Handover> {
        let mut remembered = self.plans.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entry = remembered.remove(self.urn)?;
        let taken = entry.handover.take();
        remembered.insert(self.urn, entry, ROOM);
        taken
    }

    /// Earlier plans of the same kind as `plan`, which is about to be applied.
    pub(super) fn earlier(&self, plan: &Plan) -> Vec<Arc<EarlierPlan>> {
        let remembered = self.plans.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = remembered.entries.get(self.urn) else { return Vec::new() };
        let latest = if plan.action == Action::Create { &entry.creation } else { &entry.change };
        latest.iter().cloned().collect()
    }

    /// Drops the plans of an object that is replaced regardless of them.
    pub(super) fn forget_changes(&self) {
        self.plans.update(self.urn, |entry| (entry.change, entry.handover) = (Latest::default(), None));
    }

    /// Drops the plans of a resource that is about to change.
    pub(super) fn forget(&self) {
        self.plans.remembered.lock().unwrap_or_else(PoisonError::into_inner).remove(self.urn);
    }
}

impl PlanMemory {
    fn update(&self, urn: &str, change: impl FnOnce(&mut Entry)) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entry = remembered.remove(urn).unwrap_or_default();
        change(&mut entry);
        remembered.insert(urn, entry, ROOM);
    }
}

impl Remembered {
    fn remove(&mut self, urn: &str) -> Option<Entry> {
        let entry = self.entries.remove(urn)?;
        self.by_age.remove(&entry.noted);
        self.size -= entry.size(urn);
        Some(entry)
    }

    fn insert(&mut self, urn: &str, mut entry: Entry, room: usize) {
        self.time += 1;
        entry.noted = self.time;
        self.size += entry.size(urn);
        self.by_age.insert(self.time, urn.into());
        self.entries.insert(urn.into(), entry);
        while self.size > room
            && let Some((_, oldest)) = self.by_age.first_key_value()
        {
            let oldest = oldest.clone();
            self.remove(&oldest);
        }
    }
}

impl Entry {
    fn size(&self, urn: &str) -> usize {
        let plans = self.creation.iter().chain(self.change.iter()).map(|plan| plan.size());
        let handover = self.handover.as_ref().map_or(0, Handover::size);
        OVERHEAD + 2 * urn.len() + plans.sum::<usize>() + handover
    }
}

impl Latest {
    fn iter(&self) -> impl Iterator<Item = &Arc<EarlierPlan>> {
        self.in_part.iter().chain(&self.in_whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urns(remembered: &Remembered) -> Vec<&str> {
        remembered.by_age.values().map(|urn| &**urn).collect()
    }

    #[test]
    fn the_oldest_is_forgotten_when_there_is_no_room() {
        let mut remembered = Remembered::default();
        let room = 3 * (OVERHEAD + 2);
        for urn in ["a", "b", "c"] {
            remembered.insert(urn, Entry::default(), room);
        }
        assert_eq!(urns(&remembered), ["a", "b", "c"]);
        let again = remembered.remove("a").expect("it is there");
        remembered.insert("a", again, room);
        remembered.insert("d", Entry::default(), room);
        assert_eq!(urns(&remembered), ["c", "a", "d"]);
        assert_eq!(remembered.entries.len(), 3);
        for urn in ["a", "c", "d"] {
            assert!(remembered.remove(urn).is_some());
        }
        assert_eq!(remembered.size, 0);
        assert!(remembered.remove("d").is_none() && remembered.by_age.is_empty());
    }

    #[test]
    fn what_has_no_room_at_all_is_not_remembered() {
        let mut remembered = Remembered::default();
        remembered.insert("a", Entry::default(), 10);
        assert!(remembered.entries.is_empty() && remembered.by_age.is_empty());
        assert_eq!(remembered.size, 0);
    }
}
