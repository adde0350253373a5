//! An examination as text, as JSON, and as a report for a bug tracker in Markdown, without secrets.

use std::fmt::Write as _;

use isthmus_common::{counted, printable};
use serde_json::{Value, json};

use super::redaction::Redaction;
use crate::cli::json_root;
use crate::cli::output::{Style, styled};
use crate::cli::version::versions;
use isthmus_doctor::{Examined, Finding, Level};

/// Columns before a check's name, and before its summary.
const STATUS: usize = 9;
const NAME: usize = 15;

pub(super) fn text(examined: &[Examined]) -> String {
    let mut text = String::new();
    for Examined { check, judgement } in examined {
        let (status, style) = match judgement.level() {
            Some(Level::Fault) => ("FAULT", Style::Error),
            Some(Level::Warning) => ("warning", Style::Warning),
            None if judgement.is_skipped => ("skipped", Style::Plain),
            None => ("ok", Style::Good),
        };
        let space = " ".repeat(STATUS - status.len());
        let summary = printable(&judgement.summary).replace('\n', " ");
        text.push_str(&format!("{}{space}{:<NAME$}{summary}\n", styled(status, style), check.name()));
        for finding in &judgement.findings {
            text.push_str(&indented(finding));
        }
    }
    text + &conclusion(examined)
}

fn indented(finding: &Finding) -> String {
    let margin = " ".repeat(STATUS);
    let mut text = String::new();
    let first = format!("{}: {}", finding.code, printable(&finding.message));
    let lines = first.lines().map(str::to_owned);
    let help = finding.help.iter().map(|line| format!("help: {}", printable(line)));
    for line in lines.chain(help) {
        text.push_str(&format!("{margin}{line}\n"));
    }
    text
}

/// The numbers of faults and warnings.
pub(super) fn counts(examined: &[Examined]) -> (usize, usize) {
    let count = |level| {
        let findings = examined.iter().flat_map(|one| &one.judgement.findings);
        findings.filter(|finding| finding.level == level).count()
    };
    (count(Level::Fault), count(Level::Warning))
}

fn conclusion(examined: &[Examined]) -> String {
    let number = |count: usize, one: &str| match count {
        0 => format!("no {one}s"),
        _ => counted(count, one),
    };
    let (faults, warnings) = counts(examined);
    let explain = if faults + warnings > 0 { "; `isthmus explain CODE` describes each" } else { "" };
    format!("\n{}, {}{explain}\n", number(faults, "fault"), number(warnings, "warning"))
}

pub(super) fn document(examined: &[Examined]) -> String {
    let (faults, warnings) = counts(examined);
    let checks: Vec<Value> = examined.iter().map(check).collect();
    let members = json!({
        "healthy": faults == 0,
        "faults": faults,
        "warnings": warnings,
        "versions": versions(),
        "checks": checks,
    });
    json_root::document("doctor", members)
}

fn check(Examined { check, judgement }: &Examined) -> Value {
    let status = match judgement.level() {
        Some(level) => level_name(level),
        None if judgement.is_skipped => "skipped",
        None => "ok",
    };
    let findings = judgement.findings.iter().map(|finding| {
        json!({
            "level": level_name(finding.level),
            "code": finding.code.to_string(),
            "title": finding.code.title(),
            "message": finding.message,
            "help": finding.help,
        })
    });
    json!({
        "name": check.name(),
        "status": status,
        "summary": judgement.summary,
        "findings": findings.collect::<Vec<_>>(),
    })
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::Fault => "fault",
        Level::Warning => "warning",
    }
}

pub(super) fn report(examined: &[Examined], redaction: &Redaction) -> String {
    let mut text = String::from("## isthmus doctor\n\n| | |\n|---|---|\n");
    if let Value::Object(versions) = versions() {
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
