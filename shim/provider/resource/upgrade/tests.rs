//! Requests and responses of upgrades.

use super::super::testing::{LEAKED, THING, UNKNOWN, UpgradeAnswer, invalid, refusal, sent, stage, value};
use super::*;
use crate::testing::identity;

fn stored(schema_version: i64) -> StoredObject {
    let value = br#"{"id":"1","gone":5,"rule":[{"port":"80","old":true}],"tags":{"gone":"stays"}}"#;
    StoredObject {
        value: Json::parse(value).expect("it is JSON"),
        schema_version,
        private: Bytes::from_static(b"stored"),
        identity: identity("before"),
    }
}

#[tokio::test]
async fn a_stored_object_is_always_upgraded_and_removed_attributes_go_only_within_a_version() {
    for (version, expected) in [
        (2, r#"{"id":"1","rule":[{"port":"80"}],"tags":{"gone":"stays"}}"#),
        (1, r#"{"id":"1","gone":5,"rule":[{"port":"80","old":true}],"tags":{"gone":"stays"}}"#),
    ] {
        let stage = stage().await;
        let upgraded = r#"{"id": "1", "rule": [{"port": "80"}]}"#;
        let answer = UpgradeAnswer { upgraded_state: sent(upgraded), ..UpgradeAnswer::default() };
        stage.script.answer("UpgradeResourceState", answer);
        let resource = stage.provider.resource(THING).expect("there is one");
        let object = resource.upgrade(&stored(version), &mut Vec::new()).await.expect("it is upgraded");
        assert_eq!(object.value, value(upgraded));
        assert_eq!((&*object.private, object.identity), (&b"stored"[..], identity("before")));
        let request: tfplugin6::upgrade_resource_state::Request =
            stage.script.request("UpgradeResourceState");
        assert_eq!((&*request.type_name, request.version), (THING, version));
        let json = request.raw_state.expect("it is sent").json;
        assert_eq!(String::from_utf8_lossy(&json), expected, "of version {version}");
    }
}

#[tokio::test]
async fn an_object_of_a_newer_provider_is_not_even_shown_to_an_older_one() {
    let stage = stage().await;
    let resource = stage.provider.resource(THING).expect("there is one");
    let error = resource.upgrade(&stored(3), &mut Vec::new()).await.unwrap_err();
    assert!(
        error.to_string().contains("schema version 3, but the provider scripted knows versions up to 2"),
        "{error}"
    );
    assert_eq!(stage.script.calls(), ["GetProviderSchema"]);
}

#[tokio::test]
async fn an_upgrade_must_yield_an_object_that_can_be_stored() {
    let upgraded = |text: &str| UpgradeAnswer { upgraded_state: sent(text), ..UpgradeAnswer::default() };
    for (answer, expected) in [
        (UpgradeAnswer { diagnostics: refusal("too old"), ..upgraded("null") }, "too old".to_owned()),
        (upgraded("null"), invalid("UpgradeResourceState", "the upgraded object is null")),
        (UpgradeAnswer::default(), invalid("UpgradeResourceState", "the upgraded object is null")),
        (upgraded(r#"{"id": "?"}"#), invalid("UpgradeResourceState", UNKNOWN)),
        (upgraded(r#"{"pin": "1"}"#), invalid("UpgradeResourceState", LEAKED)),
    ] {
        let stage = stage().await;
        stage.script.answer("UpgradeResourceState", answer);
        let resource = stage.provider.resource(THING).expect("there is one");
        let error = resource.upgrade(&stored(2), &mut Vec::new()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
