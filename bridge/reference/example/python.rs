//! Examples in Python.

use super::call::{Call, Form};
use super::text::{alias, quoted};
use super::value::Value;
use isthmus_package::names::tokens::member_name;
use isthmus_package::schema::python_name;

const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

pub(super) fn program(call: &Call<'_>) -> String {
    let package = call.package.identity().name.replace('-', "_");
    let module = alias(&package, |name| KEYWORDS.contains(&name) || matches!(name, "pulumi" | "example"));
    let name = member_name(call.token);
    let named = || -> Vec<String> {
        let arguments = call.arguments.iter();
        arguments.map(|(name, value)| format!("{}={}", safe(&python_name(name)), written(value, 1))).collect()
    };
    let function = || format!("{module}.{}_output", safe(&python_name(name)));
    let (callee, arguments) = match call.form {
        Form::Provider | Form::Resource => {
            let class = if call.form == Form::Provider { "Provider" } else { name };
            let arguments = std::iter::once("\"example\"".to_owned()).chain(named()).collect();
            (format!("{module}.{class}"), arguments)
        }
        Form::Named { has_result: false, .. } => (format!("{module}.{}", safe(&python_name(name))), named()),
        Form::Named { .. } => (function(), named()),
        Form::Positional { .. } => {
            (function(), call.arguments.iter().map(|(_, value)| written(value, 1)).collect::<Vec<_>>())
        }
    };
    let result = format!("{callee}({})", listed(&arguments));
    let export = if call.exports { "pulumi.export(\"example\", example)\n" } else { "" };
    let import = if call.exports { "import pulumi\n" } else { "" };
    format!("{import}import pulumi_{package} as {module}\n\nexample = {result}\n{export}")
}

/// Short arguments in one line, others in a line each.
fn listed(arguments: &[String]) -> String {
    let line = arguments.join(", ");
    if arguments.len() < 2 && !line.contains('\n') || line.len() < 40 && !line.contains('\n') {
        return line;
    }
    let lines: String = arguments.iter().map(|argument| format!("    {argument},\n")).collect();
    format!("\n{lines}")
}

/// Pulumi's generator appends an underscore to what Python has another meaning for.
fn safe(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

fn dictionary<'v>(fields: impl Iterator<Item = (String, &'v Value)>, depth: usize) -> String {
    let indent = "    ".repeat(depth + 1);
    let lines: String = fields
        .map(|(name, value)| format!("{indent}{}: {},\n", quoted(&name), written(value, depth + 1)))
        .collect();
    if lines.is_empty() { "{}".to_owned() } else { format!("{{\n{lines}{}}}", "    ".repeat(depth)) }
}

fn written(value: &Value, depth: usize) -> String {
    match value {
        Value::Text(text) | Value::Any(text) => quoted(text),
        Value::Number(number) => number.to_string(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::List(element) => format!("[{}]", written(element, depth)),
        Value::Map(element) => dictionary(std::iter::once(("key".to_owned(), &**element)), depth),
        Value::Object { fields, .. } => {
            dictionary(fields.iter().map(|field| (safe(&python_name(&field.name)), &field.value)), depth)
        }
    }
}
