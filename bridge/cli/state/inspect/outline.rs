//! What is shown, as JSON and as an indented outline: the outline leaves out what is empty.

use isthmus_common::is_misleading;
use isthmus_cty::json::Json;

use crate::cli::table::in_one_line;

/// A part of what is shown.
#[derive(Debug)]
pub(super) enum Part {
    Text(String),
    /// Written as JSON on one line.
    Value(Json),
    List(Vec<Self>),
    Members(Vec<(String, Self)>),
}

impl Part {
    fn is_empty(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::Value(value) => *value == Json::Null,
            Self::List(parts) => parts.is_empty(),
            Self::Members(members) => members.iter().all(|(_, part)| part.is_empty()),
        }
    }

    /// The text of what has no parts.
    fn in_one_line(&self) -> Option<String> {
        match self {
            Self::Text(text) if text.is_empty() => Some("\"\"".to_owned()),
            Self::Text(text) => Some(in_one_line(text)),
            Self::Value(value) => Some(escaped(&value.to_string())),
            Self::List(_) | Self::Members(_) => None,
        }
    }

    fn write(&self, depth: usize, out: &mut String) {
        match self {
            Self::Text(_) | Self::Value(_) => {}
            Self::List(parts) => {
                for part in parts {
                    match part.in_one_line() {
                        Some(text) => line(depth, &format!("- {text}"), out),
                        None => {
                            let start = out.len();
                            part.write(depth + 1, out);
                            // The first line of its members.
                            if let Some(indent) = out.get(start..).and_then(|new| new.find(|c| c != ' ')) {
                                out.replace_range(start + indent - 2..start + indent, "- ");
                            }
                        }
                    }
                }
            }
            Self::Members(members) => {
                for (name, part) in members.iter().filter(|(_, part)| !part.is_empty()) {
                    let name = in_one_line(name);
                    match part.in_one_line() {
                        Some(text) => line(depth, &format!("{name}: {text}"), out),
                        None => {
                            line(depth, &format!("{name}:"), out);
                            part.write(depth + 1, out);
                        }
                    }
                }
            }
        }
    }
}

impl From<Part> for Json {
    fn from(part: Part) -> Self {
        match part {
            Part::Text(text) => Self::String(text),
            Part::Value(value) => value,
            Part::List(parts) => Self::Array(parts.into_iter().map(Self::from).collect()),
            Part::Members(members) => {
                Self::Object(members.into_iter().map(|(name, part)| (name, Self::from(part))).collect())
            }
        }
    }
}

pub(super) fn text(part: &Part) -> String {
    let mut out = String::new();
    part.write(0, &mut out);
    out
}

fn line(depth: usize, text: &str, out: &mut String) {
    for _ in 0..depth {
        out.push_str("  ");
    }
    out.push_str(text);
    out.push('\n');
}

/// JSON without the misleading characters that its strings may contain as they are.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if is_misleading(character) {
            out.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_indented_and_what_is_empty_is_left_out() {
        let text_of = |text: &str| Part::Text(text.to_owned());
        let members = |members: Vec<(&str, Part)>| {
            Part::Members(members.into_iter().map(|(name, part)| (name.to_owned(), part)).collect())
        };
        let shown = members(vec![
            ("name", text_of("a\u{1b}[31m\nb")),
            ("null", Part::Value(Json::Null)),
            ("none", members(vec![("list", Part::List(Vec::new()))])),
            ("value", Part::Value(Json::Array(vec![Json::String("\u{9b}\n\"".to_owned())]))),
            (
                "list",
                Part::List(vec![
                    text_of("one"),
                    text_of(""),
                    members(vec![("a", text_of("1")), ("b", text_of("2"))]),
                ]),
            ),
        ]);
        assert_eq!(
            text(&shown),
            "name: \"a\\u{1b}[31m\\nb\"\n\
             value: [\"\\u009b\\n\\\"\"]\n\
             list:\n  - one\n  - \"\"\n  - a: 1\n    b: 2\n"
        );
        assert_eq!(
            Json::from(shown).member("none").map(ToString::to_string),
            Some(r#"{"list":[]}"#.to_owned())
        );
    }
}
