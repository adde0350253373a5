//! Schema messages for tests.

use bytes::Bytes;
use isthmus_proto::tfplugin6;
use tfplugin6::schema::nested_block::NestingMode as BlockMode;
use tfplugin6::schema::object::NestingMode as ObjectMode;

use super::{Block, compile};

pub(crate) type AttributeMessage = tfplugin6::schema::Attribute;
pub(crate) type BlockMessage = tfplugin6::schema::Block;
pub(crate) type NestedBlockMessage = tfplugin6::schema::NestedBlock;

/// An attribute with a type in JSON. `flags` are letters: required, optional, computed, sensitive,
/// write-only, deprecated.
pub(crate) fn attribute(name: &str, type_json: &str, flags: &str) -> AttributeMessage {
    AttributeMessage { r#type: Bytes::from(type_json.to_owned()), ..untyped(name, flags) }
}

pub(crate) fn nested_attribute(
    name: &str,
    nesting: ObjectMode,
    flags: &str,
    attributes: Vec<AttributeMessage>,
) -> AttributeMessage {
    let object = tfplugin6::schema::Object { attributes, nesting: nesting.into(), ..Default::default() };
    AttributeMessage { nested_type: Some(object), ..untyped(name, flags) }
}

pub(crate) fn block(attributes: Vec<AttributeMessage>, block_types: Vec<NestedBlockMessage>) -> BlockMessage {
    BlockMessage { attributes, block_types, ..BlockMessage::default() }
}

pub(crate) fn nested_block(name: &str, nesting: BlockMode, block: BlockMessage) -> NestedBlockMessage {
    NestedBlockMessage {
        type_name: name.to_owned(),
        block: Some(block),
        nesting: nesting.into(),
        min_items: 0,
        max_items: 0,
    }
}

pub(crate) fn schema(block: BlockMessage) -> tfplugin6::Schema {
    tfplugin6::Schema { version: 0, block: Some(block) }
}

/// The compiled form of a valid block.
pub(crate) fn compiled(block: BlockMessage) -> Block {
    compile(&schema(block)).expect("the test's schema is right").block
}

#[expect(deprecated, reason = "the flag still says that an attribute is deprecated")]
fn untyped(name: &str, flags: &str) -> AttributeMessage {
    let unknown = flags.trim_matches(['r', 'o', 'c', 's', 'w', 'd']);
    assert!(unknown.is_empty(), "{unknown:?} are no flags of an attribute");
    AttributeMessage {
        name: name.to_owned(),
        required: flags.contains('r'),
        optional: flags.contains('o'),
        computed: flags.contains('c'),
        sensitive: flags.contains('s'),
        write_only: flags.contains('w'),
        deprecated: flags.contains('d'),
        ..AttributeMessage::default()
    }
}
