//! The metrics, in the form in which Prometheus scrapes them.
//!
//! What is counted call by call is in [`Metrics`]. What is measured when it is asked for, such as the memory of processes,
//! is in [`Figures`], which a scrape takes.

use isthmus_platform::process::Usage;
use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::{EncodeLabelSet, prometheus_text};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tonic::Code;

/// Upper bounds of the buckets, in seconds: calls that only validate take less than a millisecond, and creations minutes.
const BUCKETS: [f64; 16] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 300.0, 1800.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CallLabels {
    pub(super) rpc: &'static str,
    pub(super) provider: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OutcomeLabels {
    pub(super) rpc: &'static str,
    pub(super) provider: Arc<str>,
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ProviderLabels {
    pub(super) provider: Arc<str>,
}

/// The counts and durations of calls, of engines or of providers.
#[derive(Clone, Debug)]
pub(super) struct CallFamilies {
    pub(super) outcomes: Family<OutcomeLabels, Counter>,
    pub(super) durations: Family<CallLabels, Histogram, fn() -> Histogram>,
}

/// What is counted.
pub(super) struct Metrics {
    registry: Registry,
    /// Of engines.
    pub(super) calls: CallFamilies,
    /// To providers.
    pub(super) provider_calls: CallFamilies,
    pub(super) in_flight: Gauge,
    pub(super) starts: Family<ProviderLabels, Counter>,
    pub(super) schema_cache_hits: Counter,
    pub(super) schema_cache_misses: Counter,
    pub(super) dropped_lines: Counter,
}

/// What is measured for a scrape.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub sessions: usize,
    /// Sessions that wait for a provider process to end.
    pub waiting: usize,
    /// Operations whose outcome is unknown.
    pub unconfirmed: usize,
    /// The provider and the resident memory, in bytes, of each process.
    pub processes: Vec<(Arc<str>, u64)>,
}

impl CallFamilies {
    fn new() -> Self {
        let durations = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        Self { outcomes: Family::default(), durations }
    }

    fn register(&self, registry: &mut Registry, prefix: &str, what: &str) {
        registry.register(
            format!("{prefix}calls"),
            format!("Finished {what}, by the status that they ended with"),
            self.outcomes.clone(),
        );
        registry.register(
            format!("{prefix}call_duration_seconds"),
            format!("Duration of {what}"),
            self.durations.clone(),
        );
    }
}

impl Metrics {
    pub(super) fn new() -> Self {
        let metrics = Self {
            registry: Registry::default(),
            calls: CallFamilies::new(),
            provider_calls: CallFamilies::new(),
            in_flight: Gauge::default(),
            starts: Family::default(),
            schema_cache_hits: Counter::default(),
            schema_cache_misses: Counter::default(),
            dropped_lines: Counter::default(),
        };
        let mut registry = Registry::default();
        metrics.calls.register(&mut registry, "isthmus_", "calls of engines");
        metrics.provider_calls.register(&mut registry, "isthmus_provider_", "calls to provider processes");
        registry.register(
            "isthmus_calls_in_flight",
            "Calls of engines that are in progress",
            metrics.in_flight.clone(),
        );
        registry.register("isthmus_provider_starts", "Starts of provider processes", metrics.starts.clone());
        registry.register(
            "isthmus_schema_cache_hits",
            "Packages whose schema was in the schema cache",
            metrics.schema_cache_hits.clone(),
        );
        registry.register(
            "isthmus_schema_cache_misses",
            "Packages whose provider was started to read its schema",
            metrics.schema_cache_misses.clone(),
        );
        registry.register(
            "isthmus_log_lines_dropped",
            "Log lines that came faster than they could be delivered",
            metrics.dropped_lines.clone(),
        );
        let build = Family::<Vec<(&'static str, &'static str)>, Gauge>::default();
        build.get_or_create(&vec![("version", env!("CARGO_PKG_VERSION"))]).set(1);
        registry.register("isthmus_build_info", "The version of isthmus, as a label", build);
        Self { registry, ..metrics }
    }

    /// All metrics as text, with the figures of now.
    pub(super) fn encode(&self, figures: &Figures, own: &Usage) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry)?;
        prometheus_text::encode(&mut text, &measured(figures, own))?;
        Ok(text)
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

fn measured(figures: &Figures, own: &Usage) -> Registry {
    let mut registry = Registry::default();
    let count = |count: usize| ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
    registry.register("isthmus_sessions", "Open sessions", count(figures.sessions));
    registry.register(
        "isthmus_pool_waiting",
        "Sessions that wait for another provider process to end",
        count(figures.waiting),
    );
    registry.register(
        "isthmus_unconfirmed_outcomes",
        "Operations whose outcome is not known, or not known to their engine",
        count(figures.unconfirmed),
    );
    let processes = Family::<ProviderLabels, Gauge>::default();
    let memory = Family::<ProviderLabels, Gauge>::default();
    for (provider, bytes) in &figures.processes {
        let labels = ProviderLabels { provider: Arc::clone(provider) };
        processes.get_or_create(&labels).inc();
        memory.get_or_create(&labels).inc_by(i64::try_from(*bytes).unwrap_or(i64::MAX));
    }
    registry.register("isthmus_provider_processes", "Running provider processes", processes);
    registry.register(
        "isthmus_provider_memory_bytes",
        "Resident memory of provider processes, with the processes that they have started",
        memory,
    );
    let bytes = ConstGauge::new(i64::try_from(own.resident_memory).unwrap_or(i64::MAX));
    registry.register("process_resident_memory_bytes", "Resident memory of the daemon", bytes);
    registry.register(
        "process_cpu_seconds",
        "Processor time of the daemon, without its providers",
        ConstCounter::new(own.cpu.as_secs_f64()),
    );
    registry.register("process_open_fds", "Open file descriptors of the daemon", count(own.open_files));
    registry
}

/// The label of a status: its name in gRPC.
pub const fn outcome(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// How many statuses there are.
pub(super) const OUTCOMES: usize = Code::Unauthenticated as usize + 1;
