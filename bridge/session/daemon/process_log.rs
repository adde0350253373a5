//! The log of a process that sessions share.
//!
//! A line does not say whose call it is about. It goes to the session whose call is the only one in progress, or was until
//! just now; what cannot be attributed goes to no engine, because it may be about another one's resources. What is said
//! about the process itself goes to all.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use isthmus_known_secrets::KnownSecrets;
use isthmus_provider::plugin::{LogLevel, LogSink, Origin};
use isthmus_provider::{CallObserver, Provider};

use super::calls::Calls;
use super::provider_log;
use super::session_log::SessionLog;
use crate::engine::Severity;
use crate::process_context::ProcessContext;

/// A session as a user of a process.
#[derive(Clone, Debug)]
pub(super) struct ProcessUser {
    pub(super) context: Arc<ProcessContext>,
    pub(super) log: Arc<SessionLog>,
    pub(super) calls: Calls,
}

/// The sessions that use a process. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct ProcessLog(Arc<Mutex<Vec<Weak<ProcessUser>>>>);

impl ProcessUser {
    /// The session's handle of a process.
    pub(super) fn handle(&self, provider: &Provider) -> Provider {
        let log = self.log.to_engine();
        provider.of_user(log.secrets().clone(), self.observer())
    }

    pub(super) fn observer(&self) -> CallObserver {
        provider_log::observer(&self.context, self.log.to_engine(), self.calls.clone())
    }
}

impl ProcessLog {
    /// Adds a session, as long as the result is held.
    pub(super) fn add(&self, user: ProcessUser) -> Arc<ProcessUser> {
        let user = Arc::new(user);
        let mut users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        users.retain(|user| user.strong_count() > 0);
        users.push(Arc::downgrade(&user));
        user
    }

    /// The calls in progress of its sessions.
    pub(super) fn in_flight(&self) -> usize {
        self.users().iter().map(|user| user.calls.in_flight()).sum()
    }

    /// The sink of the process. None of its sessions has asked for more than warnings.
    pub(super) fn sink(&self, context: &ProcessContext) -> LogSink {
        let log = self.clone();
        let sink = LogSink::from_level(LogLevel::lowest(context.environment()), move |record| {
            let (severity, text) = (provider_log::severity(&record, None), provider_log::text(&record));
            if record.origin == Origin::Host {
                log.about_process(severity, &text)
            } else {
                log.line(severity, text)
            }
        });
        sink.redacting(KnownSecrets::default())
    }

    /// Shows a line that a provider has written.
    fn line(&self, severity: Severity, message: String) {
        let mut busy = self.users().into_iter().filter(|user| user.calls.are_recent());
        if let (Some(only), None) = (busy.next(), busy.next()) {
            let urn = only.calls.only_urn().unwrap_or_default();
            only.log.send(severity, message, &urn);
        }
    }

    /// Shows what isthmus says about the process.
    fn about_process(&self, severity: Severity, message: &str) {
        for user in self.users() {
            user.log.send(severity, message.to_owned(), "");
        }
    }

    fn users(&self) -> Vec<Arc<ProcessUser>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
    }
}
