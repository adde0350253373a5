//! Deferrals of operations by a provider (protocol 5.6, 6.6).
//!
//! The client allows deferrals per call. This one does wherever the result is useful: a deferred
//! plan shows unknown values and cannot be applied, a deferred refresh returns the prior state, an
//! import and a data source fail with the reason. A destroy plan is not shown, so a provider must
//! return an error instead.

use std::fmt;

use isthmus_proto::tfplugin6;

use super::{Diagnostic, Provider, ProviderError, Rpc};

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

impl Provider {
    /// The reason of a deferral, if any.
    ///
    /// # Errors
    /// When it was not allowed, or has an unknown reason: faults of the provider.
    pub(crate) fn deferral(
        &self,
        rpc: Rpc,
        type_name: &str,
        message: Option<tfplugin6::Deferred>,
        support: DeferralSupport,
    ) -> Result<Option<Deferral>, ProviderError> {
        use tfplugin6::deferred::Reason;
        let Some(message) = message else { return Ok(None) };
        let invalid = |reason: &str| Err(self.invalid_answer(rpc, type_name, reason));
        if support == DeferralSupport::Refused {
            return invalid("it deferred the operation, which was not offered to it");
        }
        match Reason::try_from(message.reason) {
            Ok(Reason::ResourceConfigUnknown) => Ok(Some(Deferral::ResourceConfig)),
            Ok(Reason::ProviderConfigUnknown) => Ok(Some(Deferral::ProviderConfig)),
            Ok(Reason::AbsentPrereq) => Ok(Some(Deferral::Prerequisite)),
            Ok(Reason::Unknown) => invalid("it deferred the operation without a reason"),
            Err(_) => {
                let number = message.reason;
                invalid(&format!("it deferred the operation for reason {number}, which no protocol has"))
            }
        }
    }

    /// The error of a deferred operation. `what` is "created", "imported" and the like.
    pub(crate) fn deferred(&self, what: &'static str, type_name: &str, deferral: Deferral) -> ProviderError {
        ProviderError::Deferred {
            provider: self.name().to_owned(),
            what,
            type_name: type_name.to_owned(),
            deferral,
        }
    }
}
