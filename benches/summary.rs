//! The rows of the main job's table.

use serde::Serialize;

use crate::bridge::Startup;
use crate::calls::Call;
use crate::figures::Figures;
use crate::options::Contestant;
use crate::processes::CpuSeconds;
use crate::repetition::{Phase, Repetition, SuiteResult};
use crate::turns::Turn;
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
    pub(crate) figures: Figures,
}

/// Brings the repetitions together, in the order in which the figures first appear.
pub(crate) fn summarise(turns: &[Turn<Repetition>]) -> Vec<Row> {
    let mut known: Vec<Metric> = Vec::new();
    let metrics: Vec<Turn<Metrics>> = turns.iter().map(|turn| turn.map(|_| metrics(turn))).collect();
    for (metric, _) in metrics.iter().flat_map(|turn| &turn.measured) {
        if !known.contains(metric) {
            known.push(metric.clone());
        }
    }
    // A contestant without a figure must not decide where another's row is.
    known.sort_by_key(|metric| metric.section);
    known
        .into_iter()
        .map(|metric| Row {
            section: metric.section.title(),
            figures: Figures::of(&metrics, |metrics| {
                metrics.iter().find(|(other, _)| *other == metric).map(|(_, value)| *value)
            }),
            name: metric.name,
            digits: metric.digits,
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

fn metrics(turn: &Turn<Repetition>) -> Metrics {
    let mut metrics = Metrics::new();
    let repetition = &turn.measured;
    let has_bridge = turn.contestant != Contestant::Floor;
    for result in &repetition.suites {
        let suite = result.suite;
        let wanted: fn(Call) -> bool = match suite {
            Suite::Random => {
                start(&mut metrics, result);
                if let Some(first) = &repetition.first {
                    let name = "spawn to parameterized, first start (empty home), ms";
                    add(&mut metrics, Section::Start, name, 1, first.startup.parameterized);
                }
                cpu(&mut metrics, result, has_bridge);
                system_calls(&mut metrics, result);
                memory(&mut metrics, result, has_bridge);
                end(&mut metrics, repetition, result);
                |_| true
            }
            Suite::Time => |call| matches!(call, Call::DiffChanged | Call::UpdatePreview | Call::Update),
            Suite::Sandbox => |_| true,
        };
        for phase in &result.phases {
            let (section, percents): (_, &[u8]) = match phase.concurrency {
                1 => (Section::Serial(suite), &[50, 90, 99]),
                several => (Section::Concurrent(suite, several), &[50, 99]),
            };
            latencies(&mut metrics, section, phase, wanted, percents);
            let name = |what: &str| format!("{}, {} at a time, {what}", suite.package(), phase.concurrency);
            add(&mut metrics, Section::Throughput, &name("calls a second"), 0, phase.throughput());
            add(&mut metrics, Section::Throughput, &name("lifecycles a second"), 1, phase.lifecycles());
        }
    }
    metrics
}

fn add(metrics: &mut Metrics, section: Section, name: &str, digits: usize, value: f64) {
    metrics.push((Metric { section, name: name.to_owned(), digits }, value));
}

fn start(metrics: &mut Metrics, result: &SuiteResult) {
    let mut add = |name, digits, value: fn(&Startup) -> Option<f64>| {
        if let Some(value) = result.startup(value) {
            add(metrics, Section::Start, name, digits, value);
        }
    };
    add("spawn to port, ms", 1, |startup| startup.port);
    add("spawn to parameterized, ms", 1, |startup| Some(startup.parameterized));
    add("spawn to configured, ms", 1, |startup| Some(startup.configured));
    add("GetSchema, ms", 2, |startup| startup.schema);
    add("size of the schema, KiB", 1, |startup| startup.schema_bytes.map(kib));
}

#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53")]
fn kib(bytes: usize) -> f64 {
    bytes as f64 / 1024.0
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

fn cpu(metrics: &mut Metrics, result: &SuiteResult, has_bridge: bool) {
    let mut add = |name: &str, digits, cpu: CpuSeconds| {
        if has_bridge {
            add(metrics, Section::Cpu, &format!("bridge, {name}"), digits, cpu.bridge);
        }
        add(metrics, Section::Cpu, &format!("provider, {name}"), digits, cpu.provider);
        add(metrics, Section::Cpu, &format!("bridge and provider, {name}"), digits, cpu.both());
    };
    add("start", 2, result.configured.cpu);
    for phase in &result.phases {
        let name = format!("1,000 calls, {} at a time", phase.concurrency);
        add(&name, 3, phase.cpu.for_1000_of(phase.calls));
    }
    add("1,000 calls", 3, result.cpu_for_1000_calls());
}

fn system_calls(metrics: &mut Metrics, result: &SuiteResult) {
    for counted in &result.system_calls {
        let mut add = |whose: &str, count: Option<u64>| {
            if let Some(count) = count {
                let name = format!("{whose}, {} at a time", counted.concurrency);
                add(metrics, Section::SystemCalls, &name, 1, counted.each(count));
            }
        };
        add("bridge", counted.bridge);
        add("provider", counted.provider);
    }
}

fn memory(metrics: &mut Metrics, result: &SuiteResult, has_bridge: bool) {
    let worked = result.worked();
    if has_bridge {
        let bridge = worked.bridge;
        add(
            metrics,
            Section::Memory,
            "bridge, configured, resident",
            1,
            result.configured.bridge.resident.mib(),
        );
        add(metrics, Section::Memory, "bridge, after the calls, resident", 1, bridge.resident.mib());
        add(metrics, Section::Memory, "bridge, after the calls, anonymous", 1, bridge.anonymous.mib());
        add(metrics, Section::Memory, "bridge, most that was resident", 1, bridge.peak.mib());
    }
    add(metrics, Section::Memory, "provider, after the calls, resident", 1, worked.provider.resident.mib());
    add(metrics, Section::Memory, "provider, most that was resident", 1, worked.provider.peak.mib());
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
