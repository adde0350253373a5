//! A page as text, for a terminal.

use isthmus_common::counted;

use super::example::Language;
use super::page::Page;
use super::property::Property;
use super::prose;

/// Columns of a line.
const WIDTH: usize = 100;

/// A page as text. What providers have written in it is not escaped for a terminal.
pub fn text(page: &Page, language: Language) -> String {
    let mut text =
        format!("{}\n{}, in Terraform {}\n{}\n", page.title, page.kind.name(), page.terraform, page.token);
    if let Some(message) = &page.deprecated {
        text += &format!("\nDeprecated. {message}\n");
    }
    if !page.description.is_empty() {
        text += &format!("\n{}\n", wrapped(&prose::text(&page.description), 0));
    }
    if let Some(example) = page.examples.iter().find(|example| example.language == language) {
        text += &format!("\nEXAMPLE ({})\n\n", language.name());
        for line in example.code.lines() {
            text += format!("  {line}").trim_end();
            text.push('\n');
        }
    }
    for (title, properties) in [(page.inputs_title(), &page.inputs), (page.outputs_title(), &page.outputs)] {
        if !properties.is_empty() {
            text += &format!("\n{}\n", title.to_uppercase());
            for property in properties {
                write(&mut text, property, 1);
            }
        }
    }
    if let Some(import) = &page.import {
        text += &format!("\nIMPORT\n\n  {}\n\n{}\n", import.command, wrapped(&import.id, 2));
    }
    text
}

fn write(text: &mut String, property: &Property, depth: usize) {
    let indent = "  ".repeat(depth);
    let flags = property.flags();
    let flags = if flags.is_empty() { String::new() } else { format!(" ({})", flags.join(", ")) };
    let terraform = if property.terraform.is_empty() || property.terraform == property.name {
        String::new()
    } else {
        format!("  [{}]", property.terraform)
    };
    *text += &format!("\n{indent}{}: {}{flags}{terraform}\n", property.name, property.type_text);
    if let Some(message) = property.deprecated.as_deref().filter(|message| !message.is_empty()) {
        *text += &format!("{}\n", wrapped(&format!("Deprecated: {message}"), depth * 2 + 2));
    }
    if !property.description.is_empty() {
        *text += &format!("{}\n", wrapped(&prose::text(&property.description), depth * 2 + 2));
    }
    for nested in &property.nested {
        write(text, nested, depth + 1);
    }
    if property.left_out > 0 {
        *text += &format!("{indent}  not shown: {}\n", counted(property.left_out, "more nested property"));
    }
}

/// Lines of a text, indented, and broken between words.
fn wrapped(text: &str, indent: usize) -> String {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        lines.push(line);
    }
    lines.dedup_by(|one, other| one.is_empty() && other.is_empty());
    let indented = |line: String| if line.is_empty() { line } else { " ".repeat(indent) + &line };
    lines.into_iter().map(indented).collect::<Vec<_>>().join("\n")
}
