//! Many stacks that begin at once and share some configurations of one provider: each with a bridge of its own, and all
//! beside one shared daemon.
//!
//! Each stack is a plugin process, as an engine starts it, and makes the calls of a program up to its first resource. They
//! have one working directory, as stacks of one project do. When all have their answer, what they use is read. Then they end,
//! and the same stacks begin once more, which a daemon meets with its providers running.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context as _;
use isthmus_proto::property::{Struct, Value};
use serde::Serialize;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::bridge::{Bridge, BridgeSpec, SharedDaemon};
use crate::calls::milliseconds;
use crate::engine::Engine;
use crate::figures::{Figures, median};
use crate::machine;
use crate::options::{Contestant, Options, StacksOptions};
use crate::processes::{CpuSeconds, Executable, Kib, Tree};
use crate::report::{self, Conditions, Files};
use crate::tools::{Need, Tools};
use crate::turns::{Turn, by_turns};

/// Two runs of all stacks.
#[derive(Debug, Serialize)]
struct Runs {
    /// Nothing runs before.
    first: Run,
    /// After the end of the first.
    second: Run,
}

/// One run of all stacks.
#[derive(Debug, Default, Serialize)]
struct Run {
    /// From the beginning of the run to the answer of each stack's Configure, in milliseconds.
    configured: Vec<f64>,
    /// The same to the answer of its first Create.
    answered: Vec<f64>,
    /// Proportional memory of plugins, helpers and daemon, when all have answered.
    bridges: Kib,
    /// Proportional memory of providers.
    providers: Kib,
    /// How many processes run the provider.
    provider_processes: usize,
    /// CPU time of the run, up to that moment.
    cpu: CpuSeconds,
}

#[derive(Debug, Serialize)]
struct StacksReport<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    load_after: String,
    stacks: usize,
    configurations: usize,
    repetitions: usize,
    turns: &'a [Turn<Runs>],
}

/// Measures, writes the results, and returns the table.
pub(crate) async fn run(options: &Options, stacks: StacksOptions, files: &Files) -> anyhow::Result<String> {
    let tools = Tools::find(options, &[Need::Tls])?;
    let conditions = Conditions::observe(files, options, &tools.programs);
    let engine = Arc::new(Engine::start(&tools.engine, options.client).await?);
    let mut contestants = options.bridges();
    if contestants.contains(&Contestant::Isthmus) {
        contestants.insert(0, Contestant::Daemon);
    }
    let what = format!("{} stacks", stacks.stacks);
    let turns = by_turns(&what, options.repetitions(), &contestants, async |contestant| {
        measure(contestant, stacks, &tools, &engine).await
    });
    let turns = turns.await?;
    let report = StacksReport {
        conditions,
        load_after: machine::load(),
        stacks: stacks.stacks,
        configurations: stacks.configurations,
        repetitions: options.repetitions(),
        turns: &turns,
    };
    let table = table(&report);
    files.write_both(&report, &table)?;
    Ok(table)
}

/// What each stack needs.
#[derive(Debug)]
pub(crate) struct Plan {
    spec: BridgeSpec,
    engine: Arc<Engine>,
    provider: PathBuf,
    configurations: usize,
}

/// A stack that has its first answer.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) bridge: Bridge,
    pub(crate) configured: Instant,
    pub(crate) answered: Instant,
}

/// A machine that knows the provider: its schema is in the cache, and the programs are in memory. A daemon runs, if the
/// contestant has one, and no provider.
#[derive(Debug)]
pub(crate) struct Home {
    plan: Arc<Plan>,
    daemon: Option<SharedDaemon>,
    _directory: TempDir,
}

impl Plan {
    /// The first resource of each stack: a key that takes little time to make.
    pub(crate) const RESOURCE: &str = "tls:index/privateKey:PrivateKey";

    /// Its inputs.
    pub(crate) fn inputs() -> Struct {
        [("algorithm", Value::from("ED25519"))].into()
    }

    /// The provider's file.
    pub(crate) fn provider(&self) -> &Path {
        &self.provider
    }

    /// Begins a stack: from the start of its plugin to the answer of its first Create.
    pub(crate) async fn begin(&self, number: usize) -> anyhow::Result<Begun> {
        let stack = format!("stack-{number}");
        let proxy = format!("http://127.0.0.1:9/{}", number % self.configurations);
        let proxy: Struct = [("url", Value::from(proxy))].into();
        let configuration = [("proxies", Value::from(vec![Value::from(proxy)]))].into();
        let bridge =
            Bridge::of_stack(&self.spec, &self.engine, &stack, &self.provider, configuration).await?;
        let configured = Instant::now();
        let created = bridge.client().create_first(&stack, Self::RESOURCE, Self::inputs()).await;
        created.map_err(|error| bridge.explain(error))?;
        Ok(Begun { bridge, configured, answered: Instant::now() })
    }
}

impl Home {
    /// A machine for stacks with so many configurations.
    pub(crate) async fn new(
        contestant: Contestant,
        tools: &Tools,
        engine: &Arc<Engine>,
        configurations: usize,
    ) -> anyhow::Result<Self> {
        let executable = tools.bridge(contestant).context("there is no floor for stacks")?;
        let directory = TempDir::with_prefix("isthmus-benches-home-").context("no temporary directory")?;
        let plan = |daemon: &str| Plan {
            spec: BridgeSpec {
                executable: executable.to_owned(),
                home: directory.path().to_owned(),
                variables: vec![("ISTHMUS_DAEMON", daemon.to_owned())],
            },
            engine: Arc::clone(engine),
            provider: tools.tls.clone(),
            configurations,
        };
        let alone = plan("off");
        alone.begin(0).await?.bridge.end().await?;
        let (plan, daemon) = match contestant {
            Contestant::Daemon => {
                let daemon = SharedDaemon::start(&tools.command()?, &alone.spec).await?;
                (plan(&daemon.socket()?), Some(daemon))
            }
            _ => (alone, None),
        };
        Ok(Self { plan: Arc::new(plan), daemon, _directory: directory })
    }

    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    pub(crate) fn daemon(&self) -> Option<&SharedDaemon> {
        self.daemon.as_ref()
    }

    /// Ends the daemon.
    pub(crate) async fn end(self) {
        if let Some(daemon) = self.daemon {
            daemon.end().await;
        }
    }
}

async fn measure(
    contestant: Contestant,
    stacks: StacksOptions,
    tools: &Tools,
    engine: &Arc<Engine>,
) -> anyhow::Result<Runs> {
    let home = Home::new(contestant, tools, engine, stacks.configurations).await?;
    let run = async || run_all(home.plan(), stacks.stacks, home.daemon()).await;
    let first = run().await.context("the first run")?;
    let second = run().await.context("the second run")?;
    home.end().await;
    Ok(Runs { first, second })
}

/// Begins all stacks at once, and ends them when all have their answer.
async fn run_all(plan: &Arc<Plan>, stacks: usize, daemon: Option<&SharedDaemon>) -> anyhow::Result<Run> {
    let provider = Executable::at(&plan.provider)?;
    let of_daemon = || daemon.map(|daemon| Tree::of(daemon.id())).transpose();
    let before = of_daemon()?.map(|tree| tree.usage(provider).cpu).unwrap_or_default();
    let began = Instant::now();
    let mut beginning = JoinSet::new();
    for number in 0..stacks {
        let plan = Arc::clone(plan);
        beginning.spawn(async move { plan.begin(number).await });
    }
    let mut bridges = Vec::new();
    let (mut configured, mut answered) = (Vec::new(), Vec::new());
    while let Some(begun) = beginning.join_next().await {
        let begun = begun.context("a stack")??;
        configured.push(milliseconds(begun.configured.duration_since(began)));
        answered.push(milliseconds(begun.answered.duration_since(began)));
        bridges.push(begun.bridge);
    }
    let mut trees = bridges.iter().map(|bridge| Tree::of(bridge.id())).collect::<anyhow::Result<Vec<_>>>()?;
    trees.extend(of_daemon()?);
    let mut run = Run { configured, answered, ..Run::default() };
    let mut cpu = Vec::new();
    for tree in &trees {
        let usage = tree.usage(provider);
        cpu.push(usage.cpu);
        run.provider_processes += usage.providers;
        let (bridges, providers) = tree.proportional_memory(provider);
        run.bridges += bridges;
        run.providers += providers;
    }
    run.cpu = cpu.into_iter().sum::<CpuSeconds>().since(before);
    let mut ending = JoinSet::new();
    for bridge in bridges {
        ending.spawn(bridge.end());
    }
    while let Some(ended) = ending.join_next().await {
        ended.context("a bridge")??;
    }
    Ok(run)
}

impl Run {
    fn worst(times: &[f64]) -> Option<f64> {
        times.iter().copied().reduce(f64::max)
    }

    fn memory(&self) -> f64 {
        self.bridges.mib() + self.providers.mib()
    }
}

/// A line of the table: what it shows, how many digits behind the point mean something, and the figure.
type Line = (&'static str, usize, fn(&Run) -> Option<f64>);

#[expect(clippy::cast_precision_loss, reason = "there are few processes")]
const LINES: [Line; 10] = [
    ("first answer, median, ms", 0, |run| median(run.answered.clone())),
    ("first answer, worst, ms", 0, |run| Run::worst(&run.answered)),
    ("configured, median, ms", 0, |run| median(run.configured.clone())),
    ("configured, worst, ms", 0, |run| Run::worst(&run.configured)),
    ("memory of all, MiB", 0, |run| Some(run.memory())),
    ("memory of the bridges, MiB", 0, |run| Some(run.bridges.mib())),
    ("memory of the providers, MiB", 0, |run| Some(run.providers.mib())),
    ("CPU of all, s", 2, |run| Some(run.cpu.both())),
    ("CPU of the bridges, s", 2, |run| Some(run.cpu.bridge)),
    ("processes of the provider", 0, |run| Some(run.provider_processes as f64)),
];

/// The columns with the contestants' figures.
const CONTESTANTS: [Contestant; 3] = [Contestant::Daemon, Contestant::Isthmus, Contestant::GoBridge];

fn table(report: &StacksReport<'_>) -> String {
    let mut text = report.conditions.heading();
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "\n{} stacks with {} configurations of the provider `tls` begin at once; memory is proportional (`Pss`), of all \
         processes together, when all have their first answer. Medians of {} repetitions, in parentheses the least and the \
         most. Load after the end {}.\n",
        report.stacks, report.configurations, report.repetitions, report.load_after,
    );
    let mut titles = vec![String::new()];
    titles.extend(CONTESTANTS.map(|contestant| contestant.title().to_owned()));
    let ratios = [Contestant::GoBridge, Contestant::Isthmus];
    titles.extend(ratios.map(|other| format!("daemon ÷ {}", other.title())));
    report::titles(&mut text, &titles);
    for (title, run) in RUNS {
        report::section(&mut text, title, titles.len());
        for (name, digits, value) in LINES {
            let figures = Figures::of(report.turns, |runs| value(run(runs)));
            let mut cells = vec![name.to_owned()];
            cells.extend(CONTESTANTS.map(|contestant| figures.cell(contestant, digits)));
            cells.extend(ratios.map(|other| {
                let ratio = figures.ratio(Contestant::Daemon, other);
                ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}"))
            }));
            report::line(&mut text, &cells);
        }
    }
    text
}

/// A section of the table: its title, and its run.
type Section = (&'static str, fn(&Runs) -> &Run);

const RUNS: [Section; 2] =
    [("First run", |runs| &runs.first), ("The same stacks again", |runs| &runs.second)];
