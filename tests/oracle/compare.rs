//! Differences between two answers.

use std::fmt;

use isthmus_test_engine::SIGNATURE;
use serde_json::Value as Json;

/// A step of a path into an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// Where a value is in an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(pub(crate) Vec<Step>);

/// Two values that are not the same. `None` is no value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    pub(crate) path: Path,
    pub(crate) ours: Option<Json>,
    pub(crate) theirs: Option<Json>,
}

/// The step that stands for the answer's kind where one bridge answers, another fails: no path leads into both then.
pub(crate) const OUTCOME: &str = "outcome";

/// All differences. Objects are compared by key and lists by position; what only one side has is one difference, however
/// much is in it.
pub(crate) fn differences(ours: &Json, theirs: &Json) -> Vec<Difference> {
    if outcome(ours) != outcome(theirs) {
        let path = Path(vec![Step::Key(OUTCOME.to_owned())]);
        return vec![Difference { path, ours: Some(ours.clone()), theirs: Some(theirs.clone()) }];
    }
    let mut found = Vec::new();
    compare(&mut Path::default(), Some(ours), Some(theirs), &mut found);
    found
}

#[derive(PartialEq, Eq)]
enum Outcome {
    Answer,
    Failures,
    Error,
}

fn outcome(answer: &Json) -> Outcome {
    if answer.get("error").is_some() {
        Outcome::Error
    } else if answer.get("failures").is_some() {
        Outcome::Failures
    } else {
        Outcome::Answer
    }
}

fn compare(path: &mut Path, ours: Option<&Json>, theirs: Option<&Json>, found: &mut Vec<Difference>) {
    match (ours, theirs) {
        (Some(Json::Object(ours)), Some(Json::Object(theirs))) if is_special(ours) == is_special(theirs) => {
            let only_theirs = theirs.keys().filter(|key| !ours.contains_key(*key));
            for key in ours.keys().chain(only_theirs) {
                below(path, Step::Key(key.clone()), ours.get(key), theirs.get(key), found);
            }
        }
        (Some(Json::Array(ours)), Some(Json::Array(theirs))) => {
            for index in 0..ours.len().max(theirs.len()) {
                below(path, Step::Index(index), ours.get(index), theirs.get(index), found);
            }
        }
        (ours, theirs) => {
            if ours != theirs {
                found.push(Difference { path: path.clone(), ours: ours.cloned(), theirs: theirs.cloned() });
            }
        }
    }
}

/// A secret, an asset and the like in a property bag: one value, not a bag.
fn is_special(object: &serde_json::Map<String, Json>) -> bool {
    object.contains_key(SIGNATURE)
}

fn below(
    path: &mut Path,
    step: Step,
    ours: Option<&Json>,
    theirs: Option<&Json>,
    found: &mut Vec<Difference>,
) {
    path.0.push(step);
    compare(path, ours, theirs, found);
    path.0.pop();
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                Step::Key(key) => write!(formatter, "/{key}")?,
                Step::Index(index) => write!(formatter, "/{index}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(ours: &Json, theirs: &Json) -> Vec<(String, Option<Json>, Option<Json>)> {
        differences(ours, theirs)
            .into_iter()
            .map(|difference| (difference.path.to_string(), difference.ours, difference.theirs))
            .collect()
    }

    #[test]
    fn a_difference_has_a_path_and_both_values() {
        let ours = json!({"a": {"b": [1, 2]}, "c": {"d": 1}, "same": null});
        let theirs = json!({"a": {"b": [1]}, "e": {"f": 1}, "same": null});
        assert_eq!(
            told(&ours, &theirs),
            [
                ("/a/b/1".to_owned(), Some(json!(2)), None),
                ("/c".to_owned(), Some(json!({"d": 1})), None),
                ("/e".to_owned(), None, Some(json!({"f": 1}))),
            ]
        );
    }

    #[test]
    fn an_answer_and_an_error_are_one_difference() {
        let (ours, theirs) = (json!({"inputs": {}}), json!({"error": {"code": "Unknown"}}));
        assert_eq!(told(&ours, &theirs), [("/outcome".to_owned(), Some(ours.clone()), Some(theirs.clone()))]);
        assert_eq!(told(&ours, &ours), []);
    }

    #[test]
    fn a_secret_is_one_value() {
        let (secret, plain) = (isthmus_test_engine::secret(json!({"a": 1})), json!({"a": 1}));
        let found = told(&json!({"x": secret}), &json!({"x": plain}));
        assert_eq!(found, [("/x".to_owned(), Some(secret.clone()), Some(plain))]);
        let other = isthmus_test_engine::secret(json!({"a": 2}));
        assert_eq!(told(&secret, &other)[0].0, "/value/a");
    }

    #[test]
    fn nothing_is_not_null() {
        assert_eq!(told(&json!({"a": null}), &json!({})), [("/a".to_owned(), Some(json!(null)), None)]);
    }
}
