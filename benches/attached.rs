//! What a plugin costs that passes its calls on to a shared daemon, compared with one that makes them itself.
//!
//! One plugin and one stack, whose provider runs. Calls are made one after another: empty ones, which are answered from
//! memory; Checks of a resource, whose validation the provider has answered before; and plans of its provider. The plugin is
//! the same executable in both cases.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Serialize;

use crate::bridge::{Bridge, BridgeClient, SharedDaemon};
use crate::calls::{Latency, milliseconds};
use crate::engine::Engine;
use crate::figures::Figures;
use crate::machine;
use crate::options::{Contestant, Options};
use crate::processes::{Executable, Kib, Tree};
use crate::report::{self, Conditions, Files};
use crate::stacks::{Home, Plan};
use crate::system_calls::Counter;
use crate::tools::{Need, Tools};
use crate::turns::{Turn, by_turns};

/// Calls of each kind, for each resource of `--count`.
const CALLS: usize = 10;

/// A kind of call.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// GetPluginInfo.
    Empty,
    Check,
    CreatePreview,
}

/// One kind of call.
#[derive(Debug, Serialize)]
struct Cost {
    latency: Latency,
    /// CPU time of the plugin and the daemon for each call, in microseconds.
    cpu: f64,
    /// System calls of the plugin and the daemon for each call.
    system_calls: Option<f64>,
    /// Those of the plugin alone.
    system_calls_of_plugin: Option<f64>,
}

/// One plugin.
#[derive(Debug, Serialize)]
struct Costs {
    /// From its start to the answer of its first Create, in milliseconds. A provider runs only if there is a daemon.
    answered: f64,
    empty: Cost,
    check: Cost,
    create_preview: Cost,
    /// Proportional memory of the plugin's first process, after all calls.
    plugin: Kib,
}

#[derive(Debug, Serialize)]
struct AttachedReport<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    load_after: String,
    calls: usize,
    repetitions: usize,
    turns: &'a [Turn<Costs>],
}

/// The columns of the table.
const CONTESTANTS: [Contestant; 2] = [Contestant::Daemon, Contestant::Isthmus];

/// Measures, writes the results, and returns the table.
pub(crate) async fn run(options: &Options, files: &Files) -> anyhow::Result<String> {
    let tools = Tools::find(options, &[Need::Tls])?;
    let conditions = Conditions::observe(files, options, &tools.programs);
    let engine = Engine::start(&tools.engine, options.client).await?.into();
    let calls = options.count * CALLS;
    let turns = by_turns("one plugin", options.repetitions(), &CONTESTANTS, async |contestant| {
        let home = Home::new(contestant, &tools, &engine, 1).await?;
        if home.daemon().is_some() {
            // Then its provider runs.
            home.plan().begin(0).await?.bridge.end().await?;
        }
        let costs = measure(home.plan(), home.daemon(), calls).await?;
        home.end().await;
        Ok(costs)
    });
    let turns = turns.await?;
    let report = AttachedReport {
        conditions,
        load_after: machine::load(),
        calls,
        repetitions: options.repetitions(),
        turns: &turns,
    };
    let table = table(&report);
    files.write_both(&report, &table)?;
    Ok(table)
}

async fn measure(plan: &Plan, daemon: Option<&SharedDaemon>, calls: usize) -> anyhow::Result<Costs> {
    let provider = Executable::at(plan.provider())?;
    let began = Instant::now();
    let begun = plan.begin(0).await?;
    let answered = milliseconds(begun.answered.duration_since(began));
    let bridge = begun.bridge;
    let cost = async |kind| cost(&bridge, daemon, provider, kind, calls).await;
    let (empty, check) = (cost(Kind::Empty).await?, cost(Kind::Check).await?);
    let create_preview = cost(Kind::CreatePreview).await?;
    let plugin = Tree::of(bridge.id())?.proportional_memory_of_root();
    bridge.end().await?;
    Ok(Costs { answered, empty, check, create_preview, plugin })
}

async fn cost(
    bridge: &Bridge,
    daemon: Option<&SharedDaemon>,
    provider: Executable,
    kind: Kind,
    calls: usize,
) -> anyhow::Result<Cost> {
    let trees = || -> anyhow::Result<Vec<Tree>> {
        let daemon = daemon.map(|daemon| Tree::of(daemon.id())).transpose()?;
        Ok([Some(Tree::of(bridge.id())?), daemon].into_iter().flatten().collect())
    };
    let cpu = || -> anyhow::Result<f64> {
        Ok(trees()?.iter().map(|tree| tree.usage(provider).cpu.bridge).sum::<f64>())
    };
    let mut client = bridge.client();
    // What is used for the first time is not measured.
    make(&mut client, kind, calls / 10).await?;
    let before = cpu()?;
    let durations = make(&mut client, kind, calls).await?;
    let used = cpu()? - before;
    let of_plugin = Tree::of(bridge.id())?.processes(provider).bridge;
    let of_daemon = match daemon {
        Some(daemon) => Tree::of(daemon.id())?.processes(provider).bridge,
        None => Vec::new(),
    };
    let (plugin, rest) = (Counter::start(&of_plugin)?, Counter::start(&of_daemon)?);
    make(&mut client, kind, calls).await?;
    let (plugin, rest) = (plugin.finish()?, rest.finish()?);
    #[expect(clippy::cast_precision_loss, reason = "calls stay far below 2^53")]
    let each = |count: u64| count as f64 / calls as f64;
    let all = plugin.map(|plugin| plugin + rest.unwrap_or_default());
    #[expect(clippy::cast_precision_loss, reason = "calls stay far below 2^53")]
    let cpu = used * 1e6 / calls as f64;
    Ok(Cost {
        latency: Latency::of(durations).context("there were no calls")?,
        cpu,
        system_calls: all.map(each),
        system_calls_of_plugin: plugin.map(each),
    })
}

async fn make(client: &mut BridgeClient, kind: Kind, calls: usize) -> anyhow::Result<Vec<Duration>> {
    let mut durations = Vec::with_capacity(calls);
    for _ in 0..calls {
        let began = Instant::now();
        match kind {
            Kind::Empty => client.empty().await?,
            Kind::Check => client.check_first("stack-0", Plan::RESOURCE, Plan::inputs()).await.map(drop)?,
            Kind::CreatePreview => client.preview_first("stack-0", Plan::RESOURCE, Plan::inputs()).await?,
        }
        durations.push(began.elapsed());
    }
    Ok(durations)
}

/// A line of the table: what it shows, how many digits behind the point mean something, and the figure.
type Line = (&'static str, usize, fn(&Cost) -> Option<f64>);

const LINES: [Line; 5] = [
    ("p50, ms", 3, |cost| Some(cost.latency.p50)),
    ("p99, ms", 3, |cost| Some(cost.latency.p99)),
    ("CPU of plugin and daemon, µs", 0, |cost| Some(cost.cpu)),
    ("system calls of plugin and daemon", 1, |cost| cost.system_calls),
    ("system calls of the plugin", 1, |cost| cost.system_calls_of_plugin),
];

/// A section of the table: its title, and its calls.
type Calls = (&'static str, fn(&Costs) -> &Cost);

const KINDS: [Calls; 3] = [
    ("Empty call (GetPluginInfo)", |costs| &costs.empty),
    ("Check, validated before", |costs| &costs.check),
    ("Create (preview)", |costs| &costs.create_preview),
];

fn table(report: &AttachedReport<'_>) -> String {
    let mut text = report.conditions.heading();
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "\n{} calls of each kind, one after another, with the provider `tls`; medians of {} repetitions, in parentheses the \
         least and the most. Load after the end {}.\n",
        report.calls, report.repetitions, report.load_after,
    );
    let [attached, own] = CONTESTANTS;
    let titles = ["", attached.title(), own.title(), "ratio", "more, in empty calls"].map(str::to_owned);
    report::titles(&mut text, &titles);
    let empty = Figures::of(report.turns, |costs| Some(costs.empty.latency.p50)).median(own);
    for (title, cost) in KINDS {
        report::section(&mut text, title, titles.len());
        for (number, (name, digits, value)) in LINES.into_iter().enumerate() {
            let figures = Figures::of(report.turns, |costs| value(cost(costs)));
            let more = (|| Some((figures.median(attached)? - figures.median(own)?) / empty?))();
            report::line(&mut text, &line(name, &figures, digits, more.filter(|_| number == 0)));
        }
    }
    report::section(&mut text, "Plugin", titles.len());
    let answered = Figures::of(report.turns, |costs| Some(costs.answered));
    report::line(&mut text, &line("start to first answer, ms", &answered, 1, None));
    let plugin = Figures::of(report.turns, |costs| Some(costs.plugin.mib()));
    report::line(&mut text, &line("memory of its first process, MiB", &plugin, 1, None));
    text
}

fn line(name: &str, figures: &Figures, digits: usize, more: Option<f64>) -> Vec<String> {
    let [attached, own] = CONTESTANTS;
    let shown = |ratio: Option<f64>| ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    vec![
        name.to_owned(),
        figures.cell(attached, digits),
        figures.cell(own, digits),
        shown(figures.ratio(attached, own)),
        shown(more),
    ]
}
