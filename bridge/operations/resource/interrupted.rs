//! Updates and deletions of today's engine whose outcome is unknown.
//!
//! The engine knows the resource, and repeats what it has no answer to. But the program may not want it any
//! more; then the engine compares it with a state that may not be true. A read shows whether it is.

use super::operations::{JournaledResource, mark};
use super::prior::Prior;
use super::read::read_or_keep;
use super::{Target, reports};

impl Target<'_> {
    /// Before a comparison: if an earlier change of the resource was interrupted, looks what came of it, and
    /// warns if the object differs from the engine's state.
    pub async fn examine_interrupted_change(&self, prior: &Prior) {
        let Some(JournaledResource { urn, id, operations, .. }) = self.journaled else { return };
        let Some(open) = operations.interrupted_change(urn, id) else { return };
        // If it cannot be read yet, a later comparison tells.
        let (found, _) = self.warnings.aside(read_or_keep(self, prior)).await;
        let Ok((found, false)) = found else { return };
        if found.as_ref().is_some_and(|object| object.value == prior.object.value) {
            operations.superseded(urn, id).await;
        } else if !open.marks.has(mark::SHOWN) {
            self.report(open.id, reports::of_interrupted_change(&open, found.is_some()));
        }
    }
}
