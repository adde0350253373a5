//! The operations that are open, by the URN of their resource and by the id of their object.

use std::collections::HashMap;

use isthmus_state::{Condition, OpenIntent, OperationId, OperationKind};
use prost::Message as _;

use super::mark;
use super::origin::{Caller, Origin};
use isthmus_package::urn::Urn;

/// An operation that is open.
#[derive(Debug)]
pub(super) struct KnownOperation {
    pub(super) open: OpenIntent,
    /// The connection that was answered, while it is open. `None`: one that has ended, of this process or of another one.
    pub(super) session: Option<u64>,
    /// Whether it is of this process.
    pub(super) is_own: bool,
    /// Whether another process, as far as is known, still runs that carries it out or has made its object a moment ago. Then
    /// nothing is reported of it, unless the engine creates the resource again.
    pub(super) is_held: bool,
    origin: Origin,
}

impl KnownOperation {
    /// An operation of this process.
    pub(super) fn own(open: OpenIntent, session: Option<u64>) -> Self {
        Self { session, is_own: true, is_held: false, ..Self::of_others(open) }
    }

    /// An operation of another process, or an earlier one.
    pub(super) fn of_others(mut open: OpenIntent) -> Self {
        let is_held = matches!(open.condition, Condition::InProgress);
        // The engine may have the answer by now, and may mention the object to this process.
        if is_held && open.intent.intention == OperationKind::Create && !open.intent.key.id.is_empty() {
            open.condition = Condition::Unconfirmed;
        }
        // What cannot be decoded is of a newer version: nothing is known of it.
        let origin = Origin::decode(&open.intent.companion[..]).unwrap_or_default();
        Self { open, session: None, is_own: false, is_held, origin }
    }

    /// Whether it may be of the stack of a connection, if it has that stack's name.
    pub(super) fn may_be_of(&self, caller: &Caller) -> bool {
        caller.may_share_backend(&self.origin)
    }

    /// Whether this is the creation of an object of which a call of an engine, about the resource `urn` of
    /// the same id, shows that the engine knows it.
    ///
    /// The same URN shows it. Another one shows that the resource was renamed or moved, unless two resources
    /// have one id, as those of two provider configurations may. Where the engine presumably knows the object
    /// anyway, that is not to be feared: what remains is whether it is to be doubted.
    pub(super) fn is_known_by(&self, urn: &str, package: &str, caller: &Caller) -> bool {
        let OpenIntent { intent, condition, marks, .. } = &self.open;
        if intent.intention != OperationKind::Create || !matches!(condition, Condition::Unconfirmed) {
            return false;
        }
        let (own, other) = (Urn(&intent.subject), Urn(urn));
        let is_same_type = intent.key.package == package && own.resource_type() == other.resource_type();
        if marks.has(mark::ENDED) {
            return is_same_type && own.project() == other.project();
        }
        let is_same_stack = own.stack() == other.stack() && self.may_be_of(caller);
        let is_same_provider = !self.origin.provider.is_empty() && self.origin.provider == caller.provider();
        is_same_stack && (intent.subject == urn || is_same_type && is_same_provider)
    }
}

/// The operations that are open. Searching them costs nothing while there are none.
#[derive(Debug, Default)]
pub(super) struct KnownOperations {
    all: HashMap<OperationId, KnownOperation>,
    by_urn: HashMap<String, Vec<OperationId>>,
    by_object: HashMap<String, Vec<OperationId>>,
}

impl KnownOperations {
    pub(super) fn insert(&mut self, known: KnownOperation) {
        let id = known.open.id;
        self.remove(id);
        let intent = &known.open.intent;
        self.by_urn.entry(intent.subject.clone()).or_default().push(id);
        self.by_object.entry(intent.key.id.clone()).or_default().push(id);
        self.all.insert(id, known);
    }

    pub(super) fn remove(&mut self, id: OperationId) {
        let Some(known) = self.all.remove(&id) else { return };
        let intent = &known.open.intent;
        for (index, key) in [(&mut self.by_urn, &intent.subject), (&mut self.by_object, &intent.key.id)] {
            if let Some(ids) = index.get_mut(key) {
                ids.retain(|other| *other != id);
                if ids.is_empty() {
                    index.remove(key);
                }
            }
        }
    }

    /// Removes all that match.
    pub(super) fn remove_where(&mut self, is_removed: impl Fn(&KnownOperation) -> bool) {
        let removed: Vec<OperationId> =
            self.all.values().filter(|known| is_removed(known)).map(|known| known.open.id).collect();
        removed.into_iter().for_each(|id| self.remove(id));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &KnownOperation> {
        self.all.values()
    }

    /// To change what they are not found by.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut KnownOperation> {
        self.all.values_mut()
    }

    /// To change what it is not found by.
    pub(super) fn get_mut(&mut self, id: OperationId) -> Option<&mut KnownOperation> {
        self.all.get_mut(&id)
    }

    /// The operations of a resource, in the order in which they became known.
    pub(super) fn of_urn(&self, urn: &str) -> impl Iterator<Item = &KnownOperation> {
        self.by_urn.get(urn).into_iter().flatten().filter_map(|id| self.all.get(id))
    }

    /// The operations that concern objects of an id.
    pub(super) fn of_object(&self, id: &str) -> impl Iterator<Item = &KnownOperation> {
        self.by_object.get(id).into_iter().flatten().filter_map(|id| self.all.get(id))
    }
}
