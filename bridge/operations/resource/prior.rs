//! The prior state of an operation, apart from how it is found: what remembers it uses nothing else.

use std::collections::BTreeSet;

use isthmus_proto::property::Struct;
use isthmus_provider::Object;
use isthmus_state::Status;

use isthmus_package::shape::ObjectShape;
use isthmus_translate::unread::{UnreadAttribute, unread_in};

/// Prior state of a resource.
#[derive(Clone, Debug)]
pub struct Prior {
    pub object: Object,
    pub status: Status,
    /// The properties of the object, if they differ from the engine's.
    pub(super) own: Option<Struct>,
    /// Whether an update has failed, and what it left could not be read.
    pub is_unrefreshed: bool,
    /// Whether the state is of another resource type.
    pub(super) is_moved: bool,
    /// Whether the engine's properties have names that are not the package's any more.
    pub(super) is_renamed: bool,
    /// Sensitive attributes that no read has returned since the import.
    pub(super) unread: BTreeSet<UnreadAttribute>,
}

impl Prior {
    /// An object by the provider's current schema.
    pub fn current(object: Object, status: Status) -> Self {
        Self {
            object,
            status,
            own: None,
            is_unrefreshed: false,
            is_moved: false,
            is_renamed: false,
            unread: BTreeSet::new(),
        }
    }

    /// An object that was just imported.
    pub fn imported(object: Object, shape: &ObjectShape) -> Self {
        let unread = unread_in(&object.value, shape);
        Self { unread, ..Self::current(object, Status::Ready) }
    }

    /// Sensitive attributes that no read has returned since the import.
    pub(super) fn unread(&self) -> &BTreeSet<UnreadAttribute> {
        &self.unread
    }

    /// Whether the properties have to be stored by other names, even if nothing else changes.
    pub(super) fn is_renamed(&self) -> bool {
        self.is_renamed
    }

    /// The resource's prior properties, of which `stored` are the engine's.
    pub(super) fn properties<'a>(&'a self, stored: &'a Struct) -> &'a Struct {
        self.own.as_ref().unwrap_or(stored)
    }
}
