//! What happens to a resource in one step, and what either side decides to do about it.

use std::fmt;

/// What becomes of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Decision {
    #[default]
    Nothing,
    Create,
    Update,
    ReplaceCreatingFirst,
    ReplaceDeletingFirst,
    Delete,
}

/// What happens to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Edit {
    /// It has the resource as before, or has none as before.
    None,
    /// It says something else, or says it for the first time.
    Wish,
    /// It has the resource no more.
    Remove,
    /// The resource is forgotten and then imported by its id.
    Import,
    /// The same, and the program says something else than the object is.
    ImportOther,
}

/// What somebody else does to the object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outside {
    Nothing,
    /// Puts something at a place of its file.
    Drift(&'static str, serde_json::Value),
    /// Removes it.
    Vanish,
}

/// One step of one resource.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) edit: Edit,
    pub(crate) outside: Outside,
    /// Whether both sides read the object before they decide.
    pub(crate) refresh: bool,
    /// Whether there are outputs in the program that are unknown before they are made.
    pub(crate) unknown: bool,
    /// The operation that goes wrong, and how.
    pub(crate) trouble: Option<(&'static str, &'static str)>,
}

impl Step {
    /// One in which nothing happens.
    pub(crate) const NONE: Self =
        Self { edit: Edit::None, outside: Outside::Nothing, refresh: false, unknown: false, trouble: None };

    /// Whether it imports.
    pub(crate) fn imports(&self) -> bool {
        matches!(self.edit, Edit::Import | Edit::ImportOther)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Nothing => "none",
            Self::Create => "create",
            Self::Update => "update",
            Self::ReplaceCreatingFirst => "replace, creating first",
            Self::ReplaceDeletingFirst => "replace, deleting first",
            Self::Delete => "delete",
        })
    }
}
