//! Examples in Go.

use super::call::{Call, Form};
use super::text::{is_identifier, quoted};
use super::value::Value;
use isthmus_package::catalogue::Package;
use isthmus_package::names::casing::upper_first;
use isthmus_package::names::tokens::member_name;
use isthmus_package::schema::go_import_path;

/// The name of a function in Go. `GetPet` would be that which looks up a resource `Pet`, so the data source is `LookupPet` then.
pub(super) fn function_name(package: &Package, form: Form, name: &str) -> String {
    let resource =
        name.strip_prefix("get").filter(|_| matches!(form, Form::Named { .. } | Form::Positional { .. }));
    let is_taken =
        |resource: &&str| package.resources().iter().any(|(_, token)| member_name(token) == *resource);
    match resource.filter(is_taken) {
        Some(resource) => format!("Lookup{resource}"),
        None => upper_first(name),
    }
}

pub(super) fn program(call: &Call<'_>) -> String {
    let identity = call.package.identity();
    let path = go_import_path(&identity.name, identity.version.major);
    let module =
        if is_identifier(&identity.name) { identity.name.clone() } else { identity.name.replace('-', "") };
    let name = &call.go_name;
    let writer = Writer { module: &module };
    let structure =
        |of: &str| writer.fields(of, call.arguments.iter().map(|(name, value)| (name.as_str(), value)), 2);
    let body = match call.form {
        Form::Provider | Form::Resource => {
            let arguments = if call.arguments.is_empty() {
                "nil".to_owned()
            } else {
                structure(&format!("&{module}.{name}Args"))
            };
            // Required arguments make `nil` an error.
            format!("\t\t_, err := {module}.New{name}(ctx, \"example\", {arguments})\n\t\treturn err\n")
        }
        Form::Named { has_arguments, has_result } => {
            // What has neither arguments nor a result has an empty structure of arguments in Go.
            let arguments = if has_arguments || !has_result {
                format!(", {}", structure(&format!("{module}.{name}OutputArgs")))
            } else {
                String::new()
            };
            called(call, &format!("{module}.{name}Output(ctx{arguments})"))
        }
        Form::Positional { is_empty_structure: true } => {
            called(call, &format!("{module}.{name}Output(ctx, {module}.{name}OutputArgs{{}})"))
        }
        Form::Positional { .. } => {
            let arguments: String =
                call.arguments.iter().map(|(_, value)| format!(", {}", writer.value(value, 2))).collect();
            let omitted = ", nil".repeat(call.omitted);
            called(call, &format!("{module}.{name}Output(ctx{arguments}{omitted})"))
        }
    };
    let import = if path.ends_with(&format!("/{module}")) {
        quoted(&path)
    } else {
        format!("{module} {}", quoted(&path))
    };
    format!(
        "package main\n\nimport (\n\t{import}\n\t\"github.com/pulumi/pulumi/sdk/v3/go/pulumi\"\n)\n\nfunc main() {{\n\
         \tpulumi.Run(func(ctx *pulumi.Context) error {{\n{body}\t}})\n}}\n"
    )
}

fn called(call: &Call<'_>, expression: &str) -> String {
    if call.exports {
        format!("\t\texample := {expression}\n\t\tctx.Export(\"example\", example)\n\t\treturn nil\n")
    } else {
        format!("\t\t{expression}\n\t\treturn nil\n")
    }
}

struct Writer<'a> {
    module: &'a str,
}

impl Writer<'_> {
    fn fields<'v>(
        &self,
        of: &str,
        fields: impl Iterator<Item = (&'v str, &'v Value)>,
        depth: usize,
    ) -> String {
        let indent = "\t".repeat(depth + 1);
        let fields: Vec<(String, String)> =
            fields.map(|(name, value)| (upper_first(name) + ":", self.value(value, depth + 1))).collect();
        // As gofmt aligns them, which counts lines of one line each together.
        let mut text = String::new();
        let mut run = 0;
        while run < fields.len() {
            let is_short = |(_, value): &&(String, String)| !value.contains('\n');
            let length = fields[run..].iter().take_while(is_short).count();
            let width =
                fields[run..run + length].iter().map(|(name, _)| name.len()).max().unwrap_or_default();
            for (name, value) in &fields[run..run + length] {
                text += &format!("{indent}{name:width$} {value},\n");
            }
            run += length;
            if let Some((name, value)) = fields.get(run) {
                text += &format!("{indent}{name} {value},\n");
                run += 1;
            }
        }
        if text.is_empty() { format!("{of}{{}}") } else { format!("{of}{{\n{text}{}}}", "\t".repeat(depth)) }
    }

    fn value(&self, value: &Value, depth: usize) -> String {
        let indent = "\t".repeat(depth + 1);
        match value {
            Value::Text(text) => format!("pulumi.String({})", quoted(text)),
            Value::Any(text) => format!("pulumi.Any({})", quoted(text)),
            Value::Number(number) => format!("pulumi.Float64({number})"),
            Value::Bool(truth) => format!("pulumi.Bool({truth})"),
            Value::List(element) => {
                let element = self.value(element, depth + 1);
                format!("{}{{\n{indent}{element},\n{}}}", self.type_name(value), "\t".repeat(depth))
            }
            Value::Map(element) => {
                let element = self.value(element, depth + 1);
                format!("{}{{\n{indent}\"key\": {element},\n{}}}", self.type_name(value), "\t".repeat(depth))
            }
            Value::Object { type_name, fields } => {
                let given = fields.iter().filter(|field| !field.for_python);
                let of = format!("{}.{}Args", self.module, upper_first(type_name));
                self.fields(&of, given.map(|field| (field.name.as_str(), &field.value)), depth)
            }
        }
    }

    /// The type of a collection, which is named after that of its elements.
    fn type_name(&self, value: &Value) -> String {
        match value {
            Value::Text(_) => "pulumi.String".to_owned(),
            Value::Number(_) => "pulumi.Float64".to_owned(),
            Value::Bool(_) => "pulumi.Bool".to_owned(),
            Value::Any(_) => "pulumi.".to_owned(),
            Value::List(element) => self.type_name(element) + "Array",
            Value::Map(element) => self.type_name(element) + "Map",
            Value::Object { type_name, .. } => format!("{}.{}", self.module, upper_first(type_name)),
        }
    }
}
