//! Compiled schemas, and refused ones.

use bytes::Bytes;
use tfplugin6::schema::nested_block::NestingMode as Mode;
use tfplugin6::schema::object::NestingMode as ObjectMode;

use super::*;
use crate::schema::testing::{
    AttributeMessage, BlockMessage, NestedBlockMessage, attribute, block, compiled, nested_attribute,
    nested_block, schema,
};

fn text(name: &str, flags: &str) -> AttributeMessage {
    attribute(name, "\"string\"", flags)
}

fn any(name: &str) -> AttributeMessage {
    attribute(name, "\"dynamic\"", "o")
}

fn refusal(block: BlockMessage) -> String {
    match compile(&schema(block)) {
        Ok(schema) => panic!("it was taken: {schema:?}"),
        Err(error) => error.to_string(),
    }
}

fn of_attribute(attribute: AttributeMessage) -> BlockMessage {
    block(vec![attribute], vec![])
}

fn of_block(nested: NestedBlockMessage) -> BlockMessage {
    block(vec![], vec![nested])
}

/// The type as in a schema, without spaces.
fn shown(own: &Type) -> String {
    match own {
        Type::Object(object) => {
            let fields = object.attributes.iter().map(|(name, own)| format!("{name}: {}", shown(own)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Type::List(element) => format!("list({})", shown(element)),
        Type::Set(element) => format!("set({})", shown(element)),
        Type::Map(element) => format!("map({})", shown(element)),
        Type::Bool | Type::Number | Type::String | Type::Dynamic | Type::Tuple(_) => own.to_string(),
    }
}

#[test]
fn a_block_is_an_object_of_its_attributes_and_blocks() {
    let of =
        |mode| shown(&compiled(of_block(nested_block("b", mode, of_attribute(text("a", "o"))))).implied_type);
    assert_eq!(of(Mode::Single), "{b: {a: string}}");
    assert_eq!(of(Mode::Group), "{b: {a: string}}");
    assert_eq!(of(Mode::List), "{b: list({a: string})}");
    assert_eq!(of(Mode::Set), "{b: set({a: string})}");
    assert_eq!(of(Mode::Map), "{b: map({a: string})}");
    let many = block(vec![text("z", "o"), text("Upper", "o"), text("a", "o")], vec![]);
    assert_eq!(shown(&compiled(many).implied_type), "{Upper: string, a: string, z: string}");
}

#[test]
fn lists_and_maps_of_blocks_with_something_dynamic_at_any_depth_are_dynamic() {
    let deep = || block(vec![], vec![nested_block("deep", Mode::Single, of_attribute(any("d")))]);
    let of = |mode| shown(&compiled(of_block(nested_block("b", mode, deep()))).implied_type);
    assert_eq!(of(Mode::List), "{b: any type}");
    assert_eq!(of(Mode::Map), "{b: any type}");
    assert_eq!(of(Mode::Single), "{b: {deep: {d: any type}}}");
    assert_eq!(of(Mode::Group), "{b: {deep: {d: any type}}}");
}

#[test]
fn nested_attributes_keep_their_collections_whatever_is_inside() {
    let of = |mode, inner| {
        shown(&compiled(of_attribute(nested_attribute("n", mode, "o", vec![inner]))).implied_type)
    };
    assert_eq!(of(ObjectMode::Single, text("a", "o")), "{n: {a: string}}");
    assert_eq!(of(ObjectMode::List, any("d")), "{n: list({d: any type})}");
    assert_eq!(of(ObjectMode::Map, any("d")), "{n: map({d: any type})}");
    assert_eq!(of(ObjectMode::Set, text("a", "o")), "{n: set({a: string})}");
}

#[test]
fn marks_of_optional_attributes_are_not_part_of_the_type_on_the_wire() {
    let marked = attribute("a", r#"["object",{"x":"string","y":"bool"},["x"]]"#, "o");
    assert_eq!(shown(&compiled(of_attribute(marked)).implied_type), "{a: {x: string, y: bool}}");
}

#[test]
fn everything_is_ordered_by_name_and_keeps_what_is_said_of_it() {
    let mut described = text("b", "ocsw");
    described.description = "of *b*".to_owned();
    described.description_kind = tfplugin6::StringKind::Markdown.into();
    let mut message = block(
        vec![described, text("a", "r")],
        vec![
            nested_block("z", Mode::List, BlockMessage::default()),
            nested_block("y", Mode::Set, BlockMessage::default()),
        ],
    );
    message.block_types[0].min_items = 1;
    message.block_types[0].max_items = 3;
    let compiled = compiled(message);
    let names: Vec<&str> = compiled.attributes.iter().map(|attribute| &*attribute.name).collect();
    assert_eq!(names, ["a", "b"]);
    let blocks: Vec<_> =
        compiled.blocks.iter().map(|nested| (&*nested.name, nested.min_items, nested.max_items)).collect();
    assert_eq!(blocks, [("y", 0, 0), ("z", 1, 3)]);
    let [a, b] = &*compiled.attributes else { panic!("{:?}", compiled.attributes) };
    assert!(a.required && !a.optional && !a.computed);
    assert!(!b.required && b.optional && b.computed && b.sensitive && b.write_only && !b.deprecated);
    assert_eq!((&*b.description, b.description_kind), ("of *b*", TextKind::Markdown));
}

#[test]
fn a_schema_without_a_block_is_empty() {
    let schema = compile(&tfplugin6::Schema { version: 3, block: None }).expect("it is right");
    assert_eq!((schema.version, shown(&schema.block.implied_type)), (3, "{}".to_owned()));
}

#[test]
fn attributes_are_refused_with_their_place() {
    let mut both = nested_attribute("a", ObjectMode::Single, "o", vec![]);
    both.r#type = Bytes::from_static(b"\"string\"");
    let mut explained = text("a", "o");
    explained.deprecation_message = "use b".to_owned();
    for (attribute, expected) in [
        (text("", "o"), "an attribute has no name"),
        (text("a", ""), "at a: an attribute is neither required, optional nor computed"),
        (text("a", "ro"), "at a: a required attribute is optional or computed as well"),
        (text("a", "rc"), "at a: a required attribute is optional or computed as well"),
        (both, "at a: an attribute has both a type and nested attributes"),
        (attribute("a", "", "o"), "at a: an attribute has no type"),
        (explained, "at a: an attribute says why it is deprecated, but not that it is"),
        (
            nested_attribute("a", ObjectMode::Invalid, "o", vec![]),
            "at a: nested attributes have the unknown nesting mode 0",
        ),
        (
            nested_attribute("a", ObjectMode::List, "o", vec![text("b", "")]),
            "at a.b: an attribute is neither required, optional nor computed",
        ),
        (
            nested_attribute("a", ObjectMode::Set, "o", vec![any("b")]),
            "at a: a set cannot hold anything dynamic",
        ),
        (
            nested_attribute("a", ObjectMode::Set, "o", vec![text("b", "ow")]),
            "at a.b: a set cannot hold anything write-only",
        ),
        (
            nested_attribute(
                "a",
                ObjectMode::Set,
                "o",
                vec![nested_attribute("b", ObjectMode::Single, "o", vec![text("c", "ow")])],
            ),
            "at a.b.c: a set cannot hold anything write-only",
        ),
    ] {
        assert_eq!(refusal(of_attribute(attribute)), expected);
    }
    let unreadable = refusal(of_attribute(attribute("a", "\"strang\"", "o")));
    assert!(unreadable.starts_with("at a: its type cannot be read: "), "{unreadable}");
    assert_eq!(refusal(block(vec![text("a", "o"), text("a", "o")], vec![])), "the name a is there twice");
}

#[test]
fn a_deprecated_attribute_may_say_why() {
    let mut explained = text("a", "od");
    explained.deprecation_message = "use b".to_owned();
    let compiled = compiled(of_attribute(explained));
    assert!(compiled.attributes[0].deprecated && compiled.attributes[0].deprecation_message == "use b");
}

#[test]
fn blocks_are_refused_with_their_place() {
    let counted = |mode, min_items, max_items| NestedBlockMessage {
        min_items,
        max_items,
        ..nested_block("b", mode, BlockMessage::default())
    };
    let computed =
        |mode, attribute| nested_block("b", mode, BlockMessage { computed: true, ..of_attribute(attribute) });
    let must = NestedBlockMessage { min_items: 1, ..computed(Mode::List, text("a", "c")) };
    let single = "at b: a single block is there at most once";
    let uncounted = "at b: blocks of this nesting mode cannot be counted";
    let secret_set = block(vec![], vec![nested_block("c", Mode::List, of_attribute(text("a", "ow")))]);
    for (nested, expected) in [
        (nested_block("", Mode::List, BlockMessage::default()), "\"\" is not a name for a block"),
        (
            nested_block("Bad", Mode::List, BlockMessage::default()),
            "at Bad: \"Bad\" is not a name for a block",
        ),
        (
            nested_block("a-b", Mode::List, BlockMessage::default()),
            "at a-b: \"a-b\" is not a name for a block",
        ),
        (
            nested_block("b", Mode::Invalid, BlockMessage::default()),
            "at b: a block has the unknown nesting mode 0",
        ),
        (counted(Mode::List, -1, 0), "at b: a number of blocks is negative"),
        (counted(Mode::Single, 1, 0), single),
        (counted(Mode::Single, 2, 2), single),
        (counted(Mode::Group, 1, 1), uncounted),
        (counted(Mode::Map, 0, 1), uncounted),
        (counted(Mode::List, 3, 2), "at b: fewer blocks are allowed than are required"),
        (counted(Mode::Set, 3, 2), "at b: fewer blocks are allowed than are required"),
        (nested_block("b", Mode::Set, of_attribute(any("a"))), "at b: a set cannot hold anything dynamic"),
        (
            nested_block("b", Mode::Set, of_attribute(text("a", "ow"))),
            "at b.a: a set cannot hold anything write-only",
        ),
        (nested_block("b", Mode::Set, secret_set), "at b.c.a: a set cannot hold anything write-only"),
        (
            nested_block(
                "b",
                Mode::List,
                of_block(nested_block("c", Mode::Map, of_attribute(text("a", "")))),
            ),
            "at b.c.a: an attribute is neither required, optional nor computed",
        ),
        (computed(Mode::List, text("a", "o")), "at b.a: an attribute of a computed block is not computed"),
        (computed(Mode::Group, text("a", "c")), "at b: a computed block cannot be one that must be there"),
        (must, "at b: a computed block cannot be one that must be there"),
    ] {
        assert_eq!(refusal(of_block(nested)), expected);
    }
    let twice = block(vec![text("b", "o")], vec![nested_block("b", Mode::List, BlockMessage::default())]);
    assert_eq!(refusal(twice), "the name b is there twice");
}

#[test]
fn counts_that_mean_something_are_taken() {
    for (mode, min_items, max_items) in [
        (Mode::Single, 0, 0),
        (Mode::Single, 1, 1),
        (Mode::Single, 0, 1),
        (Mode::List, 2, 0),
        (Mode::List, 1, 1),
        (Mode::Set, 1, 3),
        (Mode::Group, 0, 0),
        (Mode::Map, 0, 0),
    ] {
        let nested = NestedBlockMessage {
            min_items,
            max_items,
            ..nested_block("b", mode, of_attribute(text("a", "o")))
        };
        let compiled = compiled(of_block(nested));
        assert_eq!(compiled.blocks[0].max_items, u64::try_from(max_items).unwrap());
    }
}

#[test]
fn a_schema_without_end_is_refused_instead_of_exhausting_the_stack() {
    let blocks = |depth| {
        (0..depth).fold(BlockMessage::default(), |inner, _| of_block(nested_block("b", Mode::List, inner)))
    };
    assert!(compile(&schema(blocks(MAX_DEPTH))).is_ok());
    let said = refusal(blocks(MAX_DEPTH + 1));
    assert!(said.ends_with(&format!(".b: blocks are nested deeper than {MAX_DEPTH}")), "{said}");

    let attributes = |depth| {
        (0..depth).fold(text("a", "o"), |inner, _| nested_attribute("a", ObjectMode::List, "o", vec![inner]))
    };
    assert!(compile(&schema(of_attribute(attributes(MAX_DEPTH)))).is_ok());
    let said = refusal(of_attribute(attributes(MAX_DEPTH + 1)));
    assert!(said.ends_with(&format!(".a: nested attributes are deeper than {MAX_DEPTH}")), "{said}");
}
