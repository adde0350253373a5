//! Parts of messages that only protocol 6 has.

use super::message;
use crate::protocol::{Feature, Minor};
use crate::schema::{Attribute, Presence, Shape};
use crate::wire;
use bytes::Bytes;

/// Faulty schemas of protocol 6: an attribute with both a type and nested attributes, and an
/// unknown nesting.
#[cfg(feature = "misbehaviour")]
pub(super) fn broken_schemas() -> Vec<(&'static str, message::schema::Block)> {
    let nested = |nesting| Some(message::schema::Object { nesting, ..Default::default() });
    let block = |kind: &'static [u8], nested_type| {
        let attribute = message::schema::Attribute {
            name: "x".to_owned(),
            optional: true,
            r#type: Bytes::from_static(kind),
            nested_type,
            ..Default::default()
        };
        message::schema::Block { attributes: vec![attribute], ..Default::default() }
    };
    vec![
        ("sandbox_broken_both", block(b"\"string\"", nested(1))),
        ("sandbox_broken_attributes", block(b"", nested(77))),
    ]
}

/// Marks a computed block.
pub(super) const fn mark_computed(block: &mut message::schema::Block) {
    block.computed = true;
}

pub(super) const fn takes_computed_blocks(client: &message::ClientCapabilities) -> bool {
    client.computed_blocks_allowed
}

/// An attribute of protocol 6: with a type or nested attributes.
pub(super) fn attribute_message(attribute: &Attribute, minor: Minor) -> message::schema::Attribute {
    let deprecation = attribute.deprecation.filter(|_| minor.has(Feature::Lists));
    let (kind, nested) = match &attribute.shape {
        Shape::Plain(kind) => (wire::type_json(kind), None),
        Shape::Nested(nesting, attributes) => {
            let attributes = attributes.iter().map(|attribute| attribute_message(attribute, minor)).collect();
            let nesting = nesting.number();
            (Bytes::new(), Some(message::schema::Object { attributes, nesting, ..Default::default() }))
        }
    };
    message::schema::Attribute {
        name: attribute.name.to_owned(),
        r#type: kind,
        nested_type: nested,
        description: attribute.description.to_owned(),
        required: attribute.presence == Presence::Required,
        optional: matches!(attribute.presence, Presence::Optional | Presence::OptionalComputed),
        computed: attribute.is_computed(),
        sensitive: attribute.sensitive,
        description_kind: message::StringKind::Plain.into(),
        #[expect(deprecated, reason = "the contract's word for the field that the message replaces")]
        deprecated: attribute.deprecation.is_some(),
        write_only: attribute.write_only,
        deprecation_message: deprecation.unwrap_or_default().to_owned(),
    }
}
