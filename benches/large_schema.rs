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
use crate::engine::Engine;
use crate::figures::Figures;
use crate::machine;
use crate::options::{Contestant, LargeSchema, Options};
use crate::processes::{Executable, Usage};
use crate::report::{self, Conditions, Files};
use crate::tools::{Need, Tools};
use crate::turns::{Turn, by_turns};

/// Two starts of one contestant.
#[derive(Debug, Serialize)]
pub(crate) struct Loads {
    /// With an empty home.
    pub(crate) first: Load,
    /// With the home of the first.
    pub(crate) second: Load,
}

/// A start for the sake of a schema.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Load {
    /// From the start of the process to the answer of Parameterize, in milliseconds.
    pub(crate) parameterized: f64,
    /// GetSchema alone, in milliseconds.
    pub(crate) schema: f64,
    /// From the start of the process to the answer of GetSchema, in milliseconds.
    pub(crate) loaded: f64,
    /// GetSchema once more, in milliseconds.
    pub(crate) schema_again: f64,
    /// The size of the answer, in bytes.
    pub(crate) schema_bytes: usize,
    /// What was used up to the first answer of GetSchema.
    pub(crate) usage: Usage,
}

#[derive(Debug, Serialize)]
struct LargeSchemaReport<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    load_after: String,
    size: &'a str,
    protocol: u8,
    repetitions: usize,
    turns: &'a [Turn<Loads>],
}

/// Measures, writes the results, and returns the table.
pub(crate) async fn run(options: &Options, large: &LargeSchema, files: &Files) -> anyhow::Result<String> {
    let tools = Tools::find(options, &[Need::Sandbox])?;
    let conditions = Conditions::observe(files, options, &tools.programs);
    let engine = Engine::start(&tools.engine, options.client).await?;
    let turns = measure_by_turns(options, large, &tools, &engine).await?;
    let report = LargeSchemaReport {
        conditions,
        load_after: machine::load(),
        size: &large.size,
        protocol: large.protocol,
        repetitions: options.repetitions(),
        turns: &turns,
    };
    let table = table(&report);
    files.write_both(&report, &table)?;
    Ok(table)
}

/// Measures both starts of each bridge, in each turn.
pub(crate) async fn measure_by_turns(
    options: &Options,
    large: &LargeSchema,
    tools: &Tools,
    engine: &Engine,
) -> anyhow::Result<Vec<Turn<Loads>>> {
    let what = format!("schema of {}", large.size);
    by_turns(&what, options.repetitions(), &options.bridges(), async |contestant| {
        let executable = tools.bridge(contestant).context("there is no floor for a package's schema")?;
        let home = TempDir::with_prefix("isthmus-benches-home-").context("no temporary directory")?;
        let spec = BridgeSpec {
            executable: executable.to_owned(),
            home: home.path().to_owned(),
            variables: vec![
                ("SANDBOX_RESOURCES", large.size.clone()),
                ("SANDBOX_PROTOCOL", large.protocol.to_string()),
            ],
        };
        let first = load(&spec, tools, engine).await.context("the first start")?;
        let second = load(&spec, tools, engine).await.context("the second start")?;
        Ok(Loads { first, second })
    })
    .await
}

async fn load(spec: &BridgeSpec, tools: &Tools, engine: &Engine) -> anyhow::Result<Load> {
    let provider = Executable::at(&tools.sandbox)?;
    let began = Instant::now();
    let mut bridge = Bridge::open(spec, engine).await?;
    let package = bridge.parameterize(&tools.sandbox).await?;
    let parameterized = milliseconds(began.elapsed());
    let (schema, took) = bridge.schema(&package).await?;
    let loaded = milliseconds(began.elapsed());
    let usage = bridge.usage(provider)?;
    if !schema.contains("sandbox:index/") || !schema.ends_with('}') {
        bail!("the schema is not that of the provider");
    }
    let schema_bytes = schema.len();
    drop(schema);
    let (again, schema_again) = bridge.schema(&package).await?;
    if again.len() != schema_bytes {
        bail!("the second answer of GetSchema has {} bytes, and the first had {schema_bytes}", again.len());
    }
    bridge.end().await?;
    Ok(Load { parameterized, schema: took, loaded, schema_again, schema_bytes, usage })
}

/// A line of the table: what it shows, how many digits behind the point mean something, and the figure.
type Line = (&'static str, usize, fn(&Loads) -> f64);

#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53")]
const LINES: [Line; 15] = [
    ("first start: spawn to parameterized, ms", 0, |loads| loads.first.parameterized),
    ("first start: GetSchema, ms", 0, |loads| loads.first.schema),
    ("first start: spawn to schema, ms", 0, |loads| loads.first.loaded),
    ("first start: peak memory of the bridge, MiB", 0, |loads| loads.first.usage.bridge.peak.mib()),
    ("first start: peak memory of the provider, MiB", 0, |loads| loads.first.usage.provider.peak.mib()),
    ("first start: CPU of the bridge, s", 2, |loads| loads.first.usage.cpu.bridge),
    ("second start: spawn to parameterized, ms", 0, |loads| loads.second.parameterized),
    ("second start: GetSchema, ms", 0, |loads| loads.second.schema),
    ("second start: spawn to schema, ms", 0, |loads| loads.second.loaded),
    ("second start: peak memory of the bridge, MiB", 0, |loads| loads.second.usage.bridge.peak.mib()),
    ("second start: anonymous memory of the bridge, MiB", 0, |loads| {
        loads.second.usage.bridge.anonymous.mib()
    }),
    ("second start: peak memory of the provider, MiB", 0, |loads| loads.second.usage.provider.peak.mib()),
    ("second start: CPU of the bridge, s", 2, |loads| loads.second.usage.cpu.bridge),
    ("GetSchema again in the same process, ms", 0, |loads| loads.second.schema_again),
    ("size of the schema, MiB", 1, |loads| loads.first.schema_bytes as f64 / 1_048_576.0),
];

fn table(report: &LargeSchemaReport<'_>) -> String {
    let mut text = report.conditions.heading();
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "\nThe sandbox provider over protocol {}, with {} generated resources and attributes; medians of {} repetitions, in \
         parentheses the least and the most. Load after the end {}.\n",
        report.protocol, report.size, report.repetitions, report.load_after,
    );
    let (own, other) = (Contestant::Isthmus, Contestant::GoBridge);
    let ratio = format!("{} ÷ {}", own.title(), other.title());
    let titles = ["", own.title(), other.title(), &ratio].map(str::to_owned);
    report::titles(&mut text, &titles);
    for (name, digits, value) in LINES {
        let figures = Figures::of(report.turns, |loads| Some(value(loads)));
        let ratio = figures.ratio(own, other).map_or_else(String::new, |ratio| format!("{ratio:.3}"));
        let cells = [name.to_owned(), figures.cell(own, digits), figures.cell(other, digits), ratio];
        report::line(&mut text, &cells);
    }
    text
}
