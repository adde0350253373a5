//! A session, as metrics and the status page see it, and its calls.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use http::HeaderMap;
use isthmus_common::Environment;
use tonic::{Code, Status};
use tracing::Span;

use super::audit::{AuditEntry, AuditError, AuditOutcome};
use super::metrics::outcome;
use super::observation::Observation;
use super::provider::ObservedProvider;
use super::recent::LogTap;
use super::rpc::EngineRpc;
use super::traces::{note_end, note_resource_type};
use crate::authorization::Identity;
use crate::engine::Severity;
use isthmus_trace::walk::rpc_name;

/// What is counted of a session.
#[derive(Debug)]
pub struct ObservedSession {
    observation: Arc<Observation>,
    identity: Identity,
    number: u64,
    since: Instant,
    provider: OnceLock<Arc<ObservedProvider>>,
    calls: AtomicU64,
    in_flight: AtomicUsize,
}

/// A call in progress. One that is dropped without an end was cancelled by its peer.
#[derive(Debug)]
pub struct ObservedCall {
    session: Arc<ObservedSession>,
    rpc: EngineRpc,
    begun: Instant,
    code: Code,
    /// In the trace, if there is one.
    span: Span,
}

/// What a call is about. It may have neither a type nor a name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject<'a> {
    /// The type token of the resource, or the token of the function.
    pub resource_type: &'a str,
    /// The resource's name in the program.
    pub resource_name: &'a str,
    /// Whether the call changes nothing, because it is of a preview.
    pub is_preview: bool,
}

/// A call that is on record. One that is dropped without an end was cancelled by its peer.
#[derive(Debug)]
pub struct AuditedCall {
    session: Arc<ObservedSession>,
    number: u64,
    entry: AuditEntry,
    begun: Instant,
    code: Code,
}

/// The methods that change or read real resources, or configure a provider, by their names in code.
const AUDITED: [&str; 9] =
    ["call", "configure", "create", "delete", "get", "invoke", "list", "read", "update"];

impl ObservedSession {
    /// A session of an identity.
    pub fn new(observation: Arc<Observation>, identity: Identity, number: u64) -> Arc<Self> {
        Arc::new(Self {
            observation,
            identity,
            number,
            since: Instant::now(),
            provider: OnceLock::new(),
            calls: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
        })
    }

    /// What its log adds to what is remembered.
    pub fn log_tap(&self) -> LogTap {
        LogTap::new(Arc::clone(&self.observation), self.identity.clone(), Some(self.number))
    }

    /// Notes in the trace what the call in whose task this is is about.
    pub fn note(&self, subject: Subject<'_>) {
        if self.observation.traces().is_some() {
            note_resource_type(subject.resource_type);
        }
    }

    /// Writes a call to the audit log, if there is one and the call belongs there. `redact` removes secrets from the
    /// resource's name.
    ///
    /// # Errors
    /// When it cannot be written: then the call must not be made.
    pub fn audit(
        self: &Arc<Self>,
        method: &'static str,
        subject: Subject<'_>,
        redact: impl FnOnce(&mut String),
    ) -> Result<Option<AuditedCall>, AuditError> {
        let Some(log) = self.observation.audit() else { return Ok(None) };
        if subject.is_preview || !AUDITED.contains(&method) {
            return Ok(None);
        }
        let mut resource_name = subject.resource_name.to_owned();
        redact(&mut resource_name);
        let provider = self.provider().map(|provider| provider.name());
        let entry = AuditEntry {
            identity: self.identity.to_string(),
            session: self.number,
            operation: rpc_name(method),
            provider: provider.map(|name| (name.address.clone(), name.version.clone())),
            resource_type: subject.resource_type.to_owned(),
            resource_name,
        };
        let number = log.begin(&entry)?;
        let (session, begun) = (Arc::clone(self), Instant::now());
        Ok(Some(AuditedCall { session, number, entry, begun, code: Code::Cancelled }))
    }

    /// A call has failed with this status, in which secrets are redacted.
    pub fn failed(&self, method: &str, status: &Status) {
        let (outcome, text) = (outcome(status.code()), status.message());
        self.log_tap().line(Severity::Error, &format!("{} failed: {outcome}: {text}", rpc_name(method)));
    }

    /// When it was opened.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// Its provider is chosen, once.
    pub(crate) fn chose(&self, provider: Arc<ObservedProvider>) {
        self.provider.get_or_init(|| provider);
    }

    /// Its provider, once it is chosen.
    pub fn provider(&self) -> Option<&Arc<ObservedProvider>> {
        self.provider.get()
    }

    /// The calls that were begun.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// The calls in progress.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// A call begins; `None` for a method that no service has. `environment` is that of the session.
    pub fn begin(
        self: &Arc<Self>,
        path: &str,
        headers: &HeaderMap,
        environment: &Environment,
    ) -> Option<ObservedCall> {
        let rpc = EngineRpc::of_path(path)?;
        let traces = self.observation.traces();
        let span =
            traces.map_or_else(Span::none, |traces| traces.call(rpc, self.number, headers, environment));
        self.observation.call_began();
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let (session, begun) = (Arc::clone(self), Instant::now());
        Some(ObservedCall { session, rpc, begun, code: Code::Cancelled, span })
    }
}

impl ObservedCall {
    /// The span in which the call is made; without traces, it is none.
    pub fn span(&self) -> Span {
        self.span.clone()
    }

    /// The call has ended.
    pub fn end(mut self, code: Code) {
        self.code = code;
    }
}

impl AuditedCall {
    /// The call has ended.
    pub fn end(mut self, code: Code) {
        self.code = code;
    }
}

impl Drop for AuditedCall {
    fn drop(&mut self) {
        let outcome = AuditOutcome { outcome: outcome(self.code), elapsed: self.begun.elapsed() };
        let observation = &self.session.observation;
        let written = observation.audit().map_or(Ok(()), |log| log.end(self.number, &self.entry, outcome));
        if let Err(error) = written {
            // The call has happened; the next one is refused if this lasts.
            let text = isthmus_common::error_chain(&error);
            self.session.log_tap().line(Severity::Error, &text);
        }
    }
}

impl Drop for ObservedCall {
    fn drop(&mut self) {
        let session = &self.session;
        session.in_flight.fetch_sub(1, Ordering::Relaxed);
        if !self.span.is_none() {
            note_end(&self.span, session.observation.label(session.provider()), self.code);
        }
        session.observation.call_ended(self.rpc, session.provider(), self.begun.elapsed(), self.code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_has_its_name_in_the_contract() {
        assert_eq!([rpc_name("create"), rpc_name("check_config")], ["Create", "CheckConfig"]);
    }
}
