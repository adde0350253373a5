//! What an engine shows of a difference.
//!
//! An engine knows no planned value. It shows the old value from the stored outputs and the new one
//! from the program's inputs, so a value that the provider computes looks removed, and with each
//! path within it the whole. It shows "unknown" only as an addition. So an engine is given no values
//! of what the program neither sets nor has set: where that is a property by itself, the change is
//! one of the inputs, which have none, and the engine shows its name alone.
//!
//! A refresh shows the same difference in the opposite direction: an addition as a deletion.

use std::collections::BTreeMap;

use isthmus_proto::property::Struct;

use super::{Change, ChangeKind, Display, META};
use isthmus_translate::property::{self, PropertyView};
use isthmus_translate::property_path::PropertyPath;

/// What an engine has of a resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    /// The stored inputs.
    pub inputs: &'a Struct,
    /// The stored outputs.
    pub olds: &'a Struct,
    /// The program's inputs.
    pub news: &'a Struct,
}

/// Decides how changes are displayed, and reports those within a computed property as one.
pub(super) fn displayed(
    changes: BTreeMap<PropertyPath, Change>,
    known: Known<'_>,
) -> BTreeMap<PropertyPath, Change> {
    let mut displayed: BTreeMap<PropertyPath, Change> = BTreeMap::new();
    for (path, change) in changes {
        let (path, change) = known.displayed(path, change);
        displayed.entry(path).or_insert(change).replaces |= change.replaces;
    }
    // Otherwise nothing would show where the change is.
    if displayed.values().all(|change| change.display == Display::Name) {
        for (path, change) in &mut displayed {
            if known.is_surrounded(path) {
                change.display = Display::Inputs;
            }
        }
    }
    displayed
}

impl Known<'_> {
    fn displayed(self, mut path: PropertyPath, change: Change) -> (PropertyPath, Change) {
        let hidden = |display| Change { kind: ChangeKind::Update, display, ..change };
        if path == PropertyPath::top(META) {
            return (path, hidden(Display::Inputs));
        }
        let Some(length) = (1..=path.0.len()).find(|length| !self.is_of_program(&path, *length)) else {
            return (path, change);
        };
        let is_whole = length == path.0.len();
        path.0.truncate(length);
        if is_whole && change.kind == ChangeKind::Delete && !self.was_empty(&path) {
            return (path, change);
        }
        (path, hidden(if length == 1 { Display::Inputs } else { Display::Name }))
    }

    /// Whether the program sets a value at the beginning of the path, or has set it.
    fn is_of_program(self, path: &PropertyPath, length: usize) -> bool {
        let path = PropertyPath(path.0[..length].to_vec());
        [self.inputs, self.news].into_iter().any(|bag| is_set(&path, bag))
    }

    /// Whether both the stored and the program's inputs have everything around the path. Otherwise
    /// an engine would show an addition or a deletion of what is around it.
    fn is_surrounded(self, path: &PropertyPath) -> bool {
        (1..path.0.len()).all(|length| {
            let around = PropertyPath(path.0[..length].to_vec());
            is_set(&around, self.inputs) && is_set(&around, self.news)
        })
    }

    /// Whether the old value is an empty collection, for which a provider may as well plan null.
    fn was_empty(self, path: &PropertyPath) -> bool {
        match path.find(self.olds).map(property::unwrap) {
            Some(Ok((PropertyView::Object(bag), _))) => bag.is_empty(),
            Some(Ok((PropertyView::List(elements), _))) => elements.is_empty(),
            _ => false,
        }
    }
}

fn is_set(path: &PropertyPath, bag: &Struct) -> bool {
    path.find(bag).is_some_and(|value| !value.is_null())
}

#[cfg(test)]
mod tests;
