//! Requests and responses of moves.

use std::collections::HashMap;

use isthmus_cty::Value;
use prost::Message as _;
use tfplugin6::diagnostic::Severity;

use super::*;
use crate::rules::testing::object;
use crate::schema::Block;
use crate::schema::testing::{attribute, block, compiled, schema};
use crate::testing::{Stage, answer_identity_schema, diagnostic, identity, strange_identity, wire};

type Answer = tfplugin6::move_resource_state::Response;

const NOTE: &str = "x_note";

fn message() -> tfplugin6::Schema {
    schema(block(
        vec![
            attribute("id", "\"string\"", "c"),
            attribute("pin", "\"string\"", "ow"),
            attribute("title", "\"string\"", "o"),
        ],
        vec![],
    ))
}

fn note() -> Block {
    compiled(message().block.expect("there is one"))
}

fn value(text: &str) -> Value {
    object(&note(), text)
}

fn sent(text: &str) -> Option<tfplugin6::DynamicValue> {
    wire(&value(text), &note().implied_type)
}

async fn stage(move_resource_state: bool) -> Stage {
    let stage = Stage::of(tfplugin6::get_provider_schema::Response {
        provider: Some(schema(block(vec![], vec![]))),
        resource_schemas: HashMap::from([(NOTE.to_owned(), message().encode_to_vec().into())]),
        server_capabilities: Some(tfplugin6::ServerCapabilities {
            move_resource_state,
            ..Default::default()
        }),
        ..Default::default()
    })
    .await;
    answer_identity_schema(&stage.script, NOTE);
    stage
}

fn memo() -> ForeignObject {
    let json = |text: &str| Json::parse(text.as_bytes()).expect("it is JSON");
    ForeignObject {
        provider: "registry.example.com/office/paper".to_owned(),
        type_name: "paper_memo".to_owned(),
        value: json(r#"{"id":"1","name":"a","removed":12345678901234567890}"#),
        schema_version: 4,
        private: Bytes::from_static(b"stored"),
        identity: Some(StoredIdentity { schema_version: 2, json: json(r#"{"id":"1"}"#) }),
    }
}

async fn taken(stage: &Stage) -> Result<Object, ProviderError> {
    let resource = stage.provider.resource(NOTE).expect("there is one");
    resource.move_state(&memo(), &mut Vec::new()).await
}

#[tokio::test]
async fn the_provider_receives_the_complete_state_of_the_other_type() {
    let stage = stage(true).await;
    stage.script.answer(
        "MoveResourceState",
        Answer {
            target_state: sent(r#"{"id": "1", "title": "a"}"#),
            target_private: Bytes::from_static(b"new"),
            target_identity: identity("new"),
            ..Answer::default()
        },
    );
    let object = taken(&stage).await.expect("it is taken over");
    assert_eq!(object.value, value(r#"{"id": "1", "title": "a"}"#));
    assert_eq!((&*object.private, object.identity), (&b"new"[..], identity("new")));

    let raw = |text: &'static str| {
        Some(tfplugin6::RawState { json: Bytes::from_static(text.as_bytes()), flatmap: HashMap::new() })
    };
    let request: tfplugin6::move_resource_state::Request = stage.script.request("MoveResourceState");
    assert_eq!(
        request,
        tfplugin6::move_resource_state::Request {
            source_provider_address: "registry.example.com/office/paper".to_owned(),
            source_type_name: "paper_memo".to_owned(),
            source_schema_version: 4,
            source_state: raw(r#"{"id":"1","name":"a","removed":12345678901234567890}"#),
            target_type_name: NOTE.to_owned(),
            source_private: Bytes::from_static(b"stored"),
            source_identity: raw(r#"{"id":"1"}"#),
            source_identity_schema_version: 0,
        }
    );
}

#[tokio::test]
async fn a_provider_that_moves_nothing_is_not_asked() {
    let stage = stage(false).await;
    let error = taken(&stage).await.expect_err("it cannot");
    assert_eq!(
        error.to_string(),
        "the stored state belongs to a paper_memo of registry.example.com/office/paper, and the provider scripted cannot convert it to a x_note: it does not support moves between types\nNothing was changed. Give the resource its former type \
         back, or leave out the alias so that a new resource takes the place of the old one"
    );
    assert_eq!(stage.script.calls(), ["GetProviderSchema"]);
}

#[tokio::test]
async fn a_failed_move_is_reported_with_both_types() {
    let moved = |text: &str| Answer { target_state: sent(text), ..Answer::default() };
    let refusal = vec![diagnostic(Severity::Error, "Unable to Move Resource State")];
    for (answer, reason) in [
        (Answer { diagnostics: refusal, ..moved("null") }, "Unable to Move Resource State"),
        (Answer::default(), "the moved object is null"),
        (moved(r#"{"id": "?"}"#), "some values are unknown"),
        (moved(r#"{"pin": "1"}"#), "the write-only attribute pin has a value"),
        (Answer { target_identity: identity("?"), ..moved("{}") }, "its identity has unknown values"),
        (
            Answer { target_identity: strange_identity(), ..moved("{}") },
            "its identity does not fit its schema",
        ),
    ] {
        let stage = stage(true).await;
        stage.script.answer("MoveResourceState", answer);
        let error = taken(&stage).await.expect_err(reason).to_string();
        assert!(error.contains(reason), "{error}");
        assert!(error.contains("paper_memo") && error.contains("x_note"), "{error}");
    }
}
