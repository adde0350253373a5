//! What a daemon observes.

use isthmus_platform::process::usage;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tokio_util::sync::CancellationToken;
use tonic::Code;

use super::audit::AuditLog;
use super::metrics::{Figures, Metrics};
use super::provider::{ObservedProvider, ProviderName};
use super::recent::{Failure, Line, LineReader, RecentFailures, RecentLines};
use super::rpc::EngineRpc;
use super::traces::Traces;
use crate::authorization::Identity;
use crate::engine::Severity;

/// Most providers with labels of their own: a client could name a new file for each session. Further ones share a label.
pub(super) const MOST_PROVIDERS: usize = 128;

/// The label of calls before a provider is chosen.
const NONE: &str = "none";

/// The label of providers beyond [`MOST_PROVIDERS`].
const OTHERS: &str = "others";

/// The counters and the memory of a daemon.
#[derive(Debug)]
pub struct Observation {
    metrics: Metrics,
    failures: RecentFailures,
    lines: RecentLines,
    audit: Option<AuditLog>,
    traces: Option<Arc<Traces>>,
    since: Instant,
    is_draining: AtomicBool,
    replaced: CancellationToken,
    /// Those with labels of their own.
    providers: Mutex<HashMap<Arc<str>, Arc<ObservedProvider>>>,
    none: Arc<ObservedProvider>,
}

impl Observation {
    /// Counts; writes the audit log and exports traces, if there are such.
    pub fn new(audit: Option<AuditLog>, traces: Option<Arc<Traces>>) -> Arc<Self> {
        let metrics = Metrics::new();
        let none = ProviderName { address: NONE.to_owned(), version: String::new() };
        let none = Arc::new(ObservedProvider::new(none, NONE.into(), &metrics, None));
        Arc::new(Self {
            metrics,
            failures: RecentFailures::default(),
            lines: RecentLines::default(),
            audit,
            traces,
            since: Instant::now(),
            is_draining: AtomicBool::new(false),
            replaced: CancellationToken::new(),
            providers: Mutex::default(),
            none,
        })
    }

    /// The counters of a provider.
    pub fn provider(&self, name: ProviderName) -> Arc<ObservedProvider> {
        let (label, traces) = (name.label(), self.traces.clone());
        let mut providers = self.providers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = providers.get(&label) {
            return Arc::clone(known);
        }
        if providers.len() >= MOST_PROVIDERS {
            // The counters of a label are found again, so this adds to those of others.
            return Arc::new(ObservedProvider::new(name, OTHERS.into(), &self.metrics, traces));
        }
        let provider = Arc::new(ObservedProvider::new(name, Arc::clone(&label), &self.metrics, traces));
        providers.insert(label, Arc::clone(&provider));
        provider
    }

    /// The audit log.
    pub(super) fn audit(&self) -> Option<&AuditLog> {
        self.audit.as_ref()
    }

    /// The traces.
    pub(super) fn traces(&self) -> Option<&Arc<Traces>> {
        self.traces.as_ref()
    }

    /// Exports what is left of the traces, before the daemon ends.
    pub async fn end(&self) {
        if let Some(traces) = &self.traces {
            traces.end().await;
        }
    }

    /// The label of a session's provider.
    pub(super) fn label<'a>(&'a self, provider: Option<&'a Arc<ObservedProvider>>) -> &'a Arc<str> {
        provider.unwrap_or(&self.none).label()
    }

    /// How long the daemon has served.
    pub fn uptime(&self) -> Duration {
        self.since.elapsed()
    }

    /// The daemon accepts no further calls, and waits for those in progress.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// Another process serves in place of the daemon, which ends with the last of its sessions.
    pub fn replaced(&self) {
        self.replaced.cancel();
    }

    /// Waits until another process serves in place of the daemon.
    pub async fn is_replaced(&self) {
        self.replaced.cancelled().await;
    }

    /// The calls of engines in progress.
    pub fn in_flight(&self) -> i64 {
        self.metrics.in_flight.get()
    }

    /// A package's schema was looked for in the schema cache.
    pub(crate) fn looked_for_schema(&self, is_found: bool) {
        let metrics = &self.metrics;
        if is_found {
            metrics.schema_cache_hits.inc()
        } else {
            metrics.schema_cache_misses.inc()
        };
    }

    /// A reader of the log lines, from the oldest that is remembered.
    pub fn lines(&self) -> LineReader {
        self.lines.reader()
    }

    /// The lines that a reader has not seen.
    pub fn unseen(&self, reader: &mut LineReader) -> Vec<Arc<Line>> {
        self.lines.unseen(reader)
    }

    /// A line of the log, in which secrets are redacted.
    pub(super) fn line(&self, identity: &Identity, session: Option<u64>, severity: Severity, text: &str) {
        self.lines.add(identity, session, severity, text);
    }

    /// A log line was dropped.
    pub(super) fn line_dropped(&self) {
        self.metrics.dropped_lines.inc();
    }

    /// The calls that failed last, the newest first.
    pub fn failures(&self) -> Vec<Failure> {
        self.failures.list()
    }

    /// All metrics, in Prometheus' text format. Blocks on the file system.
    pub fn scrape(&self, figures: &Figures) -> Result<String, fmt::Error> {
        self.metrics.encode(figures, &usage())
    }

    pub(super) fn call_began(&self) {
        self.metrics.in_flight.inc();
    }

    /// A call has ended, in a session whose provider is this one.
    pub(super) fn call_ended(
        &self,
        rpc: EngineRpc,
        provider: Option<&Arc<ObservedProvider>>,
        elapsed: Duration,
        code: Code,
    ) {
        self.metrics.in_flight.dec();
        let provider = provider.unwrap_or(&self.none);
        provider.call_ended(rpc, elapsed, code);
        if code != Code::Ok {
            let (at, provider) = (SystemTime::now(), Arc::clone(provider.label()));
            self.failures.add(Failure { at, rpc: rpc.name(), provider, code });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(address: &str) -> ProviderName {
        ProviderName { address: address.to_owned(), version: "1.0.0".to_owned() }
    }

    fn rpc(method: &str) -> EngineRpc {
        EngineRpc::of_path(&format!("/pulumirpc.ResourceProvider/{method}")).expect("a method")
    }

    #[test]
    fn labels_are_bounded_whatever_clients_name() {
        let observation = Observation::new(None, None);
        for number in 0..MOST_PROVIDERS * 3 {
            let provider = observation.provider(named(&format!("local/p{number}")));
            observation.call_began();
            observation.call_ended(rpc("Create"), Some(&provider), Duration::from_millis(1), Code::Ok);
        }
        let text = observation.scrape(&Figures::default()).expect("text");
        let lines = text.lines().filter(|line| line.starts_with("isthmus_calls_total{"));
        assert_eq!(lines.count(), MOST_PROVIDERS + 1, "{text}");
        let others = r#"isthmus_calls_total{rpc="Create",provider="others",outcome="OK"} 256"#;
        assert!(text.contains(others), "{text}");
    }

    #[test]
    fn a_label_is_escaped() {
        let observation = Observation::new(None, None);
        let provider = observation.provider(named("a\"b\\c\nd"));
        provider.started();
        let text = observation.scrape(&Figures::default()).expect("text");
        let expected = r#"isthmus_provider_starts_total{provider="a\"b\\c\nd@1.0.0"} 1"#;
        assert!(text.contains(expected), "{text}");
    }
}
