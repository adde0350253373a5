//! One change of a difference.

/// The key that represents a change which no property shows.
pub const META: &str = "__meta";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub kind: ChangeKind,
    /// Whether it requires a replacement.
    pub replaces: bool,
    pub display: Display,
}

impl Change {
    /// A change that requires no replacement, shown with its values.
    pub const fn new(kind: ChangeKind) -> Self {
        Self { kind, replaces: false, display: Display::Outputs }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Add,
    Delete,
    Update,
}

/// Where an engine takes the values from that it shows for a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    /// The old value from the stored outputs, the new one from the program's inputs.
    Outputs,
    /// Both values from inputs (`inputDiff`).
    Inputs,
    /// No values: only the top-level property is reported.
    Name,
}
