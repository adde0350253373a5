//! Ephemeral resources, in both protocols.

use std::collections::HashMap;

use isthmus_cty::Type;
use isthmus_proto::tfplugin5;
use prost::Message as _;
use tfplugin6::diagnostic::Severity;
use tfplugin6::open_ephemeral_resource::Response as OpenResponse;
use tfplugin6::renew_ephemeral_resource::Response as RenewResponse;

use super::*;
use crate::KnownSchema;
use crate::plugin::ProtocolVersion;
use crate::schema::testing::{attribute, block, schema};
use crate::testing::{Script, Stage, diagnostic, unwired, wire};

const TOKEN: &str = "x_token";

fn token_type() -> Type {
    Type::object([("audience", Type::String), ("value", Type::String)])
}

fn token(value: Value) -> Value {
    Value::object([("audience", "me".into()), ("value", value)])
}

async fn stage() -> Stage {
    let schema = schema(block(
        vec![attribute("audience", "\"string\"", "r"), attribute("value", "\"string\"", "c")],
        vec![],
    ));
    let encoded = HashMap::from([(TOKEN.to_owned(), Bytes::from(schema.encode_to_vec()))]);
    Stage::of(tfplugin6::get_provider_schema::Response {
        provider: Some(tfplugin6::Schema { version: 0, block: Some(block(vec![], vec![])) }),
        ephemeral_resource_schemas: encoded,
        ..Default::default()
    })
    .await
}

fn opened(result: &Value) -> OpenResponse {
    OpenResponse {
        result: wire(result, &token_type()),
        private: Some(Bytes::from_static(b"first")),
        ..OpenResponse::default()
    }
}

async fn open(stage: &Stage) -> Result<Opened, ProviderError> {
    stage.provider.open_ephemeral_resource(TOKEN, &token(Value::Null), &mut Vec::new()).await
}

#[tokio::test]
async fn a_resource_is_renewed_and_closed_with_the_newest_private_bytes() {
    let stage = stage().await;
    stage.script.answer("OpenEphemeralResource", opened(&token("secret".into())));
    let newer = Some(Bytes::from_static(b"second"));
    stage.script.answer("RenewEphemeralResource", RenewResponse { private: newer, ..Default::default() });
    // A renewal without private data leaves it unchanged.
    stage.script.answer("CloseEphemeralResource", tfplugin6::close_ephemeral_resource::Response::default());

    let Opened { result, mut lease } = open(&stage).await.expect("it opens");
    assert_eq!(*result.expose(), token("secret".into()));
    assert_eq!((&**lease.type_name(), lease.renew_at()), (TOKEN, None));
    stage.provider.renew_ephemeral_resource(&mut lease, &mut Vec::new()).await.expect("it is renewed");
    stage.provider.close_ephemeral_resource(lease, &mut Vec::new()).await.expect("it is closed");

    let request: tfplugin6::open_ephemeral_resource::Request = stage.script.request("OpenEphemeralResource");
    assert_eq!(unwired(request.config.as_ref(), &token_type()), token(Value::Null));
    assert!(!request.client_capabilities.expect("it is told what we can do").deferral_allowed);
    let renewed: tfplugin6::renew_ephemeral_resource::Request =
        stage.script.request("RenewEphemeralResource");
    assert_eq!(renewed.private.as_deref(), Some(&b"first"[..]));
    let closed: tfplugin6::close_ephemeral_resource::Request = stage.script.request("CloseEphemeralResource");
    assert_eq!(closed.private.as_deref(), Some(&b"second"[..]));
}

#[tokio::test]
async fn a_renewal_without_private_bytes_or_with_errors_leaves_those_that_there_are() {
    let stage = stage().await;
    stage.script.answer("OpenEphemeralResource", opened(&token("secret".into())));
    stage.script.answer("RenewEphemeralResource", RenewResponse::default());
    let refused = RenewResponse {
        diagnostics: vec![diagnostic(Severity::Error, "expired")],
        private: Some(Bytes::from_static(b"useless")),
        ..Default::default()
    };
    stage.script.answer("RenewEphemeralResource", refused);
    stage.script.answer("CloseEphemeralResource", tfplugin6::close_ephemeral_resource::Response::default());

    let Opened { mut lease, .. } = open(&stage).await.expect("it opens");
    stage.provider.renew_ephemeral_resource(&mut lease, &mut Vec::new()).await.expect("it is renewed");
    let error =
        stage.provider.renew_ephemeral_resource(&mut lease, &mut Vec::new()).await.expect_err("it expired");
    assert_eq!(error.to_string(), "expired");
    stage.provider.close_ephemeral_resource(lease, &mut Vec::new()).await.expect("it is closed");
    let closed: tfplugin6::close_ephemeral_resource::Request = stage.script.request("CloseEphemeralResource");
    assert_eq!(closed.private.as_deref(), Some(&b"first"[..]));
}

#[tokio::test]
async fn an_unusable_ephemeral_resource_is_closed_again() {
    for (result, expected) in [
        (Value::Null, "it returned no value where one was expected"),
        (token(Value::unknown()), "it returned values that are not known"),
    ] {
        let stage = stage().await;
        stage.script.answer("OpenEphemeralResource", opened(&result));
        stage
            .script
            .answer("CloseEphemeralResource", tfplugin6::close_ephemeral_resource::Response::default());
        let error = open(&stage).await.expect_err("it is of no use");
        assert!(error.to_string().contains(expected), "{error}");
        let closed: tfplugin6::close_ephemeral_resource::Request =
            stage.script.request("CloseEphemeralResource");
        assert_eq!(closed.private.as_deref(), Some(&b"first"[..]));
    }
}

#[tokio::test]
async fn what_did_not_open_is_not_closed() {
    let deferred = Some(tfplugin6::Deferred::default());
    for (answer, expected) in [
        (OpenResponse { diagnostics: vec![diagnostic(Severity::Error, "no")], ..Default::default() }, "no"),
        (
            OpenResponse { deferred, ..Default::default() },
            "the provider scripted answered OpenEphemeralResource of x_token with something invalid: it deferred the \
             operation, which was not offered to it; this is a fault of the provider",
        ),
    ] {
        let stage = stage().await;
        stage.script.answer("OpenEphemeralResource", answer);
        let error = open(&stage).await.expect_err("nothing opened");
        assert_eq!(error.to_string(), expected);
        assert_eq!(stage.script.calls(), ["GetProviderSchema", "OpenEphemeralResource"]);
    }
}

#[tokio::test]
async fn protocol_5_has_the_same_calls() {
    let script = Script::default();
    let attributes = vec![tfplugin5::schema::Attribute {
        name: "audience".to_owned(),
        r#type: Bytes::from_static(b"\"string\""),
        required: true,
        ..Default::default()
    }];
    let block = Some(tfplugin5::schema::Block { attributes, ..Default::default() });
    let schema = tfplugin5::Schema { version: 0, block };
    let answer = tfplugin5::get_provider_schema::Response {
        provider: Some(tfplugin5::Schema { version: 0, block: Some(Default::default()) }),
        ephemeral_resource_schemas: HashMap::from([(TOKEN.to_owned(), schema.encode_to_vec().into())]),
        ..Default::default()
    };
    script.answer("GetSchema", answer);
    let (own, audience) = (Type::object([("audience", Type::String)]), "me");
    let result = wire(&Value::object([("audience", audience.into())]), &own);
    let result = result.map(|value| tfplugin5::DynamicValue { msgpack: value.msgpack, json: value.json });
    let valid = tfplugin5::validate_ephemeral_resource_config::Response::default();
    script.answer("ValidateEphemeralResourceConfig", valid);
    let opened = tfplugin5::open_ephemeral_resource::Response { result, ..Default::default() };
    script.answer("OpenEphemeralResource", opened);
    let (started, _) = Stage::start(ProtocolVersion::V5, script, KnownSchema::Nothing).await;
    let Stage { provider, script, .. } = started.expect("it starts");
    let config = Value::object([("audience", audience.into())]);
    provider.validate_ephemeral_resource(TOKEN, &config, &mut Vec::new()).await.expect("it is valid");
    let opened = provider.open_ephemeral_resource(TOKEN, &config, &mut Vec::new()).await.expect("it opens");
    assert_eq!(*opened.result.expose(), config);
    assert_eq!(script.calls()[1..], ["ValidateEphemeralResourceConfig", "OpenEphemeralResource"]);
}

#[test]
fn a_zero_time_is_none() {
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    assert_eq!(time(1_700_000_000, 0), Some(at(1_700_000_000)));
    assert_eq!(time(1, 5), Some(at(1) + Duration::from_nanos(5)));
    assert_eq!(time(1, -1), Some(at(1)));
    assert_eq!(time(1, i32::MAX), Some(at(1)));
    // Go's zero time.
    assert_eq!(time(-62_135_596_800, 0), None);
}
