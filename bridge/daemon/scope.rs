//! A session, as far as the start of its provider needs to know it.

use std::sync::Arc;

use super::Daemon;
use super::session_log::SessionLog;
use crate::process_context::ProcessContext;

/// What the start of a provider needs to know of its session.
#[derive(Clone, Debug)]
pub(super) struct SessionScope {
    pub(super) daemon: Arc<Daemon>,
    /// Of the engine's plugin.
    pub(super) context: Arc<ProcessContext>,
    pub(super) log: Arc<SessionLog>,
}
