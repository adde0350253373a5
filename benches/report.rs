//! The table for people and the file for programs.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Serialize;

use crate::machine::Machine;
use crate::options::{Contestant, workspace};
use crate::repetition::Repetition;
use crate::summary::Row;
use crate::tools::Program;

/// Everything about one run, as it is written to the file.
#[derive(Debug, Serialize)]
pub(crate) struct Report<'a> {
    /// The day, in UTC.
    pub(crate) date: String,
    /// What the run was for.
    pub(crate) label: &'a str,
    /// The commit of the workspace.
    pub(crate) commit: String,
    /// Where.
    pub(crate) machine: Machine,
    /// With what.
    pub(crate) programs: &'a [Program],
    /// How many resources in each phase.
    pub(crate) count: usize,
    /// How many at a time in each concurrent phase.
    pub(crate) concurrency: Vec<usize>,
    /// How many repetitions.
    pub(crate) repetitions: usize,
    /// Medians and spreads.
    pub(crate) summary: Vec<Row>,
    /// What they were made from.
    pub(crate) raw: Vec<Repetition>,
}

/// The files of a run.
#[derive(Debug)]
pub(crate) struct Files {
    json: PathBuf,
    table: PathBuf,
}

impl Files {
    /// Settles their names, before anything is measured.
    ///
    /// # Errors
    /// When there are results of that name: they are not overwritten.
    pub(crate) fn reserve(date: &str, label: &str) -> anyhow::Result<Self> {
        let directory = workspace().join("benches/results");
        fs::create_dir_all(&directory).with_context(|| format!("{} cannot be made", directory.display()))?;
        let path = |extension: &str| directory.join(format!("{date}-{label}.{extension}"));
        let files = Self { json: path("json"), table: path("md") };
        for path in [&files.json, &files.table] {
            if path.exists() {
                bail!("{} exists; remove it, or choose another --label", path.display());
            }
        }
        Ok(files)
    }

    /// Writes both, and returns the table.
    pub(crate) fn write(&self, report: &Report<'_>) -> anyhow::Result<String> {
        let table = report.table();
        self.write_both(report, &table)?;
        Ok(table)
    }

    /// Writes a report as JSON, and the table that was made of it.
    pub(crate) fn write_both(&self, report: &impl Serialize, table: &str) -> anyhow::Result<()> {
        let json = serde_json::to_string_pretty(report).context("the report cannot be written as JSON")?;
        save(&self.json, &(json + "\n"))?;
        save(&self.table, table)
    }

    /// Where the JSON is.
    pub(crate) fn json(&self) -> &Path {
        &self.json
    }
}

fn save(path: &Path, content: &str) -> anyhow::Result<()> {
    fs::write(path, content).with_context(|| format!("{} cannot be written", path.display()))
}

impl Report<'_> {
    /// Markdown: where and with what, then the table.
    fn table(&self) -> String {
        let mut text = self.heading();
        let mut line = |cells: &[String]| {
            text.push('|');
            for cell in cells {
                text.push(' ');
                text.push_str(cell);
                text.push_str(" |");
            }
            text.push('\n');
        };
        let mut titles = vec![String::new()];
        titles.extend(Contestant::ALL.map(|contestant| contestant.title().to_owned()));
        titles.extend(RATIOS.map(|(of, to)| format!("{} ÷ {}", of.title(), to.title())));
        line(&titles);
        line(
            &titles
                .iter()
                .enumerate()
                .map(|(column, _)| if column == 0 { "---" } else { "--:" }.to_owned())
                .collect::<Vec<_>>(),
        );
        let mut section = "";
        for row in &self.summary {
            if row.section != section {
                section = &row.section;
                let mut cells = vec![String::new(); titles.len()];
                cells[0] = format!("**{section}**");
                line(&cells);
            }
            let mut cells = vec![row.name.clone()];
            cells.extend(Contestant::ALL.map(|contestant| figure(row, contestant)));
            cells.extend(
                RATIOS.map(|(of, to)| {
                    row.ratio(of, to).map_or_else(String::new, |ratio| format!("{ratio:.2}"))
                }),
            );
            line(&cells);
        }
        text
    }

    fn heading(&self) -> String {
        let mut text = heading(&self.date, self.label, &self.machine, &self.commit, self.programs);
        let _ = writeln!(
            text,
            "\n{} resources in each phase, {} at a time in the concurrent ones; medians of {} repetitions, in parentheses \
             the least and the most.\n",
            self.count,
            self.concurrency.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "),
            self.repetitions,
        );
        text
    }
}

/// When, where and with what.
pub(crate) fn heading(
    date: &str,
    label: &str,
    machine: &Machine,
    commit: &str,
    programs: &[Program],
) -> String {
    let mut text = format!(
        "# {date} {label}\n\n{} × {}, {} MiB, Linux {}, load before the start {}. Commit {commit}.\n\n",
        machine.cores, machine.cpu, machine.memory_mib, machine.kernel, machine.load_before,
    );
    for program in programs {
        let version = program.version.as_deref().unwrap_or("version unknown");
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "- {}: {version}, {} bytes, SHA-256 {}",
            program.name,
            program.bytes,
            &program.sha256[..12]
        );
    }
    text
}

/// Whose figures are divided by whose.
const RATIOS: [(Contestant, Contestant); 3] = [
    (Contestant::Isthmus, Contestant::GoBridge),
    (Contestant::Isthmus, Contestant::Floor),
    (Contestant::GoBridge, Contestant::Floor),
];

fn figure(row: &Row, contestant: Contestant) -> String {
    let digits = row.digits;
    match row.figures.get(&contestant) {
        None => "–".to_owned(),
        Some(figure) if figure.least == figure.most => format!("{:.digits$}", figure.median),
        Some(figure) => {
            format!("{:.digits$} ({:.digits$}–{:.digits$})", figure.median, figure.least, figure.most)
        }
    }
}
