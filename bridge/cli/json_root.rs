//! The root of what every command writes with `--json`: one object, with the same two members first.
//!
//! `format_version` is `MAJOR.MINOR`: members are added with a new minor version, and changed or removed with a new major one.
//! `command` is the command without its options. The other members are the command's own; docs/commands.md lists them.

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
    format!("{:#}\n", Value::Object(root))
}

/// The same of a command whose members have numbers of any size.
pub(super) fn exact_document(command: &str, members: Vec<(&str, Json)>) -> String {
    let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
    exact(command, members).to_readable() + "\n"
}

/// The same in one line.
pub(super) fn exact_line(command: &str, members: Json) -> String {
    let members = if let Json::Object(members) = members { members } else { Vec::new() };
    exact(command, members).to_string() + "\n"
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
}
