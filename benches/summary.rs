//! Figures of many repetitions, brought together: the median, and how far they lie apart.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::calls::Call;
use crate::options::Contestant;
use crate::repetition::{Phase, Repetition, SuiteResult};
use crate::workload::Suite;

/// One line of the table.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// The part of the table that it is in.
    pub(crate) section: String,
    /// What was measured, with its unit.
    pub(crate) name: String,
    /// How many digits behind the point mean something.
    #[serde(skip)]
    pub(crate) digits: usize,
    /// The figures of those who have one.
    pub(crate) figures: BTreeMap<Contestant, Figure>,
}

/// One contestant's figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Figure {
    /// The median of the repetitions.
    pub(crate) median: f64,
    /// The smallest of them.
    pub(crate) least: f64,
    /// The largest of them.
    pub(crate) most: f64,
}

impl Figure {
    /// None without values. Of an even number, the median is the mean of the two in the middle.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len().is_multiple_of(2) {
            f64::midpoint(values[middle - 1], values[middle])
        } else {
            values[middle]
        };
        Some(Self { median, least, most })
    }
}

impl Row {
    /// How many times the second contestant's figure the first one's is. None where one of them has no figure, or the
    /// second's is zero.
    pub(crate) fn ratio(&self, of: Contestant, to: Contestant) -> Option<f64> {
        let (of, to) = (self.figures.get(&of)?.median, self.figures.get(&to)?.median);
        (to > 0.0).then(|| of / to)
    }
}

/// Brings the repetitions together, in the order in which the figures first appear.
pub(crate) fn summarise(repetitions: &[Repetition]) -> Vec<Row> {
    let mut rows: Vec<(Metric, BTreeMap<Contestant, Vec<f64>>)> = Vec::new();
    for repetition in repetitions {
        for (metric, value) in metrics(repetition) {
            let position = rows.iter().position(|(known, _)| *known == metric).unwrap_or_else(|| {
                rows.push((metric, BTreeMap::new()));
                rows.len() - 1
            });
            rows[position].1.entry(repetition.contestant).or_default().push(value);
        }
    }
    // Somebody without a figure of his own must not decide where another's stands.
    rows.sort_by_key(|(metric, _)| metric.section);
    rows.into_iter()
        .map(|(metric, values)| Row {
            section: metric.section.title(),
            name: metric.name,
            digits: metric.digits,
            figures: values
                .into_iter()
                .filter_map(|(contestant, values)| Figure::of(values).map(|figure| (contestant, figure)))
                .collect(),
        })
        .collect()
}

/// A part of the table, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Start,
    Serial(Suite),
    Concurrent(Suite, usize),
    Throughput,
    Cpu,
    SystemCalls,
    Memory,
    End,
}

impl Section {
    fn title(self) -> String {
        match self {
            Self::Start => "Start (random)".to_owned(),
            Self::Serial(suite) => format!("One at a time ({}), ms", suite.package()),
            Self::Concurrent(suite, concurrency) => {
                format!("{concurrency} at a time ({}), ms", suite.package())
            }
            Self::Throughput => "Throughput (more is better)".to_owned(),
            Self::Cpu => "CPU, user and system, seconds".to_owned(),
            Self::SystemCalls => "System calls for each call of the engine (random)".to_owned(),
            Self::Memory => "Memory, MiB".to_owned(),
            Self::End => "End".to_owned(),
        }
    }
}

/// What a figure is of.
#[derive(Clone, Debug, PartialEq)]
struct Metric {
    section: Section,
    name: String,
    digits: usize,
}

type Metrics = Vec<(Metric, f64)>;

fn metrics(repetition: &Repetition) -> Metrics {
    let mut metrics = Metrics::new();
    let has_bridge = repetition.contestant != Contestant::Floor;
    for result in &repetition.suites {
        let suite = result.suite;
        let (wanted, percents): (fn(Call) -> bool, &[u8]) = match suite {
            Suite::Random => {
                start(&mut metrics, result);
                if let Some(first) = &repetition.first {
                    let name = "spawn to parameterized, first start (empty home), ms";
                    add(&mut metrics, Section::Start, name, 1, first.startup.parameterized);
                }
                cpu(&mut metrics, result, has_bridge);
                system_calls(&mut metrics, result, has_bridge);
                memory(&mut metrics, result, has_bridge);
                end(&mut metrics, repetition, result);
                (|_| true, &[50, 90, 99])
            }
            Suite::Time => {
                (|call| matches!(call, Call::DiffChanged | Call::UpdatePreview | Call::Update), &[50, 90, 99])
            }
        };
        latencies(&mut metrics, Section::Serial(suite), &result.serial, wanted, percents);
        for phase in &result.concurrent {
            let section = Section::Concurrent(suite, phase.concurrency);
            latencies(&mut metrics, section, phase, wanted, &[50, 99]);
        }
        let package = suite.package();
        for phase in [&result.serial].into_iter().chain(&result.concurrent) {
            let name = format!("{package}, {} at a time, calls a second", phase.concurrency);
            add(&mut metrics, Section::Throughput, &name, 0, phase.throughput());
            let name = format!("{package}, {} at a time, lifecycles a second", phase.concurrency);
            add(&mut metrics, Section::Throughput, &name, 1, phase.lifecycles());
        }
    }
    metrics
}

fn add(metrics: &mut Metrics, section: Section, name: &str, digits: usize, value: f64) {
    metrics.push((Metric { section, name: name.to_owned(), digits }, value));
}

#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53")]
fn start(metrics: &mut Metrics, result: &SuiteResult) {
    let startup = &result.startup;
    if let Some(port) = startup.port {
        add(metrics, Section::Start, "spawn to port, ms", 1, port);
    }
    add(metrics, Section::Start, "spawn to parameterized, ms", 1, startup.parameterized);
    add(metrics, Section::Start, "spawn to configured, ms", 1, startup.configured);
    if let Some(schema) = startup.schema {
        add(metrics, Section::Start, "GetSchema, ms", 2, schema);
    }
    if let Some(bytes) = startup.schema_bytes {
        add(metrics, Section::Start, "size of the schema, KiB", 1, bytes as f64 / 1024.0);
    }
}

fn latencies(
    metrics: &mut Metrics,
    section: Section,
    phase: &Phase,
    wanted: impl Fn(Call) -> bool,
    percents: &[u8],
) {
    for (call, latency) in phase.latencies.iter().filter(|(call, _)| wanted(**call)) {
        for percent in percents {
            let value = match percent {
                50 => latency.p50,
                90 => latency.p90,
                _ => latency.p99,
            };
            add(metrics, section, &format!("{} p{percent}", call.title()), 2, value);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "calls stay far below 2^53")]
fn cpu(metrics: &mut Metrics, result: &SuiteResult, has_bridge: bool) {
    let phases = || [&result.serial].into_iter().chain(&result.concurrent);
    let thousands = phases().map(|phase| phase.calls).sum::<usize>() as f64 / 1000.0;
    let bridge = phases().map(|phase| phase.cpu.bridge).sum::<f64>() / thousands;
    let provider = phases().map(|phase| phase.cpu.provider).sum::<f64>() / thousands;
    if has_bridge {
        add(metrics, Section::Cpu, "bridge, start", 2, result.configured.cpu.bridge);
        add(metrics, Section::Cpu, "bridge, 1,000 calls", 3, bridge);
    }
    add(metrics, Section::Cpu, "provider, start", 2, result.configured.cpu.provider);
    add(metrics, Section::Cpu, "provider, 1,000 calls", 3, provider);
    add(metrics, Section::Cpu, "bridge and provider, 1,000 calls", 3, bridge + provider);
}

#[expect(clippy::cast_precision_loss, reason = "calls stay far below 2^53")]
fn system_calls(metrics: &mut Metrics, result: &SuiteResult, has_bridge: bool) {
    for phase in [&result.serial].into_iter().chain(&result.concurrent) {
        let each = |count: u64| count as f64 / phase.calls as f64;
        for (name, count) in
            [("bridge", phase.bridge_system_calls), ("provider", phase.provider_system_calls)]
        {
            if let Some(count) = count.filter(|_| has_bridge || name == "provider") {
                let name = format!("{name}, {} at a time", phase.concurrency);
                add(metrics, Section::SystemCalls, &name, 1, each(count));
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53")]
fn memory(metrics: &mut Metrics, result: &SuiteResult, has_bridge: bool) {
    let mib = |kib: u64| kib as f64 / 1024.0;
    if has_bridge {
        add(
            metrics,
            Section::Memory,
            "bridge, configured, resident",
            1,
            mib(result.configured.bridge.resident),
        );
        add(
            metrics,
            Section::Memory,
            "bridge, after the calls, resident",
            1,
            mib(result.worked.bridge.resident),
        );
        add(metrics, Section::Memory, "bridge, most that was resident", 1, mib(result.worked.bridge.peak));
    }
    add(
        metrics,
        Section::Memory,
        "provider, after the calls, resident",
        1,
        mib(result.worked.provider.resident),
    );
    add(metrics, Section::Memory, "provider, most that was resident", 1, mib(result.worked.provider.peak));
}

#[expect(clippy::cast_precision_loss, reason = "processes and messages are few")]
fn end(metrics: &mut Metrics, repetition: &Repetition, result: &SuiteResult) {
    if let Some(ended) = result.ended {
        add(metrics, Section::End, "messages logged to the engine", 0, repetition.logged.messages as f64);
        add(metrics, Section::End, "errors among them", 0, repetition.logged.errors as f64);
        add(metrics, Section::End, "Cancel to the end of the process, ms", 1, ended.milliseconds);
        add(metrics, Section::End, "had to be killed", 0, f64::from(u8::from(!ended.by_itself)));
        add(metrics, Section::End, "children left after SIGINT", 0, ended.children_left as f64);
    }
    if let Some(first) = &repetition.first {
        add(metrics, Section::End, "children when killed by SIGKILL", 0, first.killed.children as f64);
        add(metrics, Section::End, "children left after SIGKILL", 0, first.killed.children_left as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_median_and_the_spread() {
        let odd = Figure::of(vec![3.0, 1.0, 9.0]).unwrap();
        assert_eq!(odd, Figure { median: 3.0, least: 1.0, most: 9.0 });
        let even = Figure::of(vec![4.0, 1.0, 2.0, 9.0]).unwrap();
        assert_eq!(even, Figure { median: 3.0, least: 1.0, most: 9.0 });
        assert_eq!(Figure::of(Vec::new()), None);
    }

    #[test]
    fn there_is_no_ratio_to_nothing() {
        let figure = |median| Figure { median, least: median, most: median };
        let row = |floor: Option<f64>| Row {
            section: Section::End.title(),
            name: "children".to_owned(),
            digits: 0,
            figures: [(Contestant::Isthmus, Some(2.0)), (Contestant::Floor, floor)]
                .into_iter()
                .filter_map(|(contestant, value)| value.map(|value| (contestant, figure(value))))
                .collect(),
        };
        assert_eq!(row(Some(4.0)).ratio(Contestant::Isthmus, Contestant::Floor), Some(0.5));
        assert_eq!(row(Some(0.0)).ratio(Contestant::Isthmus, Contestant::Floor), None);
        assert_eq!(row(None).ratio(Contestant::Isthmus, Contestant::Floor), None);
    }
}
