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

/// The step that stands for the order of a set, where both bridges have the same elements in another order.
pub(crate) const ORDER: &str = "order";

/// The step that stands for the elements of a set that only one bridge has.
pub(crate) const ELEMENTS: &str = "elements";

/// All differences. Objects are compared by key and lists by position; what only one side has is one difference, however
/// much is in it.
pub(crate) fn differences(ours: &Json, theirs: &Json, subject: &Subject) -> Vec<Difference> {
    let mut comparison = Comparison { sets: &subject.sets, path: subject.path.clone(), found: Vec::new() };
    if outcome(ours) == outcome(theirs) {
        comparison.compare(Some(ours), Some(theirs));
    } else {
        comparison.path.0.push(Step::Key(OUTCOME.to_owned()));
        comparison.find(Some(ours.clone()), Some(theirs.clone()));
    }
    comparison.found
}

/// What answers are about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subject {
    /// What paths begin with.
    path: Path,
    /// Properties that are sets, at any depth: lists whose order is one difference by itself.
    sets: Vec<String>,
}

impl Subject {
    /// A resource of that name, and its properties that are sets.
    pub(crate) fn resource(name: &str, sets: &[String]) -> Self {
        Self { path: Path(vec![Step::Key(name.to_owned())]), sets: sets.to_vec() }
    }
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

struct Comparison<'a> {
    sets: &'a [String],
    path: Path,
    found: Vec<Difference>,
}

impl Comparison<'_> {
    fn compare(&mut self, ours: Option<&Json>, theirs: Option<&Json>) {
        match (ours, theirs) {
            (Some(Json::Array(ours)), Some(Json::Array(theirs))) if self.is_set(&self.path.0) => {
                self.compare_sets(&ours.iter().collect::<Vec<_>>(), &theirs.iter().collect::<Vec<_>>());
            }
            (Some(Json::Object(ours)), Some(Json::Object(theirs))) if self.is_delta_of_set(&self.path.0) => {
                self.compare_sets(&ours.values().collect::<Vec<_>>(), &theirs.values().collect::<Vec<_>>());
            }
            (Some(Json::Object(ours)), Some(Json::Object(theirs)))
                if is_special(ours) == is_special(theirs) =>
            {
                let only_theirs = theirs.keys().filter(|key| !ours.contains_key(*key));
                for key in ours.keys().chain(only_theirs) {
                    self.below(Step::Key(key.clone()), ours.get(key), theirs.get(key));
                }
            }
            (Some(Json::Array(ours)), Some(Json::Array(theirs))) => {
                for index in 0..ours.len().max(theirs.len()) {
                    self.below(Step::Index(index), ours.get(index), theirs.get(index));
                }
            }
            (ours, theirs) => {
                if ours != theirs {
                    self.find(ours.cloned(), theirs.cloned());
                }
            }
        }
    }

    fn find(&mut self, ours: Option<Json>, theirs: Option<Json>) {
        self.found.push(Difference { path: self.path.clone(), ours, theirs });
    }

    /// Elements that are the same but for the order of sets in them belong together.
    fn compare_sets(&mut self, ours: &[&Json], theirs: &[&Json]) {
        let ordered = |value: &Json| self.in_order(value, &mut Vec::new());
        let mut only_theirs: Vec<_> = theirs.iter().map(|theirs| (*theirs, ordered(theirs))).collect();
        let (mut pairs, mut only_ours) = (Vec::new(), Vec::new());
        for ours in ours {
            let same = ordered(ours);
            match only_theirs.iter().position(|(_, theirs)| *theirs == same) {
                Some(found) => pairs.push((*ours, only_theirs.remove(found).0)),
                None => only_ours.push(*ours),
            }
        }
        let only_theirs: Vec<_> = only_theirs.into_iter().map(|(theirs, _)| theirs).collect();
        let all = |values: &[&Json]| Some(values.iter().map(|value| (*value).clone()).collect());
        if !only_ours.is_empty() || !only_theirs.is_empty() {
            self.path.0.push(Step::Key(ELEMENTS.to_owned()));
            self.find(all(&only_ours), all(&only_theirs));
            self.path.0.pop();
        } else if pairs.iter().map(|(_, theirs)| theirs).ne(theirs) {
            self.path.0.push(Step::Key(ORDER.to_owned()));
            self.find(all(ours), all(theirs));
            self.path.0.pop();
        }
        for (at, (ours, theirs)) in pairs.into_iter().enumerate() {
            self.below(Step::Index(at), Some(ours), Some(theirs));
        }
    }

    /// A value with its sets in one order.
    fn in_order(&self, value: &Json, below: &mut Vec<Step>) -> Json {
        let mut step = |step: Step, value: &Json| {
            below.push(step);
            let ordered = self.in_order(value, below);
            below.pop();
            ordered
        };
        match value {
            Json::Object(object) => {
                let ordered: serde_json::Map<_, _> = object
                    .iter()
                    .map(|(key, value)| (key.clone(), step(Step::Key(key.clone()), value)))
                    .collect();
                if self.is_delta_of_set(below) {
                    return in_one_order(ordered.into_iter().map(|(_, value)| value).collect());
                }
                Json::Object(ordered)
            }
            Json::Array(values) => {
                let ordered =
                    values.iter().enumerate().map(|(at, value)| step(Step::Index(at), value)).collect();
                if self.is_set(below) { in_one_order(ordered) } else { Json::Array(ordered) }
            }
            other => other.clone(),
        }
    }

    /// Whether a path leads to a set: the property's name may be followed by what a secret is wrapped in.
    fn is_set(&self, path: &[Step]) -> bool {
        let path = match path {
            [path @ .., Step::Key(last)] if last == "value" => path,
            path => path,
        };
        matches!(path.last(), Some(Step::Key(name)) if self.sets.contains(name))
    }

    /// Whether a path leads to what the delta of stored state says about the elements of a set, by their indices.
    fn is_delta_of_set(&self, path: &[Step]) -> bool {
        matches!(path, [path @ .., Step::Key(arr), Step::Key(el)] if arr == "arr" && el == "el" && self.is_set(path))
    }

    fn below(&mut self, step: Step, ours: Option<&Json>, theirs: Option<&Json>) {
        self.path.0.push(step);
        self.compare(ours, theirs);
        self.path.0.pop();
    }
}

fn in_one_order(mut values: Vec<Json>) -> Json {
    values.sort_by_key(Json::to_string);
    Json::Array(values)
}

/// A secret, an asset and the like in a property bag: one value, not a bag.
fn is_special(object: &serde_json::Map<String, Json>) -> bool {
    object.contains_key(SIGNATURE)
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
        differences(ours, theirs, &Subject::default())
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
    fn the_order_of_a_set_is_one_difference_and_so_are_its_other_elements() {
        let subject = Subject::resource("Thing", &["tags".to_owned()]);
        let found = |ours: Json, theirs: Json| -> Vec<_> {
            let found =
                differences(&json!({ "a": {"tags": ours} }), &json!({ "a": {"tags": theirs} }), &subject);
            found
                .into_iter()
                .map(|difference| (difference.path.to_string(), difference.ours, difference.theirs))
                .collect()
        };
        let is = |path: &str, ours: Json, theirs: Json| [(path.to_owned(), Some(ours), Some(theirs))];
        assert_eq!(found(json!([1, 2]), json!([1, 2])), []);
        assert_eq!(
            found(json!([1, 2]), json!([2, 1])),
            is("/Thing/a/tags/order", json!([1, 2]), json!([2, 1]))
        );
        assert_eq!(found(json!([1, 2]), json!([2, 3])), is("/Thing/a/tags/elements", json!([1]), json!([3])));
        // A set within one: the elements are the same, and so is the one in which the order is another.
        let (ours, theirs) = (json!([{"tags": [1, 2]}]), json!([{"tags": [2, 1]}]));
        assert_eq!(found(ours, theirs), is("/Thing/a/tags/0/tags/order", json!([1, 2]), json!([2, 1])));
        // What the delta of stored state says of elements, by their indices.
        let delta = |one: &str, other: &str| json!({"arr": {"el": {one: {"num": {}}, other: {"plu": {}}}}});
        let order = is(
            "/Thing/a/tags/arr/el/order",
            json!([{"num": {}}, {"plu": {}}]),
            json!([{"plu": {}}, {"num": {}}]),
        );
        assert_eq!(found(delta("0", "1"), delta("1", "0")), order);
    }

    #[test]
    fn nothing_is_not_null() {
        assert_eq!(told(&json!({"a": null}), &json!({})), [("/a".to_owned(), Some(json!(null)), None)]);
    }
}
