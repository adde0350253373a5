//! Each rule of core's `AssertPlanValid`, satisfied and violated.

use isthmus_cty::Refinements;
use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Mode;
use isthmus_proto::tfplugin6::schema::object::NestingMode as ObjectMode;

use super::super::testing::{lines, object, rows};
use super::*;
use crate::schema::testing::{
    AttributeMessage, NestedBlockMessage, attribute, block, compiled, nested_attribute, nested_block,
};

/// Checks a table of prior, configuration, plan, and violations.
fn check(schema: &Block, table: &str) {
    for [prior, config, planned, expected] in rows(table) {
        let [before, configured, plan] = [prior, config, planned].map(|text| object(schema, text));
        let said = lines(&check_planned(schema, &before, &configured, &plan));
        let expected = expected.replace("DIFFERENT", DIFFERENT).replace("UNASKED", UNASKED);
        assert_eq!(said, expected, "\n  prior {prior}\n config {config}\nplanned {planned}");
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
        r#"
            null | {} | {} |
            {} | null | null |
            {} | {} | null | planned as absent, but the configuration has it
            {} | null | {} | planned as existing, but the configuration does not have it
        "#,
    );
}

#[test]
fn attributes_are_planned_as_configured() {
    check(
        &of_attribute(text("a", "o")),
        r#"
            null | {"a": "x"} | {"a": "x"} |
            null | {"a": "x"} | {"a": "y"} | a: DIFFERENT
            null | {"a": "x"} | {"a": "?"} | a: DIFFERENT
            null | {"a": "x"} | {} | a: DIFFERENT
            null | {"a": "?"} | {"a": "?"} |
            null | {"a": "?"} | {"a": "y"} | a: DIFFERENT
            # The provider may say that the new spelling means what is there already.
            {"a": "X"} | {"a": "x"} | {"a": "X"} |
            {"a": "X"} | {} | {"a": "X"} | a: UNASKED
        "#,
    );
}

#[test]
fn what_is_not_configured_is_planned_only_where_it_is_computed() {
    for (flags, said) in [("c", ""), ("oc", ""), ("o", "a: UNASKED")] {
        check(
            &of_attribute(text("a", flags)),
            &r#"
            null | {} | {"a": "y"} | SAID
            null | {} | {"a": "?"} | SAID
            null | {} | {} |
        "#
            .replace("SAID", said),
        );
    }
    // A configured value is unchanged, computed or not.
    check(
        &of_attribute(text("a", "oc")),
        r#"
            null | {"a": "x"} | {"a": "y"} | a: DIFFERENT
        "#,
    );
}

#[test]
fn write_only_values_are_never_planned() {
    check(
        &of_attribute(text("a", "ow")),
        r#"
            null | {"a": "x"} | {} |
            null | {"a": "x"} | {"a": "x"} | a: a write-only attribute has a planned value
        "#,
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
        r#"
            null | {"n": {"name": "a"}} | {"n": {"name": "a", "id": "?"}} |
            null | {"n": {"name": "a"}} | {"n": {"name": "b", "id": "?"}} | n.name: DIFFERENT
            null | {"n": {}} | {} | n: planned as absent, but the configuration has it
            null | {} | {"n": {}} | n: UNASKED
            null | {"n": {}} | {"n": "?"} | n: planned as unknown, but the configuration has it
            null | {"n": "?"} | {"n": "?"} |
            # Of an unknown object each attribute is unknown.
            null | {"n": "?"} | {"n": {"id": "1", "name": "?"}} |
            null | {"n": "?"} | {"n": {"name": "a"}} | n.name: DIFFERENT
            {"n": {"id": "1", "name": "A"}} | {"n": {"name": "a"}} | {"n": {"id": "2", "name": "A"}} |
        "#,
    );
}

#[test]
fn nested_lists_keep_their_length() {
    check(
        &of_attribute(nested_attribute("n", ObjectMode::List, "o", element())),
        r#"
            null | {"n": [{"name": "a"}]} | {"n": [{"name": "a", "id": "?"}]} |
            null | {"n": [{"name": "a"}]} | {"n": [{"name": "b"}]} | n[0].name: DIFFERENT
            null | {"n": [{"name": "a"}]} | {"n": [{"name": "a"}, {}]}
            | n: 2 elements are planned, but 1 are configured
            # What is proposed for an unknown element is an object of unknowns.
            {"n": [{"id": "1", "name": "a"}]} | {"n": ["?"]} | {"n": [{"id": "?", "name": "?"}]} |
            null | {"n": "?"} | {"n": []}
            | n: the configuration does not know its elements yet, but the plan does
            null | {"n": [null]} | {"n": [null]} |
            # An element that is null is no other than one of which nothing is set.
            null | {"n": [null]} | {"n": [{"id": "1"}]} |
            null | {"n": [null]} | {"n": [{"name": "a"}]} | n[0].name: UNASKED
            null | {"n": [{}]} | {"n": [null]} |
            null | {"n": [{"name": "a"}]} | {"n": [null]} | n[0].name: DIFFERENT
        "#,
    );
}

#[test]
fn nested_maps_keep_their_keys() {
    check(
        &of_attribute(nested_attribute("n", ObjectMode::Map, "o", element())),
        r#"
            null | {"n": {"k": {"name": "a"}}} | {"n": {"k": {"name": "a", "id": "1"}}} |
            {"n": {"k": {"name": "A"}}} | {"n": {"k": {"name": "a"}}} | {"n": {"k": {"name": "A", "id": "1"}}} |
            null | {"n": {"k": {"name": "a"}}} | {"n": {"k": {"name": "b"}}} | n["k"].name: DIFFERENT
            null | {"n": {"k": {}}} | {"n": {"l": {}}} | n: the planned keys are not the configured ones
            null | {"n": {"k": {}}} | {"n": {"k": {}, "l": {}}}
            | n: the planned keys are not the configured ones
            null | {"n": {"k": null}} | {"n": {"k": {"id": "1"}}} |
            null | {"n": "?"} | {"n": {}}
            | n: the configuration does not know its elements yet, but the plan does
        "#,
    );
}

#[test]
fn what_only_the_provider_sets_it_plans_whatever_the_configuration_has_there() {
    // It has a value only if the user ignores a change.
    check(
        &of_attribute(text("a", "c")),
        r#"
            {"a": "x"} | {"a": "x"} | {"a": "y"} |
        "#,
    );
    check(
        &of_attribute(nested_attribute("n", ObjectMode::Single, "c", element())),
        r#"
            {"n": {}} | {"n": {"name": "a"}} | {"n": "?"} |
            null | {} | {"n": {}} |
        "#,
    );
}

#[test]
fn nested_sets_must_only_be_able_to_have_as_many_elements() {
    let count = "n: 2 elements are planned, but 1 are configured";
    check(
        &of_attribute(nested_attribute("n", ObjectMode::Set, "o", element())),
        &r#"
            null | {"n": [{"name": "a"}]} | {"n": [{"name": "b"}]} |
            null | {"n": [{"name": "a"}]} | {"n": [{"id": "1"}, {"id": "2"}]} | COUNT
            # Elements with unknown parts may turn out to be the same.
            null | {"n": [{"name": "a"}]} | {"n": [{"id": "1"}, {"id": "?"}]} |
            null | {"n": [{"name": "?"}, {"name": "a"}]} | {"n": [{"name": "b"}]} |
            null | {"n": "?"} | {"n": [{"name": "b"}]} |
        "#
        .replace("COUNT", count),
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
            &r#"
            null | ONE | ONE |
            null | {} | {} |
            null | ONE | {"b": null} | ABSENT
            null | ONE | {"b": "?"} | UNKNOWN
            # A dynamic block stays as it is.
            null | {"b": "?"} | {"b": "?"} |
            null | {"b": "?"} | ONE | b: the configuration does not know these blocks yet, but the plan does
        "#
            .replace("ONE", one)
            .replace("ABSENT", absent)
            .replace("UNKNOWN", unknown),
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
            &r#"
            null | CONFIG | GOOD |
            null | CONFIG | BAD | SAID: DIFFERENT
            # What was planned before may stay.
            BAD | CONFIG | BAD |
        "#
            .replace("CONFIG", config)
            .replace("GOOD", good)
            .replace("BAD", bad)
            .replace("SAID", said),
        );
    }
}

#[test]
fn blocks_keep_their_number_and_labels() {
    check(
        &of_block(nested_block("b", Mode::List, block(element(), vec![]))),
        r#"
            null | {} | {"b": [{}]} | b: 1 elements are planned, but 0 are configured
            null | {"b": [{}]} | {"b": []} | b: 0 elements are planned, but 1 are configured
            null | {"b": null} | {"b": []} |
            null | {"b": null} | {"b": [{}]} | b: 1 elements are planned, but 0 are configured
            null | {"b": [{"name": "a"}]} | {"b": ["?"]}
            | b[0]: a block is planned as unknown; only what is in it may be
        "#,
    );
    check(
        &of_block(nested_block("b", Mode::Map, block(element(), vec![]))),
        r#"
            null | {"b": {"k": {}}} | {"b": {"l": {}}} | b: the planned keys are not the configured ones
            null | {"b": {"k": {}}} | {"b": {"k": {}, "l": {}}}
            | b: the planned keys are not the configured ones
            null | {"b": {"k": {"name": "a"}}} | {"b": {"k": "?"}}
            | b["k"]: a block is planned as unknown; only what is in it may be
            null | {"b": null} | {"b": {"k": {}}} | b: 1 elements are planned, but 0 are configured
        "#,
    );
    check(
        &of_block(nested_block("b", Mode::Set, block(element(), vec![]))),
        r#"
            null | {"b": [{"name": "a"}]} | {"b": [{"name": "b"}, {"name": "c"}]} |
            null | {"b": [{"name": "a"}]} | {"b": ["?"]}
            | b: a block is planned as unknown; only what is in it may be
        "#,
    );
}

#[test]
fn blocks_that_the_provider_fills_are_its_own_while_nobody_writes_them() {
    let mut filled = block(vec![text("id", "c"), text("name", "oc")], vec![]);
    filled.computed = true;
    check(
        &of_block(nested_block("b", Mode::List, filled)),
        r#"
            null | {"b": null} | {"b": [{"id": "1"}]} |
            null | {"b": null} | {"b": "?"} |
            null | {"b": null} | {"b": null} | b: absent blocks must be planned as none, not as null
            null | {"b": [{"name": "a"}]} | {"b": []} | b: 0 elements are planned, but 1 are configured
            null | {"b": [{"name": "a"}]} | {"b": "?"}
            | b: blocks are planned as unknown; only what is in them may be
        "#,
    );
}

#[test]
fn blocks_with_something_dynamic_inside_are_checked_within_their_wrapper() {
    let inner = || block(vec![attribute("any", "\"dynamic\"", "o"), text("id", "c")], vec![]);
    check(
        &of_block(nested_block("b", Mode::List, inner())),
        r#"
            null | {"b": [{"any": 1}, {"any": "x"}]} | {"b": [{"any": 1, "id": "?"}, {"any": "x"}]} |
            null | {"b": [{"any": 1}]} | {"b": [{"any": "1"}]} | b[0].any: DIFFERENT
            null | {"b": [{"any": 1}]} | {"b": []} | b: 0 elements are planned, but 1 are configured
        "#,
    );
    check(
        &of_block(nested_block("b", Mode::Map, inner())),
        r#"
            null | {"b": {"k": {"any": 1}}} | {"b": {"k": {"any": true}}} | b["k"].any: DIFFERENT
            null | {"b": {"k": {"any": 1}}} | {"b": {"l": {"any": 1}}}
            | b: the planned keys are not the configured ones
            null | {"b": {"k": {"any": 1}}} | {"b": {}} | b: the planned keys are not the configured ones
        "#,
    );
}

#[test]
fn violations_never_contain_a_value() {
    let schema = of_attribute(text("a", "os"));
    let [config, planned] = [r#"{"a": "hunter2"}"#, r#"{"a": "hunter3"}"#].map(|text| object(&schema, text));
    let said = lines(&check_planned(&schema, &Value::Null, &config, &planned));
    assert!(!said.is_empty() && !said.contains("hunter"), "{said}");
}
