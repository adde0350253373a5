//! Examples in TypeScript.

use super::call::{Call, Form};
use super::text::{alias, is_identifier, quoted};
use super::value::Value;
use isthmus_package::names::tokens::member_name;

const RESERVED: [&str; 46] = [
    "any",
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "import",
    "in",
    "instanceof",
    "let",
    "new",
    "null",
    "package",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "example",
    "undefined",
];

pub(super) fn program(call: &Call<'_>) -> String {
    let package = &call.package.identity().name;
    let module = alias(package, |name| RESERVED.contains(&name));
    let name = member_name(call.token);
    let fields: Vec<(&str, &Value)> =
        call.arguments.iter().map(|(name, value)| (name.as_str(), value)).collect();
    let import = format!("import * as {module} from \"@pulumi/{package}\";\n\n");
    let named = if fields.is_empty() { None } else { Some(object(&fields, 0)) };
    let call = match call.form {
        Form::Provider | Form::Resource => {
            let class = if call.form == Form::Provider { "Provider" } else { name };
            let arguments = named.map(|arguments| format!(", {arguments}")).unwrap_or_default();
            format!("const example = new {module}.{class}(\"example\"{arguments});\n")
        }
        Form::Named { has_result: false, .. } => format!("{module}.{name}();\n"),
        Form::Named { .. } => {
            let keyword = if call.exports { "export const" } else { "const" };
            format!("{keyword} example = {module}.{name}Output({});\n", named.unwrap_or_default())
        }
        Form::Positional { .. } => {
            let arguments: Vec<String> = fields.iter().map(|(_, value)| written(value, 0)).collect();
            format!("export const example = {module}.{name}Output({});\n", arguments.join(", "))
        }
    };
    import + &call
}

fn object(fields: &[(&str, &Value)], depth: usize) -> String {
    if fields.is_empty() {
        return "{}".to_owned();
    }
    let indent = "    ".repeat(depth + 1);
    let mut text = "{\n".to_owned();
    for (name, value) in fields {
        let key = if is_identifier(name) { (*name).to_owned() } else { quoted(name) };
        text += &format!("{indent}{key}: {},\n", written(value, depth + 1));
    }
    text + &"    ".repeat(depth) + "}"
}

fn written(value: &Value, depth: usize) -> String {
    match value {
        Value::Text(text) | Value::Any(text) => quoted(text),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::List(element) => format!("[{}]", written(element, depth)),
        Value::Map(element) => object(&[("key", element)], depth),
        Value::Object { fields, .. } => {
            let given = fields.iter().filter(|field| !field.for_python);
            object(&given.map(|field| (field.name.as_str(), &field.value)).collect::<Vec<_>>(), depth)
        }
    }
}
