//! Each rule of core's `AssertObjectCompatible`, satisfied and violated.

use isthmus_cty::{Number, Refinements};
use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Mode;
use isthmus_proto::tfplugin6::schema::object::NestingMode as ObjectMode;

use super::super::testing::{lines, object, rows};
use super::*;
use crate::schema::testing::{
    AttributeMessage, NestedBlockMessage, attribute, block, compiled, nested_attribute, nested_block,
};

/// Checks a table of plan, result, and violations.
fn check(schema: &Block, table: &str) {
    for [planned, actual, expected] in rows(table) {
        let said = lines(&check_applied(schema, &object(schema, planned), &object(schema, actual)));
        assert_eq!(said, expected, "\nplanned {planned}\n actual {actual}");
    }
}

fn text(name: &str, flags: &str) -> AttributeMessage {
    attribute(name, "\"string\"", flags)
}

fn of_type(type_json: &str) -> Block {
    compiled(block(vec![attribute("a", type_json, "oc")], vec![]))
}

fn of_block(nested: NestedBlockMessage) -> Block {
    compiled(block(vec![], vec![nested]))
}

fn element() -> Vec<AttributeMessage> {
    vec![text("id", "c"), text("name", "o")]
}

fn filled_element() -> Vec<AttributeMessage> {
    vec![text("id", "c"), text("name", "oc")]
}

#[test]
fn an_object_is_there_when_it_was_planned() {
    check(
        &of_type("\"string\""),
        r#"
            {} | {} |
            null | null |
            null | {} | was absent, but is now there
            {} | null | was there, but is now absent
        "#,
    );
}

#[test]
fn known_values_stay_and_unknown_ones_may_become_anything() {
    check(
        &of_type("\"string\""),
        r#"
            {"a": "x"} | {"a": "x"} |
            {"a": "x"} | {"a": "y"} | a: the value is not the planned one
            {"a": "x"} | {} | a: was set, but is now null
            {} | {"a": "x"} | a: was null, but is now set
            {"a": "?"} | {"a": "x"} |
            {"a": "?"} | {} |
            # Of two plans, the later one may not know less.
            {"a": "x"} | {"a": "?"} | a: the value is not the planned one
            {} | {"a": "?"} | a: was null, but is now set
        "#,
    );
    check(
        &of_type("\"number\""),
        r#"
            {"a": 1.0} | {"a": 1} |
        "#,
    );
}

#[test]
fn what_was_promised_of_an_unknown_is_kept() {
    let planned = |refinements| Value::object([("a", Value::Unknown(Some(Box::new(refinements))))]);
    let outside = "a: the value is outside what was promised of it";
    let prefixed = Refinements { string_prefix: Some("db-".into()), ..Refinements::default() };
    let not_null = Refinements { null: Some(false), ..Refinements::default() };
    let below_ten = Refinements { number_maximum: Some((Number::from(10), false)), ..Refinements::default() };
    for (own, refinements, actual, expected) in [
        ("\"string\"", &prefixed, Value::from("db-1"), ""),
        ("\"string\"", &prefixed, Value::from("1"), outside),
        ("\"string\"", &not_null, Value::from("1"), ""),
        ("\"string\"", &not_null, Value::Null, outside),
        ("\"number\"", &below_ten, Value::from(9), ""),
        ("\"number\"", &below_ten, Value::from(10), outside),
    ] {
        let actual = Value::object([("a", actual)]);
        let said = lines(&check_applied(&of_type(own), &planned(refinements.clone()), &actual));
        assert_eq!(said, expected, "{refinements:?} became {actual:?}");
    }
}

#[test]
fn lists_maps_tuples_and_objects_keep_their_keys() {
    check(
        &of_type(r#"["list","string"]"#),
        r#"
            {"a": ["x", "?"]} | {"a": ["x", "y"]} |
            {"a": ["x", "?"]} | {"a": ["z", "y"]} | a[0]: the value is not the planned one
            {"a": ["x"]} | {"a": ["x", "y"]} | a: there were 1 elements, but there are now 2
            {"a": []} | {} | a: was set, but is now null
        "#,
    );
    check(
        &of_type(r#"["map","string"]"#),
        r#"
            {"a": {"k": "?"}} | {"a": {"k": "x"}} |
            {"a": {"k": "x"}} | {"a": {"l": "x"}}
            | a["k"]: the element has vanished // a["l"]: an element has appeared
        "#,
    );
    check(
        &of_type(r#"["tuple",["string","bool"]]"#),
        r#"
            {"a": ["?", true]} | {"a": ["x", true]} |
            {"a": ["x", true]} | {"a": ["x", false]} | a[1]: the value is not the planned one
        "#,
    );
    check(
        &of_type(r#"["object",{"x":"string","y":"string"}]"#),
        r#"
            {"a": {"x": "1", "y": "?"}} | {"a": {"x": "1", "y": "2"}} |
            {"a": {"x": "1"}} | {"a": {"x": "2"}} | a.x: the value is not the planned one
        "#,
    );
}

#[test]
fn a_set_may_shrink_when_unknowns_turn_out_the_same_but_never_grows() {
    check(
        &of_type(r#"["set","string"]"#),
        r#"
            {"a": ["x", "?"]} | {"a": ["x", "y"]} |
            {"a": ["x", "?"]} | {"a": ["x"]} |
            {"a": ["x", "?"]} | {"a": ["y"]} | a: a planned element is not there
            {"a": ["x"]} | {"a": ["x", "y"]} | a: there were 1 elements, but there are now 2
            {"a": ["x", "y"]} | {"a": ["x", "z"]}
            | a: a planned element is not there // a: an element is there that was not planned
            {"a": ["x", "y"]} | {"a": ["x"]} | a: a planned element is not there
            {"a": "?"} | {"a": ["x", "y"]} |
        "#,
    );
}

#[test]
fn where_the_type_was_open_anything_may_come_but_a_known_type_stays() {
    check(
        &of_type("\"dynamic\""),
        r#"
            {"a": "?"} | {"a": [1, "x"]} |
            {} | {"a": 5} |
            {"a": "x"} | {"a": "x"} |
            {"a": "x"} | {"a": "y"} | a: the value is not the planned one
            {"a": "1"} | {"a": 1} | a: its type is not the planned one
            {"a": {"x": "?"}} | {"a": {"x": 1}} |
            {"a": {"x": "?"}} | {"a": {"y": 1}} | a: its type is not the planned one
            {"a": [true]} | {"a": [true, true]} | a: its type is not the planned one
        "#,
    );
    // An unknown value may be known to be a string.
    let planned = Value::object([("a", Value::dynamic(Type::String, Value::unknown()))]);
    let schema = of_type("\"dynamic\"");
    let became = |text: &str| lines(&check_applied(&schema, &planned, &object(&schema, text)));
    assert_eq!(became(r#"{"a": "x"}"#), "");
    assert_eq!(became(r#"{"a": 1}"#), "a: its type is not the planned one");
}

#[test]
fn of_sensitive_values_nothing_is_said_but_that_they_differ() {
    let vague = "a: a sensitive value is not the planned one";
    let schema = compiled(block(vec![attribute("a", r#"["map","string"]"#, "os")], vec![]));
    check(
        &schema,
        &r#"
            {"a": {"k": "x"}} | {"a": {"k": "x"}} |
            {"a": {"k": "x"}} | {"a": {"k": "y", "l": "z"}} | VAGUE
            {} | {"a": {"k": "x"}} | VAGUE
        "#
        .replace("VAGUE", vague),
    );
    let nested = nested_attribute("a", ObjectMode::Single, "o", vec![text("name", "o"), text("pin", "os")]);
    check(
        &compiled(block(vec![nested], vec![])),
        &r#"
            {"a": {"pin": "1"}} | {"a": {"pin": "2"}} | VAGUE
        "#
        .replace("VAGUE", vague),
    );
}

#[test]
fn blocks_keep_their_number_and_what_is_known_in_them() {
    let inner = || block(element(), vec![]);
    check(
        &of_block(nested_block("b", Mode::Single, inner())),
        r#"
            {"b": {"id": "?"}} | {"b": {"id": "1"}} |
            {"b": "?"} | {} |
            {"b": "?"} | {"b": {"id": "1"}} |
            {"b": {}} | {"b": null} | b: was there, but is now absent
            {"b": null} | {"b": {}} | b: was absent, but is now there
            {"b": {"name": "a"}} | {"b": {"name": "b"}} | b.name: the value is not the planned one
        "#,
    );
    check(
        &of_block(nested_block("b", Mode::Group, inner())),
        r#"
            {"b": {"name": "a"}} | {"b": {}} | b.name: was set, but is now null
        "#,
    );
    check(
        &of_block(nested_block("b", Mode::List, inner())),
        r#"
            {"b": [{"id": "?"}]} | {"b": [{"id": "1"}]} |
            {"b": "?"} | {"b": [{"id": "1"}]} |
            {"b": "?"} | {"b": []} |
            {"b": ["?"]} | {"b": [{"id": "1", "name": "a"}]} |
            {"b": [{}]} | {"b": null} |
            {"b": null} | {"b": [{}]} |
            {"b": [{}]} | {"b": "?"} |
            {"b": [{}]} | {"b": []} | b: there were 1 elements, but there are now 0
            {"b": [{"name": "a"}]} | {"b": [{"name": "b"}]} | b[0].name: the value is not the planned one
        "#,
    );
    check(
        &of_block(nested_block("b", Mode::Map, inner())),
        r#"
            {"b": {"k": {"id": "?"}}} | {"b": {"k": {"id": "1"}}} |
            {"b": {"k": {}}} | {"b": {"k": {}, "l": {}}} | b: there were 1 elements, but there are now 2
            # As core has it, another key is not the planned block.
            {"b": {"k": {"name": "a"}}} | {"b": {"l": {"name": "b"}}} |
            {"b": "?"} | {"b": {"k": {}}} |
            {"b": {"k": {}}} | {"b": null} |
            {"b": {"k": {"name": "a"}}} | {"b": {"k": {}}} | b["k"].name: was set, but is now null
        "#,
    );
    check(
        &of_block(nested_block("b", Mode::Set, inner())),
        r#"
            {"b": [{"id": "?", "name": "a"}, {"id": "?", "name": "b"}]}
            | {"b": [{"id": "2", "name": "b"}, {"id": "1", "name": "a"}]} |
            {"b": [{"id": "?"}, {"id": "?"}]} | {"b": [{"id": "1"}]} |
            {"b": "?"} | {"b": [{"id": "1"}]} |
            {"b": [{"id": "1"}]} | {"b": null} |
            {"b": null} | {"b": [{"id": "1"}]} |
            {"b": [{"id": "?"}]} | {"b": [{"id": "1"}, {"id": "2"}]}
            | b: there were 1 elements, but there are now 2
            {"b": [{"id": "?", "name": "a"}]} | {"b": [{"id": "1", "name": "b"}]}
            | b: a planned element is not there // b: an element is there that was not planned
        "#,
    );
}

#[test]
fn blocks_that_the_provider_fills_are_there_after_it_has_filled_them() {
    let filled = |mode| {
        let mut inner = block(filled_element(), vec![]);
        inner.computed = true;
        nested_block("b", mode, inner)
    };
    let null = "b: blocks that are not there must be none, not null";
    for (mode, one, none) in [
        (Mode::List, r#"{"b": [{"id": "1"}]}"#, r#"{"b": []}"#),
        (Mode::Set, r#"{"b": [{"id": "1"}]}"#, r#"{"b": []}"#),
        (Mode::Map, r#"{"b": {"k": {"id": "1"}}}"#, r#"{"b": {}}"#),
    ] {
        check(
            &of_block(filled(mode)),
            &r#"
            {"b": "?"} | FILLED |
            {"b": "?"} | EMPTY |
            {"b": "?"} | {"b": null} | NULL
            FILLED | {"b": null} | NULL
            FILLED | FILLED |
        "#
            .replace("FILLED", one)
            .replace("EMPTY", none)
            .replace("NULL", null),
        );
    }
    check(
        &of_block(filled(Mode::List)),
        r#"
            {"b": [{"id": "1"}]} | {"b": [{"id": "2"}]} | b[0].id: the value is not the planned one
        "#,
    );
    check(
        &of_block(filled(Mode::Single)),
        r#"
            {"b": "?"} | {"b": null} |
            {"b": "?"} | {"b": {"id": "1"}} |
            {"b": null} | {"b": null} |
            {"b": {"id": "1"}} | {"b": null} | b: was there, but is now absent
        "#,
    );
}

#[test]
fn what_is_promised_of_blocks_that_the_provider_fills_is_kept() {
    let mut inner = block(filled_element(), vec![]);
    inner.computed = true;
    let schema = of_block(nested_block("b", Mode::List, inner));
    let one = Refinements { null: Some(false), length_minimum: Some(1), ..Refinements::default() };
    let planned = Value::object([("b", Value::Unknown(Some(Box::new(one))))]);
    let became = |text: &str| lines(&check_applied(&schema, &planned, &object(&schema, text)));
    assert_eq!(became(r#"{"b": [{"id": "1"}]}"#), "");
    assert_eq!(became(r#"{"b": []}"#), "b: the value is outside what was promised of it");
}

#[test]
fn in_a_block_of_which_nothing_was_known_only_what_the_provider_fills_has_to_be_there() {
    let mut filled = block(filled_element(), vec![]);
    filled.computed = true;
    let outer = block(vec![text("name", "o")], vec![nested_block("filled", Mode::List, filled)]);
    check(
        &of_block(nested_block("b", Mode::Single, outer)),
        r#"
            {"b": "?"} | {"b": {"name": "a", "filled": []}} |
            {"b": "?"} | {"b": {"name": "a", "filled": null}}
            | b.filled: blocks that are not there must be none, not null
        "#,
    );
}

#[test]
fn blocks_with_something_dynamic_inside_are_compared_within_their_wrapper() {
    let inner = block(vec![attribute("any", "\"dynamic\"", "oc"), text("id", "c")], vec![]);
    check(
        &of_block(nested_block("b", Mode::List, inner)),
        r#"
            {"b": [{"any": "?", "id": "?"}, {"any": 1}]} | {"b": [{"any": true, "id": "1"}, {"any": 1}]} |
            {"b": [{"any": 1}]} | {"b": [{"any": 2}]} | b[0].any: the value is not the planned one
            {"b": [{"any": 1}]} | {"b": []} | b: there were 1 elements, but there are now 0
        "#,
    );
    let inner = block(vec![attribute("any", "\"dynamic\"", "oc")], vec![]);
    check(
        &of_block(nested_block("b", Mode::Map, inner)),
        r#"
            {"b": {"k": {"any": "?"}}} | {"b": {"k": {"any": true}}} |
            {"b": {"k": {"any": 1}}} | {"b": {"k": {"any": 2}}} | b["k"].any: the value is not the planned one
            {"b": {"k": {"any": 1}}} | {"b": {"l": {"any": 1}}} | b: its keys are not the planned ones
            {"b": "?"} | {"b": {"l": {"any": 1}}} |
        "#,
    );
}

#[test]
fn large_sets_are_compared_in_reasonable_time() {
    let numbers = |from: i64| Value::object([("a", Value::set((from..from + 20_000).map(Value::from)))]);
    let schema = of_type(r#"["set","number"]"#);
    let begun = std::time::Instant::now();
    assert_eq!(check_applied(&schema, &numbers(0), &numbers(0)), []);
    // All pairs would be 400 million comparisons.
    assert!(begun.elapsed().as_secs() < 20, "it took {:?}", begun.elapsed());
}

/// The program does not set `a`, or sets it; engines do not read before they plan.
#[test]
fn what_is_left_to_the_provider_and_planned_to_stay_may_have_changed_before() {
    let nested = nested_attribute("in", ObjectMode::Single, "o", vec![text("a", "oc"), text("o", "o")]);
    let own = r#"["object",{"m":["map","string"],"t":"string"}]"#;
    let blocks = vec![nested_block("b", Mode::List, block(vec![text("a", "c")], vec![]))];
    let schema = compiled(block(
        vec![text("a", "oc"), text("o", "o"), attribute("doc", own, "c"), text("pin", "ocs"), nested],
        blocks,
    ));
    for [prior, config, planned, actual, expected] in rows(
        r#"
            {"a": "x"} | {} | {"a": "x"} | {"a": "y"} |
            {"a": "x"} | {} | {"a": "z"} | {"a": "y"} | a: the value is not the planned one
            {"a": "x"} | {"a": "x"} | {"a": "x"} | {"a": "y"} | a: the value is not the planned one
            {} | {} | {} | {"o": "y"} | o: was null, but is now set
            {"pin": "x"} | {} | {"pin": "x"} | {"pin": "y"} |
            {"in": {"a": "x"}} | {"in": {"o": "y"}} | {"in": {"a": "x", "o": "y"}} | {"in": {"a": "z", "o": "y"}} |
            {"b": [{"a": "x"}]} | {"b": [{}]} | {"b": [{"a": "x"}]} | {"b": [{"a": "z"}]} |
            {"b": [{"a": "x"}]} | {"b": [{}]} | {"b": [{"a": "x"}]} | {"b": []} | b: there were 1 elements, but there are now 0
            # Only a part of what the provider keeps is planned to change.
            {"doc": {"t": "1"}} | {} | {"doc": {"t": "2"}} | {"doc": {"t": "2", "m": {"k": "v"}}} |
            {"doc": {"t": "1"}} | {} | {"doc": {"t": "2"}} | {"doc": {"t": "3"}} | doc.t: the value is not the planned one
            {"doc": {"m": {"k": "v"}}} | {} | {"doc": {"t": "2", "m": {"k": "v"}}} | {"doc": {"t": "2", "m": {"n": "v"}}} |
        "#,
    ) {
        let [prior, config, planned, actual] =
            [prior, config, planned, actual].map(|text| object(&schema, text));
        let mut found = check_applied(&schema, &planned, &actual);
        found.retain(|violation| {
            !was_left_to_the_provider(&schema, &violation.path, [&prior, &config, &planned])
        });
        assert_eq!(lines(&found), expected);
    }
}
