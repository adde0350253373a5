//! An examination as text: a line for each check, with its findings below.

use isthmus_common::{counted, printable};

use crate::cli::style::{Style, styled};
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
