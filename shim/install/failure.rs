//! The effect of a failed installation on an unrecorded provider binary in the cache.
//!
//! Such a binary may be started only if its origin did not respond or responded that it does not
//! have the provider. Everything else is a refusal: a failed verification, and also a response that
//! cannot be verified. So the method `class` of each error names every variant; a new kind of
//! failure must be classified.
//!
//! A connection that breaks during a response is a refusal too: the origin was reached, and its
//! response is unknown.

/// The effect of a failed installation on a binary in the cache. Of several, the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FailureClass {
    /// The origin responded that it does not have the provider, or the version for this platform.
    Absent,
    /// The origin could not be reached, or could not respond: DNS, TCP, a timeout, 429 and 5xx.
    Unreachable,
    /// Everything else: the provider must not be started.
    Refused,
}
