//! Deferrals of operations by a provider (protocol 5.6, 6.6).
//!
//! The client allows deferrals per call. This one does wherever the result is useful: a deferred
//! plan shows unknown values and cannot be applied, a deferred refresh returns the prior state, an
//! import and a data source fail with the reason. A destroy plan is not shown, so a provider must
//! return an error instead.

use std::fmt;

use super::Diagnostic;

/// Reason of a deferral.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// Unknown configuration of the resource or data source.
    ResourceConfig,
    /// Unknown configuration of the provider.
    ProviderConfig,
    /// A missing prerequisite.
    Prerequisite,
}

/// Whether a call may be deferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeferralSupport {
    Allowed,
    Refused,
}

impl Deferral {
    /// A warning that `subject` ("this sandbox_note") is deferred; `meanwhile` is the effect.
    pub fn warning(self, subject: &str, meanwhile: &str) -> Diagnostic {
        Diagnostic::warning(
            format!("The provider deferred {subject}"),
            format!("Before it can go on, {self}. {meanwhile}"),
        )
    }
}

/// The prerequisite, as a clause after a comma.
impl fmt::Display for Deferral {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ResourceConfig => "all of its inputs must be known",
            Self::ProviderConfig => "all of the provider's own configuration must be known",
            Self::Prerequisite => "something that it depends on must exist",
        })
    }
}
