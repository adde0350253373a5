//! Parts of messages that only protocol 5 has.

use super::message;
use crate::protocol::{Feature, Minor};
use crate::schema::{Attribute, Presence};
use crate::wire;

/// Faulty schemas of protocol 5.
#[cfg(feature = "misbehaviour")]
pub(super) fn broken_schemas() -> Vec<(&'static str, message::schema::Block)> {
    Vec::new()
}

/// Protocol 5 has no computed blocks.
pub(super) const fn mark_computed(_: &mut message::schema::Block) {}

pub(super) const fn takes_computed_blocks(_: &message::ClientCapabilities) -> bool {
    false
}

/// An attribute of protocol 5, which has no nested attributes; resources omit them.
pub(super) fn attribute_message(attribute: &Attribute, minor: Minor) -> message::schema::Attribute {
    let deprecation = attribute.deprecation.filter(|_| minor.has(Feature::Lists));
    message::schema::Attribute {
        name: attribute.name.to_owned(),
        r#type: wire::type_json(&attribute.implied_type()),
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
