//! Deferrals: a provider puts off what it cannot do yet (protocol 5.6, 6.6).
//!
//! A client says with each call whether it takes a deferral for an answer. This one does wherever it has something to
//! make of it: a plan shows what is not known yet and cannot be applied, a refresh keeps what there was, an import and a
//! data source say what they wait for. The end of an object has no plan that anybody is shown, so a provider that cannot
//! end it now has to say so itself, as an error.

use std::fmt;

use super::Diagnostic;

/// What a provider waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// The inputs of the resource or data source itself.
    ResourceConfig,
    /// The configuration of the provider.
    ProviderConfig,
    /// Something else that has to exist first, whatever it is.
    Prerequisite,
}

/// Whether a call may be put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeferralSupport {
    Allowed,
    Refused,
}

impl Deferral {
    /// A warning that `subject` ("this sandbox_note") is put off, and `meanwhile` what that means for now.
    pub fn warning(self, subject: &str, meanwhile: &str) -> Diagnostic {
        Diagnostic::warning(
            format!("The provider puts {subject} off"),
            format!("Before it can go on, {self}. {meanwhile}"),
        )
    }
}

/// What has to come first, as a sentence that follows a comma.
impl fmt::Display for Deferral {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ResourceConfig => "all of its inputs must be known",
            Self::ProviderConfig => "all of the provider's own configuration must be known",
            Self::Prerequisite => "something that it depends on must exist",
        })
    }
}
