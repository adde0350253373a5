//! What a session remembers of its plans.
//!
//! An engine plans and changes in separate calls, and sends none of what a provider has planned with the second. Core passes
//! it on: the plan of a replacement's new object is given the private data of the plan that asked for the replacement, and
//! what is carried out is compared with what was planned before. So that is remembered from call to call, by URN, as long as
//! the provider's process lives: what a provider has planned means something to that process alone. Whatever was forgotten
//! is done without, as it is where an engine has changed a resource without asking for the difference first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_provider::{Action, EarlierPlan, Handover, Plan, Resource};

use super::{FailedDeletes, OperationError, Target};

/// How many bytes are remembered. Beyond that the oldest is forgotten. The plans of a large stack take some megabytes.
const ROOM: usize = 64 << 20;

/// What an entry takes besides its plans: its places in the tables.
const OVERHEAD: usize = 512;

/// The plans of one session.
#[derive(Debug, Default)]
pub(crate) struct PlanMemory {
    remembered: Mutex<Remembered>,
}

/// A resource, and what is remembered of it beside what its engine stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory<'a> {
    /// The resource.
    pub urn: &'a str,
    /// What the engine knows it by; empty if there is nothing yet.
    pub id: &'a str,
    /// All plans of the session.
    pub plans: &'a PlanMemory,
    /// What failed deletions have left.
    pub failed_deletes: &'a FailedDeletes,
}

#[derive(Debug, Default)]
struct Remembered {
    entries: HashMap<Box<str>, Entry>,
    /// URNs by the time when they were last noted, oldest first.
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

/// The latest plan while inputs were unknown, which is that of a preview, and the latest when none were.
#[derive(Debug, Default)]
struct Latest {
    in_part: Option<Arc<EarlierPlan>>,
    in_whole: Option<Arc<EarlierPlan>>,
}

impl Memory<'_> {
    /// Remembers a plan that is not carried out in the same call.
    fn note(&self, resource: &Resource<'_>, plan: &Plan) {
        // What was put off is no promise.
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

    /// What the plan that has asked for a replacement hands on, once.
    pub(super) fn take_handover(&self) -> Option<Handover> {
        let mut remembered = self.plans.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entry = remembered.remove(self.urn)?;
        let taken = entry.handover.take();
        remembered.insert(self.urn, entry, ROOM);
        taken
    }

    /// Plans of the same kind as `plan`, which is about to be carried out.
    fn earlier(&self, plan: &Plan) -> Vec<Arc<EarlierPlan>> {
        let remembered = self.plans.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = remembered.entries.get(self.urn) else { return Vec::new() };
        let latest = if plan.action == Action::Create { &entry.creation } else { &entry.change };
        latest.iter().cloned().collect()
    }

    /// Forgets the resource: it is about to be another than when all that was planned.
    fn forget(&self) {
        self.plans.remembered.lock().unwrap_or_else(PoisonError::into_inner).remove(self.urn);
    }
}

impl Target<'_> {
    /// Remembers a plan that is not carried out in this call.
    pub(super) fn note(&self, plan: &Plan) -> Result<(), OperationError> {
        if let Some(memory) = &self.memory {
            memory.note(&self.resource()?, plan);
        }
        Ok(())
    }

    /// Compares a plan that is about to be carried out with those that were made before it, which it puts an end to.
    pub(super) fn check_final(&self, plan: &Plan) -> Result<(), OperationError> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let earlier = memory.earlier(plan);
        memory.forget();
        if plan.deferral.is_some() {
            return Ok(());
        }
        let resource = self.resource()?;
        let checked = earlier.iter().try_for_each(|earlier| resource.check_final(earlier, plan));
        checked.map_err(|error| self.failed(error))
    }

    /// Forgets what was planned for the object that there is: it is to be replaced, whatever a provider would plan.
    pub(super) fn forget_changes(&self) {
        if let Some(memory) = &self.memory {
            memory
                .plans
                .update(memory.urn, |entry| (entry.change, entry.handover) = (Latest::default(), None));
        }
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
