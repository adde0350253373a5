//! Bugs that are planted to show that the simulation finds them (`tests/simulation`). Without its feature there is none.

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// No intent is written before a provider is called.
    NoIntent,
    /// It is not written that an object was made, before the engine is answered.
    NoOutcome,
    /// An unknown outcome is taken for a failure.
    UnknownIsFailure,
    /// Cancel is taken for evidence that the engine has what it was answered.
    CancelSettles,
    /// A resource that is created again raises no doubt about its earlier creation.
    NoDoubt,
    /// A report counts as shown that was not delivered.
    ShownUndelivered,
    /// A compaction takes files that their processes still hold.
    LocksIgnored,
    /// A compaction leaves out what is open.
    CompactionForgets,
    /// Entries are not synchronised, although they are to be.
    NoSync,
    /// A failed write leaves its first half.
    TornWrite,
}

/// Whether a bug is planted.
#[cfg(not(feature = "simulation"))]
#[inline(always)]
pub fn is_planted(_: Bug) -> bool {
    false
}

#[cfg(feature = "simulation")]
pub use crate::simulation::is_planted;
