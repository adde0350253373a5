//! An examination as JSON.

use serde_json::{Value, json};

use super::as_text::counts;
use crate::cli::json_root;
use crate::cli::version::versions;
use isthmus_doctor::{Examined, Level};

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
