//! What a failed installation means for a provider binary that is in the cache already, and that isthmus did not put there.
//!
//! Such a binary may be started only where its origin gave no answer at all or answered that it does not have the provider.
//! Everything else is a refusal: a verification that failed, and just as much an answer that cannot be verified. So the
//! method `class` of each error names every variant; a new kind of failure has to be put into one of the classes.
//!
//! A connection that breaks in the middle of an answer is a refusal too, although nothing was refused: the origin was reached, and
//! what it had to say about the provider is not known.

/// What a failed installation means for a binary that is in the cache. Of several, the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FailureClass {
    /// The origin answered that it does not have the provider, or does not have the version for this platform.
    Absent,
    /// The origin could not be reached, or could not answer: DNS, TCP, a timeout, 429 and 5xx.
    Unreachable,
    /// Everything else: the provider must not be started.
    Refused,
}
