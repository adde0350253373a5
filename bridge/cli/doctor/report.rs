//! An examination as a report for a bug tracker, in Markdown, without secrets.

use std::fmt::Write as _;

use isthmus_common::printable;

use super::as_text::counts;
use super::redaction::Redaction;
use crate::cli::version::versions;
use isthmus_doctor::{Examined, Level};

pub(super) fn report(examined: &[Examined], redaction: &Redaction) -> String {
    let mut text = String::from("## isthmus doctor\n\n| | |\n|---|---|\n");
    if let serde_json::Value::Object(versions) = versions() {
        for (name, value) in versions {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = writeln!(text, "| {} | {} |", name.replace('_', " "), cell(&value));
        }
    }
    let (faults, warnings) = counts(examined);
    let _ = writeln!(text, "| faults, warnings | {faults}, {warnings} |");
    text.push_str("\n| check | result | |\n|---|---|---|\n");
    for Examined { check, judgement } in examined {
        let status = match judgement.level() {
            Some(Level::Fault) => "**fault**",
            Some(Level::Warning) => "warning",
            None if judgement.is_skipped => "skipped",
            None => "ok",
        };
        let summary = cell(&redaction.anonymous(&judgement.summary));
        let _ = writeln!(text, "| {} | {status} | {summary} |", check.name());
    }
    for finding in examined.iter().flat_map(|one| &one.judgement.findings) {
        let message = redaction.anonymous(&finding.message);
        let _ = writeln!(text, "\n{} ({}):\n", finding.code, finding.code.title());
        for line in printable(&message).lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    printable(text).replace('\n', " ").replace('|', "\\|")
}
