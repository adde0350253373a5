//! A report as text: both sides side by side, or one above the other.

use isthmus_common::printable;

use super::report::{Report, Step};
use super::schema_rows::SchemaRow;
use crate::cli::table::table;
use isthmus_trace::transcript::{Shown, Side};

/// Between the columns.
const GAP: &str = " | ";

/// Added to the indentation of a line where it goes on.
const CONTINUATION: usize = 2;

/// The text of a report. `columns` are those of the terminal; `None`: one side is above the other.
pub(super) fn text(report: &Report, columns: Option<usize>) -> String {
    let width = columns.map(|columns| columns.saturating_sub(GAP.len()) / 2);
    let version = report.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let heading = format!(
        "{} of {}{version} (protocol {}) is {}",
        report.resource_type, report.provider, report.protocol, report.token
    );
    let mut text = format!("{}\n", printable(&heading));
    add_block("Schema", &schema(report), width, &mut text);
    for step in &report.steps {
        add_block(step.method, &[terraform(step), pulumi(step)], width, &mut text);
    }
    text.push_str(&format!("\nResult: {}\n", report.action.sentence()));
    text
}

/// Both sides of the schema, in as many lines.
fn schema(report: &Report) -> [Vec<String>; 2] {
    let rows = &report.schema;
    let terraform = table(["ATTRIBUTE", "TYPE", "FLAGS"], rows.iter().map(SchemaRow::terraform));
    let pulumi = table(["PROPERTY", "TYPE", "USE"], rows.iter().map(SchemaRow::pulumi));
    let mut sides = [terraform, pulumi].map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    if report.is_cut {
        sides.iter_mut().for_each(|lines| lines.push("… and more, which are left out".to_owned()));
    }
    sides
}

fn terraform(step: &Step) -> Vec<String> {
    let mut lines = Vec::new();
    for call in &step.provider {
        add_call(&call.method, &call.request, &call.response, Side::Terraform, &mut lines);
    }
    if lines.is_empty() {
        lines.push("(no call)".to_owned());
    }
    lines
}

fn pulumi(step: &Step) -> Vec<String> {
    let mut lines = Vec::new();
    add_call(step.method, &step.request, &step.response, Side::Pulumi, &mut lines);
    for warning in &step.warnings {
        add_text("warning", warning, &mut lines);
    }
    lines
}

fn add_call(
    method: &str,
    request: &Shown,
    response: &Result<Shown, String>,
    side: Side,
    lines: &mut Vec<String>,
) {
    lines.push(method.to_owned());
    add_part("request", request, side, lines);
    match response {
        Ok(response) => add_part("response", response, side, lines),
        Err(reason) => add_text("error", reason, lines),
    }
}

fn add_part(name: &str, shown: &Shown, side: Side, lines: &mut Vec<String>) {
    let before = lines.len();
    shown.add_lines(side, 4, lines);
    let heading = if lines.len() == before { format!("  {name}: (empty)") } else { format!("  {name}:") };
    lines.insert(before, heading);
}

/// A text of several lines.
fn add_text(name: &str, text: &str, lines: &mut Vec<String>) {
    for (number, line) in text.lines().enumerate() {
        let begin = if number == 0 { format!("  {name}: ") } else { "    ".to_owned() };
        lines.push(format!("{begin}{line}"));
    }
}

fn add_block(title: &str, sides: &[Vec<String>; 2], width: Option<usize>, text: &mut String) {
    text.push_str(&format!("\n--- {title} ---\n"));
    let names = [Side::Terraform.name(), Side::Pulumi.name()];
    let Some(width) = width else {
        for (name, lines) in names.iter().zip(sides) {
            text.push_str(&format!("{name}\n"));
            for line in lines {
                text.push_str(&format!("  {}\n", printable(line)));
            }
        }
        return;
    };
    let empty = String::new();
    let [left, right] = sides;
    add_row(names, width, text);
    for number in 0..left.len().max(right.len()) {
        let line = |lines: &[String]| printable(lines.get(number).unwrap_or(&empty)).into_owned();
        let pieces = [line(left), line(right)].map(|line| wrapped(&line, width));
        for number in 0..pieces[0].len().max(pieces[1].len()) {
            let piece = |side: usize| pieces[side].get(number).map_or("", String::as_str);
            add_row([piece(0), piece(1)], width, text);
        }
    }
}

fn add_row([left, right]: [&str; 2], width: usize, text: &mut String) {
    let mut line = left.to_owned();
    line.extend(std::iter::repeat_n(' ', width.saturating_sub(left.chars().count())));
    line.push_str(GAP);
    line.push_str(right);
    text.push_str(line.trim_end());
    text.push('\n');
}

/// A line in pieces of at most `width` characters; those behind the first are indented a little more.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let indent = line.chars().take_while(|character| *character == ' ').count() + CONTINUATION;
    // An indentation that leaves no space is dropped.
    let indent = if indent * 2 > width { 0 } else { indent };
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut length = 0;
    for character in line.chars() {
        if length == width {
            pieces.push(std::mem::replace(&mut piece, " ".repeat(indent)));
            length = indent;
        }
        piece.push(character);
        length += 1;
    }
    pieces.push(piece);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::inspect::report::Action;
    use isthmus_trace::transcript::ProviderCall;

    fn report() -> Report {
        let step = Step {
            method: "Check",
            request: Shown::object([("inputs", Shown::object([("aLongName", Shown::text("a long text"))]))]),
            response: Err("first\nsecond".to_owned()),
            warnings: vec!["careful".to_owned()],
            is_refused: false,
            provider: vec![ProviderCall {
                method: "ValidateResourceConfig".to_owned(),
                request: Shown::object([("config", Shown::object([("hint", Shown::Secret)]))]),
                response: Ok(Shown::Object(Vec::new())),
            }],
        };
        Report {
            provider: "hashicorp/thing".to_owned(),
            version: Some("1.0.0".to_owned()),
            protocol: 6,
            resource_type: "thing_one".to_owned(),
            token: "thing:index/one:One".to_owned(),
            schema: Vec::new(),
            is_cut: false,
            steps: vec![step],
            action: Action::Refused,
        }
    }

    #[test]
    fn on_a_pipe_one_side_is_above_the_other() {
        let expected = "\
thing_one of hashicorp/thing 1.0.0 (protocol 6) is thing:index/one:One

--- Schema ---
TERRAFORM
  ATTRIBUTE  TYPE  FLAGS
PULUMI
  PROPERTY  TYPE  USE

--- Check ---
TERRAFORM
  ValidateResourceConfig
    request:
      config:
        hint: (sensitive value)
    response: (empty)
PULUMI
  Check
    request:
      inputs:
        aLongName: \"a long text\"
    error: first
      second
    warning: careful

Result: refused
";
        assert_eq!(text(&report(), None), expected);
    }

    #[test]
    fn on_a_wide_terminal_both_sides_are_beside_each_other() {
        let text = text(&report(), Some(59));
        let rows = "\
--- Check ---
TERRAFORM                    | PULUMI
ValidateResourceConfig       | Check
  request:                   |   request:
    config:                  |     inputs:
      hint: (sensitive value |       aLongName: \"a long tex
        )                    |         t\"
  response: (empty)          |   error: first
                             |     second
                             |   warning: careful
";
        assert!(text.contains(rows), "{text}");
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        let mut report = report();
        report.provider = "./\u{1b}[31mthing".to_owned();
        report.steps[0].warnings = vec!["\u{1b}[31mred \u{202e}txet".to_owned()];
        for columns in [None, Some(120)] {
            let text = text(&report, columns);
            assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
        }
    }
}
