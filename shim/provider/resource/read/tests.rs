//! Results of reads.

use super::super::testing::{
    DEFERRED, LEAKED, ReadAnswer, THING, UNKNOWN, deferred, deferred_for, existing, invalid, received,
    refusal, sent, stage, value,
};
use bytes::Bytes;

use super::*;
use crate::testing::{identity, strange_identity};

#[tokio::test]
async fn values_may_come_as_json_and_an_empty_one_is_null() {
    let stage = stage().await;
    let json = Bytes::from_static(br#"{"id":"1","name":"a","pin":null,"tags":null,"rule":[]}"#);
    let new_state = Some(tfplugin6::DynamicValue { json, ..Default::default() });
    stage.script.answer("ReadResource", ReadAnswer { new_state, ..ReadAnswer::default() });
    let new_state = Some(tfplugin6::DynamicValue::default());
    stage.script.answer("ReadResource", ReadAnswer { new_state, ..ReadAnswer::default() });
    let resource = stage.provider.resource(THING).expect("there is one");
    let prior = existing("{}");
    let read = resource.read(&prior, &mut Vec::new()).await.expect("it is read").expect("it is there");
    assert_eq!(read.value, value(r#"{"id": "1", "name": "a"}"#));
    assert!(resource.read(&prior, &mut Vec::new()).await.expect("it is read").is_none());
}

#[tokio::test]
async fn reading_takes_over_everything_that_the_provider_says() {
    let stage = stage().await;
    let answer = ReadAnswer {
        new_state: sent(r#"{"id": "1", "name": "b", "rule": null}"#),
        private: Bytes::new(),
        new_identity: identity("after"),
        ..ReadAnswer::default()
    };
    stage.script.answer("ReadResource", answer);
    let resource = stage.provider.resource(THING).expect("there is one");
    let prior = existing(r#"{"id": "1", "name": "a"}"#);
    let read = resource.read(&prior, &mut Vec::new()).await.expect("it is read").expect("it is there");
    assert_eq!(read.value, value(r#"{"id": "1", "name": "b"}"#), "null blocks are none");
    // Absent private data replaces it too.
    assert_eq!((read.private.len(), read.identity), (0, identity("after")));
    let request: tfplugin6::read_resource::Request = stage.script.request("ReadResource");
    assert_eq!(received(request.current_state.as_ref()), prior.value);
    assert_eq!((&*request.private, request.current_identity), (&b"stored"[..], identity("before")));
}

#[tokio::test]
async fn reading_is_refused_where_it_does_not_tell_what_is() {
    let read = |text: &str| ReadAnswer { new_state: sent(text), ..ReadAnswer::default() };
    for (answer, expected) in [
        (ReadAnswer { diagnostics: refusal("no access"), ..read("null") }, "no access".to_owned()),
        (ReadAnswer { deferred: deferred(), ..read("{}") }, invalid("ReadResource", DEFERRED)),
        (read(r#"{"id": "?"}"#), invalid("ReadResource", UNKNOWN)),
        (read(r#"{"pin": "1"}"#), invalid("ReadResource", LEAKED)),
        (
            ReadAnswer { new_identity: identity("?"), ..read("{}") },
            invalid(
                "ReadResource",
                "its identity has unknown values, which only a planned new object may have",
            ),
        ),
    ] {
        let stage = stage().await;
        stage.script.answer("ReadResource", answer);
        let resource = stage.provider.resource(THING).expect("there is one");
        let error = resource.read(&existing("{}"), &mut Vec::new()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn an_object_that_cannot_be_read_yet_stays_as_it_was() {
    let stage = stage().await;
    stage.script.answer("ReadResource", ReadAnswer { deferred: deferred_for(3), ..ReadAnswer::default() });
    let resource = stage.provider.resource(THING).expect("there is one");
    let current = existing(r#"{"id": "1", "name": "a"}"#);
    let mut warnings = Vec::new();
    let read = resource.read(&current, &mut warnings).await.expect("nothing failed").expect("it is there");
    assert_eq!(
        (read.value, &*read.private, read.identity),
        (current.value, &b"stored"[..], identity("before"))
    );
    let [warning] = &*warnings else { panic!("one warning, not {warnings:?}") };
    assert_eq!(
        warning.to_string(),
        "The provider deferred reading this x_thing: Before it can go on, something that it depends on must exist. Until \
         then it is taken to be as it was."
    );
    let request: tfplugin6::read_resource::Request = stage.script.request("ReadResource");
    assert!(request.client_capabilities.expect("they are sent").deferral_allowed);
}

#[tokio::test]
async fn a_strange_identity_is_an_error_of_the_read_even_of_what_is_gone_or_deferred() {
    for (new_state, deferred) in [(sent("{}"), None), (sent("null"), None), (sent("{}"), deferred_for(3))] {
        let stage = stage().await;
        let answer =
            ReadAnswer { new_state, deferred, new_identity: strange_identity(), ..ReadAnswer::default() };
        stage.script.answer("ReadResource", answer);
        let resource = stage.provider.resource(THING).expect("there is one");
        let error = resource.read(&existing("{}"), &mut Vec::new()).await.unwrap_err().to_string();
        assert!(error.contains("its identity does not fit its schema"), "{error}");
    }
}
