//! What the log of a session, or of the daemon, adds to what is remembered of a daemon.

use std::sync::Arc;

use super::observation::Observation;
use crate::authorization::Identity;
use crate::engine::Severity;

/// Where the lines of a log are remembered, and its losses counted.
#[derive(Clone, Debug)]
pub struct LogTap {
    observation: Arc<Observation>,
    identity: Identity,
    session: Option<u64>,
}

impl LogTap {
    /// Of a session of an identity, or of the daemon.
    pub fn new(observation: Arc<Observation>, identity: Identity, session: Option<u64>) -> Self {
        Self { observation, identity, session }
    }

    /// A line was sent, in which secrets are redacted.
    pub fn line(&self, severity: Severity, text: &str) {
        self.observation.line(&self.identity, self.session, severity, text);
    }

    /// A line was dropped.
    pub fn dropped(&self) {
        self.observation.line_dropped();
    }
}
