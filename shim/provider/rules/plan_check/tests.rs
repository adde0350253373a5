//! Each rule of core's `AssertPlanValid`: a plan that keeps it, and one that breaks it.

use isthmus_cty::Refinements;
use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Mode;
use isthmus_proto::tfplugin6::schema::object::NestingMode as ObjectMode;

use super::super::testing::{lines, object};
use super::*;
use crate::schema::testing::{
    AttributeMessage, NestedBlockMessage, attribute, block, compiled, nested_attribute, nested_block,
};

/// Each row: prior, configuration, plan, and what is said against it.
fn check(schema: &Block, rows: &[(&str, &str, &str, &str)]) {
    for (prior, config, planned, expected) in rows {
        let [before, configured, plan] = [prior, config, planned].map(|text| object(schema, text));
        let said = lines(&check_planned(schema, &before, &configured, &plan));
        assert_eq!(said, *expected, "\n  prior {prior}\n config {config}\nplanned {planned}");
    }
}

fn text(name: &str, flags: &str) -> AttributeMessage {
    attribute(name, "\"string\"", flags)
}

fn of_attribute(attribute: AttributeMessage) -> Block {
    compiled(block(vec![attribute], vec![]))
}

fn of_block(nested: NestedBlockMessage) -> Block {
    compiled(block(vec![], vec![nested]))
}

fn element() -> Vec<AttributeMessage> {
    vec![text("id", "c"), text("name", "o")]
}

const UNASKED: &str = "a value is planned for an attribute that is neither configured nor computed";
const DIFFERENT: &str = "the planned value is not the configured one";

#[test]
fn an_object_is_planned_where_one_is_configured() {
    check(
        &of_attribute(text("a", "o")),
        &[
            ("null", "{}", "{}", ""),
            ("{}", "null", "null", ""),
            ("{}", "{}", "null", "planned as absent, but the configuration has it"),
            ("{}", "null", "{}", "planned as existing, but the configuration does not have it"),
        ],
    );
}

#[test]
fn attributes_are_planned_as_configured() {
    check(
        &of_attribute(text("a", "o")),
        &[
            ("null", r#"{"a": "x"}"#, r#"{"a": "x"}"#, ""),
            ("null", r#"{"a": "x"}"#, r#"{"a": "y"}"#, &format!("a: {DIFFERENT}")),
            ("null", r#"{"a": "x"}"#, r#"{"a": "?"}"#, &format!("a: {DIFFERENT}")),
            ("null", r#"{"a": "x"}"#, "{}", &format!("a: {DIFFERENT}")),
            ("null", r#"{"a": "?"}"#, r#"{"a": "?"}"#, ""),
            ("null", r#"{"a": "?"}"#, r#"{"a": "y"}"#, &format!("a: {DIFFERENT}")),
            // The provider may say that the new spelling means what is there already.
            (r#"{"a": "X"}"#, r#"{"a": "x"}"#, r#"{"a": "X"}"#, ""),
            (r#"{"a": "X"}"#, "{}", r#"{"a": "X"}"#, &format!("a: {UNASKED}")),
        ],
    );
}

#[test]
fn what_is_not_configured_is_planned_only_where_it_is_computed() {
    for (flags, said) in [("c", String::new()), ("oc", String::new()), ("o", format!("a: {UNASKED}"))] {
        check(
            &of_attribute(text("a", flags)),
            &[
                ("null", "{}", r#"{"a": "y"}"#, &said),
                ("null", "{}", r#"{"a": "?"}"#, &said),
                ("null", "{}", "{}", ""),
            ],
        );
    }
    // A value that is configured stays, computed or not.
    check(
        &of_attribute(text("a", "oc")),
        &[("null", r#"{"a": "x"}"#, r#"{"a": "y"}"#, &format!("a: {DIFFERENT}"))],
    );
}

#[test]
fn write_only_values_are_never_planned() {
    check(
        &of_attribute(text("a", "ow")),
        &[
            ("null", r#"{"a": "x"}"#, "{}", ""),
            ("null", r#"{"a": "x"}"#, r#"{"a": "x"}"#, "a: a write-only attribute has a planned value"),
        ],
    );
}

#[test]
fn refinements_of_unknowns_do_not_count() {
    let schema = of_attribute(text("a", "o"));
    let refined = Refinements { null: Some(false), ..Refinements::default() };
    let planned = Value::object([("a", Value::Unknown(Some(Box::new(refined))))]);
    let config = object(&schema, r#"{"a": "?"}"#);
    assert_eq!(check_planned(&schema, &Value::Null, &config, &planned), []);
}

#[test]
fn a_nested_object_is_checked_attribute_by_attribute() {
    check(
        &of_attribute(nested_attribute("n", ObjectMode::Single, "o", element())),
        &[
            ("null", r#"{"n": {"name": "a"}}"#, r#"{"n": {"name": "a", "id": "?"}}"#, ""),
            (
                "null",
                r#"{"n": {"name": "a"}}"#,
                r#"{"n": {"name": "b", "id": "?"}}"#,
                &format!("n.name: {DIFFERENT}"),
            ),
            ("null", r#"{"n": {}}"#, "{}", "n: planned as absent, but the configuration has it"),
            ("null", "{}", r#"{"n": {}}"#, &format!("n: {UNASKED}")),
            ("null", r#"{"n": {}}"#, r#"{"n": "?"}"#, "n: planned as unknown, but the configuration has it"),
            ("null", r#"{"n": "?"}"#, r#"{"n": "?"}"#, ""),
            // Of an unknown object each attribute is unknown.
            ("null", r#"{"n": "?"}"#, r#"{"n": {"id": "1", "name": "?"}}"#, ""),
            ("null", r#"{"n": "?"}"#, r#"{"n": {"name": "a"}}"#, &format!("n.name: {DIFFERENT}")),
            (
                r#"{"n": {"id": "1", "name": "A"}}"#,
                r#"{"n": {"name": "a"}}"#,
                r#"{"n": {"id": "2", "name": "A"}}"#,
                "",
            ),
        ],
    );
}

#[test]
fn nested_lists_keep_their_length() {
    check(
        &of_attribute(nested_attribute("n", ObjectMode::List, "o", element())),
        &[
            ("null", r#"{"n": [{"name": "a"}]}"#, r#"{"n": [{"name": "a", "id": "?"}]}"#, ""),
            (
                "null",
                r#"{"n": [{"name": "a"}]}"#,
                r#"{"n": [{"name": "b"}]}"#,
                &format!("n[0].name: {DIFFERENT}"),
            ),
            (
                "null",
                r#"{"n": [{"name": "a"}]}"#,
                r#"{"n": [{"name": "a"}, {}]}"#,
                "n: 2 elements are planned, but 1 are configured",
            ),
            // What is proposed for an unknown element is an object of unknowns.
            (
                r#"{"n": [{"id": "1", "name": "a"}]}"#,
                r#"{"n": ["?"]}"#,
                r#"{"n": [{"id": "?", "name": "?"}]}"#,
                "",
            ),
            (
                "null",
                r#"{"n": "?"}"#,
                r#"{"n": []}"#,
                "n: the configuration does not know its elements yet, but the plan does",
            ),
            ("null", r#"{"n": [null]}"#, r#"{"n": [null]}"#, ""),
            // An element that is null is no other than one of which nothing is set.
            ("null", r#"{"n": [null]}"#, r#"{"n": [{"id": "1"}]}"#, ""),
            ("null", r#"{"n": [null]}"#, r#"{"n": [{"name": "a"}]}"#, &format!("n[0].name: {UNASKED}")),
            ("null", r#"{"n": [{}]}"#, r#"{"n": [null]}"#, ""),
            ("null", r#"{"n": [{"name": "a"}]}"#, r#"{"n": [null]}"#, &format!("n[0].name: {DIFFERENT}")),
        ],
    );
}

#[test]
fn nested_maps_keep_their_keys() {
    check(
        &of_attribute(nested_attribute("n", ObjectMode::Map, "o", element())),
        &[
            ("null", r#"{"n": {"k": {"name": "a"}}}"#, r#"{"n": {"k": {"name": "a", "id": "1"}}}"#, ""),
            (
                r#"{"n": {"k": {"name": "A"}}}"#,
                r#"{"n": {"k": {"name": "a"}}}"#,
                r#"{"n": {"k": {"name": "A", "id": "1"}}}"#,
                "",
            ),
            (
                "null",
                r#"{"n": {"k": {"name": "a"}}}"#,
                r#"{"n": {"k": {"name": "b"}}}"#,
                &format!("n[\"k\"].name: {DIFFERENT}"),
            ),
            (
                "null",
                r#"{"n": {"k": {}}}"#,
                r#"{"n": {"l": {}}}"#,
                "n: the planned keys are not the configured ones",
            ),
            (
                "null",
                r#"{"n": {"k": {}}}"#,
                r#"{"n": {"k": {}, "l": {}}}"#,
                "n: the planned keys are not the configured ones",
            ),
            ("null", r#"{"n": {"k": null}}"#, r#"{"n": {"k": {"id": "1"}}}"#, ""),
            (
                "null",
                r#"{"n": "?"}"#,
                r#"{"n": {}}"#,
                "n: the configuration does not know its elements yet, but the plan does",
            ),
        ],
    );
}

#[test]
fn what_only_the_provider_sets_it_plans_whatever_the_configuration_has_there() {
    // It has something only where a user ignores a change.
    check(&of_attribute(text("a", "c")), &[(r#"{"a": "x"}"#, r#"{"a": "x"}"#, r#"{"a": "y"}"#, "")]);
    check(
        &of_attribute(nested_attribute("n", ObjectMode::Single, "c", element())),
        &[
            (r#"{"n": {}}"#, r#"{"n": {"name": "a"}}"#, r#"{"n": "?"}"#, ""),
            ("null", "{}", r#"{"n": {}}"#, ""),
        ],
    );
}

#[test]
fn nested_sets_must_only_be_able_to_have_as_many_elements() {
    let count = "n: 2 elements are planned, but 1 are configured";
    check(
        &of_attribute(nested_attribute("n", ObjectMode::Set, "o", element())),
        &[
            ("null", r#"{"n": [{"name": "a"}]}"#, r#"{"n": [{"name": "b"}]}"#, ""),
            ("null", r#"{"n": [{"name": "a"}]}"#, r#"{"n": [{"id": "1"}, {"id": "2"}]}"#, count),
            // Elements with unknown parts may turn out to be the same.
            ("null", r#"{"n": [{"name": "a"}]}"#, r#"{"n": [{"id": "1"}, {"id": "?"}]}"#, ""),
            ("null", r#"{"n": [{"name": "?"}, {"name": "a"}]}"#, r#"{"n": [{"name": "b"}]}"#, ""),
            ("null", r#"{"n": "?"}"#, r#"{"n": [{"name": "b"}]}"#, ""),
        ],
    );
}

#[test]
fn blocks_are_never_planned_as_null_or_unknown() {
    let null = "b: absent blocks must be planned as none, not as null";
    let unknown = "b: blocks are planned as unknown; only what is in them may be";
    for (mode, one, absent) in [
        (Mode::List, r#"{"b": [{"name": "a"}]}"#, null),
        (Mode::Set, r#"{"b": [{"name": "a"}]}"#, null),
        (Mode::Map, r#"{"b": {"k": {"name": "a"}}}"#, null),
        (Mode::Group, r#"{"b": {"name": "a"}}"#, null),
        (Mode::Single, r#"{"b": {"name": "a"}}"#, "b: planned as absent, but the configuration has it"),
    ] {
        check(
            &of_block(nested_block("b", mode, block(element(), vec![]))),
            &[
                ("null", one, one, ""),
                ("null", "{}", "{}", ""),
                ("null", one, r#"{"b": null}"#, absent),
                ("null", one, r#"{"b": "?"}"#, unknown),
                // A dynamic block stays as it is.
                ("null", r#"{"b": "?"}"#, r#"{"b": "?"}"#, ""),
                (
                    "null",
                    r#"{"b": "?"}"#,
                    one,
                    "b: the configuration does not know these blocks yet, but the plan does",
                ),
            ],
        );
    }
}

#[test]
fn what_is_in_a_block_is_checked_as_in_the_root() {
    for (mode, config, good, bad, said) in [
        (
            Mode::Single,
            r#"{"b": {"name": "a"}}"#,
            r#"{"b": {"name": "a", "id": "?"}}"#,
            r#"{"b": {"name": "b"}}"#,
            "b.name",
        ),
        (
            Mode::Group,
            r#"{"b": {"name": "a"}}"#,
            r#"{"b": {"name": "a", "id": "?"}}"#,
            r#"{"b": {"name": "b"}}"#,
            "b.name",
        ),
        (
            Mode::List,
            r#"{"b": [{"name": "a"}]}"#,
            r#"{"b": [{"name": "a", "id": "?"}]}"#,
            r#"{"b": [{"name": "b"}]}"#,
            "b[0].name",
        ),
        (
            Mode::Map,
            r#"{"b": {"k": {"name": "a"}}}"#,
            r#"{"b": {"k": {"name": "a", "id": "?"}}}"#,
            r#"{"b": {"k": {"name": "b"}}}"#,
            "b[\"k\"].name",
        ),
    ] {
        check(
            &of_block(nested_block("b", mode, block(element(), vec![]))),
            &[
                ("null", config, good, ""),
                ("null", config, bad, &format!("{said}: {DIFFERENT}")),
                // What was planned before may stay.
                (bad, config, bad, ""),
            ],
        );
    }
}

#[test]
fn blocks_keep_their_number_and_labels() {
    check(
        &of_block(nested_block("b", Mode::List, block(element(), vec![]))),
        &[
            ("null", "{}", r#"{"b": [{}]}"#, "b: 1 elements are planned, but 0 are configured"),
            ("null", r#"{"b": [{}]}"#, r#"{"b": []}"#, "b: 0 elements are planned, but 1 are configured"),
            ("null", r#"{"b": null}"#, r#"{"b": []}"#, ""),
            ("null", r#"{"b": null}"#, r#"{"b": [{}]}"#, "b: 1 elements are planned, but 0 are configured"),
            (
                "null",
                r#"{"b": [{"name": "a"}]}"#,
                r#"{"b": ["?"]}"#,
                "b[0]: a block is planned as unknown; only what is in it may be",
            ),
        ],
    );
    check(
        &of_block(nested_block("b", Mode::Map, block(element(), vec![]))),
        &[
            (
                "null",
                r#"{"b": {"k": {}}}"#,
                r#"{"b": {"l": {}}}"#,
                "b: the planned keys are not the configured ones",
            ),
            (
                "null",
                r#"{"b": {"k": {}}}"#,
                r#"{"b": {"k": {}, "l": {}}}"#,
                "b: the planned keys are not the configured ones",
            ),
            (
                "null",
                r#"{"b": {"k": {"name": "a"}}}"#,
                r#"{"b": {"k": "?"}}"#,
                "b[\"k\"]: a block is planned as unknown; only what is in it may be",
            ),
            (
                "null",
                r#"{"b": null}"#,
                r#"{"b": {"k": {}}}"#,
                "b: 1 elements are planned, but 0 are configured",
            ),
        ],
    );
    check(
        &of_block(nested_block("b", Mode::Set, block(element(), vec![]))),
        &[
            ("null", r#"{"b": [{"name": "a"}]}"#, r#"{"b": [{"name": "b"}, {"name": "c"}]}"#, ""),
            (
                "null",
                r#"{"b": [{"name": "a"}]}"#,
                r#"{"b": ["?"]}"#,
                "b: a block is planned as unknown; only what is in it may be",
            ),
        ],
    );
}

#[test]
fn blocks_that_the_provider_fills_are_its_own_while_nobody_writes_them() {
    let mut filled = block(vec![text("id", "c"), text("name", "oc")], vec![]);
    filled.computed = true;
    check(
        &of_block(nested_block("b", Mode::List, filled)),
        &[
            ("null", r#"{"b": null}"#, r#"{"b": [{"id": "1"}]}"#, ""),
            ("null", r#"{"b": null}"#, r#"{"b": "?"}"#, ""),
            (
                "null",
                r#"{"b": null}"#,
                r#"{"b": null}"#,
                "b: absent blocks must be planned as none, not as null",
            ),
            (
                "null",
                r#"{"b": [{"name": "a"}]}"#,
                r#"{"b": []}"#,
                "b: 0 elements are planned, but 1 are configured",
            ),
            (
                "null",
                r#"{"b": [{"name": "a"}]}"#,
                r#"{"b": "?"}"#,
                "b: blocks are planned as unknown; only what is in them may be",
            ),
        ],
    );
}

#[test]
fn blocks_with_something_dynamic_inside_are_checked_within_their_wrapper() {
    let inner = || block(vec![attribute("any", "\"dynamic\"", "o"), text("id", "c")], vec![]);
    check(
        &of_block(nested_block("b", Mode::List, inner())),
        &[
            (
                "null",
                r#"{"b": [{"any": 1}, {"any": "x"}]}"#,
                r#"{"b": [{"any": 1, "id": "?"}, {"any": "x"}]}"#,
                "",
            ),
            ("null", r#"{"b": [{"any": 1}]}"#, r#"{"b": [{"any": "1"}]}"#, &format!("b[0].any: {DIFFERENT}")),
            (
                "null",
                r#"{"b": [{"any": 1}]}"#,
                r#"{"b": []}"#,
                "b: 0 elements are planned, but 1 are configured",
            ),
        ],
    );
    check(
        &of_block(nested_block("b", Mode::Map, inner())),
        &[
            (
                "null",
                r#"{"b": {"k": {"any": 1}}}"#,
                r#"{"b": {"k": {"any": true}}}"#,
                &format!("b[\"k\"].any: {DIFFERENT}"),
            ),
            (
                "null",
                r#"{"b": {"k": {"any": 1}}}"#,
                r#"{"b": {"l": {"any": 1}}}"#,
                "b: the planned keys are not the configured ones",
            ),
            (
                "null",
                r#"{"b": {"k": {"any": 1}}}"#,
                r#"{"b": {}}"#,
                "b: the planned keys are not the configured ones",
            ),
        ],
    );
}

#[test]
fn what_is_said_never_shows_a_value() {
    let schema = of_attribute(text("a", "os"));
    let [config, planned] = [r#"{"a": "hunter2"}"#, r#"{"a": "hunter3"}"#].map(|text| object(&schema, text));
    let said = lines(&check_planned(&schema, &Value::Null, &config, &planned));
    assert!(!said.is_empty() && !said.contains("hunter"), "{said}");
}
