//! Deferrals: a provider puts off what it cannot do yet (protocol 5.6, 6.6).
//!
//! A client says with each call whether it takes a deferral for an answer. This one does wherever it has something to
//! make of it: a plan shows what is not known yet and cannot be applied, a refresh keeps what there was, an import and a
//! data source say what they wait for. The end of an object has no plan that anybody is shown, so a provider that cannot
//! end it now has to say so itself, as an error.

use std::fmt;

use isthmus_proto::tfplugin6;

use super::{Diagnostic, Provider, ProviderError, Rpc};
use crate::plugin::ProtocolVersion;

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

impl Provider {
    /// What this program can do that a provider may rely on in this call. Stored planned private data is not announced,
    /// because a preview and the update after it are processes that share nothing.
    pub(super) fn client_capabilities(
        &self,
        postponement: DeferralSupport,
    ) -> Option<tfplugin6::ClientCapabilities> {
        Some(tfplugin6::ClientCapabilities {
            deferral_allowed: postponement == DeferralSupport::Allowed,
            write_only_attributes_allowed: true,
            // Protocol 5 has no such blocks.
            computed_blocks_allowed: self.protocol() == ProtocolVersion::V6,
            ..tfplugin6::ClientCapabilities::default()
        })
    }

    /// Why an answer is put off, if it is.
    ///
    /// # Errors
    /// When that was not allowed, or happened for a reason that the protocol does not have: both are the provider's fault.
    pub(super) fn deferral(
        &self,
        rpc: Rpc,
        type_name: &str,
        message: Option<tfplugin6::Deferred>,
        postponement: DeferralSupport,
    ) -> Result<Option<Deferral>, ProviderError> {
        use tfplugin6::deferred::Reason;
        let Some(message) = message else { return Ok(None) };
        let invalid = |reason: &str| Err(self.invalid_answer(rpc, type_name, reason));
        if postponement == DeferralSupport::Refused {
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

    /// The error of what cannot be done now. `what` is "created", "imported" and the like.
    pub(super) fn deferred(&self, what: &'static str, type_name: &str, deferral: Deferral) -> ProviderError {
        ProviderError::Deferred {
            provider: self.name().to_owned(),
            what,
            type_name: type_name.to_owned(),
            deferral,
        }
    }
}
