//! Where each schema lies in a provider's response, so that one is read without the others.
//!
//! A top-level field of a message is a message of the same type by itself. So a span of the response
//! that holds an entry of a map of schemas is decoded as a response with one schema, and its hash is
//! one of those that the response's [`Fingerprint`] is made of. What is in no map of schemas is small,
//! and is in the index itself.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use isthmus_proto::{tfplugin5, tfplugin6};
use prost::Message;

use super::compile::SchemaError;
use super::fingerprint::{Fingerprint, Span};
use super::protocol5;
use crate::plugin::ProtocolVersion;

/// The kinds of members that have a schema. The numbers are those of index files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub(crate) enum SchemaKind {
    Resource = 0,
    DataSource = 1,
    EphemeralResource = 2,
    /// The configuration of a list resource.
    ListResource = 3,
    Action = 4,
}

/// Something for each kind of schema.
#[derive(Debug, Default)]
pub(crate) struct ByKind<T>([T; 5]);

/// A response without its schemas, and where these are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SchemaIndex {
    pub(crate) protocol: ProtocolVersion,
    pub(crate) fingerprint: Fingerprint,
    /// The response without its maps of schemas, in memory of its own.
    rest: Rest,
    schemas: Vec<LocatedSchema>,
}

/// A response of either protocol without its maps of schemas.
pub(super) type Rest = tfplugin6::get_provider_schema::Response;

/// The encoded form of [`SchemaIndex`], without the fingerprint.
#[derive(Clone, PartialEq, prost::Message)]
struct WireIndex {
    #[prost(uint32, tag = "1")]
    protocol: u32,
    #[prost(message, required, tag = "2")]
    rest: Rest,
    #[prost(message, repeated, tag = "3")]
    schemas: Vec<LocatedSchema>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LocatedSchema {
    #[prost(enumeration = "SchemaKind", tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(uint64, tag = "3")]
    offset: u64,
    #[prost(uint64, tag = "4")]
    length: u64,
    #[prost(bytes = "bytes", tag = "5")]
    hash: Bytes,
}

/// The bytes of a response, in memory or in a file.
pub(crate) trait ResponseBytes: fmt::Debug + Send + Sync {
    /// The bytes of a span.
    ///
    /// # Errors
    /// When they cannot be read, or are not those of its hash.
    fn read(&self, span: Span) -> io::Result<Bytes>;
}

/// A provider's encoded schemas.
#[derive(Debug)]
pub(crate) struct EncodedSchemas {
    protocol: ProtocolVersion,
    spans: ByKind<BTreeMap<Arc<str>, Span>>,
    bytes: Box<dyn ResponseBytes>,
}

impl SchemaKind {
    pub(crate) const ALL: [Self; 5] =
        [Self::Resource, Self::DataSource, Self::EphemeralResource, Self::ListResource, Self::Action];

    /// For messages.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::DataSource => "data source",
            Self::EphemeralResource => "ephemeral resource",
            Self::ListResource => "list resource",
            Self::Action => "action",
        }
    }
}

impl<T> ByKind<T> {
    pub(crate) fn of(mut of: impl FnMut(SchemaKind) -> T) -> Self {
        Self(SchemaKind::ALL.map(&mut of))
    }
}

impl<T> std::ops::Index<SchemaKind> for ByKind<T> {
    type Output = T;

    fn index(&self, kind: SchemaKind) -> &T {
        &self.0[kind as usize]
    }
}

impl<T> std::ops::IndexMut<SchemaKind> for ByKind<T> {
    fn index_mut(&mut self, kind: SchemaKind) -> &mut T {
        &mut self.0[kind as usize]
    }
}

impl SchemaIndex {
    /// The index of a response with these top-level fields.
    pub(super) fn new(
        protocol: ProtocolVersion,
        fingerprint: Fingerprint,
        bytes: &Bytes,
        fields: &[Span],
    ) -> Result<Self, prost::DecodeError> {
        let (rest, schemas) = match protocol {
            ProtocolVersion::V5 => {
                let (rest, schemas) = taken_apart(bytes, fields)?;
                (protocol5::response(rest), schemas)
            }
            ProtocolVersion::V6 => taken_apart(bytes, fields)?,
        };
        Ok(Self { protocol, fingerprint, rest, schemas })
    }

    pub(super) fn into_rest(self) -> Rest {
        self.rest
    }

    /// The schemas in the indexed response.
    pub(crate) fn schemas(&self, bytes: impl ResponseBytes + 'static) -> EncodedSchemas {
        let mut spans = ByKind::<BTreeMap<Arc<str>, Span>>::default();
        for schema in &self.schemas {
            if let (Ok(kind), Some(span)) = (SchemaKind::try_from(schema.kind), schema.span()) {
                spans[kind].insert(Arc::from(&*schema.name), span);
            }
        }
        EncodedSchemas { protocol: self.protocol, spans, bytes: Box::new(bytes) }
    }

    /// The encoded index.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let Self { protocol, rest, schemas, .. } = self.clone();
        WireIndex { protocol: protocol.number(), rest, schemas }.encode_to_vec()
    }

    /// The index in `bytes`, of the response with this fingerprint. `None` if it is invalid.
    pub(crate) fn from_bytes(bytes: Bytes, fingerprint: Fingerprint) -> Option<Self> {
        let WireIndex { protocol, rest, schemas } = WireIndex::decode(bytes).ok()?;
        let is_valid = |schema: &LocatedSchema| SchemaKind::is_valid(schema.kind) && schema.span().is_some();
        let protocol = ProtocolVersion::from_number(protocol)?;
        schemas.iter().all(is_valid).then_some(Self { protocol, fingerprint, rest, schemas })
    }
}

impl LocatedSchema {
    fn new(kind: SchemaKind, name: String, Span { offset, length, hash }: Span) -> Self {
        Self { kind: kind.into(), name, offset, length, hash: Bytes::copy_from_slice(&hash) }
    }

    fn span(&self) -> Option<Span> {
        let hash = self.hash.as_ref().try_into().ok()?;
        Some(Span { offset: self.offset, length: self.length, hash })
    }
}

impl EncodedSchemas {
    /// The names of a kind, in order.
    pub(super) fn names(&self, kind: SchemaKind) -> impl Iterator<Item = &Arc<str>> {
        self.spans[kind].keys()
    }

    /// The schema of a member; `None` if there is no such member.
    pub(super) fn schema(
        &self,
        kind: SchemaKind,
        name: &str,
    ) -> Option<io::Result<Result<tfplugin6::Schema, SchemaError>>> {
        let span = self.spans[kind].get(name)?;
        Some(self.bytes.read(*span).map(|field| decode(self.protocol, kind, name, field)))
    }
}

impl ResponseBytes for Bytes {
    fn read(&self, span: Span) -> io::Result<Bytes> {
        span.of(self).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// The response of either protocol.
trait SchemaResponse: Message + Default {
    /// The maps of encoded schemas, by kind.
    fn schemas(&mut self) -> [(SchemaKind, &mut HashMap<String, Bytes>); 5];
}

macro_rules! schema_responses {
    ($($protocol:ident),+) => {
        $(impl SchemaResponse for $protocol::get_provider_schema::Response {
            fn schemas(&mut self) -> [(SchemaKind, &mut HashMap<String, Bytes>); 5] {
                [
                    (SchemaKind::Resource, &mut self.resource_schemas),
                    (SchemaKind::DataSource, &mut self.data_source_schemas),
                    (SchemaKind::EphemeralResource, &mut self.ephemeral_resource_schemas),
                    (SchemaKind::ListResource, &mut self.list_resource_schemas),
                    (SchemaKind::Action, &mut self.action_schemas),
                ]
            }
        })+
    };
}

schema_responses!(tfplugin5, tfplugin6);

/// Everything in a response that is not in a map of schemas, and where these are.
fn taken_apart<Response: SchemaResponse>(
    bytes: &Bytes,
    fields: &[Span],
) -> Result<(Response, Vec<LocatedSchema>), prost::DecodeError> {
    let (mut rest, mut found) = (Response::default(), Vec::new());
    for span in fields {
        let mut field = Response::decode(span.of(bytes).unwrap_or_default())?;
        for (kind, schemas) in field.schemas() {
            found.extend(schemas.drain().map(|(name, _)| LocatedSchema::new(kind, name, *span)));
        }
        // Decoded from a copy, so that it does not hold the memory of the response.
        rest.merge(&*field.encode_to_vec())?;
    }
    Ok((rest, found))
}

/// An `ActionSchema` message, with its schema still encoded. The contract has no other field.
/// Prereleases of both protocols had one of three kinds: `unlinked` (2), `lifecycle` (3) and
/// `linked` (4), of which the latter two change the states of resources. The numbers are those of
/// terraform-plugin-go 0.29.0-alpha.1 and -beta.1; 0.29.0 has none of them.
#[derive(Clone, PartialEq, prost::Message)]
struct WireAction {
    #[prost(bytes = "bytes", tag = "1")]
    schema: Bytes,
    #[prost(bytes = "bytes", optional, tag = "3")]
    bound_to_a_lifecycle: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "4")]
    linked_to_resources: Option<Bytes>,
}

/// The schema of a member in a field of the response.
fn decode(
    protocol: ProtocolVersion,
    kind: SchemaKind,
    name: &str,
    field: Bytes,
) -> Result<tfplugin6::Schema, SchemaError> {
    let undecodable =
        |error: prost::DecodeError| SchemaError::root(format!("its message cannot be decoded: {error}"));
    let bytes = match protocol {
        ProtocolVersion::V5 => one::<tfplugin5::get_provider_schema::Response>(kind, name, field),
        ProtocolVersion::V6 => one::<tfplugin6::get_provider_schema::Response>(kind, name, field),
    }
    .map_err(undecodable)?;
    let bytes = match kind {
        SchemaKind::Action => {
            let action = WireAction::decode(bytes).map_err(undecodable)?;
            if action.bound_to_a_lifecycle.is_some() || action.linked_to_resources.is_some() {
                let reason = "it belongs to resources, and only actions of their own can be invoked";
                return Err(SchemaError::root(reason.to_owned()));
            }
            action.schema
        }
        SchemaKind::Resource
        | SchemaKind::DataSource
        | SchemaKind::EphemeralResource
        | SchemaKind::ListResource => bytes,
    };
    // Attributes have other field numbers in each protocol.
    match protocol {
        ProtocolVersion::V5 => tfplugin5::Schema::decode(bytes).map(protocol5::schema),
        ProtocolVersion::V6 => tfplugin6::Schema::decode(bytes),
    }
    .map_err(undecodable)
}

/// The encoded schema of a member in a field; empty if another is there.
fn one<Response: SchemaResponse>(
    of: SchemaKind,
    name: &str,
    field: Bytes,
) -> Result<Bytes, prost::DecodeError> {
    let mut response = Response::decode(field)?;
    let found = response.schemas().into_iter().find_map(
        |(kind, schemas)| {
            if kind == of { schemas.remove(name) } else { None }
        },
    );
    Ok(found.unwrap_or_default())
}
