//! A provider, as metrics see it: the counters of its calls.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use isthmus_provider::CallReport;
use isthmus_provider::Rpc;
use isthmus_provider::plugin::ProtocolVersion;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use tonic::Code;

use super::metrics::{CallFamilies, CallLabels, Metrics, OUTCOMES, OutcomeLabels, ProviderLabels, outcome};
use super::rpc::EngineRpc;
use super::traces::Traces;

/// A provider's address and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderName {
    /// Such as `registry.opentofu.org/hashicorp/random`; of a file of the user's, `local/` and its type.
    pub address: String,
    /// Empty if it has none.
    pub version: String,
}

impl ProviderName {
    /// As a label.
    pub(super) fn label(&self) -> Arc<str> {
        let Self { address, version } = self;
        if version.is_empty() { Arc::from(address.as_str()) } else { format!("{address}@{version}").into() }
    }
}

/// The counters of a provider.
pub struct ObservedProvider {
    name: ProviderName,
    label: Arc<str>,
    calls: Counters<{ EngineRpc::COUNT }>,
    provider_calls: Counters<{ Rpc::ALL.len() }>,
    starts: Counter,
    traces: Option<Arc<Traces>>,
}

/// Counters for each method. Those of a method are made at its first call.
struct Counters<const METHODS: usize> {
    families: CallFamilies,
    methods: [OnceLock<Box<MethodCounters>>; METHODS],
}

struct MethodCounters {
    duration: Histogram,
    outcomes: [OnceLock<Counter>; OUTCOMES],
}

impl ObservedProvider {
    /// The counters of this label.
    pub(super) fn new(
        name: ProviderName,
        label: Arc<str>,
        metrics: &Metrics,
        traces: Option<Arc<Traces>>,
    ) -> Self {
        Self {
            name,
            calls: Counters::new(&metrics.calls),
            provider_calls: Counters::new(&metrics.provider_calls),
            starts: metrics.starts.get_or_create_owned(&ProviderLabels { provider: Arc::clone(&label) }),
            label,
            traces,
        }
    }

    pub fn name(&self) -> &ProviderName {
        &self.name
    }

    /// The label of its metrics.
    pub fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// A process was started.
    pub fn started(&self) {
        self.starts.inc();
    }

    /// A call to a process has ended.
    pub fn called(&self, report: CallReport) {
        let name = || report.rpc.name(ProtocolVersion::V6);
        self.provider_calls.add(report.rpc as usize, name, &self.label, report.elapsed, report.code);
        if let Some(traces) = &self.traces {
            traces.provider_call(report, &self.label);
        }
    }

    /// A call of an engine has ended.
    pub(super) fn call_ended(&self, rpc: EngineRpc, elapsed: Duration, code: Code) {
        self.calls.add(rpc.index(), || rpc.name(), &self.label, elapsed, code);
    }
}

impl<const METHODS: usize> Counters<METHODS> {
    fn new(families: &CallFamilies) -> Self {
        Self { families: families.clone(), methods: [const { OnceLock::new() }; METHODS] }
    }

    fn add(
        &self,
        index: usize,
        name: impl FnOnce() -> &'static str + Copy,
        provider: &Arc<str>,
        elapsed: Duration,
        code: Code,
    ) {
        let method = self.methods[index].get_or_init(|| {
            let labels = CallLabels { rpc: name(), provider: Arc::clone(provider) };
            let duration = self.families.durations.get_or_create_owned(&labels);
            Box::new(MethodCounters { duration, outcomes: [const { OnceLock::new() }; OUTCOMES] })
        });
        method.duration.observe(elapsed.as_secs_f64());
        let counter = method.outcomes[code as usize].get_or_init(|| {
            let (rpc, outcome) = (name(), outcome(code));
            let labels = OutcomeLabels { rpc, provider: Arc::clone(provider), outcome };
            self.families.outcomes.get_or_create_owned(&labels)
        });
        counter.inc();
    }
}

impl fmt::Debug for ObservedProvider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("ObservedProvider").field(&self.label).finish()
    }
}
