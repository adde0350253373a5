//! What differs between a recorded call and the same call made again, line by line.
//!
//! A line is a path and a value, so that it is understood without those around it. What is null is as if it were not there:
//! another version of a provider may have attributes that the recorded one had not.

use std::collections::BTreeMap;

use isthmus_cty::json::Json;

/// A difference of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The id of the session.
    pub session: String,
    /// The number of the engine's call in it.
    pub sequence: u64,
    /// The engine's method.
    pub method: String,
    /// The URN or the token that the call is about; may be empty.
    pub subject: String,
    /// What differs: `response`, or the provider's method and `request` or `response`.
    pub part: String,
    /// Those of the recording begin with `-`, those of the replay with `+`.
    pub lines: Vec<String>,
}

/// Secrets of a replay, and what they are in the recording: a value that is secret only by its place in a message of the
/// provider has another placeholder when it is replayed.
#[derive(Debug, Default)]
pub(super) struct Bound(BTreeMap<String, String>);

impl Bound {
    /// Whether two different placeholders stand for one secret, as far as is known.
    fn are_bound(&mut self, recorded: &str, replayed: &str) -> bool {
        // Of what has marks, and of a provider's configuration without them.
        let numberings = [
            ["\"secret-0", "\"secret-5"],
            ["90000", "90005"],
            ["\"secret-4", "\"secret-9"],
            ["90004", "90009"],
        ];
        let is_replaced = |[old, new]: [&str; 2]| recorded.starts_with(old) && replayed.starts_with(new);
        numberings.into_iter().any(is_replaced)
            && *self.0.entry(replayed.to_owned()).or_insert_with(|| recorded.to_owned()) == recorded
    }
}

/// The lines in which two messages differ.
pub(super) fn lines(recorded: &Json, replayed: &Json, bound: &mut Bound) -> Vec<String> {
    let [recorded, replayed] = [recorded, replayed].map(|json| {
        let mut lines = BTreeMap::new();
        flatten(&canonical(json), "", &mut lines);
        lines
    });
    let mut changed = Vec::new();
    let paths: std::collections::BTreeSet<&String> = recorded.keys().chain(replayed.keys()).collect();
    for path in paths {
        let (before, after) = (recorded.get(path), replayed.get(path));
        let is_equal = |(before, after): (&String, &String)| {
            are_generated(path, before, after) || bound.are_bound(before, after)
        };
        if before == after || before.zip(after).is_some_and(is_equal) {
            continue;
        }
        changed.extend(before.map(|value| format!("- {path}: {value}")));
        changed.extend(after.map(|value| format!("+ {path}: {value}")));
    }
    changed
}

/// The same with members in order, and lists with secrets too: elements of a set are in the order of their values, and
/// placeholders are in another.
fn canonical(json: &Json) -> Json {
    match json {
        Json::Array(elements) => {
            let mut elements: Vec<Json> = elements.iter().map(canonical).collect();
            if elements.iter().any(|element| element.to_string().contains("secret-")) {
                elements.sort_by_cached_key(Json::to_string);
            }
            Json::Array(elements)
        }
        Json::Object(members) => {
            let mut members: Vec<(String, Json)> =
                members.iter().map(|(name, value)| (name.clone(), canonical(value))).collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            Json::Object(members)
        }
        other => other.clone(),
    }
}

/// Whether two values are ids that isthmus has made up, at random, because the provider has none.
fn are_generated(path: &str, before: &str, after: &str) -> bool {
    let is_random =
        |id: &str| id.len() == 34 && id.trim_matches('"').bytes().all(|byte| byte.is_ascii_hexdigit());
    path == "id" && is_random(before) && is_random(after)
}

fn flatten(json: &Json, path: &str, lines: &mut BTreeMap<String, String>) {
    let mut line = |value: String| drop(lines.insert(path.to_owned(), value));
    match json {
        Json::Null => {}
        Json::Bool(value) => line(value.to_string()),
        Json::Number(text) => line(text.clone()),
        Json::String(_) => line(json.to_string()),
        Json::Array(elements) if elements.is_empty() => line("[]".to_owned()),
        Json::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                flatten(element, &format!("{path}[{index}]"), lines);
            }
        }
        Json::Object(members) => match members.as_slice() {
            // A message without fields is as one that is not there.
            [] => {}
            [(name, _)] if name == "$unknown" => line("(known after apply)".to_owned()),
            [(name, _)] if name == "$withheld" => line("(withheld)".to_owned()),
            [(name, inner)]
                if matches!(name.as_str(), "$secret" | "$state" | "$private" | "$identity" | "$bytes") =>
            {
                flatten(inner, &joined(path, &format!("({})", &name[1..])), lines);
            }
            members => {
                for (name, value) in members {
                    flatten(value, &joined(path, name), lines);
                }
            }
        },
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(recorded: &str, replayed: &str) -> Vec<String> {
        let parse = |text: &str| Json::parse(text.as_bytes()).expect("JSON");
        lines(&parse(recorded), &parse(replayed), &mut Bound::default())
    }

    #[test]
    fn a_secret_of_the_replay_is_one_of_the_recording_and_no_other() {
        let parse = |text: &str| Json::parse(text.as_bytes()).expect("JSON");
        let mut bound = Bound::default();
        let mut differ = |one: &str, other: &str| lines(&parse(one), &parse(other), &mut bound).len();
        assert_eq!(differ(r#"{"a":"secret-00001"}"#, r#"{"a":"secret-50001"}"#), 0);
        assert_eq!(differ(r#"{"b":"secret-00001"}"#, r#"{"b":"secret-50001"}"#), 0);
        assert_eq!(differ(r#"{"a":"secret-00002"}"#, r#"{"a":"secret-50001"}"#), 2);
        assert_eq!(differ(r#"{"a":"secret-00002"}"#, r#"{"a":"open"}"#), 2);
    }

    #[test]
    fn a_line_says_where_it_is() {
        assert_eq!(
            differ(r#"{"a":{"b":[1,{"c":"x"}],"d":null}}"#, r#"{"a":{"b":[1,{"c":"y"}],"e":true}}"#),
            ["- a.b[1].c: \"x\"", "+ a.b[1].c: \"y\"", "+ a.e: true"]
        );
        assert_eq!(
            differ(r#"{"a":{"$unknown":null},"b":{"$secret":"secret-00001"}}"#, r#"{"a":"","b":"open"}"#),
            ["- a: (known after apply)", "+ a: \"\"", "+ b: \"open\"", "- b.(secret): \"secret-00001\""]
        );
        assert!(differ(r#"{"a":null,"b":{}}"#, "{}").is_empty());
    }
}
