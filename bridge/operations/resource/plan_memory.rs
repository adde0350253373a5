//! Earlier plans of a session.
//!
//! An engine plans and applies in separate calls, and does not pass the provider's plan to the
//! second. Core does: the plan of a replacement's new object gets the private data of the plan that
//! required the replacement, and an applied plan is compared with the earlier one. So plans are
//! remembered for the lifetime of the session: by URN, or for the legacy engine, which sends none,
//! by type and name. They outlive a provider process that ends and is started again, as Terraform
//! plans in one process and applies in another. Operations work without an earlier plan, as when an
//! engine updates a resource without Diff.
//!
//! What a plan began with is remembered where it cost a move from another type and a read: core does
//! both once, and applies to what they returned.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_proto::property::Struct;
use isthmus_provider::{Action, EarlierPlan, Plan, ReplacementData, Resource};
use prost::Message as _;

use super::prior::Prior;

/// Limit in bytes, beyond which the oldest entry is dropped. The plans of a large stack take some
/// megabytes.
const ROOM: usize = 64 << 20;

/// Size of an entry besides its plans: its places in the tables.
const OVERHEAD: usize = 512;

#[derive(Debug, Default)]
pub struct PlanMemory {
    remembered: Mutex<Remembered>,
}

/// The earlier plans of one resource.
#[derive(Clone, Debug)]
pub struct EarlierPlans<'a> {
    /// The URN or the like, which is the same in all calls about the resource.
    pub key: Cow<'a, str>,
    pub plans: &'a PlanMemory,
}

#[derive(Debug, Default)]
struct Remembered {
    entries: HashMap<Box<str>, Entry>,
    /// Keys by their last update, oldest first.
    by_age: BTreeMap<u64, Box<str>>,
    time: u64,
    size: usize,
}

#[derive(Debug, Default)]
struct Entry {
    creation: Latest,
    change: Latest,
    handover: Option<ReplacementData>,
    moved: Option<Moved>,
    noted: u64,
}

/// An object that was moved from another type, and read.
#[derive(Debug)]
struct Moved {
    /// The engine's properties of it.
    stored: Struct,
    prior: Prior,
}

/// The latest plan with unknown inputs, which is a preview's, and the latest without.
#[derive(Debug, Default)]
struct Latest {
    in_part: Option<Arc<EarlierPlan>>,
    in_whole: Option<Arc<EarlierPlan>>,
}

impl EarlierPlans<'_> {
    /// Records the plan of a comparison.
    pub(super) fn note(&self, resource: &Resource<'_>, plan: &Plan) {
        self.record(resource, plan, false);
    }

    /// Records the plan of a preview. If all of its inputs are known, it drops an earlier one with unknown
    /// inputs: that one was of another run of the program, which has not applied it.
    pub(super) fn note_preview(&self, resource: &Resource<'_>, plan: &Plan) {
        self.record(resource, plan, true);
    }

    fn record(&self, resource: &Resource<'_>, plan: &Plan, is_preview: bool) {
        // A deferred plan is not binding.
        let is_postponed = plan.deferral.is_some();
        let kept = resource.keep(plan).filter(|_| !is_postponed).map(Arc::new);
        self.plans.update(&self.key, |entry| {
            let slot = if plan.action == Action::Create {
                &mut entry.creation
            } else {
                entry.handover = plan.handover().filter(|_| !is_postponed);
                &mut entry.change
            };
            match kept {
                Some(kept) if kept.is_wholly_known() => {
                    slot.in_part = slot.in_part.take().filter(|_| !is_preview);
                    slot.in_whole = Some(kept);
                }
                Some(kept) => *slot = Latest { in_part: Some(kept), in_whole: None },
                None => *slot = Latest::default(),
            }
        });
    }

    /// Records the prior state of a moved object, for the next operation on the same properties.
    pub(super) fn note_moved(&self, stored: &Struct, prior: &Prior) {
        let moved = Moved { stored: stored.clone(), prior: prior.clone() };
        self.plans.update(&self.key, |entry| entry.moved = Some(moved));
    }

    /// Takes the prior state of a moved object. One of other properties is dropped.
    pub(super) fn take_moved(&self, stored: &Struct) -> Option<Prior> {
        let mut taken = None;
        self.plans.update(&self.key, |entry| taken = entry.moved.take());
        taken.filter(|moved| moved.stored == *stored).map(|moved| moved.prior)
    }

    /// Takes the handover of the plan that required a replacement.
    pub(super) fn take_handover(&self) -> Option<ReplacementData> {
        let mut taken = None;
        self.plans.update(&self.key, |entry| taken = entry.handover.take());
        taken
    }

    /// Earlier plans of the same kind as `plan`, which is about to be applied.
    pub(super) fn earlier(&self, plan: &Plan) -> Vec<Arc<EarlierPlan>> {
        let remembered = self.plans.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = remembered.entries.get(&*self.key) else { return Vec::new() };
        let latest = if plan.action == Action::Create { &entry.creation } else { &entry.change };
        latest.iter().cloned().collect()
    }

    /// Drops the plans of an object that is replaced regardless of them.
    pub(super) fn forget_changes(&self) {
        self.plans.update(&self.key, |entry| (entry.change, entry.handover) = (Latest::default(), None));
    }

    /// Drops the plans of an object that was deleted. What a replacement hands over remains: the
    /// new object may be created after the old one is deleted.
    pub(super) fn forget_deleted(&self) {
        self.plans.update(&self.key, |entry| entry.change = Latest::default());
    }

    /// Drops the plans of a resource that is about to change.
    pub(super) fn forget(&self) {
        self.plans.remembered.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

impl PlanMemory {
    fn update(&self, key: &str, change: impl FnOnce(&mut Entry)) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entry = remembered.remove(key).unwrap_or_default();
        change(&mut entry);
        if !entry.is_empty() {
            remembered.insert(key, entry, ROOM);
        }
    }
}

impl Remembered {
    fn remove(&mut self, key: &str) -> Option<Entry> {
        let entry = self.entries.remove(key)?;
        self.by_age.remove(&entry.noted);
        self.size -= entry.size(key);
        Some(entry)
    }

    fn insert(&mut self, key: &str, mut entry: Entry, room: usize) {
        self.time += 1;
        entry.noted = self.time;
        self.size += entry.size(key);
        self.by_age.insert(self.time, key.into());
        self.entries.insert(key.into(), entry);
        while self.size > room
            && let Some((_, oldest)) = self.by_age.first_key_value()
        {
            let oldest = oldest.clone();
            self.remove(&oldest);
        }
    }
}

impl Entry {
    fn is_empty(&self) -> bool {
        self.handover.is_none()
            && self.moved.is_none()
            && self.creation.iter().chain(self.change.iter()).next().is_none()
    }

    fn size(&self, key: &str) -> usize {
        let plans = self.creation.iter().chain(self.change.iter()).map(|plan| plan.size());
        let handover = self.handover.as_ref().map_or(0, ReplacementData::size);
        // The object has about the size of its properties.
        let moved = self.moved.as_ref().map_or(0, |moved| 2 * moved.stored.encoded_len());
        OVERHEAD + 2 * key.len() + plans.sum::<usize>() + handover + moved
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

    fn keys(remembered: &Remembered) -> Vec<&str> {
        remembered.by_age.values().map(|key| &**key).collect()
    }

    #[test]
    fn the_oldest_is_forgotten_when_there_is_no_room() {
        let mut remembered = Remembered::default();
        let room = 3 * (OVERHEAD + 2);
        for key in ["a", "b", "c"] {
            remembered.insert(key, Entry::default(), room);
        }
        assert_eq!(keys(&remembered), ["a", "b", "c"]);
        let again = remembered.remove("a").expect("it is there");
        remembered.insert("a", again, room);
        remembered.insert("d", Entry::default(), room);
        assert_eq!(keys(&remembered), ["c", "a", "d"]);
        assert_eq!(remembered.entries.len(), 3);
        for key in ["a", "c", "d"] {
            assert!(remembered.remove(key).is_some());
        }
        assert_eq!(remembered.size, 0);
        assert!(remembered.remove("d").is_none() && remembered.by_age.is_empty());
    }

    #[test]
    fn nothing_is_remembered_of_a_resource_without_plans() {
        let plans = PlanMemory::default();
        let earlier = EarlierPlans { key: Cow::Borrowed("a"), plans: &plans };
        earlier.forget_changes();
        earlier.forget_deleted();
        assert!(earlier.take_handover().is_none());
        assert!(plans.remembered.lock().expect("a lock").entries.is_empty());
    }

    #[test]
    fn what_has_no_room_at_all_is_not_remembered() {
        let mut remembered = Remembered::default();
        remembered.insert("a", Entry::default(), 10);
        assert!(remembered.entries.is_empty() && remembered.by_age.is_empty());
        assert_eq!(remembered.size, 0);
    }
}
