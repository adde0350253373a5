//! Generated resources as messages.

use bytes::Bytes;
use prost::Message as _;

use super::message;
use crate::misbehaviour::generated::{Attribute, Block, Size};
use crate::schema::Presence;
use crate::wire;

/// Each resource's name and its encoded schema.
pub(super) fn schemas(size: Size) -> impl Iterator<Item = (String, Bytes)> {
    size.resources().map(|resource| {
        let schema = message::Schema { version: 0, block: Some(block_message(resource.block)) };
        (resource.type_name, schema.encode_to_vec().into())
    })
}

fn block_message(block: Block) -> message::schema::Block {
    let nested = block.blocks.into_iter().map(|nested| message::schema::NestedBlock {
        type_name: nested.name,
        block: Some(block_message(nested.block)),
        nesting: nested.nesting.number(),
        min_items: 0,
        max_items: nested.maximum,
    });
    message::schema::Block {
        block_types: nested.collect(),
        attributes: block.attributes.into_iter().map(attribute_message).collect(),
        description: block.description,
        description_kind: message::StringKind::Markdown.into(),
        ..Default::default()
    }
}

fn attribute_message(attribute: Attribute) -> message::schema::Attribute {
    message::schema::Attribute {
        name: attribute.name,
        r#type: wire::type_json(&attribute.kind),
        description: attribute.description,
        required: attribute.presence == Presence::Required,
        optional: matches!(attribute.presence, Presence::Optional | Presence::OptionalComputed),
        computed: matches!(attribute.presence, Presence::Computed | Presence::OptionalComputed),
        sensitive: attribute.sensitive,
        description_kind: message::StringKind::Markdown.into(),
        #[expect(deprecated, reason = "the contract's word for the field that the message replaces")]
        deprecated: attribute.deprecated,
        ..Default::default()
    }
}
