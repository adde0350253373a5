//! Imitation of other protocol minors, on the wire.
//!
//! A wrapper of the generated service (1) responds to calls that an older minor lacks as a gRPC
//! server without the method, and (2) for the future, adds unknown fields to responses. They are
//! added to nested messages as well, because a decoder that is strict by accident fails there;
//! [`answer_shape`] lists these.

use std::convert::Infallible;
use std::task::{Context, Poll};

use bytes::{BufMut as _, Bytes, BytesMut};
use http_body_util::BodyExt as _;
use prost::encoding::{decode_varint, encode_varint};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::NamedService;

use crate::protocol::Minor;

/// A service that imitates a protocol minor.
#[derive(Clone, Debug)]
pub(crate) struct Imitation<S> {
    service: S,
    minor: Minor,
}

impl<S> Imitation<S> {
    pub(crate) const fn new(service: S, minor: Minor) -> Self {
        Self { service, minor }
    }
}

impl<S: NamedService> NamedService for Imitation<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Imitation<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let name = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        if !self.minor.has_call(&name) {
            let status = Status::unimplemented(format!("unknown method {name}"));
            return Box::pin(async move { Ok(status.into_http()) });
        }
        let response = self.service.call(request);
        if self.minor != Minor::Future {
            return Box::pin(response);
        }
        Box::pin(async move {
            let shape = answer_shape(&name);
            let response = response.await?;
            let later = move |data: Bytes| from_the_future(&data, shape);
            Ok(response.map(|body| Body::new(body.map_frame(move |frame| frame.map_data(later)))))
        })
    }
}

/// Nested messages of a message: field numbers, each with its own nested messages.
#[derive(Clone, Copy)]
struct Shape(&'static [(u32, Self)]);

const LEAF: Shape = Shape(&[]);
const PATH: Shape = Shape(&[(1, LEAF)]);
const DIAGNOSTIC: Shape = Shape(&[(4, PATH)]);
const COMPLETED: Shape = Shape(&[(1, DIAGNOSTIC)]);
const IDENTITY: Shape = Shape(&[(1, LEAF)]);
const NESTED_TYPE: Shape = Shape(&[(1, LEAF)]);
const ATTRIBUTE: Shape = Shape(&[(10, NESTED_TYPE)]);
const INNER_BLOCK: Shape = Shape(&[(2, LEAF)]);
const NESTED_BLOCK: Shape = Shape(&[(2, INNER_BLOCK)]);
const BLOCK: Shape = Shape(&[(2, ATTRIBUTE), (3, NESTED_BLOCK)]);
const SCHEMA: Shape = Shape(&[(2, BLOCK)]);
const SCHEMA_ENTRY: Shape = Shape(&[(2, SCHEMA)]);
const ACTION: Shape = Shape(&[(1, SCHEMA)]);
const ACTION_ENTRY: Shape = Shape(&[(2, ACTION)]);
const FUNCTION: Shape = Shape(&[(1, LEAF), (2, LEAF), (3, LEAF)]);
const FUNCTION_ENTRY: Shape = Shape(&[(2, FUNCTION)]);
const IMPORTED: Shape = Shape(&[(2, LEAF), (4, IDENTITY)]);

/// Nested messages of a call's response, as far as the sandbox sends them.
fn answer_shape(call: &str) -> Shape {
    match call {
        "GetSchema" | "GetProviderSchema" => Shape(&[
            (1, SCHEMA),
            (2, SCHEMA_ENTRY),
            (3, SCHEMA_ENTRY),
            (4, DIAGNOSTIC),
            (6, LEAF),
            (7, FUNCTION_ENTRY),
            (8, SCHEMA_ENTRY),
            (11, ACTION_ENTRY),
        ]),
        "PlanResourceChange" => Shape(&[(1, LEAF), (2, PATH), (4, DIAGNOSTIC), (6, LEAF), (7, IDENTITY)]),
        "ApplyResourceChange" => Shape(&[(1, LEAF), (3, DIAGNOSTIC), (5, IDENTITY)]),
        "ReadResource" => Shape(&[(1, LEAF), (2, DIAGNOSTIC), (5, IDENTITY)]),
        "ImportResourceState" => Shape(&[(1, IMPORTED), (2, DIAGNOSTIC)]),
        "UpgradeResourceState" | "ReadDataSource" => Shape(&[(1, LEAF), (2, DIAGNOSTIC)]),
        "CallFunction" => Shape(&[(1, LEAF), (2, LEAF)]),
        "PrepareProviderConfig" | "ValidateProviderConfig" => Shape(&[(2, DIAGNOSTIC)]),
        "ValidateResourceTypeConfig"
        | "ValidateResourceConfig"
        | "ValidateDataSourceConfig"
        | "ValidateDataResourceConfig"
        | "ValidateEphemeralResourceConfig"
        | "CloseEphemeralResource"
        | "ValidateActionConfig"
        | "Configure"
        | "ConfigureProvider" => Shape(&[(1, DIAGNOSTIC)]),
        "OpenEphemeralResource" => Shape(&[(1, DIAGNOSTIC), (2, LEAF), (3, LEAF)]),
        "RenewEphemeralResource" | "PlanAction" => Shape(&[(1, DIAGNOSTIC), (2, LEAF)]),
        "InvokeAction" => Shape(&[(1, LEAF), (2, COMPLETED)]),
        _ => LEAF,
    }
}

/// Adds unknown fields to every message of a chunk of a response body: a byte for compression, four
/// for the length, and the message, repeated.
fn from_the_future(mut body: &[u8], shape: Shape) -> Bytes {
    let mut changed = BytesMut::with_capacity(body.len() * 2);
    while let Some((header, rest)) = body.split_at_checked(5) {
        let length = usize::try_from(u32::from_be_bytes([header[1], header[2], header[3], header[4]]));
        let Some((message, rest)) = length.ok().and_then(|length| rest.split_at_checked(length)) else {
            break;
        };
        let message = with_unknown_fields(message, shape);
        changed.put_u8(header[0]);
        changed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
        changed.put_slice(&message);
        body = rest;
    }
    changed.put_slice(body);
    changed.freeze()
}

/// The first unknown field number; the second is the next one.
const UNKNOWN_FIELD: u64 = 31_337;

fn with_unknown_fields(message: &[u8], shape: Shape) -> Vec<u8> {
    let mut changed = Vec::with_capacity(message.len() + 64);
    let mut rest = message;
    while let Some((number, field, content, after)) = split_field(rest) {
        let inner = shape.0.iter().find(|(at, _)| u64::from(*at) == number);
        match (inner, content) {
            (Some((_, inner)), Some(content)) => {
                let content = with_unknown_fields(content, *inner);
                encode_varint(number << 3 | 2, &mut changed);
                encode_varint(content.len() as u64, &mut changed);
                changed.extend_from_slice(&content);
            }
            _ => changed.extend_from_slice(field),
        }
        rest = after;
    }
    changed.extend_from_slice(rest);
    encode_varint(UNKNOWN_FIELD << 3, &mut changed);
    encode_varint(1, &mut changed);
    encode_varint((UNKNOWN_FIELD + 1) << 3 | 2, &mut changed);
    encode_varint(6, &mut changed);
    changed.extend_from_slice(b"future");
    changed
}

type Field<'a> = (u64, &'a [u8], Option<&'a [u8]>, &'a [u8]);

/// Splits the first field off a message: its number, its bytes, its contents if length-delimited,
/// and the rest.
fn split_field(message: &[u8]) -> Option<Field<'_>> {
    let mut cursor = message;
    let key = decode_varint(&mut cursor).ok()?;
    let (content, rest) = match key & 7 {
        0 => {
            decode_varint(&mut cursor).ok()?;
            (None, cursor)
        }
        1 => (None, cursor.get(8..)?),
        2 => {
            let length = usize::try_from(decode_varint(&mut cursor).ok()?).ok()?;
            let (content, rest) = cursor.split_at_checked(length)?;
            (Some(content), rest)
        }
        5 => (None, cursor.get(4..)?),
        _ => return None,
    };
    let whole = &message[..message.len() - rest.len()];
    Some((key >> 3, whole, content, rest))
}

#[cfg(test)]
mod tests {
    use isthmus_proto::tfplugin6;
    use prost::Message as _;

    use super::*;

    #[test]
    fn answers_from_the_future_are_longer_and_mean_the_same() {
        let diagnostic = tfplugin6::Diagnostic { summary: "s".to_owned(), ..Default::default() };
        let value = tfplugin6::DynamicValue { msgpack: Bytes::from_static(&[0xc0]), ..Default::default() };
        let answer = tfplugin6::apply_resource_change::Response {
            new_state: Some(value),
            diagnostics: vec![diagnostic],
            legacy_type_system: true,
            ..Default::default()
        };
        let encoded = answer.encode_to_vec();

        let changed = with_unknown_fields(&encoded, answer_shape("ApplyResourceChange"));

        let unknown = changed.windows(6).filter(|window| *window == b"future").count();
        assert_eq!(unknown, 3, "one in the answer, one in the value, one in the diagnostic: {changed:x?}");
        let decoded = tfplugin6::apply_resource_change::Response::decode(&*changed).expect("still a message");
        assert_eq!(decoded, answer);
    }

    #[test]
    fn every_message_of_a_body_is_changed() {
        let body = [0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 8, 1];
        let changed = from_the_future(&body, LEAF);
        let futures = changed.windows(6).filter(|window| *window == b"future").count();
        assert_eq!(futures, 2);
    }
}
