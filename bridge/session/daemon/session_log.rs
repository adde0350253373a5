//! What a session tells its user.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError, RwLock};

use crate::engine::{EngineLog, LogLine, Severity};

/// How many shown warnings are remembered. After that, some may be shown again.
const REMEMBERED_WARNINGS: usize = 10_000;

#[derive(Debug)]
pub(crate) struct SessionLog {
    log: RwLock<EngineLog>,
    shown_warnings: Mutex<HashSet<(String, String)>>,
    /// Whether lines of calls are logged, which must arrive before the call's response.
    has_calls: bool,
}

impl SessionLog {
    pub(super) fn new(log: EngineLog, has_calls: bool) -> Self {
        Self { log: RwLock::new(log), shown_warnings: Mutex::default(), has_calls }
    }

    pub(super) fn replace(&self, log: EngineLog) {
        *self.log.write().unwrap_or_else(PoisonError::into_inner) = log;
    }

    pub(super) fn to_engine(&self) -> EngineLog {
        self.log.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends one line to the engine.
    pub(super) fn send(&self, severity: Severity, message: String, urn: &str) {
        self.to_engine().send(LogLine { severity, message, urn: urn.to_owned() });
    }

    /// Shows a warning about a resource once: a provider repeats it in validate, plan and apply.
    pub(super) fn warn(&self, message: String, urn: &str) {
        self.warn_once(message.clone(), message, urn);
    }

    /// Shows a warning once a key, whatever its text is by then.
    pub(super) fn warn_once(&self, key: String, message: String, urn: &str) {
        let mut shown = self.shown_warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.len() >= REMEMBERED_WARNINGS {
            shown.clear();
        }
        if shown.insert((urn.to_owned(), key)) {
            self.send(Severity::Warning, message, urn);
        }
    }

    /// Shows warnings that concern no resource, before the response.
    pub(super) async fn warn_now(&self, warnings: impl IntoIterator<Item = String>) {
        let mut has_warnings = false;
        for warning in warnings {
            self.warn(warning, "");
            has_warnings = true;
        }
        self.flush(has_warnings).await;
    }

    /// Flushes log lines that must arrive before the response.
    /// Returns whether none was lost.
    pub(super) async fn flush(&self, has_warnings: bool) -> bool {
        !(has_warnings || self.has_calls) || self.to_engine().flush().await
    }
}
