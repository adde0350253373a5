//! The root of what every command writes with `--json`: one object, with the same two members first.
//!
//! `format_version` is `MAJOR.MINOR`: members are added with a new minor version, and changed or removed with a new major one.
//! `command` is the command without its options. The other members are the command's own; docs/commands.md lists them.

use isthmus_common::is_misleading;
use isthmus_cty::json::Json;
use serde_json::{Map, Value};

const FORMAT_VERSION: &str = "1.0";

/// A document of a command, with these members.
pub(super) fn document(command: &str, members: Value) -> String {
    let mut root = Map::from_iter([
        ("format_version".to_owned(), FORMAT_VERSION.into()),
        ("command".to_owned(), command.into()),
    ]);
    if let Value::Object(members) = members {
        root.extend(members);
    }
    unmisleading(&format!("{:#}\n", Value::Object(root)))
}

/// The same of a command whose members have numbers of any size.
pub(super) fn exact_document(command: &str, members: Vec<(&str, Json)>) -> String {
    let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
    readable(&exact(command, members))
}

/// The same in one line.
pub(super) fn exact_line(command: &str, members: Json) -> String {
    let members = if let Json::Object(members) = members { members } else { Vec::new() };
    unmisleading(&(exact(command, members).to_string() + "\n"))
}

/// Indented JSON for standard output.
pub(super) fn readable(json: &Json) -> String {
    unmisleading(&(json.to_readable() + "\n"))
}

/// JSON whose strings are the same, and which may be printed on a terminal: characters that mislead it or its reader are escaped.
fn unmisleading(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            // Outside of strings; within them it is escaped already.
            '\n' => text.push(character),
            character if is_misleading(character) => {
                text.push_str(&format!("\\u{:04x}", u32::from(character)))
            }
            character => text.push(character),
        }
    }
    text
}

fn exact(command: &str, members: impl IntoIterator<Item = (String, Json)>) -> Json {
    let own = [("format_version", FORMAT_VERSION), ("command", command)];
    let own = own.map(|(name, text)| (name.to_owned(), Json::String(text.to_owned())));
    Json::Object(own.into_iter().chain(members).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_documents_have_the_same_root() {
        let parse = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        let one = parse(&document("state list", serde_json::json!({ "records": [] })));
        let other = parse(&exact_document("state list", vec![("records", Json::Array(Vec::new()))]));
        assert_eq!(one, other);
        assert_eq!((&one["format_version"], &one["command"]), (&"1.0".into(), &"state list".into()));
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_the_same_for_programs() {
        let name = "a\u{9b}31m\u{202e}b\u{7f}\u{1b}[0m\n";
        let member = || Json::String(name.to_owned());
        for text in [
            document("inspect", serde_json::json!({ "name": name })),
            exact_document("inspect", vec![("name", member())]),
            exact_line("inspect", Json::Object(vec![("name".to_owned(), member())])),
        ] {
            assert!(
                !text.trim_end().contains(|character| character != '\n' && is_misleading(character)),
                "{text:?}"
            );
            assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON")["name"], name);
        }
    }
}
