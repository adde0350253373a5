//! Requests that cannot be read: nothing has happened, and the engine must be able to know that.
//!
//! The engine takes UNKNOWN, INTERNAL and DATA_LOSS of a change for "it may have happened", everything else for "it did not".

use bytes::{BufMut as _, Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use prost::Message as _;
use tonic::body::Body;
use tonic::codegen::http;
use tonic::transport::Channel;
use tower::{Service as _, ServiceExt as _};

use crate::harness::{Code, Host, Setup, Status, json, on_one_protocol};

const SERVICES: [(&str, &str); 2] = [
    ("pulumirpc.ResourceProvider", include_str!("../../../proto/pulumirpc/provider.proto")),
    ("lumirpc.ResourceProvider", include_str!("../../../proto/lumirpc/provider.proto")),
];

/// The paths of all calls of both services.
fn calls() -> Vec<String> {
    let name =
        |line: &str| line.trim().strip_prefix("rpc ")?.split('(').next().map(|name| name.trim().to_owned());
    let paths = SERVICES.iter().flat_map(|(service, proto)| {
        proto.lines().filter_map(name).map(move |name| format!("/{service}/{name}"))
    });
    paths.collect()
}

/// Sends these bytes as the body of a call.
async fn send(channel: &Channel, path: &str, body: Bytes) -> Status {
    let request = http::Request::post(format!("http://127.0.0.1{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Body::new(Full::new(body)))
        .expect("a request");
    let mut channel = channel.clone();
    let response = channel.ready().await.expect("a connection").call(request).await.expect("an answer");
    let (head, body) = response.into_parts();
    match Status::from_header_map(&head.headers) {
        Some(status) => status,
        None => {
            let collected = body.collect().await.expect("a body");
            let trailers = collected.trailers().cloned().unwrap_or_default();
            Status::from_header_map(&trailers).expect("a status")
        }
    }
}

/// A message as it is sent.
fn framed(message: &[u8]) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(message.len()).expect("a short message"));
    bytes.put_slice(message);
    bytes.freeze()
}

/// A message whose only field is this one, of bytes.
fn field(tag: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_key(tag, prost::encoding::WireType::LengthDelimited, &mut bytes);
    prost::encoding::encode_varint(content.len() as u64, &mut bytes);
    bytes.extend_from_slice(content);
    bytes
}

/// Property bags within each other.
fn deep(levels: usize) -> Vec<u8> {
    let mut value =
        prost_types::Value { kind: Some(prost_types::value::Kind::BoolValue(true)) }.encode_to_vec();
    for _ in 0..levels {
        let entry = [field(1, b"x"), field(2, &value)].concat();
        let bag = field(1, &entry);
        value = field(5, &bag);
    }
    field(1, &[field(1, b"x"), field(2, &value)].concat())
}

async fn prepared(protocol: crate::harness::Protocol) -> Result<(Host, Channel), Status> {
    let host = Setup::sandbox(protocol).named("lumi-resource-sandbox").start().await;
    let channel = host.channel().await;
    Ok((host, channel))
}

on_one_protocol! {
    async fn a_request_that_is_no_message_is_invalid_in_every_call(protocol) {
        let (host, channel) = prepared(protocol).await?;
        let calls = calls();
        assert!(calls.len() > 25 && calls.iter().any(|call| call == "/lumirpc.ResourceProvider/Create"), "{calls:?}");
        for call in &calls {
            let status = send(&channel, call, framed(b"\xff\xff\xff")).await;
            assert_eq!(status.code(), Code::InvalidArgument, "{call}: {status}");
            assert!(status.message().starts_with("invalid request: "), "{call}: {status}");
        }
        assert!(host.objects().is_empty());
        assert!(host.lives());
    }

    async fn whatever_is_wrong_with_a_creation_it_has_not_happened(protocol) {
        let (host, channel) = prepared(protocol).await?;
        // The bags of properties have other numbers in the two services.
        for (path, properties) in
            [("/pulumirpc.ResourceProvider/Create", 2), ("/lumirpc.ResourceProvider/Create", 2)]
        {
            let too_deep = field(properties, &deep(2_000));
            let not_utf_8 = field(1, b"sandbox:\xff:Note");
            let bag_of_other_bytes = field(properties, b"\x0a\x7f");
            let whole = framed(&field(1, b"a type"));
            let mut compressed = whole.to_vec();
            compressed[0] = 1;
            let mut other_flag = whole.to_vec();
            other_flag[0] = 7;
            let wrong: [(&str, Bytes); 8] = [
                ("too deep", framed(&too_deep)),
                ("not UTF-8", framed(&not_utf_8)),
                ("no bag", framed(&bag_of_other_bytes)),
                ("no message", Bytes::new()),
                ("half a message", whole.slice(..whole.len() - 2)),
                ("half a length", whole.slice(..3)),
                ("compressed", compressed.into()),
                ("an unknown flag", other_flag.into()),
            ];
            for (fault, body) in wrong {
                let status = send(&channel, path, body).await;
                assert_eq!(status.code(), Code::InvalidArgument, "{path}, {fault}: {status}");
            }
            // Nobody sends that much to be told so.
            let too_large = [&[0][..], &u32::MAX.to_be_bytes(), b"x"].concat();
            let status = send(&channel, path, too_large.into()).await;
            assert_eq!(status.code(), Code::OutOfRange, "{path}: {status}");
        }
        assert!(host.objects().is_empty(), "{:?}", host.objects());
    }

    async fn an_unreadable_cancel_cancels_nothing(host, session: sandbox) {
        let channel = host.channel().await;
        let status = send(&channel, "/pulumirpc.ResourceProvider/Cancel", framed(b"\xff\xff\xff")).await;
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        session.note().make(&json!({"title": "Hello"})).await?;
    }
}
