//! The main job: every kind of call, of every contestant.

use std::fmt::Write as _;

use serde::Serialize;

use crate::engine::Engine;
use crate::options::{Contestant, Options};
use crate::repetition::{Field, PhaseSize, Plan, Repetition};
use crate::report::{self, Conditions, Files};
use crate::summary::{self, Row};
use crate::tools::{Need, Tools};
use crate::turns::Turn;
use crate::workload::Suite;

/// Whose figures are divided by whose.
const RATIOS: [(Contestant, Contestant); 3] = [
    (Contestant::Isthmus, Contestant::GoBridge),
    (Contestant::Isthmus, Contestant::Floor),
    (Contestant::GoBridge, Contestant::Floor),
];

/// Everything about one run, as it is written to the file.
#[derive(Debug, Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    conditions: Conditions<'a>,
    /// How many resources in each phase.
    count: usize,
    /// How many at a time in each concurrent phase.
    concurrency: &'a [usize],
    /// How many repetitions.
    repetitions: usize,
    /// Medians and spreads.
    summary: Vec<Row>,
    /// What they were made from.
    raw: Vec<Turn<Repetition>>,
}

/// Measures, writes the results, and returns the table.
pub(crate) async fn run(options: &Options, files: &Files) -> anyhow::Result<String> {
    let tools = Tools::find(options, &[Need::Random, Need::Time])?;
    let conditions = Conditions::observe(files, options, &tools.programs);
    let engine = Engine::start(&tools.engine, options.client).await?;
    let field = Field::prepare(&tools, &engine)?;
    let concurrency = [1].into_iter().chain(options.concurrency.iter().copied());
    let phases = concurrency.map(|concurrency| PhaseSize { resources: options.count, concurrency });
    let phases: Vec<_> = phases.collect();
    let plan =
        Plan { first_start: true, suites: vec![Suite::Random, Suite::Time], counted: phases.clone(), phases };
    let turns = field.measure_by_turns(options.repetitions(), &options.contestants, |_| plan.clone()).await?;
    let report = Report {
        conditions,
        count: options.count,
        concurrency: &options.concurrency,
        repetitions: options.repetitions(),
        summary: summary::summarise(&turns),
        raw: turns,
    };
    let table = report.table();
    files.write_both(&report, &table)?;
    Ok(table)
}

impl Report<'_> {
    /// Markdown: where and with what, then the table.
    fn table(&self) -> String {
        let mut text = self.conditions.heading();
        let concurrency = self.concurrency.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "\n{} resources in each phase, {concurrency} at a time in the concurrent ones; medians of {} repetitions, in \
             parentheses the least and the most.\n",
            self.count, self.repetitions,
        );
        let mut titles = vec![String::new()];
        titles.extend(Contestant::ALL.map(|contestant| contestant.title().to_owned()));
        titles.extend(RATIOS.map(|(of, to)| format!("{} ÷ {}", of.title(), to.title())));
        report::titles(&mut text, &titles);
        let mut section = "";
        for Row { section: of_row, name, digits, figures } in &self.summary {
            if of_row != section {
                section = of_row;
                report::section(&mut text, section, titles.len());
            }
            let mut cells = vec![name.clone()];
            cells.extend(Contestant::ALL.map(|contestant| figures.cell(contestant, *digits)));
            cells.extend(RATIOS.map(|(of, to)| {
                figures.ratio(of, to).map_or_else(String::new, |ratio| format!("{ratio:.2}"))
            }));
            report::line(&mut text, &cells);
        }
        text
    }
}
