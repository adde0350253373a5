//! A provider's encoded schema response.
//!
//! The bytes are stored and decoded in parts. Equal responses seldom have the same bytes, since Go
//! randomizes the order of maps; the [`Fingerprint`] does not depend on that order.

use std::fmt;

use bytes::Bytes;
use prost::encoding::{WireType, decode_key, decode_varint};
use sha2::{Digest as _, Sha256};

use super::catalogue::{Catalogue, Contents};
use super::fingerprint::{Fingerprint, Span};
use super::index::SchemaIndex;
use crate::plugin::ProtocolVersion;

/// The encoded response of GetProviderSchema (protocol 5: GetSchema). Clones share the bytes.
#[derive(Clone)]
pub struct SchemaAnswer {
    /// The protocol version of the message.
    pub protocol: ProtocolVersion,
    /// The encoded message.
    pub bytes: Bytes,
}

impl SchemaAnswer {
    /// Decodes the response. Individual schemas stay encoded, in shared memory.
    ///
    /// # Errors
    /// When the message is invalid.
    pub fn decode(&self) -> Result<Contents, prost::DecodeError> {
        Ok(Catalogue::contents(self.index()?, self.bytes.clone()))
    }

    /// A hash of the response.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.protocol, &self.spans())
    }

    /// Where the schemas are, and everything else.
    ///
    /// # Errors
    /// When the message is invalid.
    pub(crate) fn index(&self) -> Result<SchemaIndex, prost::DecodeError> {
        let spans = self.spans();
        SchemaIndex::new(self.protocol, Fingerprint::of(self.protocol, &spans), &self.bytes, &spans)
    }

    /// The top-level fields.
    fn spans(&self) -> Vec<Span> {
        let mut offset = 0;
        let span = |field: &[u8]| {
            let length = u64::try_from(field.len()).unwrap_or(u64::MAX);
            let span = Span { offset, length, hash: Sha256::digest(field).into() };
            offset += length;
            span
        };
        fields(&self.bytes).map(span).collect()
    }
}

/// Omits the bytes, which may be megabytes.
impl fmt::Debug for SchemaAnswer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, bytes } = self;
        formatter
            .debug_struct("SchemaAnswer")
            .field("protocol", protocol)
            .field("bytes", &bytes.len())
            .finish()
    }
}

/// The top-level fields of a message with their keys, each map entry separately, including unknown
/// fields. An invalid rest is the last one.
fn fields(message: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = message;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (field, after) = rest.split_at(first_field(rest).unwrap_or(rest.len()));
        rest = after;
        Some(field)
    })
}

/// The length of the first field of a message, including its key.
fn first_field(message: &[u8]) -> Option<usize> {
    let mut rest = message;
    let (_, wire_type) = decode_key(&mut rest).ok()?;
    let content = match wire_type {
        WireType::Varint => {
            decode_varint(&mut rest).ok()?;
            0
        }
        WireType::ThirtyTwoBit => 4,
        WireType::SixtyFourBit => 8,
        WireType::LengthDelimited => usize::try_from(decode_varint(&mut rest).ok()?).ok()?,
        WireType::StartGroup | WireType::EndGroup => return None,
    };
    let length = (message.len() - rest.len()).checked_add(content)?;
    (length <= message.len()).then_some(length)
}

#[cfg(test)]
mod tests {
    use isthmus_proto::{tfplugin5, tfplugin6};
    use proptest::prelude::*;
    use prost::Message as _;

    use super::*;
    use crate::schema::testing::{attribute, block, schema};

    fn own() -> tfplugin6::Schema {
        schema(block(vec![attribute("region", "\"string\"", "o")], vec![]))
    }

    /// A message with these resources, in this order.
    fn answer(resources: &[(&str, &str)]) -> SchemaAnswer {
        let mut bytes =
            tfplugin6::get_provider_schema::Response { provider: Some(own()), ..Default::default() }
                .encode_to_vec();
        for (name, attribute_name) in resources {
            let schema = schema(block(vec![attribute(attribute_name, "\"string\"", "o")], vec![]));
            let one = tfplugin6::get_provider_schema::Response {
                resource_schemas: [((*name).to_owned(), schema.encode_to_vec().into())].into(),
                ..Default::default()
            };
            bytes.extend(one.encode_to_vec());
        }
        SchemaAnswer { protocol: ProtocolVersion::V6, bytes: bytes.into() }
    }

    #[test]
    fn the_order_of_a_maps_entries_does_not_matter() {
        let one = answer(&[("x_a", "a"), ("x_b", "b")]);
        let other = answer(&[("x_b", "b"), ("x_a", "a")]);
        assert_ne!(one.bytes, other.bytes);
        assert_eq!(one.fingerprint(), other.fingerprint());
    }

    #[test]
    fn everything_else_does() {
        let one = answer(&[("x_a", "a"), ("x_b", "b")]);
        let others = [
            answer(&[("x_a", "a")]),
            answer(&[("x_a", "b"), ("x_b", "a")]),
            answer(&[("x_a", "a"), ("x_b", "b"), ("x_b", "b")]),
            SchemaAnswer { protocol: ProtocolVersion::V5, ..one.clone() },
            SchemaAnswer { bytes: [&*one.bytes, b"\x08\x01"].concat().into(), ..one.clone() },
        ];
        for other in others {
            assert_ne!(one.fingerprint(), other.fingerprint(), "{other:?}");
        }
    }

    #[test]
    fn an_answer_is_taken_apart_in_either_protocol() {
        let contents = answer(&[("x_a", "a")]).decode().expect("a message");
        assert!(contents.diagnostics.is_empty() && contents.catalogue.provider().is_ok());
        assert!(contents.catalogue.resource("x_a").is_ok());

        let warning = tfplugin5::Diagnostic { summary: "old".to_owned(), ..Default::default() };
        let response =
            tfplugin5::get_provider_schema::Response { diagnostics: vec![warning], ..Default::default() };
        let five = SchemaAnswer { protocol: ProtocolVersion::V5, bytes: response.encode_to_vec().into() };
        let contents = five.decode().expect("a message");
        assert!(contents.catalogue.provider().is_err());
        assert_eq!(contents.diagnostics[0].summary, "old");
    }

    #[test]
    fn what_is_no_message_is_an_error_and_has_a_fingerprint_all_the_same() {
        let garbage =
            SchemaAnswer { protocol: ProtocolVersion::V6, bytes: Bytes::from_static(b"\x12\xff\xff") };
        assert!(garbage.decode().is_err());
        let other = SchemaAnswer { bytes: Bytes::from_static(b"\x12\xff\xfe"), ..garbage };
        assert_ne!(garbage.fingerprint(), other.fingerprint());
    }

    proptest! {
        #[test]
        fn the_fields_of_any_bytes_are_all_of_them(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let again: Vec<u8> = fields(&bytes).flatten().copied().collect();
            prop_assert_eq!(again, bytes);
        }
    }
}
