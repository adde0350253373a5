//! The operations and their timeouts.

use std::sync::Arc;
use std::time::Duration;

/// The operations that timeouts distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Read,
    Update,
    Delete,
}

/// The engine's timeout of a call.
#[derive(Clone, Debug, Default)]
pub struct Timeouts {
    pub(super) operation: Option<Operation>,
    pub(super) allowed: Option<Duration>,
    /// The timeouts that the program had set when the state was written; `None` if the engine does
    /// not send them.
    pub(super) program: Option<Vec<Arc<str>>>,
}

impl Operation {
    /// Its key in `timeouts` and in `customTimeouts`.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}
