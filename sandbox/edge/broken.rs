//! Schemas that break Terraform's rules, one rule each.

use bytes::Bytes;
use prost::Message as _;

use super::message::schema::{Attribute, Block, NestedBlock};
use super::{message, own};

/// Adds them to the provider's schema.
pub(super) fn add_to(response: &mut message::get_provider_schema::Response) {
    let mut blocks = vec![
        ("sandbox_broken_type", of(attribute(b"\"nonsense\""), None)),
        ("sandbox_broken_typeless", of(attribute(b""), None)),
        ("sandbox_broken_twice", of(attribute(b"\"string\""), Some(nested(2)))),
        ("sandbox_broken_nesting", of(Attribute::default(), Some(nested(77)))),
    ];
    blocks.extend(own::broken_schemas());
    for (name, block) in blocks {
        response.resource_schemas.insert(name.to_owned(), encoded(block));
    }
    response.resource_schemas.insert("sandbox_broken_bytes".to_owned(), Bytes::from_static(&[0xff; 8]));
    let data_source = of(attribute(b"[\"list\"]"), None);
    response.data_source_schemas.insert("sandbox_broken_type".to_owned(), encoded(data_source));
    let ephemeral = of(attribute(b"[]"), None);
    response.ephemeral_resource_schemas.insert("sandbox_broken_type".to_owned(), encoded(ephemeral));
    let action = |own: Block, kind: &[u8]| {
        let schema = message::Schema { version: 0, block: Some(own) };
        let action = message::ActionSchema { schema: Some(schema) }.encode_to_vec();
        Bytes::from([&action, kind].concat())
    };
    // Fields of prereleases of the protocol: a lifecycle action and a linked action.
    let good = || of(attribute(b"\"string\""), None);
    response.action_schemas.extend([
        ("sandbox_broken_type".to_owned(), action(of(attribute(b"1"), None), &[])),
        ("sandbox_broken_bound".to_owned(), action(good(), &[3 << 3 | 2, 0])),
        ("sandbox_broken_linked".to_owned(), action(good(), &[4 << 3 | 2, 0])),
    ]);
    let returned = message::function::Return { r#type: Bytes::from_static(b"{}") };
    let function = message::Function { r#return: Some(returned), ..Default::default() };
    response.functions.insert("broken".to_owned(), function);
}

fn attribute(kind: &'static [u8]) -> Attribute {
    Attribute {
        name: "x".to_owned(),
        r#type: Bytes::from_static(kind),
        optional: true,
        ..Attribute::default()
    }
}

fn nested(nesting: i32) -> NestedBlock {
    NestedBlock { type_name: "x".to_owned(), nesting, ..NestedBlock::default() }
}

fn of(attribute: Attribute, nested: Option<NestedBlock>) -> Block {
    let attributes = if attribute.name.is_empty() { Vec::new() } else { vec![attribute] };
    Block { attributes, block_types: nested.into_iter().collect(), ..Block::default() }
}

fn encoded(block: Block) -> Bytes {
    message::Schema { version: 0, block: Some(block) }.encode_to_vec().into()
}
