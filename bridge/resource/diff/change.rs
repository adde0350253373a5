//! One change of a difference.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub kind: ChangeKind,
    /// Whether it requires a replacement.
    pub replaces: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Add,
    Delete,
    Update,
}
