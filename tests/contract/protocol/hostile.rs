//! Messages that are too deep or too large: answered with an error, and the daemon lives.

use bytes::Bytes;
use http_body_util::Full;
use isthmus_proto::pulumirpc::{CheckResponse, CreateResponse};
use prost::encoding::{encode_key, encode_varint};
use tonic::codegen::http;
use tonic::codegen::http::uri::PathAndQuery;
use tower::{Service as _, ServiceExt as _};

use crate::harness::engine::Line;
use crate::harness::resource::half_made;
use crate::harness::{Code, Setup, json, on_one_protocol};

/// A request whose bag is bytes: a property bag of the project's own could not even be made so deep.
#[derive(Clone, PartialEq, prost::Message)]
struct RawCheck {
    #[prost(string, tag = "1")]
    urn: String,
    #[prost(bytes = "bytes", tag = "3")]
    news: Bytes,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RawCreate {
    #[prost(string, tag = "1")]
    urn: String,
    #[prost(bytes = "bytes", tag = "2")]
    properties: Bytes,
}

/// Nothing of a text is obeyed by a terminal, and the provider's words are in it.
#[track_caller]
fn is_printable(what: &str, text: &str) {
    assert!(text.contains("\\u{1b}[2Jgone"), "{what}: {text:?}");
    let obeyed = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    assert!(!text.contains(obeyed), "{what}: {text:?}");
    assert!(!text.contains(['\u{202e}', '\u{2066}']), "the writing direction, {what}: {text:?}");
}

on_one_protocol! {
    async fn what_a_provider_says_cannot_take_the_terminal_over(protocol) {
        let setup = Setup::sandbox(protocol).with("SANDBOX_ODD", "usable").with("TF_LOG", "TRACE");
        let (host, session) = setup.session().await?;
        let says = |how: &str, during: &str| json!({"open": "\u{1b}[2Jgone\rforged\u{202e}\u{2066}", "how": how, "during": during});
        let leak = |how: &str| session.resource("sandbox:index/leak:Leak", how);
        let checked = leak("validate").check(&says("error", "validate")).await?;
        is_printable("Check", &checked.failures[0].1);
        for how in ["error", "status", "partial"] {
            let status = leak(how).make(&says(how, "create")).await.expect_err(how);
            is_printable(how, status.message());
            half_made(&status).iter().for_each(|made| is_printable("the reasons", &made.reasons.join("\n")));
        }
        for how in ["warning", "log", "print"] {
            leak(how).make(&says(how, "create")).await?;
            let is_said = |line: &Line| line.urn == leak(how).urn() && line.message.contains("gone");
            is_printable(how, &host.engine.line("what the provider says", is_said).await.message);
        }
        let status = leak("panic").make(&says("panic", "create")).await.expect_err("it panics");
        is_printable("a panic", status.message());
    }

    async fn a_bag_nested_ten_thousand_deep_is_an_error(host, session: sandbox) {
        let urn = session.note().urn().to_owned();
        for bag in [nested_bags(10_000), nested_lists(10_000)] {
            let mut client = tonic::client::Grpc::new(host.channel().await);
            client.ready().await.expect("a connection");
            let path = PathAndQuery::from_static("/pulumirpc.ResourceProvider/Check");
            let codec = tonic_prost::ProstCodec::<RawCheck, CheckResponse>::default();
            let check = RawCheck { urn: urn.clone(), news: bag.clone() };
            let status = client.unary(tonic::Request::new(check), path, codec).await.expect_err("it is too deep");
            assert!(status.message().contains("deep"), "{status}");

            client.ready().await.expect("the daemon still answers");
            let path = PathAndQuery::from_static("/pulumirpc.ResourceProvider/Create");
            let codec = tonic_prost::ProstCodec::<RawCreate, CreateResponse>::default();
            let create = RawCreate { urn: urn.clone(), properties: bag };
            client.unary(tonic::Request::new(create), path, codec).await.expect_err("it is too deep");
        }
        assert!(host.lives());
        session.note().make(&json!({"title": "Hello"})).await?;
    }

    async fn a_dynamic_value_nested_as_deep_as_a_bag_may_be_is_an_answer(host, session: sandbox) {
        let server = session.resource("sandbox:index/server:Server", "server");
        for depth in [100, 900] {
            let deep = (0..depth).fold(json!("bottom"), |inner, _| json!({"a": inner}));
            // Whether the provider's side takes so many levels is its own affair; an abort would be ours.
            match server.check(&json!({"name": "web", "metadata": deep})).await {
                Ok(checked) if checked.failures.is_empty() => drop(server.create(&checked.inputs).await),
                Ok(_) | Err(_) => {}
            }
            assert!(host.lives());
        }
        session.note().make(&json!({"title": "Hello"})).await?;
    }

    async fn a_message_above_four_hundred_mebibytes_is_an_error(host, session: sandbox) {
        // gRPC's prefix announces the length; nobody should wait for what is not taken anyway.
        let length: u32 = 400 * 1024 * 1024 + 1;
        let mut frame = vec![0];
        frame.extend(length.to_be_bytes());
        frame.extend([0; 1024]);
        let request = http::Request::post(format!("http://127.0.0.1:{}/pulumirpc.ResourceProvider/Check", host.port()))
            .version(http::Version::HTTP_2)
            .header("te", "trailers")
            .header("content-type", "application/grpc")
            .body(tonic::body::Body::new(Full::new(Bytes::from(frame))))
            .expect("a request");
        let mut channel = host.channel().await;
        let answer = channel.ready().await.expect("a connection").call(request).await.expect("an answer");
        let code = answer.headers().get("grpc-status").expect("an answer without a message").as_bytes();
        assert_eq!(Code::from_bytes(code), Code::OutOfRange, "{:?}", answer.headers());
        session.note().make(&json!({"title": "Hello"})).await?;
    }
}

/// A bag within a bag within a bag, encoded from the inside.
fn nested_bags(depth: usize) -> Bytes {
    let mut bag = Vec::new();
    for _ in 0..depth {
        // Value { struct_value = 5 }, in an entry { key = 1, value = 2 } of Struct { fields = 1 }.
        let value = field(5, &bag);
        let entry = [field(1, b"a"), field(2, &value)].concat();
        bag = field(1, &entry);
    }
    bag.into()
}

/// A list within a list within a list, in a bag.
fn nested_lists(depth: usize) -> Bytes {
    let mut list = Vec::new();
    for _ in 0..depth {
        // Value { list_value = 6 } in ListValue { values = 1 }.
        list = field(1, &field(6, &list));
    }
    let entry = [field(1, b"title"), field(2, &field(6, &list))].concat();
    field(1, &entry).into()
}

fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.len() + 8);
    encode_key(number, prost::encoding::WireType::LengthDelimited, &mut bytes);
    encode_varint(content.len() as u64, &mut bytes);
    bytes.extend(content);
    bytes
}
