//! Reverting planned changes of ignored attributes (core's second application of `ignore_changes`).
//!
//! Core reverts ignored changes in the configuration before planning, which providers follow. Those
//! of the legacy type system may plan something else: one that stores only the hash of a value
//! treats the prior hash as a value, and plans the hash of the hash. So core reverts their plans
//! too.

use std::collections::BTreeMap;

use isthmus_cty::{AttributePath, PathStep, Value};

/// Reverts `planned` to `prior` at each of `paths`.
///
/// A path must exist on both sides; only a map's key may be missing on either, and is then added or
/// removed. No key of an unknown map can be reverted, and core does not revert the map either.
/// Elements of sets have no path, except a single one.
pub(crate) fn keep_ignored(prior: &Value, mut planned: Value, paths: &[AttributePath]) -> Value {
    for path in paths {
        put_back(prior, &mut planned, &path.0);
    }
    planned
}

fn put_back(prior: &Value, planned: &mut Value, path: &[PathStep]) {
    let Some((first, rest)) = path.split_first() else {
        if planned.is_known() || !is_map(prior) {
            *planned = prior.clone();
        }
        return;
    };
    match (first, prior, planned) {
        (_, Value::Dynamic(prior), Value::Dynamic(planned)) if prior.0 == planned.0 => {
            put_back(&prior.1, &mut planned.1, path);
        }
        (PathStep::Attribute(name), Value::Object(prior), Value::Object(planned)) => {
            if let (Some(prior), Some(planned)) = (prior.get(name), planned.get_mut(name)) {
                put_back(prior, planned, rest);
            }
        }
        (PathStep::Key(key), prior, planned) if rest.is_empty() => put_back_key(prior, planned, key),
        (PathStep::Key(key), Value::Map(prior), Value::Map(planned)) => {
            if let (Some(prior), Some(planned)) = (prior.get(key), planned.get_mut(key)) {
                put_back(prior, planned, rest);
            }
        }
        (
            PathStep::Index(index),
            Value::List(prior) | Value::Tuple(prior),
            Value::List(planned) | Value::Tuple(planned),
        ) => {
            if let (Some(prior), Some(planned)) = (prior.get(*index), planned.get_mut(*index)) {
                put_back(prior, planned, rest);
            }
        }
        (PathStep::Element(_), Value::Set(prior), Value::Set(planned)) => {
            if let ([prior], [planned]) = (&**prior, &mut **planned) {
                put_back(prior, planned, rest);
            }
        }
        _ => {}
    }
}

fn put_back_key(prior: &Value, planned: &mut Value, key: &std::sync::Arc<str>) {
    let was = match prior {
        Value::Map(prior) => prior.get(key),
        Value::Null => None,
        _ => return,
    };
    match (planned, was) {
        (Value::Map(planned), Some(was)) => {
            planned.insert(key.clone(), was.clone());
        }
        (Value::Map(planned), None) => {
            planned.remove(key);
        }
        (planned @ Value::Null, Some(was)) => {
            *planned = Value::Map(BTreeMap::from([(key.clone(), was.clone())]));
        }
        _ => {}
    }
}

fn is_map(value: &Value) -> bool {
    matches!(value, Value::Map(_))
}

#[cfg(test)]
mod tests {
    use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Mode;

    use super::super::testing::object;
    use super::*;
    use crate::schema::Block;
    use crate::schema::testing::{attribute, block, compiled, nested_block};

    fn schema() -> Block {
        let text = |name: &str| attribute(name, "\"string\"", "o");
        let inner = || block(vec![text("port"), text("to")], vec![]);
        compiled(block(
            vec![
                text("a"),
                attribute("any", "\"dynamic\"", "o"),
                attribute("list", r#"["list","string"]"#, "o"),
                attribute("map", r#"["map","string"]"#, "o"),
                attribute("maps", r#"["map",["map","string"]]"#, "o"),
            ],
            vec![nested_block("only", Mode::Set, inner()), nested_block("rule", Mode::List, inner())],
        ))
    }

    fn attribute_step(name: &str) -> PathStep {
        PathStep::attribute(name)
    }

    fn path(steps: &[PathStep]) -> AttributePath {
        AttributePath(steps.to_vec())
    }

    /// Each row: prior, planned, and planned with the path ignored.
    fn check(ignored: &AttributePath, rows: &[(&str, &str, &str)]) {
        let schema = schema();
        for (prior, planned, expected) in rows {
            let kept = keep_ignored(
                &object(&schema, prior),
                object(&schema, planned),
                std::slice::from_ref(ignored),
            );
            assert_eq!(kept, object(&schema, expected), "{ignored} of {prior}, planned as {planned}");
        }
    }

    #[test]
    fn an_attribute_is_what_it_was() {
        check(
            &path(&[attribute_step("a")]),
            &[
                (r#"{"a": "x"}"#, r#"{"a": "y", "list": ["z"]}"#, r#"{"a": "x", "list": ["z"]}"#),
                (r#"{"a": "x"}"#, r#"{"a": "?"}"#, r#"{"a": "x"}"#),
                (r#"{"a": "x"}"#, "{}", r#"{"a": "x"}"#),
                ("{}", r#"{"a": "y"}"#, "{}"),
            ],
        );
        check(&AttributePath::root(), &[(r#"{"a": "x"}"#, r#"{"list": ["z"]}"#, r#"{"a": "x"}"#)]);
    }

    #[test]
    fn a_key_of_a_map_comes_back_or_goes_again() {
        check(
            &path(&[attribute_step("map"), PathStep::key("k")]),
            &[
                (
                    r#"{"map": {"k": "x"}}"#,
                    r#"{"map": {"k": "y", "l": "z"}}"#,
                    r#"{"map": {"k": "x", "l": "z"}}"#,
                ),
                (r#"{"map": {"k": "x"}}"#, r#"{"map": {}}"#, r#"{"map": {"k": "x"}}"#),
                (r#"{"map": {"k": "x"}}"#, "{}", r#"{"map": {"k": "x"}}"#),
                ("{}", r#"{"map": {"k": "y"}}"#, r#"{"map": {}}"#),
                ("{}", "{}", "{}"),
                (r#"{"map": {"k": "x"}}"#, r#"{"map": "?"}"#, r#"{"map": "?"}"#),
            ],
        );
        check(
            &path(&[attribute_step("maps"), PathStep::key("k"), PathStep::key("l")]),
            &[
                (
                    r#"{"maps": {"k": {"l": "x"}}}"#,
                    r#"{"maps": {"k": {"l": "y"}}}"#,
                    r#"{"maps": {"k": {"l": "x"}}}"#,
                ),
                (r#"{"maps": {"k": {"l": "x"}}}"#, r#"{"maps": {"m": {}}}"#, r#"{"maps": {"m": {}}}"#),
            ],
        );
    }

    #[test]
    fn a_map_of_which_nothing_is_known_stays_so_although_it_is_ignored() {
        check(
            &path(&[attribute_step("map")]),
            &[
                (r#"{"map": {"k": "x"}}"#, r#"{"map": "?"}"#, r#"{"map": "?"}"#),
                (r#"{"map": {"k": "x"}}"#, r#"{"map": {"k": "?"}}"#, r#"{"map": {"k": "x"}}"#),
            ],
        );
    }

    #[test]
    fn an_element_must_be_there_on_both_sides() {
        check(
            &path(&[attribute_step("list"), PathStep::Index(1)]),
            &[
                (r#"{"list": ["a", "b"]}"#, r#"{"list": ["c", "d"]}"#, r#"{"list": ["c", "b"]}"#),
                (r#"{"list": ["a", "b"]}"#, r#"{"list": ["c"]}"#, r#"{"list": ["c"]}"#),
                (r#"{"list": ["a"]}"#, r#"{"list": ["c", "d"]}"#, r#"{"list": ["c", "d"]}"#),
                (r#"{"list": ["a", "b"]}"#, r#"{"list": "?"}"#, r#"{"list": "?"}"#),
            ],
        );
        check(
            &path(&[attribute_step("rule"), PathStep::Index(0), attribute_step("port")]),
            &[
                (
                    r#"{"rule": [{"port": "1", "to": "a"}]}"#,
                    r#"{"rule": [{"port": "2", "to": "b"}, {}]}"#,
                    r#"{"rule": [{"port": "1", "to": "b"}, {}]}"#,
                ),
                (r#"{"rule": null}"#, r#"{"rule": [{"port": "2"}]}"#, r#"{"rule": [{"port": "2"}]}"#),
            ],
        );
    }

    #[test]
    fn of_a_set_only_an_element_that_is_alone_has_a_place() {
        let element = PathStep::Element(Box::new(Value::Null));
        check(
            &path(&[attribute_step("only"), element, attribute_step("port")]),
            &[
                (
                    r#"{"only": [{"port": "1"}]}"#,
                    r#"{"only": [{"port": "2"}]}"#,
                    r#"{"only": [{"port": "1"}]}"#,
                ),
                (
                    r#"{"only": [{"port": "1"}]}"#,
                    r#"{"only": [{"port": "2"}, {"port": "3"}]}"#,
                    r#"{"only": [{"port": "2"}, {"port": "3"}]}"#,
                ),
            ],
        );
    }

    #[test]
    fn inside_of_a_dynamic_value_the_type_must_be_the_same() {
        check(
            &path(&[attribute_step("any"), attribute_step("x")]),
            &[
                (
                    r#"{"any": {"x": 1, "y": 2}}"#,
                    r#"{"any": {"x": 3, "y": 4}}"#,
                    r#"{"any": {"x": 1, "y": 4}}"#,
                ),
                (r#"{"any": {"x": 1}}"#, r#"{"any": {"x": "s"}}"#, r#"{"any": {"x": "s"}}"#),
            ],
        );
    }
}
