//! A session, as far as the start of its provider needs to know it.

use std::sync::Arc;

use super::Daemon;
use super::calls::Calls;
use super::session_log::SessionLog;
use crate::observe::{ObservedProvider, ProviderName};
use crate::process_context::ProcessContext;
use isthmus_package::catalogue::Identity;
use isthmus_package::parameters::ParameterSource;

/// What the start of a provider needs to know of its session.
#[derive(Clone, Debug)]
pub(super) struct SessionScope {
    pub(super) daemon: Arc<Daemon>,
    /// Of the engine's plugin.
    pub(super) context: Arc<ProcessContext>,
    pub(super) log: Arc<SessionLog>,
}

impl SessionScope {
    /// The counters of a provider, in a shared daemon.
    pub(super) fn observed(&self, identity: &Identity) -> Option<Arc<ObservedProvider>> {
        Some(self.daemon.observation()?.provider(provider_name(identity)))
    }

    /// The calls of a provider, none of which has begun.
    pub(super) fn calls(&self, identity: &Identity) -> Calls {
        Calls::counted(self.observed(identity))
    }
}

/// A file of the user's is named by its type alone: its path is the user's.
fn provider_name(identity: &Identity) -> ProviderName {
    let address = match &identity.parameter.source {
        ParameterSource::Remote { url, .. } => url.clone(),
        ParameterSource::Local { .. } => format!("local/{}", identity.provider_type),
    };
    ProviderName { address, version: identity.provider_version().unwrap_or_default().to_owned() }
}
