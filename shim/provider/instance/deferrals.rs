//! Client capabilities and deferred responses.

use isthmus_proto::tfplugin6;

use super::Provider;
use crate::deferral::DeferralSupport;
use crate::plugin::ProtocolVersion;
use crate::{Deferral, ProviderError, Rpc};

impl Provider {
    /// Client capabilities in a call. Stored planned private data is not announced, because a
    /// preview and the following update are separate processes.
    pub(crate) fn client_capabilities(
        &self,
        support: DeferralSupport,
    ) -> Option<tfplugin6::ClientCapabilities> {
        Some(tfplugin6::ClientCapabilities {
            deferral_allowed: support == DeferralSupport::Allowed,
            write_only_attributes_allowed: true,
            // Protocol 5 has no such blocks.
            computed_blocks_allowed: self.protocol() == ProtocolVersion::V6,
            ..tfplugin6::ClientCapabilities::default()
        })
    }

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
