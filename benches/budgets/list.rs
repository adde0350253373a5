//! The budgets, in the order of the table.

use std::fmt::Write as _;

use super::Measurements;
use super::evaluation::{Budget, Limit, Quantity};
use crate::bridge::Startup;
use crate::calls::{Call, Latency};
use crate::figures::Figures;
use crate::large_schema::Loads;
use crate::options::{Contestant, Section};
use crate::processes::{Kib, Memory};
use crate::repetition::{Phase, Repetition, SuiteResult};
use crate::turns::Turn;
use crate::waits::Waits;
use crate::workload::Suite;

use Contestant::{Floor, GoBridge};
use Limit::{AtLeast, AtMost};

/// Bytes in a MiB.
const MIB: f64 = 1_048_576.0;

/// Calls, with the limits of their p50 one at a time.
const LATENCIES: [(Call, f64); 6] = [
    (Call::Check, 0.45),
    (Call::CreatePreview, 0.4),
    (Call::Create, 0.4),
    (Call::Diff, 0.4),
    (Call::Read, 0.4),
    (Call::Delete, 0.9),
];

/// What the table calls a section.
pub(super) fn title(section: Section) -> &'static str {
    match section {
        Section::Calls => "Calls of resources",
        Section::Start => "Start",
        Section::LargeSchema => "Large schema",
        Section::Cli => "Pulumi CLI",
        Section::Size => "Executable",
        Section::ColdBuild => "Build",
    }
}

/// All budgets, whether they were measured or not.
pub(super) fn budgets(measured: &Measurements) -> Vec<Budget> {
    let mut budgets = calls(&measured.calls);
    budgets.extend(start(&measured.calls));
    budgets.extend(large_schema(&measured.large_schema));
    budgets.extend(cli(&measured.cli));
    budgets.extend(sizes_and_build(measured));
    budgets
}

fn calls(turns: &[Turn<Repetition>]) -> Vec<Budget> {
    let quantity = |name: &str, digits, value: &dyn Fn(&SuiteResult) -> Option<f64>| Quantity {
        section: Section::Calls,
        name: name.to_owned(),
        digits,
        figures: Figures::of(turns, |repetition| value(repetition.suite(Suite::Random)?)),
    };
    let mut budgets = Vec::new();

    // The floor has no bridge.
    let bridge = |result: &SuiteResult| Some(result.cpu_for_1000_calls().bridge).filter(|cpu| *cpu > 0.0);
    let cpu = quantity("CPU of the bridge, s for 1,000 calls", 3, &bridge);
    budgets.push(cpu.ratio_to(GoBridge, AtMost(0.25)));
    let both = |result: &SuiteResult| Some(result.cpu_for_1000_calls().both());
    let cpu = quantity("CPU of bridge and provider, s for 1,000 calls", 3, &both);
    budgets.push(cpu.ratio_to(GoBridge, AtMost(0.45)));

    let lifecycles = [4, 32].map(|concurrency| {
        quantity(&format!("lifecycles a second, {concurrency} at a time"), 1, &|result| {
            Some(phase(result, concurrency)?.lifecycles())
        })
    });
    budgets.extend(lifecycles.iter().map(|lifecycles| lifecycles.ratio_to(GoBridge, AtLeast(2.5))));
    budgets.extend(lifecycles.iter().map(|lifecycles| lifecycles.ratio_to(Floor, AtLeast(1.0))));

    let latency = |call: Call, concurrency, quantile: &str, of: fn(&Latency) -> f64| {
        let name = format!("{} {quantile}, {concurrency} at a time, ms", call.title());
        quantity(&name, 2, &|result| phase(result, concurrency)?.latencies.get(&call).map(of))
    };
    for (call, limit) in LATENCIES {
        budgets.push(latency(call, 1, "p50", |latency| latency.p50).ratio_to(GoBridge, AtMost(limit)));
    }
    for (call, _) in LATENCIES {
        budgets.push(latency(call, 32, "p99", |latency| latency.p99).ratio_to(GoBridge, AtMost(0.6)));
    }

    let system_calls = |result: &SuiteResult| {
        let counted = result.system_calls.iter().find(|counted| counted.concurrency == 1)?;
        counted.bridge.map(|count| counted.each(count))
    };
    let system_calls = quantity("system calls of the bridge for each call, 1 at a time", 1, &system_calls);
    budgets.push(system_calls.value(AtMost(15.0)));

    let resident = |result: &SuiteResult| {
        let resident = result.phases.last()?.usage.bridge.resident.mib();
        Some(resident).filter(|resident| *resident > 0.0)
    };
    let memory = quantity("resident memory of the bridge after the calls, MiB", 1, &resident);
    budgets.push(memory.ratio_to(GoBridge, AtMost(0.2)));
    budgets.push(memory.value(AtMost(16.0)));
    budgets
}

fn start(turns: &[Turn<Repetition>]) -> Vec<Budget> {
    let budget = |name: &str, value: fn(&Startup) -> Option<f64>, limit: f64| {
        let figures = Figures::of(turns, |repetition| repetition.suite(Suite::Random)?.startup(value));
        let quantity = Quantity { section: Section::Start, name: name.to_owned(), digits: 2, figures };
        quantity.ratio_to(GoBridge, AtMost(limit))
    };
    vec![
        budget("spawn to port, ms", |startup| startup.port, 1.0 / 20.0),
        budget(
            "spawn to parameterized, known provider, ms",
            |startup| Some(startup.parameterized),
            1.0 / 40.0,
        ),
        budget("GetSchema again, random, ms", |startup| startup.schema, 1.0 / 20.0),
    ]
}

fn large_schema(turns: &[Turn<Loads>]) -> Vec<Budget> {
    let quantity = |name: &str, digits, value: fn(&Loads) -> f64| Quantity {
        section: Section::LargeSchema,
        name: name.to_owned(),
        digits,
        figures: Figures::of(turns, |loads| Some(value(loads))),
    };
    let schema = quantity("GetSchema again, ms", 1, |loads| loads.second.schema);
    let anonymous = quantity("anonymous memory of the bridge after it, MiB", 1, |loads| {
        loads.second.usage.bridge.anonymous.mib()
    });
    vec![schema.ratio_to(GoBridge, AtMost(1.0 / 20.0)), anonymous.value(AtMost(25.0))]
}

fn cli(turns: &[Turn<Waits>]) -> Vec<Budget> {
    let budget = |command: &str, value: fn(&Waits) -> f64| {
        let figures = Figures::of(turns, |waits| Some(value(waits)));
        let quantity = Quantity { section: Section::Cli, name: format!("{command}, s"), digits: 2, figures };
        quantity.ratio_to(GoBridge, AtMost(0.9))
    };
    vec![
        budget("`pulumi up`", |waits| waits.up.seconds),
        budget("`pulumi up` without changes", |waits| waits.unchanged.seconds),
        budget("`pulumi destroy`", |waits| waits.destroy.seconds),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53")]
fn sizes_and_build(measured: &Measurements) -> [Budget; 2] {
    let quantity = |section, name: &str, value: Option<f64>| {
        let turn = Turn { contestant: Contestant::Isthmus, turn: 1, measured: value };
        Quantity { section, name: name.to_owned(), digits: 1, figures: Figures::of(&[turn], |value| *value) }
    };
    let size = measured.stripped_bytes.map(|bytes| bytes as f64 / MIB);
    let build = measured.cold_build_seconds.map(|seconds| seconds / 60.0);
    [
        quantity(Section::Size, "stripped, MiB", size).value(AtMost(22.0)),
        quantity(Section::ColdBuild, "release build from nothing, CPU minutes", build).value(AtMost(8.0)),
    ]
}

/// What explains the budgets and is not limited: a list in Markdown.
#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53")]
pub(super) fn notes(measured: &Measurements) -> String {
    let schema = Figures::of(&measured.calls, |repetition| {
        let bytes = |startup: &Startup| startup.schema_bytes.map(|bytes| bytes as f64);
        repetition.suite(Suite::Random)?.startup(bytes).map(|bytes| bytes / MIB)
    });
    let main = |value: fn(&Memory) -> Kib| {
        Figures::of(&measured.calls, |repetition| {
            Some(value(&repetition.suite(Suite::Random)?.phases.last()?.usage.main).mib())
        })
    };
    let notes = [
        ("resident memory after the calls, without helpers", main(|memory| memory.resident)),
        ("part of it that is anonymous", main(|memory| memory.anonymous)),
        ("schema of random", schema),
        (
            "schema of the large provider",
            Figures::of(&measured.large_schema, |loads| Some(loads.second.schema_bytes as f64 / MIB)),
        ),
    ];
    let mut text = String::new();
    for (name, figures) in notes {
        for contestant in [Contestant::Isthmus, GoBridge] {
            if let Some(median) = figures.median(contestant) {
                // Writing to a text cannot fail.
                let _ = writeln!(text, "- {name}, {}: {median:.2} MiB", contestant.title());
            }
        }
    }
    text
}

fn phase(result: &SuiteResult, concurrency: usize) -> Option<&Phase> {
    result.phases.iter().find(|phase| phase.concurrency == concurrency)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budgets::evaluation::Verdict;

    #[test]
    fn every_budget_is_listed_and_none_is_held_before_anything_is_measured() {
        let budgets = budgets(&Measurements::default());
        assert_eq!(budgets.len(), 31);
        assert!(budgets.iter().all(|budget| budget.verdict == Verdict::NotMeasured));
    }
}
