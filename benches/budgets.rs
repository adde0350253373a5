//! What the project has promised of its speed and size, each promise as a budget that is held or missed.
//!
//! A budget limits the median of one figure of isthmus, or the ratio of it to another contestant's. What was not measured is
//! never held.

mod evaluation;
mod list;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde::Serialize;
use tempfile::TempDir;

use crate::engine::Engine;
use crate::large_schema::{self, Loads};
use crate::machine;
use crate::options::{BudgetOptions, Contestant, LargeSchema, Options, Section, workspace};
use crate::processes;
use crate::repetition::{Field, PhaseSize, Plan, Repetition};
use crate::report::{self, Conditions, Files};
use crate::tools::{Need, Tools};
use crate::turns::{Turn, by_turns};
use crate::waits::{self, Stack, Waits};
use crate::workload::Suite;
use evaluation::{Budget, Verdict};

/// Resources of the large provider, and attributes of each.
const LARGE_SCHEMA: &str = "1128x70";

/// How many resources are in progress at once, in each phase.
const CONCURRENCY: [usize; 3] = [1, 4, 32];

/// Everything that was measured. Sections that were left out are empty.
#[derive(Debug, Default, Serialize)]
struct Measurements {
    /// Calls of resources, and starts.
    calls: Vec<Turn<Repetition>>,
    /// Starts for the schema of a large provider.
    large_schema: Vec<Turn<Loads>>,
    /// Commands of the Pulumi CLI.
    cli: Vec<Turn<Waits>>,
    /// The size of the executable without symbols, in bytes.
    stripped_bytes: Option<u64>,
    /// CPU time of a release build from nothing, in seconds.
    cold_build_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    load_after: String,
    count: usize,
    repetitions: usize,
    large_schema_size: &'static str,
    budgets: Vec<Budget>,
    raw: Measurements,
}

/// Measures, writes the results, and returns the table.
pub(crate) async fn run(options: &Options, budgets: &BudgetOptions, files: &Files) -> anyhow::Result<String> {
    let needs = [
        (Section::Calls, Need::Random),
        (Section::Start, Need::Random),
        (Section::LargeSchema, Need::Sandbox),
        (Section::Cli, Need::Random),
        (Section::Cli, Need::Pulumi),
    ];
    let needs = needs.into_iter().filter(|(section, _)| budgets.measures(*section));
    let tools = Tools::find(options, &needs.map(|(_, need)| need).collect::<Vec<_>>())?;
    let conditions = Conditions::observe(files, options, &tools.programs);
    let raw = measure(options, budgets, &tools).await?;
    let report = Report {
        conditions,
        load_after: machine::load(),
        count: options.count,
        repetitions: options.repetitions(),
        large_schema_size: LARGE_SCHEMA,
        budgets: list::budgets(&raw),
        raw,
    };
    let table = report.table();
    files.write_both(&report, &table)?;
    Ok(table)
}

async fn measure(options: &Options, budgets: &BudgetOptions, tools: &Tools) -> anyhow::Result<Measurements> {
    let engine = Engine::start(&tools.engine, options.client).await?;
    let turns = options.repetitions();
    let mut measurements = Measurements::default();
    if budgets.measures(Section::Calls) || budgets.measures(Section::Start) {
        let phase = |concurrency| PhaseSize { resources: options.count, concurrency };
        let mut plan =
            Plan { first_start: false, suites: vec![Suite::Random], phases: Vec::new(), counted: Vec::new() };
        if budgets.measures(Section::Calls) {
            plan.phases = CONCURRENCY.map(phase).to_vec();
            plan.counted = vec![phase(1)];
        }
        let field = Field::prepare(tools, &engine)?;
        measurements.calls = field.measure_by_turns(turns, &options.contestants, |_| plan.clone()).await?;
    }
    if budgets.measures(Section::LargeSchema) {
        let large = LargeSchema { size: LARGE_SCHEMA.to_owned(), protocol: 5 };
        measurements.large_schema = large_schema::measure_by_turns(options, &large, tools, &engine).await?;
    }
    if budgets.measures(Section::Cli) {
        let bridges = options.bridges();
        measurements.cli = by_turns("Pulumi CLI", turns, &bridges, async |contestant| {
            waits::measure(contestant, Stack::Random, options.count, tools, &engine).await
        })
        .await?;
    }
    if budgets.measures(Section::Size) {
        measurements.stripped_bytes = Some(stripped_size(&tools.isthmus)?);
    }
    if budgets.measures(Section::ColdBuild) {
        measurements.cold_build_seconds = Some(cold_build()?);
    }
    Ok(measurements)
}

/// The size of an executable without symbols, in bytes.
fn stripped_size(executable: &Path) -> anyhow::Result<u64> {
    let directory = TempDir::with_prefix("isthmus-benches-strip-").context("no temporary directory")?;
    let stripped = directory.path().join("stripped");
    let status = Command::new("strip").arg("-o").arg(&stripped).arg(executable).status();
    let status = status.context("strip cannot be started; it is part of binutils")?;
    if !status.success() {
        bail!("strip failed for {}: {status}", executable.display());
    }
    Ok(fs::metadata(&stripped).context("strip has written no file")?.len())
}

/// CPU time in seconds of a release build into an empty directory, with all crates downloaded before.
fn cold_build() -> anyhow::Result<f64> {
    let cargo = |arguments: &[&str], target: &Path| {
        let mut command = Command::new("cargo");
        command.args(arguments).current_dir(workspace()).stdin(Stdio::null());
        // A wrapper may take finished crates from elsewhere.
        command.env("CARGO_TARGET_DIR", target).env_remove("RUSTC_WRAPPER").env_remove("RUSTFLAGS");
        let status = command.status().context("cargo cannot be started")?;
        if !status.success() {
            bail!("cargo {} failed: {status}", arguments.join(" "));
        }
        Ok(())
    };
    // Beside other builds and not in the system's temporary directory, which may be in memory.
    let builds = workspace().join("target");
    fs::create_dir_all(&builds).with_context(|| format!("{} cannot be made", builds.display()))?;
    let target = tempfile::Builder::new().prefix("cold-build-").tempdir_in(builds)?;
    cargo(&["fetch", "--locked"], target.path())?;
    eprintln!("cold build");
    let before = processes::ended_children_cpu()?;
    cargo(&["build", "--release", "--locked", "--offline", "--bin", "isthmus"], target.path())?;
    Ok(processes::ended_children_cpu()? - before)
}

impl Report<'_> {
    fn table(&self) -> String {
        let mut text = self.conditions.heading();
        let of = |verdict| self.budgets.iter().filter(|budget| budget.verdict == verdict).count();
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "\n{} held, {} missed, {} not measured.\n\n{} resources in each phase and in the stack, a schema of {} resources and \
             attributes; medians of {} repetitions, in parentheses the least and the most. A value is a ratio if another \
             contestant is named beside it. Load after the end {}.\n",
            of(Verdict::Held),
            of(Verdict::Missed),
            of(Verdict::NotMeasured),
            self.count,
            self.large_schema_size,
            self.repetitions,
            self.load_after,
        );
        let mut titles = vec![String::new()];
        titles.extend(Contestant::ALL.map(|contestant| contestant.title().to_owned()));
        titles.extend(["value", "budget", "verdict"].map(str::to_owned));
        report::titles(&mut text, &titles);
        let mut section = None;
        for budget in &self.budgets {
            if section != Some(budget.section) {
                section = Some(budget.section);
                report::section(&mut text, list::title(budget.section), titles.len());
            }
            report::line(&mut text, &budget.cells());
        }
        let notes = list::notes(&self.raw);
        if !notes.is_empty() {
            let _ = write!(text, "\nBesides:\n\n{notes}");
        }
        text
    }
}
