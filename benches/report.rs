//! The files of a result: a table for people, and a report for programs.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Serialize;

use crate::machine::{self, Machine};
use crate::options::{Caller, Options, workspace};
use crate::tools::Program;

/// When, where and with what a result was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Conditions<'a> {
    /// The day, in UTC.
    pub(crate) date: &'a str,
    /// What the run was for.
    pub(crate) label: &'a str,
    /// The commit of the workspace.
    pub(crate) commit: String,
    /// The machine, before the first measurement.
    pub(crate) machine: Machine,
    /// What has called the bridges, if any were called.
    pub(crate) client: Option<Caller>,
    /// The programs that were measured.
    pub(crate) programs: &'a [Program],
}

impl<'a> Conditions<'a> {
    /// Those of now.
    pub(crate) fn observe(files: &'a Files, options: &'a Options, programs: &'a [Program]) -> Self {
        let (commit, machine) = (machine::commit(), Machine::describe());
        let client = (!programs.is_empty()).then_some(options.client);
        Self { date: &files.date, label: &options.label, commit, machine, client, programs }
    }

    /// The heading of a table, in Markdown.
    pub(crate) fn heading(&self) -> String {
        let Machine { cpu, cores, memory_mib, kernel, load_before } = &self.machine;
        let mut text = format!(
            "# {} {}\n\n{cores} × {cpu}, {memory_mib} MiB, Linux {kernel}, load before the start {load_before}. \
             Commit {}.\n\n",
            self.date, self.label, self.commit,
        );
        if let Some(client) = self.client {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "- calls of the bridges: by {}", client.title());
        }
        for program in self.programs {
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
}

/// The files of a run.
#[derive(Debug)]
pub(crate) struct Files {
    /// The day that they are named after, in UTC.
    date: String,
    json: PathBuf,
    table: PathBuf,
}

impl Files {
    /// Settles their names, before anything is measured.
    ///
    /// # Errors
    /// When there are results of that name: they are not overwritten.
    pub(crate) fn reserve(label: &str) -> anyhow::Result<Self> {
        let date = machine::today();
        let directory = workspace().join("benches/results");
        fs::create_dir_all(&directory).with_context(|| format!("{} cannot be made", directory.display()))?;
        let path = |extension: &str| directory.join(format!("{date}-{label}.{extension}"));
        let files = Self { json: path("json"), table: path("md"), date };
        for path in [&files.json, &files.table] {
            if path.exists() {
                bail!("{} exists; remove it, or choose another --label", path.display());
            }
        }
        Ok(files)
    }

    /// Writes a report as JSON, and the table that was made of it.
    pub(crate) fn write_both(&self, report: &impl Serialize, table: &str) -> anyhow::Result<()> {
        let json = serde_json::to_string_pretty(report).context("the report cannot be written as JSON")?;
        save(&self.json, &(json + "\n"))?;
        save(&self.table, table)
    }

    /// Writes a plot, and returns the file's name.
    pub(crate) fn write_plot(&self, name: &str, svg: &str) -> anyhow::Result<String> {
        let stem = self.json.file_stem().context("a result has a name")?;
        let file = format!("{}-{name}.svg", stem.to_string_lossy());
        save(&self.json.with_file_name(&file), svg)?;
        Ok(file)
    }

    /// Where the JSON is.
    pub(crate) fn json(&self) -> &Path {
        &self.json
    }
}

/// Never replaces a file.
fn save(path: &Path, content: &str) -> anyhow::Result<()> {
    let file = fs::File::create_new(path);
    let written = file.and_then(|mut file| file.write_all(content.as_bytes()));
    written.with_context(|| format!("{} cannot be written", path.display()))
}

/// A line of a table in Markdown.
pub(crate) fn line(text: &mut String, cells: &[String]) {
    text.push('|');
    for cell in cells {
        text.push(' ');
        text.push_str(cell);
        text.push_str(" |");
    }
    text.push('\n');
}

/// The first two lines of a table in Markdown: the titles of its columns, of which the first holds text and the others
/// figures.
pub(crate) fn titles(text: &mut String, titles: &[String]) {
    line(text, titles);
    let rule = |column| if column == 0 { "---" } else { "--:" }.to_owned();
    line(text, &(0..titles.len()).map(rule).collect::<Vec<_>>());
}

/// A line of a table in Markdown with the title of the lines that follow.
pub(crate) fn section(text: &mut String, title: &str, columns: usize) {
    let mut cells = vec![String::new(); columns];
    cells[0] = format!("**{title}**");
    line(text, &cells);
}
