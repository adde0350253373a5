//! Each rule of core's `ProposedNew`: prior state, configuration, proposed state.

use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Mode;
use isthmus_proto::tfplugin6::schema::object::NestingMode as ObjectMode;

use super::super::testing::{object, rows};
use super::*;
use crate::schema::testing::{
    AttributeMessage, BlockMessage, attribute, block, compiled, nested_attribute, nested_block,
};

/// Checks a table of prior, configuration and proposed new state.
fn check(schema: &Block, table: &str) {
    for [prior, config, proposed] in rows(table) {
        let got = proposed_new(schema, &object(schema, prior), &object(schema, config));
        let expected = object(schema, proposed);
        assert_eq!(
            got, expected,
            "\n   prior {prior}\n  config {config}\nproposed {got:?}\nexpected {expected:?}"
        );
        assert_eq!(got.conforms(&schema.implied_type), Ok(()), "\n   prior {prior}\nproposed {got:?}");
    }
}

fn text(name: &str, flags: &str) -> AttributeMessage {
    attribute(name, "\"string\"", flags)
}

/// A required and a computed attribute.
fn element() -> Vec<AttributeMessage> {
    vec![text("id", "c"), text("name", "o")]
}

fn with_blocks(mode: Mode) -> Block {
    let deep = nested_block("deep", Mode::List, block(element(), vec![]));
    compiled(block(vec![], vec![nested_block("b", mode, block(element(), vec![deep]))]))
}

fn with_nested(mode: ObjectMode, flags: &str) -> Block {
    compiled(block(vec![nested_attribute("n", mode, flags, element())], vec![]))
}

#[test]
fn attributes_come_from_the_configuration_and_computed_ones_from_before() {
    let schema = compiled(block(
        vec![text("both", "oc"), text("id", "c"), text("name", "o"), text("must", "r")],
        vec![],
    ));
    check(
        &schema,
        r#"
            # nothing stays nothing
            null | null | null
            # without a prior object computed attributes are null
            null | {"name": "a", "must": "m"} | {"name": "a", "must": "m"}
            # computed attributes that are not configured are carried over
            {"id": "1", "both": "old", "name": "a"} | {"name": "b"} | {"id": "1", "both": "old", "name": "b"}
            # the configuration wins over what was computed
            {"id": "1", "both": "old"} | {"both": "new"} | {"id": "1", "both": "new"}
            # what is not computed goes when it is not configured any more
            {"name": "a", "must": "m"} | {} | {}
            # unknown is configured
            {"id": "1", "both": "old", "name": "a"}
            | {"both": "?", "name": "?"}
            | {"id": "1", "both": "?", "name": "?"}
            # without a configuration all stays
            {"id": "1", "name": "a"} | null | {"id": "1", "name": "a"}
            # so it does with a wholly unknown one
            {"id": "1", "name": "a"} | "?" | {"id": "1", "name": "a"}
            # what is unknown before, as in a data source, makes computed attributes unknown
            "?" | {"name": "a"} | {"id": "?", "both": "?", "name": "a"}
        "#,
    );
}

#[test]
fn a_single_block_merges_with_the_one_before() {
    check(
        &with_blocks(Mode::Single),
        r#"
            # computed attributes inside are carried over
            {"b": {"id": "1", "name": "a"}} | {"b": {"name": "b"}} | {"b": {"id": "1", "name": "b"}}
            # a block that is not written goes
            {"b": {"id": "1"}} | {"b": null} | {"b": null}
            # a new block is what is written
            {"b": null} | {"b": {"name": "a"}} | {"b": {"name": "a"}}
            # an unknown block stays unknown
            {"b": {"id": "1"}} | {"b": "?"} | {"b": "?"}
        "#,
    );
}

#[test]
fn a_group_is_always_there() {
    check(
        &with_blocks(Mode::Group),
        r#"
            # a group without a prior object
            null | {"b": {"name": "a"}} | {"b": {"name": "a"}}
            # computed attributes inside are carried over
            {"b": {"id": "1", "deep": [{"id": "2"}]}}
            | {"b": {"deep": [{"name": "x"}]}}
            | {"b": {"id": "1", "deep": [{"id": "2", "name": "x"}]}}
        "#,
    );
}

#[test]
fn blocks_in_a_list_merge_by_position() {
    check(
        &with_blocks(Mode::List),
        r#"
            # each with the one at its place
            {"b": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]}
            | {"b": [{"name": "b"}, {"name": "c"}]}
            | {"b": [{"id": "1", "name": "b"}, {"id": "2", "name": "c"}]}
            # what is behind the prior end is taken as it is written
            {"b": [{"id": "1", "name": "a"}]}
            | {"b": [{"name": "a"}, {"name": "b"}]}
            | {"b": [{"id": "1", "name": "a"}, {"name": "b"}]}
            # what is not written any more goes
            {"b": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]}
            | {"b": [{"name": "a"}]}
            | {"b": [{"id": "1", "name": "a"}]}
            # all of them too
            {"b": [{"id": "1"}]} | {} | {}
            # an unknown number of blocks stays unknown
            {"b": [{"id": "1"}]} | {"b": "?"} | {"b": "?"}
            # an unknown block stays as it was where there was one, and unknown elsewhere
            {"b": [{"id": "1"}]} | {"b": ["?", "?"]} | {"b": [{"id": "1"}, "?"]}
            # blocks within blocks merge too
            {"b": [{"deep": [{"id": "1", "name": "x"}]}]}
            | {"b": [{"deep": [{"name": "y"}, {"name": "z"}]}]}
            | {"b": [{"deep": [{"id": "1", "name": "y"}, {"name": "z"}]}]}
        "#,
    );
}

#[test]
fn blocks_in_a_map_merge_by_label() {
    check(
        &with_blocks(Mode::Map),
        r#"
            # each with the one of its label
            {"b": {"x": {"id": "1", "name": "a"}, "y": {"id": "2"}}}
            | {"b": {"x": {"name": "b"}, "z": {"name": "c"}}}
            | {"b": {"x": {"id": "1", "name": "b"}, "z": {"name": "c"}}}
            # none stays none
            {"b": {"x": {"id": "1"}}} | {} | {}
        "#,
    );
}

#[test]
fn blocks_in_a_set_merge_with_the_one_that_they_can_have_become() {
    check(
        &with_blocks(Mode::Set),
        r#"
            # what differs only in computed values is the same
            {"b": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]}
            | {"b": [{"name": "b"}, {"name": "a"}]}
            | {"b": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]}
            # what is configured otherwise is another one
            {"b": [{"id": "1", "name": "a"}]} | {"b": [{"name": "b"}]} | {"b": [{"name": "b"}]}
            # each prior one is used once, and a list within may have grown
            {"b": [{"id": "1", "name": "a"}]}
            | {"b": [{"name": "a"}, {"name": "a", "deep": [{"name": "x"}]}]}
            | {"b": [{"name": "a"}, {"id": "1", "name": "a", "deep": [{"name": "x"}]}]}
            # a list within must have at least as many as before
            {"b": [{"id": "1", "deep": [{"id": "2", "name": "x"}, {"name": "y"}]}]}
            | {"b": [{"deep": [{"name": "x"}]}]}
            | {"b": [{"deep": [{"name": "x"}]}]}
            # and is compared element by element
            {"b": [{"id": "1", "deep": [{"id": "2", "name": "x"}]}]}
            | {"b": [{"deep": [{"name": "x"}]}]}
            | {"b": [{"id": "1", "deep": [{"id": "2", "name": "x"}]}]}
            # an unknown in the configuration matches nothing
            {"b": [{"id": "1", "name": "a"}]} | {"b": [{"name": "?"}]} | {"b": [{"name": "?"}]}
        "#,
    );
}

#[test]
fn elements_whose_own_sets_differ_are_never_taken_for_the_same() {
    let inner = |tags: AttributeMessage| block(vec![text("id", "c"), tags], vec![]);
    for flags in ["o", "oc"] {
        let tags = attribute("tags", r#"["set","string"]"#, flags);
        let schema = compiled(block(vec![], vec![nested_block("b", Mode::Set, inner(tags))]));
        check(
            &schema,
            r#"
            # equal sets
            {"b": [{"id": "1", "tags": ["a", "b"]}]}
            | {"b": [{"tags": ["b", "a"]}]}
            | {"b": [{"id": "1", "tags": ["a", "b"]}]}
            # a set that is not configured, even where it is computed
            {"b": [{"id": "1", "tags": ["a"]}]} | {"b": [{}]} | {"b": [{}]}
            "#,
        );
    }
    let deep = nested_block("deep", Mode::Set, block(element(), vec![]));
    let schema = compiled(block(vec![], vec![nested_block("b", Mode::Set, block(element(), vec![deep]))]));
    check(
        &schema,
        r#"
            # a set of blocks that differs in a computed value
            {"b": [{"id": "1", "deep": [{"id": "2", "name": "x"}]}]}
            | {"b": [{"deep": [{"name": "x"}]}]}
            | {"b": [{"deep": [{"name": "x"}]}]}
        "#,
    );
}

#[test]
fn elements_of_sets_are_compared_through_nested_attributes() {
    let of = |nested: AttributeMessage| {
        let inner: BlockMessage = block(vec![text("id", "c"), nested], vec![]);
        compiled(block(vec![], vec![nested_block("b", Mode::Set, inner)]))
    };
    check(
        &of(nested_attribute("n", ObjectMode::Single, "o", element())),
        r#"
            # an object that differs in a computed value is the same
            {"b": [{"id": "1", "n": {"id": "2", "name": "x"}}]}
            | {"b": [{"n": {"name": "x"}}]}
            | {"b": [{"id": "1", "n": {"id": "2", "name": "x"}}]}
            # an object that is not configured any more makes another one
            {"b": [{"id": "1", "n": {"id": "2"}}]} | {"b": [{}]} | {"b": [{}]}
            # one that was not there does not
            {"b": [{"id": "1"}]} | {"b": [{"n": {"name": "x"}}]} | {"b": [{"id": "1", "n": {"name": "x"}}]}
        "#,
    );
    check(
        &of(nested_attribute("n", ObjectMode::Map, "o", element())),
        r#"
            # a map is compared key by key
            {"b": [{"id": "1", "n": {"k": {"id": "2", "name": "x"}}}]}
            | {"b": [{"n": {"k": {"name": "x"}}}]}
            | {"b": [{"id": "1", "n": {"k": {"id": "2", "name": "x"}}}]}
            # a key that has gone makes another one
            {"b": [{"id": "1", "n": {"k": {"name": "x"}}}]}
            | {"b": [{"n": {"l": {"name": "x"}}}]}
            | {"b": [{"n": {"l": {"name": "x"}}}]}
        "#,
    );
}

#[test]
fn nested_attributes_merge_like_blocks_but_keep_null_and_unknown() {
    check(
        &with_nested(ObjectMode::Single, "o"),
        r#"
            # an object merges
            {"n": {"id": "1", "name": "a"}} | {"n": {"name": "b"}} | {"n": {"id": "1", "name": "b"}}
            # null stays null
            {"n": {"id": "1"}} | {} | {}
            # unknown stays unknown
            {"n": {"id": "1"}} | {"n": "?"} | {"n": "?"}
        "#,
    );
    check(
        &with_nested(ObjectMode::List, "o"),
        r#"
            # a list merges by position, and what is new is taken as it is
            {"n": [{"id": "1", "name": "a"}]}
            | {"n": [{"name": "b"}, {"name": "c"}]}
            | {"n": [{"id": "1", "name": "b"}, {"name": "c"}]}
            # a null element stays null; an unknown one becomes an object of unknowns where one was before
            {"n": [{"id": "1"}, {"id": "2"}]}
            | {"n": [null, "?", "?"]}
            | {"n": [null, {"id": "?", "name": "?"}, "?"]}
            # empty is not null
            {"n": [{"id": "1"}]} | {"n": []} | {"n": []}
        "#,
    );
    check(
        &with_nested(ObjectMode::Map, "o"),
        r#"
            # a map merges by key, and an unknown element is an object of unknowns even where it is new
            {"n": {"a": {"id": "1"}, "z": {"id": "9"}}}
            | {"n": {"a": {"name": "x"}, "b": "?", "c": null}}
            | {"n": {"a": {"id": "1", "name": "x"}, "b": {"id": "?", "name": "?"}, "c": null}}
        "#,
    );
    check(
        &with_nested(ObjectMode::Set, "o"),
        r#"
            # a set merges with the element that it can have become
            {"n": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]}
            | {"n": [{"name": "b"}, {"name": "c"}]}
            | {"n": [{"id": "2", "name": "b"}, {"name": "c"}]}
        "#,
    );
}

#[test]
fn a_nested_attribute_that_is_not_configured_stays_unless_a_configuration_made_it() {
    for (mode, computed, configured) in [
        (ObjectMode::Single, r#"{"n": {"id": "1"}}"#, r#"{"n": {"id": "1", "name": "a"}}"#),
        (ObjectMode::List, r#"{"n": [{"id": "1"}]}"#, r#"{"n": [{"id": "1"}, {"name": "a"}]}"#),
        (ObjectMode::Set, r#"{"n": [{"id": "1"}]}"#, r#"{"n": [{"id": "1"}, {"name": "a"}]}"#),
        (ObjectMode::Map, r#"{"n": {"k": {"id": "1"}}}"#, r#"{"n": {"k": {"name": "a"}}}"#),
    ] {
        let table = r#"
            # only computed values inside
            COMPUTED | {} | COMPUTED
            # a configured value inside
            CONFIGURED | {} | {}
        "#;
        check(
            &with_nested(mode, "oc"),
            &table.replace("COMPUTED", computed).replace("CONFIGURED", configured),
        );
        // Read-only attributes are carried over, whatever they contain.
        check(&with_nested(mode, "c"), &format!("{configured} | {{}} | {configured}"));
    }
}

#[test]
fn blocks_with_something_dynamic_inside_merge_within_their_tuple() {
    let inner = || block(vec![attribute("any", "\"dynamic\"", "o"), text("id", "c")], vec![]);
    check(
        &compiled(block(vec![], vec![nested_block("b", Mode::List, inner())])),
        r#"
            # by position, each with its own type
            {"b": [{"id": "1", "any": "x"}, {"id": "2", "any": true}]}
            | {"b": [{"any": 5}, {"any": true}, {"any": "new"}]}
            | {"b": [{"id": "1", "any": 5}, {"id": "2", "any": true}, {"any": "new"}]}
            # none is an empty tuple
            {"b": [{"id": "1"}]} | {"b": []} | {"b": []}
            # an unknown number stays unknown
            {"b": [{"id": "1"}]} | {"b": "?"} | {"b": "?"}
        "#,
    );
    check(
        &compiled(block(vec![], vec![nested_block("b", Mode::Map, inner())])),
        r#"
            # by label
            {"b": {"k": {"id": "1", "any": "x"}}}
            | {"b": {"k": {"any": 5}, "l": {"any": [1]}}}
            | {"b": {"k": {"id": "1", "any": 5}, "l": {"any": [1]}}}
        "#,
    );
}

#[test]
fn a_block_that_the_provider_fills_stays_while_nobody_writes_it() {
    let mut filled = block(vec![text("id", "c"), text("name", "oc")], vec![]);
    filled.computed = true;
    let schema = compiled(block(vec![], vec![nested_block("b", Mode::List, filled)]));
    check(
        &schema,
        r#"
            # not written
            {"b": [{"id": "1"}]} | {"b": null} | {"b": [{"id": "1"}]}
            # not written, and never filled
            null | {"b": null} | {"b": null}
            # written
            {"b": [{"id": "1"}]} | {"b": [{"name": "a"}]} | {"b": [{"id": "1", "name": "a"}]}
        "#,
    );
}
