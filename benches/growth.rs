//! What grows with the number of resources that a plugin process has handled, and what with the size of a schema.
//!
//! Resources: one process of each bridge handles lifecycles of 1 resource, then of 10, of 100 and so on. Schemas: the two starts
//! of a large schema, for schemas of several sizes. The results are tables and plots.

use std::fmt::Write as _;

use serde::Serialize;

use crate::engine::Engine;
use crate::figures::Figures;
use crate::large_schema::{self, Loads};
use crate::machine;
use crate::options::{Contestant, GrowthOptions, GrowthPart, LargeSchema, Options};
use crate::plot::{Line, Plot};
use crate::repetition::{Field, Phase, PhaseSize, Plan, Repetition};
use crate::report::{self, Conditions, Files};
use crate::tools::{Need, Tools};
use crate::turns::Turn;
use crate::workload::Suite;

/// The Go bridge handles no more resources than this: its share would take hours.
const MOST_OF_GO_BRIDGE: usize = 10_000;
/// Up to this number, one resource is handled after the other.
const MOST_IN_SERIES: usize = 100;
/// How many resources are in progress at once beyond it.
const CONCURRENCY: usize = 32;

/// Numbers of resources of the schemas.
const SCHEMAS: [usize; 6] = [10, 30, 100, 300, 1000, 1500];
/// Attributes of each resource: the least that the sandbox generates.
const ATTRIBUTES: usize = 70;

/// The columns of the tables.
const BRIDGES: [Contestant; 2] = [Contestant::Isthmus, Contestant::GoBridge];

#[derive(Debug, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    load_after: String,
    repetitions: usize,
    resources: Vec<Turn<Repetition>>,
    schemas: Vec<Schema>,
}

/// A size of schemas, and what was measured of it.
#[derive(Debug, Serialize)]
struct Schema {
    resources: usize,
    turns: Vec<Turn<Loads>>,
}

/// Something that is shown for each size: in a column of a table for each contestant, and as a line of a plot.
struct Quantity {
    /// The title of the columns, with the unit.
    title: &'static str,
    digits: usize,
    /// The size and the figures of it.
    rows: Vec<(usize, Figures)>,
}

/// Measures, writes the results and the plots, and returns the tables.
pub(crate) async fn run(options: &Options, growth: &GrowthOptions, files: &Files) -> anyhow::Result<String> {
    let tools = Tools::find(options, &[Need::Sandbox])?;
    let conditions = Conditions::observe(files, options, &tools.programs);
    let engine = Engine::start(&tools.engine, options.client).await?;
    let mut resources = Vec::new();
    if growth.measures(GrowthPart::Resources) {
        let plan = |contestant| plan(growth.most, contestant);
        let field = Field::prepare(&tools, &engine)?;
        resources = field.measure_by_turns(options.repetitions(), &options.bridges(), plan).await?;
    }
    let mut schemas = Vec::new();
    for resources in SCHEMAS.into_iter().filter(|_| growth.measures(GrowthPart::Schemas)) {
        let large = LargeSchema { size: format!("{resources}x{ATTRIBUTES}"), protocol: 5 };
        let turns = large_schema::measure_by_turns(options, &large, &tools, &engine).await?;
        schemas.push(Schema { resources, turns });
    }
    let repetitions = options.repetitions();
    let report = Report { conditions, load_after: machine::load(), repetitions, resources, schemas };
    let table = report.table(files)?;
    files.write_both(&report, &table)?;
    Ok(table)
}

fn plan(most: usize, contestant: Contestant) -> Plan {
    let most = if contestant == Contestant::GoBridge { most.min(MOST_OF_GO_BRIDGE) } else { most };
    let powers = std::iter::successors(Some(1_usize), |power| power.checked_mul(10));
    let phases = powers.take_while(|resources| *resources <= most).map(|resources| {
        let concurrency = if resources > MOST_IN_SERIES { CONCURRENCY } else { 1 };
        PhaseSize { resources, concurrency }
    });
    Plan { first_start: false, suites: vec![Suite::Sandbox], phases: phases.collect(), counted: Vec::new() }
}

impl Report<'_> {
    /// Writes the plots, and returns the tables with them.
    fn table(&self, files: &Files) -> anyhow::Result<String> {
        let mut text = self.conditions.heading();
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "\nMedians of {} repetitions, in parentheses the least and the most. Load after the end {}.",
            self.repetitions, self.load_after
        );
        let show = |text: &mut String, name, plot: &Plot| -> anyhow::Result<()> {
            let file = files.write_plot(name, &plot.svg())?;
            let _ = write!(text, "\n![{}]({file})\n", plot.title);
            Ok(())
        };
        if !self.resources.is_empty() {
            let _ = write!(
                text,
                "\n## Resources\n\nOne process of each bridge handles lifecycles of 1 resource of the sandbox provider, then of 10, and so \
                 on; up to {MOST_IN_SERIES} one after another, beyond that {CONCURRENCY} at a time. Memory is what is resident \
                 of the bridge after them. A call is one of the engine; its wall clock is the duration of all calls divided by \
                 their number.\n\n"
            );
            let [memory, wall, cpu] = self.resource_quantities();
            table(&mut text, [&memory, &wall, &cpu]);
            let x = "resources handled in one go by the same process";
            let plot =
                plot("Memory and resources", x, "resident memory of the bridge, MiB", &[(&memory, "")]);
            show(&mut text, "resources-memory", &plot)?;
            let lines = [(&wall, ", wall clock"), (&cpu, ", CPU of the bridge")];
            show(
                &mut text,
                "resources-time",
                &self::plot("Time and resources", x, "µs for each call", &lines),
            )?;
        }
        if !self.schemas.is_empty() {
            let _ = write!(
                text,
                "\n## Schemas\n\nThe sandbox provider with generated resources of {ATTRIBUTES} attributes each. A start is from \
                 the spawn of the bridge to the answer of GetSchema, first with an empty home, then with the home of the \
                 first.\n\n"
            );
            let [first, again, first_peak, again_peak] = self.schema_quantities();
            table(&mut text, [&first, &again, &first_peak, &again_peak]);
            let x = "resources in the schema";
            let lines = [(&first, ", first start"), (&again, ", second start")];
            show(&mut text, "schemas-time", &plot("Time and schemas", x, "spawn to schema, ms", &lines))?;
            let lines = [(&first_peak, ", first start"), (&again_peak, ", second start")];
            let plot = plot("Memory and schemas", x, "peak memory of the bridge, MiB", &lines);
            show(&mut text, "schemas-memory", &plot)?;
        }
        Ok(text)
    }

    /// Resident memory, wall clock and CPU time.
    fn resource_quantities(&self) -> [Quantity; 3] {
        let mut sizes: Vec<usize> = Vec::new();
        for phase in self.resources.iter().flat_map(|turn| phases(&turn.measured)) {
            if !sizes.contains(&phase.resources) {
                sizes.push(phase.resources);
            }
        }
        let quantity = |title, digits, value: fn(&Phase) -> f64| {
            let figures = |size| {
                Figures::of(&self.resources, |repetition| {
                    phases(repetition).iter().find(|phase| phase.resources == size).map(value)
                })
            };
            Quantity { title, digits, rows: sizes.iter().map(|size| (*size, figures(*size))).collect() }
        };
        [
            quantity("memory, MiB", 1, |phase| phase.usage.bridge.resident.mib()),
            quantity("wall clock of a call, µs", 0, |phase| 1e6 / phase.throughput()),
            quantity("CPU of the bridge for a call, µs", 0, |phase| {
                phase.cpu.for_1000_of(phase.calls).bridge * 1e3
            }),
        ]
    }

    /// Time and peak memory of both starts.
    fn schema_quantities(&self) -> [Quantity; 4] {
        let quantity = |title, digits, value: fn(&Loads) -> f64| {
            let figures = |schema: &Schema| Figures::of(&schema.turns, |loads| Some(value(loads)));
            let rows = self.schemas.iter().map(|schema| (schema.resources, figures(schema)));
            Quantity { title, digits, rows: rows.collect() }
        };
        [
            quantity("first start, ms", 1, |loads| loads.first.loaded),
            quantity("second start, ms", 1, |loads| loads.second.loaded),
            quantity("peak memory, first start, MiB", 1, |loads| loads.first.usage.bridge.peak.mib()),
            quantity("peak memory, second start, MiB", 1, |loads| loads.second.usage.bridge.peak.mib()),
        ]
    }
}

fn phases(repetition: &Repetition) -> &[Phase] {
    repetition.suite(Suite::Sandbox).map(|result| result.phases.as_slice()).unwrap_or_default()
}

/// A line for each size, and a column for each quantity and contestant. All quantities are of the same sizes.
fn table<const N: usize>(text: &mut String, quantities: [&Quantity; N]) {
    let columns = quantities
        .iter()
        .flat_map(|quantity| BRIDGES.map(|bridge| format!("{}: {}", bridge.title(), quantity.title)));
    report::titles(text, &["resources".to_owned()].into_iter().chain(columns).collect::<Vec<_>>());
    for (at, (size, _)) in quantities[0].rows.iter().enumerate() {
        let cells = quantities
            .iter()
            .flat_map(|quantity| BRIDGES.map(|bridge| quantity.rows[at].1.cell(bridge, quantity.digits)));
        report::line(text, &[size.to_string()].into_iter().chain(cells).collect::<Vec<_>>());
    }
}

/// A line for each quantity and contestant; the second quantity's are dashed. What belongs to the name of a contestant stands
/// beside the quantity.
#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53")]
fn plot(title: &'static str, x: &'static str, y: &'static str, quantities: &[(&Quantity, &str)]) -> Plot {
    let mut lines = Vec::new();
    for (colour, bridge) in BRIDGES.into_iter().enumerate() {
        for (at, (quantity, suffix)) in quantities.iter().enumerate() {
            let points = quantity.rows.iter().filter_map(|(size, figures)| {
                let median = figures.median(bridge).filter(|median| *median > 0.0)?;
                Some((*size as f64, median))
            });
            let name = format!("{}{suffix}", bridge.title());
            lines.push(Line { name, colour, dashed: at > 0, points: points.collect() });
        }
    }
    lines.retain(|line| !line.points.is_empty());
    Plot { title, x, y, lines }
}
