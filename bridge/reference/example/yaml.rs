//! Examples in Pulumi YAML.

use super::call::{Call, Form};
use super::text::{is_identifier, quoted};
use super::value::Value;

pub(super) fn program(call: &Call<'_>) -> String {
    let mut lines = Vec::new();
    let arguments =
        || call.arguments.iter().flat_map(|(name, value)| keyed(name, value)).collect::<Vec<String>>();
    let token = scalar(call.token);
    match call.form {
        Form::Provider | Form::Resource => {
            lines.push("resources:".to_owned());
            lines.push("  example:".to_owned());
            lines.push(format!("    type: {token}"));
            if !call.arguments.is_empty() {
                lines.push("    properties:".to_owned());
                lines.extend(indented(arguments(), 6));
            }
        }
        Form::Named { .. } | Form::Positional { .. } => {
            lines.push("variables:".to_owned());
            lines.push("  example:".to_owned());
            lines.push("    fn::invoke:".to_owned());
            lines.push(format!("      function: {token}"));
            if !call.arguments.is_empty() {
                lines.push("      arguments:".to_owned());
                lines.extend(indented(arguments(), 8));
            }
            if call.exports {
                lines.push("outputs:".to_owned());
                lines.push("  example: ${example}".to_owned());
            }
        }
    }
    lines.join("\n") + "\n"
}

fn keyed(name: &str, value: &Value) -> Vec<String> {
    let key = if is_identifier(name) { name.to_owned() } else { quoted(name) };
    let lines = lines(value);
    match (&lines[..], is_scalar(value)) {
        ([line], true) => vec![format!("{key}: {line}")],
        ([line], false) if line == "{}" => vec![format!("{key}: {line}")],
        _ => std::iter::once(format!("{key}:")).chain(indented(lines, 2)).collect(),
    }
}

fn is_scalar(value: &Value) -> bool {
    match value {
        Value::Text(_) | Value::Number(_) | Value::Bool(_) | Value::Any(_) => true,
        Value::List(_) | Value::Map(_) | Value::Object { .. } => false,
    }
}

fn lines(value: &Value) -> Vec<String> {
    match value {
        Value::Text(text) | Value::Any(text) => vec![scalar(text)],
        Value::Number(number) => vec![number.to_string()],
        Value::Bool(truth) => vec![truth.to_string()],
        Value::List(element) => {
            let marks = std::iter::once("- ").chain(std::iter::repeat("  "));
            lines(element).iter().zip(marks).map(|(line, mark)| format!("{mark}{line}")).collect()
        }
        Value::Map(element) => keyed("key", element),
        Value::Object { fields, .. } => {
            let given = fields.iter().filter(|field| !field.for_python);
            let lines: Vec<String> = given.flat_map(|field| keyed(&field.name, &field.value)).collect();
            if lines.is_empty() { vec!["{}".to_owned()] } else { lines }
        }
    }
}

fn indented(lines: Vec<String>, by: usize) -> Vec<String> {
    lines.into_iter().map(|line| " ".repeat(by) + &line).collect()
}

/// A text, in quotation marks unless YAML reads it as the same text without. A token is one.
fn scalar(text: &str) -> String {
    let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !text.ends_with(':')
        && text.chars().all(|character| {
            character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | ':')
        });
    let is_other = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" | "null"
    );
    if is_word && !is_other { text.to_owned() } else { quoted(text) }
}

#[cfg(test)]
mod tests {
    use super::super::value::Member;
    use super::*;

    #[test]
    fn values_are_blocks_and_words_that_mean_something_else_are_quoted() {
        let object = Value::Object {
            type_name: String::new(),
            fields: vec![
                Member {
                    name: "ports".into(),
                    value: Value::List(Box::new(Value::Number(1))),
                    for_python: false,
                },
                Member { name: "on".into(), value: Value::Text("yes".into()), for_python: false },
                Member { name: "left".into(), value: Value::Bool(true), for_python: true },
            ],
        };
        let lines = keyed("rules", &Value::List(Box::new(object)));
        assert_eq!(lines, ["rules:", "  - ports:", "      - 1", "    on: \"yes\""]);
        assert_eq!(keyed("none", &Value::Object { type_name: String::new(), fields: vec![] }), ["none: {}"]);
        assert_eq!(keyed("a-b", &Value::Map(Box::new(Value::Text("x".into())))), ["\"a-b\":", "  key: x"]);
        assert_eq!(scalar("10.0.0.0/16"), "\"10.0.0.0/16\"");
    }
}
