//! Which calls a provider may put off, and how it says so.

use isthmus_proto::tfplugin6;

use super::Provider;
use crate::deferral::DeferralSupport;
use crate::plugin::ProtocolVersion;
use crate::{Deferral, ProviderError, Rpc};

impl Provider {
    /// What this program can do that a provider may rely on in this call. Stored planned private data is not announced,
    /// because a preview and the update after it are processes that share nothing.
    pub(crate) fn client_capabilities(
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
    pub(crate) fn deferral(
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
    pub(crate) fn deferred(&self, what: &'static str, type_name: &str, deferral: Deferral) -> ProviderError {
        ProviderError::Deferred {
            provider: self.name().to_owned(),
            what,
            type_name: type_name.to_owned(),
            deferral,
        }
    }
}
