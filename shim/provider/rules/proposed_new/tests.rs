//! Each rule of core's `ProposedNew`, one row a case: what is there, what is configured, what is proposed.

use isthmus_proto::tfplugin6::schema::nested_block::NestingMode as Mode;
use isthmus_proto::tfplugin6::schema::object::NestingMode as ObjectMode;

use super::super::testing::object;
use super::*;
use crate::schema::testing::{
    AttributeMessage, BlockMessage, attribute, block, compiled, nested_attribute, nested_block,
};

struct Case {
    rule: &'static str,
    prior: &'static str,
    config: &'static str,
    proposed: &'static str,
}

fn check(schema: &Block, cases: &[Case]) {
    for Case { rule, prior, config, proposed } in cases {
        let got = proposed_new(schema, &object(schema, prior), &object(schema, config));
        let expected = object(schema, proposed);
        assert_eq!(
            got, expected,
            "{rule}\n   prior {prior}\n  config {config}\nproposed {got:?}\nexpected {expected:?}"
        );
        let conforms = got.conforms(&schema.implied_type);
        assert_eq!(conforms, Ok(()), "{rule}\nproposed {got:?}");
    }
}

fn text(name: &str, flags: &str) -> AttributeMessage {
    attribute(name, "\"string\"", flags)
}

/// Something that must be configured, and something that only the provider fills.
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
        &[
            Case { rule: "nothing stays nothing", prior: "null", config: "null", proposed: "null" },
            Case {
                rule: "without a prior object computed attributes are null",
                prior: "null",
                config: r#"{"name": "a", "must": "m"}"#,
                proposed: r#"{"name": "a", "must": "m"}"#,
            },
            Case {
                rule: "computed attributes that are not configured are carried over",
                prior: r#"{"id": "1", "both": "old", "name": "a"}"#,
                config: r#"{"name": "b"}"#,
                proposed: r#"{"id": "1", "both": "old", "name": "b"}"#,
            },
            Case {
                rule: "the configuration wins over what was computed",
                prior: r#"{"id": "1", "both": "old"}"#,
                config: r#"{"both": "new"}"#,
                proposed: r#"{"id": "1", "both": "new"}"#,
            },
            Case {
                rule: "what is not computed goes when it is not configured any more",
                prior: r#"{"name": "a", "must": "m"}"#,
                config: "{}",
                proposed: "{}",
            },
            Case {
                rule: "unknown is configured",
                prior: r#"{"id": "1", "both": "old", "name": "a"}"#,
                config: r#"{"both": "?", "name": "?"}"#,
                proposed: r#"{"id": "1", "both": "?", "name": "?"}"#,
            },
            Case {
                rule: "without a configuration all stays",
                prior: r#"{"id": "1", "name": "a"}"#,
                config: "null",
                proposed: r#"{"id": "1", "name": "a"}"#,
            },
            Case {
                rule: "so it does with a wholly unknown one",
                prior: r#"{"id": "1", "name": "a"}"#,
                config: r#""?""#,
                proposed: r#"{"id": "1", "name": "a"}"#,
            },
            Case {
                rule: "what is unknown before, as in a data source, makes computed attributes unknown",
                prior: r#""?""#,
                config: r#"{"name": "a"}"#,
                proposed: r#"{"id": "?", "both": "?", "name": "a"}"#,
            },
        ],
    );
}

#[test]
fn a_single_block_merges_with_the_one_before() {
    check(
        &with_blocks(Mode::Single),
        &[
            Case {
                rule: "computed attributes inside are carried over",
                prior: r#"{"b": {"id": "1", "name": "a"}}"#,
                config: r#"{"b": {"name": "b"}}"#,
                proposed: r#"{"b": {"id": "1", "name": "b"}}"#,
            },
            Case {
                rule: "a block that is not written goes",
                prior: r#"{"b": {"id": "1"}}"#,
                config: r#"{"b": null}"#,
                proposed: r#"{"b": null}"#,
            },
            Case {
                rule: "a new block is what is written",
                prior: r#"{"b": null}"#,
                config: r#"{"b": {"name": "a"}}"#,
                proposed: r#"{"b": {"name": "a"}}"#,
            },
            Case {
                rule: "an unknown block stays unknown",
                prior: r#"{"b": {"id": "1"}}"#,
                config: r#"{"b": "?"}"#,
                proposed: r#"{"b": "?"}"#,
            },
        ],
    );
}

#[test]
fn a_group_is_always_there() {
    check(
        &with_blocks(Mode::Group),
        &[
            Case {
                rule: "a group without a prior object",
                prior: "null",
                config: r#"{"b": {"name": "a"}}"#,
                proposed: r#"{"b": {"name": "a"}}"#,
            },
            Case {
                rule: "computed attributes inside are carried over",
                prior: r#"{"b": {"id": "1", "deep": [{"id": "2"}]}}"#,
                config: r#"{"b": {"deep": [{"name": "x"}]}}"#,
                proposed: r#"{"b": {"id": "1", "deep": [{"id": "2", "name": "x"}]}}"#,
            },
        ],
    );
}

#[test]
fn blocks_in_a_list_merge_by_position() {
    check(
        &with_blocks(Mode::List),
        &[
            Case {
                rule: "each with the one at its place",
                prior: r#"{"b": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]}"#,
                config: r#"{"b": [{"name": "b"}, {"name": "c"}]}"#,
                proposed: r#"{"b": [{"id": "1", "name": "b"}, {"id": "2", "name": "c"}]}"#,
            },
            Case {
                rule: "what is behind the prior end is taken as it is written",
                prior: r#"{"b": [{"id": "1", "name": "a"}]}"#,
                config: r#"{"b": [{"name": "a"}, {"name": "b"}]}"#,
                proposed: r#"{"b": [{"id": "1", "name": "a"}, {"name": "b"}]}"#,
            },
            Case {
                rule: "what is not written any more goes",
                prior: r#"{"b": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]}"#,
                config: r#"{"b": [{"name": "a"}]}"#,
                proposed: r#"{"b": [{"id": "1", "name": "a"}]}"#,
            },
            Case { rule: "all of them too", prior: r#"{"b": [{"id": "1"}]}"#, config: "{}", proposed: "{}" },
            Case {
                rule: "an unknown number of blocks stays unknown",
                prior: r#"{"b": [{"id": "1"}]}"#,
                config: r#"{"b": "?"}"#,
                proposed: r#"{"b": "?"}"#,
            },
            Case {
                rule: "an unknown block stays as it was where there was one, and unknown elsewhere",
                prior: r#"{"b": [{"id": "1"}]}"#,
                config: r#"{"b": ["?", "?"]}"#,
                proposed: r#"{"b": [{"id": "1"}, "?"]}"#,
            },
            Case {
                rule: "blocks within blocks merge too",
                prior: r#"{"b": [{"deep": [{"id": "1", "name": "x"}]}]}"#,
                config: r#"{"b": [{"deep": [{"name": "y"}, {"name": "z"}]}]}"#,
                proposed: r#"{"b": [{"deep": [{"id": "1", "name": "y"}, {"name": "z"}]}]}"#,
            },
        ],
    );
}

#[test]
fn blocks_in_a_map_merge_by_label() {
    check(
        &with_blocks(Mode::Map),
        &[
            Case {
                rule: "each with the one of its label",
                prior: r#"{"b": {"x": {"id": "1", "name": "a"}, "y": {"id": "2"}}}"#,
                config: r#"{"b": {"x": {"name": "b"}, "z": {"name": "c"}}}"#,
                proposed: r#"{"b": {"x": {"id": "1", "name": "b"}, "z": {"name": "c"}}}"#,
            },
            Case {
                rule: "none stays none",
                prior: r#"{"b": {"x": {"id": "1"}}}"#,
                config: "{}",
                proposed: "{}",
            },
        ],
    );
}

#[test]
fn blocks_in_a_set_merge_with_the_one_that_they_can_have_become() {
    check(
        &with_blocks(Mode::Set),
        &[
            Case {
                rule: "what differs only in computed values is the same",
                prior: r#"{"b": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]}"#,
                config: r#"{"b": [{"name": "b"}, {"name": "a"}]}"#,
                proposed: r#"{"b": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]}"#,
            },
            Case {
                rule: "what is configured otherwise is another one",
                prior: r#"{"b": [{"id": "1", "name": "a"}]}"#,
                config: r#"{"b": [{"name": "b"}]}"#,
                proposed: r#"{"b": [{"name": "b"}]}"#,
            },
            Case {
                rule: "each prior one is used once, and a list within may have grown",
                prior: r#"{"b": [{"id": "1", "name": "a"}]}"#,
                config: r#"{"b": [{"name": "a"}, {"name": "a", "deep": [{"name": "x"}]}]}"#,
                proposed: r#"{"b": [{"name": "a"}, {"id": "1", "name": "a", "deep": [{"name": "x"}]}]}"#,
            },
            Case {
                rule: "a list within must have at least as many as before",
                prior: r#"{"b": [{"id": "1", "deep": [{"id": "2", "name": "x"}, {"name": "y"}]}]}"#,
                config: r#"{"b": [{"deep": [{"name": "x"}]}]}"#,
                proposed: r#"{"b": [{"deep": [{"name": "x"}]}]}"#,
            },
            Case {
                rule: "and is compared element by element",
                prior: r#"{"b": [{"id": "1", "deep": [{"id": "2", "name": "x"}]}]}"#,
                config: r#"{"b": [{"deep": [{"name": "x"}]}]}"#,
                proposed: r#"{"b": [{"id": "1", "deep": [{"id": "2", "name": "x"}]}]}"#,
            },
            Case {
                rule: "an unknown in the configuration matches nothing",
                prior: r#"{"b": [{"id": "1", "name": "a"}]}"#,
                config: r#"{"b": [{"name": "?"}]}"#,
                proposed: r#"{"b": [{"name": "?"}]}"#,
            },
        ],
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
            &[
                Case {
                    rule: "equal sets",
                    prior: r#"{"b": [{"id": "1", "tags": ["a", "b"]}]}"#,
                    config: r#"{"b": [{"tags": ["b", "a"]}]}"#,
                    proposed: r#"{"b": [{"id": "1", "tags": ["a", "b"]}]}"#,
                },
                Case {
                    rule: "a set that is not configured, even where it is computed",
                    prior: r#"{"b": [{"id": "1", "tags": ["a"]}]}"#,
                    config: r#"{"b": [{}]}"#,
                    proposed: r#"{"b": [{}]}"#,
                },
            ],
        );
    }
    let deep = nested_block("deep", Mode::Set, block(element(), vec![]));
    let schema = compiled(block(vec![], vec![nested_block("b", Mode::Set, block(element(), vec![deep]))]));
    check(
        &schema,
        &[Case {
            rule: "a set of blocks that differs in a computed value",
            prior: r#"{"b": [{"id": "1", "deep": [{"id": "2", "name": "x"}]}]}"#,
            config: r#"{"b": [{"deep": [{"name": "x"}]}]}"#,
            proposed: r#"{"b": [{"deep": [{"name": "x"}]}]}"#,
        }],
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
        &[
            Case {
                rule: "an object that differs in a computed value is the same",
                prior: r#"{"b": [{"id": "1", "n": {"id": "2", "name": "x"}}]}"#,
                config: r#"{"b": [{"n": {"name": "x"}}]}"#,
                proposed: r#"{"b": [{"id": "1", "n": {"id": "2", "name": "x"}}]}"#,
            },
            Case {
                rule: "an object that is not configured any more makes another one",
                prior: r#"{"b": [{"id": "1", "n": {"id": "2"}}]}"#,
                config: r#"{"b": [{}]}"#,
                proposed: r#"{"b": [{}]}"#,
            },
            Case {
                rule: "one that was not there does not",
                prior: r#"{"b": [{"id": "1"}]}"#,
                config: r#"{"b": [{"n": {"name": "x"}}]}"#,
                proposed: r#"{"b": [{"id": "1", "n": {"name": "x"}}]}"#,
            },
        ],
    );
    check(
        &of(nested_attribute("n", ObjectMode::Map, "o", element())),
        &[
            Case {
                rule: "a map is compared key by key",
                prior: r#"{"b": [{"id": "1", "n": {"k": {"id": "2", "name": "x"}}}]}"#,
                config: r#"{"b": [{"n": {"k": {"name": "x"}}}]}"#,
                proposed: r#"{"b": [{"id": "1", "n": {"k": {"id": "2", "name": "x"}}}]}"#,
            },
            Case {
                rule: "a key that has gone makes another one",
                prior: r#"{"b": [{"id": "1", "n": {"k": {"name": "x"}}}]}"#,
                config: r#"{"b": [{"n": {"l": {"name": "x"}}}]}"#,
                proposed: r#"{"b": [{"n": {"l": {"name": "x"}}}]}"#,
            },
        ],
    );
}

#[test]
fn nested_attributes_merge_like_blocks_but_keep_null_and_unknown() {
    check(
        &with_nested(ObjectMode::Single, "o"),
        &[
            Case {
                rule: "an object merges",
                prior: r#"{"n": {"id": "1", "name": "a"}}"#,
                config: r#"{"n": {"name": "b"}}"#,
                proposed: r#"{"n": {"id": "1", "name": "b"}}"#,
            },
            Case { rule: "null stays null", prior: r#"{"n": {"id": "1"}}"#, config: "{}", proposed: "{}" },
            Case {
                rule: "unknown stays unknown",
                prior: r#"{"n": {"id": "1"}}"#,
                config: r#"{"n": "?"}"#,
                proposed: r#"{"n": "?"}"#,
            },
        ],
    );
    check(
        &with_nested(ObjectMode::List, "o"),
        &[
            Case {
                rule: "a list merges by position, and what is new is taken as it is",
                prior: r#"{"n": [{"id": "1", "name": "a"}]}"#,
                config: r#"{"n": [{"name": "b"}, {"name": "c"}]}"#,
                proposed: r#"{"n": [{"id": "1", "name": "b"}, {"name": "c"}]}"#,
            },
            Case {
                rule: "a null element stays null; an unknown one becomes an object of unknowns where one was before",
                prior: r#"{"n": [{"id": "1"}, {"id": "2"}]}"#,
                config: r#"{"n": [null, "?", "?"]}"#,
                proposed: r#"{"n": [null, {"id": "?", "name": "?"}, "?"]}"#,
            },
            Case {
                rule: "empty is not null",
                prior: r#"{"n": [{"id": "1"}]}"#,
                config: r#"{"n": []}"#,
                proposed: r#"{"n": []}"#,
            },
        ],
    );
    check(
        &with_nested(ObjectMode::Map, "o"),
        &[Case {
            rule: "a map merges by key, and an unknown element is an object of unknowns even where it is new",
            prior: r#"{"n": {"a": {"id": "1"}, "z": {"id": "9"}}}"#,
            config: r#"{"n": {"a": {"name": "x"}, "b": "?", "c": null}}"#,
            proposed: r#"{"n": {"a": {"id": "1", "name": "x"}, "b": {"id": "?", "name": "?"}, "c": null}}"#,
        }],
    );
    check(
        &with_nested(ObjectMode::Set, "o"),
        &[Case {
            rule: "a set merges with the element that it can have become",
            prior: r#"{"n": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]}"#,
            config: r#"{"n": [{"name": "b"}, {"name": "c"}]}"#,
            proposed: r#"{"n": [{"id": "2", "name": "b"}, {"name": "c"}]}"#,
        }],
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
        check(
            &with_nested(mode, "oc"),
            &[
                Case {
                    rule: "only computed values inside",
                    prior: computed,
                    config: "{}",
                    proposed: computed,
                },
                Case { rule: "a configured value inside", prior: configured, config: "{}", proposed: "{}" },
            ],
        );
        check(
            &with_nested(mode, "c"),
            &[Case {
                rule: "what cannot be configured is carried over, whatever is inside",
                prior: configured,
                config: "{}",
                proposed: configured,
            }],
        );
    }
}

#[test]
fn blocks_with_something_dynamic_inside_merge_within_their_tuple() {
    let inner = || block(vec![attribute("any", "\"dynamic\"", "o"), text("id", "c")], vec![]);
    check(
        &compiled(block(vec![], vec![nested_block("b", Mode::List, inner())])),
        &[
            Case {
                rule: "by position, each with its own type",
                prior: r#"{"b": [{"id": "1", "any": "x"}, {"id": "2", "any": true}]}"#,
                config: r#"{"b": [{"any": 5}, {"any": true}, {"any": "new"}]}"#,
                proposed: r#"{"b": [{"id": "1", "any": 5}, {"id": "2", "any": true}, {"any": "new"}]}"#,
            },
            Case {
                rule: "none is an empty tuple",
                prior: r#"{"b": [{"id": "1"}]}"#,
                config: r#"{"b": []}"#,
                proposed: r#"{"b": []}"#,
            },
            Case {
                rule: "an unknown number stays unknown",
                prior: r#"{"b": [{"id": "1"}]}"#,
                config: r#"{"b": "?"}"#,
                proposed: r#"{"b": "?"}"#,
            },
        ],
    );
    check(
        &compiled(block(vec![], vec![nested_block("b", Mode::Map, inner())])),
        &[Case {
            rule: "by label",
            prior: r#"{"b": {"k": {"id": "1", "any": "x"}}}"#,
            config: r#"{"b": {"k": {"any": 5}, "l": {"any": [1]}}}"#,
            proposed: r#"{"b": {"k": {"id": "1", "any": 5}, "l": {"any": [1]}}}"#,
        }],
    );
}

#[test]
fn a_block_that_the_provider_fills_stays_while_nobody_writes_it() {
    let mut filled = block(vec![text("id", "c"), text("name", "oc")], vec![]);
    filled.computed = true;
    let schema = compiled(block(vec![], vec![nested_block("b", Mode::List, filled)]));
    check(
        &schema,
        &[
            Case {
                rule: "not written",
                prior: r#"{"b": [{"id": "1"}]}"#,
                config: r#"{"b": null}"#,
                proposed: r#"{"b": [{"id": "1"}]}"#,
            },
            Case {
                rule: "not written, and never filled",
                prior: "null",
                config: r#"{"b": null}"#,
                proposed: r#"{"b": null}"#,
            },
            Case {
                rule: "written",
                prior: r#"{"b": [{"id": "1"}]}"#,
                config: r#"{"b": [{"name": "a"}]}"#,
                proposed: r#"{"b": [{"id": "1", "name": "a"}]}"#,
            },
        ],
    );
}
