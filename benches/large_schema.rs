//! How the bridges cope with a provider that is as large as the largest ones.
//!
//! The provider is the sandbox with generated resources, as a process of its own. Each contestant is started with an empty
//! home, then with the home of that start, as an engine does when it wants a package's schema and nothing else. There is no
//! floor: what is measured is the bridge's own work.

use std::fmt::Write as _;
use std::time::Instant;

use anyhow::{Context as _, bail};
use serde::Serialize;
use tempfile::TempDir;

use crate::bridge::{Bridge, BridgeSpec};
use crate::calls::milliseconds;
use crate::engine::EngineService;
use crate::machine::{self, Machine};
use crate::options::{Contestant, LargeSchema, Options};
use crate::processes::{Executable, Usage};
use crate::report::{Files, heading};
use crate::summary::Figure;
use crate::tools::{Program, Tools};

/// The bridges; a bare client has no package.
const BRIDGES: [Contestant; 2] = [Contestant::Isthmus, Contestant::GoBridge];

/// One contestant, measured once.
#[derive(Debug, Serialize)]
struct Turn {
    contestant: Contestant,
    turn: usize,
    /// With an empty home.
    first: Load,
    /// With the home of the first.
    second: Load,
}

/// A start for the sake of a schema.
#[derive(Clone, Debug, Serialize)]
struct Load {
    /// From the start of the process to the answer of Parameterize, in milliseconds.
    parameterized: f64,
    /// GetSchema alone, in milliseconds.
    schema: f64,
    /// From the start of the process to the answer of GetSchema, in milliseconds.
    loaded: f64,
    /// GetSchema once more, in milliseconds.
    schema_again: f64,
    /// The size of the answer, in bytes.
    schema_bytes: usize,
    /// What was used up to the first answer of GetSchema.
    usage: Usage,
}

#[derive(Debug, Serialize)]
struct LargeSchemaReport<'a> {
    date: &'a str,
    label: &'a str,
    commit: String,
    machine: &'a Machine,
    load_after: String,
    programs: &'a [Program],
    size: &'a str,
    protocol: u8,
    repetitions: usize,
    turns: &'a [Turn],
}

/// Measures, writes the results, and returns the table.
pub(crate) async fn run(
    options: &Options,
    large: &LargeSchema,
    tools: &Tools,
    (date, machine): (&str, Machine),
    files: &Files,
) -> anyhow::Result<String> {
    let engine = EngineService::start()?;
    let mut turns = Vec::new();
    for turn in 1..=options.repetitions {
        for contestant in BRIDGES.into_iter().filter(|one| options.contestants.contains(one)) {
            eprintln!("{turn} of {}: {}", options.repetitions, contestant.title());
            let measured = measure(contestant, turn, large, tools, &engine).await;
            turns.push(measured.with_context(|| format!("measuring {}", contestant.title()))?);
        }
    }
    let report = LargeSchemaReport {
        date,
        label: &options.label,
        commit: machine::commit(),
        machine: &machine,
        load_after: machine::load(),
        programs: &tools.programs,
        size: &large.size,
        protocol: large.protocol,
        repetitions: options.repetitions,
        turns: &turns,
    };
    let table = table(&report);
    files.write_both(&report, &table)?;
    Ok(table)
}

async fn measure(
    contestant: Contestant,
    turn: usize,
    large: &LargeSchema,
    tools: &Tools,
    engine: &EngineService,
) -> anyhow::Result<Turn> {
    let executable = match contestant {
        Contestant::Isthmus => &tools.isthmus,
        Contestant::GoBridge => &tools.go_bridge,
        Contestant::Floor => bail!("there is no floor for a package's schema"),
    };
    let home = TempDir::with_prefix("isthmus-benches-home-").context("no temporary directory")?;
    let spec = BridgeSpec {
        executable: executable.clone(),
        home: home.path().to_owned(),
        variables: vec![
            ("SANDBOX_RESOURCES", large.size.clone()),
            ("SANDBOX_PROTOCOL", large.protocol.to_string()),
        ],
    };
    let first = load(&spec, tools, engine).await.context("the first start")?;
    let second = load(&spec, tools, engine).await.context("the second start")?;
    Ok(Turn { contestant, turn, first, second })
}

async fn load(spec: &BridgeSpec, tools: &Tools, engine: &EngineService) -> anyhow::Result<Load> {
    let provider = Executable::at(&tools.sandbox)?;
    let began = Instant::now();
    let mut bridge = Bridge::open(spec, engine).await?;
    let package = bridge.parameterize(&tools.sandbox).await?;
    let parameterized = milliseconds(began.elapsed());
    let asked = Instant::now();
    let schema = bridge.schema(&package).await?;
    let took = milliseconds(asked.elapsed());
    let loaded = milliseconds(began.elapsed());
    let usage = bridge.usage(provider)?;
    if !schema.contains("sandbox:index/") || !schema.ends_with('}') {
        bail!("the schema is not that of the provider");
    }
    let schema_bytes = schema.len();
    drop(schema);
    let asked = Instant::now();
    let again = bridge.schema(&package).await?.len();
    let schema_again = milliseconds(asked.elapsed());
    if again != schema_bytes {
        bail!("the second answer of GetSchema has {again} bytes, and the first had {schema_bytes}");
    }
    bridge.end().await?;
    Ok(Load { parameterized, schema: took, loaded, schema_again, schema_bytes, usage })
}

/// A line of the table: what it shows, how many digits behind the point mean something, and the figure.
type Line = (&'static str, usize, fn(&Turn) -> f64);

#[expect(clippy::cast_precision_loss, reason = "memory and sizes stay far below 2^53")]
const LINES: [Line; 14] = [
    ("first start: spawn to parameterized, ms", 0, |turn| turn.first.parameterized),
    ("first start: GetSchema, ms", 0, |turn| turn.first.schema),
    ("first start: spawn to schema, ms", 0, |turn| turn.first.loaded),
    ("first start: peak memory of the bridge, MiB", 0, |turn| turn.first.usage.bridge.peak as f64 / 1024.0),
    ("first start: peak memory of the provider, MiB", 0, |turn| {
        turn.first.usage.provider.peak as f64 / 1024.0
    }),
    ("first start: CPU of the bridge, s", 2, |turn| turn.first.usage.cpu.bridge),
    ("second start: spawn to parameterized, ms", 0, |turn| turn.second.parameterized),
    ("second start: GetSchema, ms", 0, |turn| turn.second.schema),
    ("second start: spawn to schema, ms", 0, |turn| turn.second.loaded),
    ("second start: peak memory of the bridge, MiB", 0, |turn| turn.second.usage.bridge.peak as f64 / 1024.0),
    ("second start: peak memory of the provider, MiB", 0, |turn| {
        turn.second.usage.provider.peak as f64 / 1024.0
    }),
    ("second start: CPU of the bridge, s", 2, |turn| turn.second.usage.cpu.bridge),
    ("GetSchema again in the same process, ms", 0, |turn| turn.second.schema_again),
    ("size of the schema, MiB", 1, |turn| turn.first.schema_bytes as f64 / 1_048_576.0),
];

fn table(report: &LargeSchemaReport<'_>) -> String {
    let mut text = heading(report.date, report.label, report.machine, &report.commit, report.programs);
    // Writing to a text cannot fail.
    let _ = write!(
        text,
        "\nThe sandbox provider over protocol {}, with {} generated resources and attributes; medians of {} repetitions, in \
         parentheses the least and the most. Load after the end {}.\n\n| | isthmus | Go bridge | isthmus ÷ Go bridge |\n\
         |---|--:|--:|--:|\n",
        report.protocol, report.size, report.repetitions, report.load_after,
    );
    for (name, digits, value) in LINES {
        let figure = |contestant| {
            let of = report.turns.iter().filter(|turn| turn.contestant == contestant);
            Figure::of(of.map(value).collect())
        };
        let [own, other] = BRIDGES.map(figure);
        let shown = |figure: Option<Figure>| match figure {
            None => "–".to_owned(),
            Some(Figure { median, least, most }) => {
                format!("{median:.digits$} ({least:.digits$}–{most:.digits$})")
            }
        };
        let ratio = match (own, other) {
            (Some(own), Some(other)) if other.median > 0.0 => format!("{:.3}", own.median / other.median),
            _ => String::new(),
        };
        let _ = writeln!(text, "| {name} | {} | {} | {ratio} |", shown(own), shown(other));
    }
    text
}
