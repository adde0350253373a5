//! Which imports yield an object, and how it is read.

use super::super::testing::{
    DEFERRED, ImportAnswer, LEAKED, ReadAnswer, THING, UNKNOWN, deferred, deferred_for, invalid, not_yet,
    received, sent, stage, value,
};
use bytes::Bytes;

use super::*;
use crate::testing::{identity, strange_identity};

fn imported(type_name: &str, state: &str) -> tfplugin6::import_resource_state::ImportedResource {
    tfplugin6::import_resource_state::ImportedResource {
        type_name: type_name.to_owned(),
        state: sent(state),
        private: Bytes::from_static(b"imported"),
        identity: identity("imported"),
    }
}

#[tokio::test]
async fn an_import_is_read_with_the_private_data_that_it_yielded() {
    let stage = stage().await;
    let imported_resources = vec![imported(THING, r#"{"id": "1", "rule": null}"#)];
    stage
        .script
        .answer("ImportResourceState", ImportAnswer { imported_resources, ..ImportAnswer::default() });
    let new_state = sent(r#"{"id": "1", "name": "a"}"#);
    stage.script.answer("ReadResource", ReadAnswer { new_state, ..ReadAnswer::default() });
    let resource = stage.provider.resource(THING).expect("there is one");
    let object = resource.import("1", &mut Vec::new()).await.expect("it is imported").expect("it is there");
    assert_eq!(object.value, value(r#"{"id": "1", "name": "a"}"#));
    assert_eq!(
        stage.script.calls()[1..],
        ["ImportResourceState", "GetResourceIdentitySchemas", "ReadResource"]
    );
    let request: tfplugin6::read_resource::Request = stage.script.request("ReadResource");
    assert_eq!(received(request.current_state.as_ref()), value(r#"{"id": "1", "rule": null}"#));
    assert_eq!((&*request.private, request.current_identity), (&b"imported"[..], identity("imported")));
}

#[tokio::test]
async fn what_is_gone_when_it_is_read_cannot_be_imported() {
    let stage = stage().await;
    let imported_resources = vec![imported(THING, r#"{"id": "1"}"#)];
    stage
        .script
        .answer("ImportResourceState", ImportAnswer { imported_resources, ..ImportAnswer::default() });
    stage.script.answer("ReadResource", ReadAnswer::default());
    let resource = stage.provider.resource(THING).expect("there is one");
    assert!(resource.import("1", &mut Vec::new()).await.expect("nothing failed").is_none());
}

#[tokio::test]
async fn an_import_yields_one_object_of_the_wanted_type() {
    let of = |imported_resources| ImportAnswer { imported_resources, ..ImportAnswer::default() };
    let one = || imported(THING, r#"{"id": "1"}"#);
    let impossible =
        |reason: &str| format!("the x_thing cannot be imported from the provider scripted: {reason}");
    let invalid = |reason: &str| invalid("ImportResourceState", reason);
    for (answer, error) in [
        (of(vec![]), impossible("it found no object under this id, and gave no reason; check the id")),
        (
            of(vec![one(), imported("x_other", "{}")]),
            impossible(
                "it found 2 objects under this id (x_thing, x_other), and a resource is one object; import each of them \
                 by an id of its own, if the provider knows one",
            ),
        ),
        (
            of(vec![imported("x_other", "{}")]),
            impossible(
                "it found a x_other under this id; import it as that, or look up the id of the x_thing",
            ),
        ),
        (
            of(vec![imported("", "{}")]),
            impossible(
                "it does not say of what type the object is that it found, which is a fault of the provider",
            ),
        ),
        (of(vec![imported(THING, "null")]), invalid("the imported object is null")),
        (of(vec![imported(THING, r#"{"id": "?"}"#)]), invalid(UNKNOWN)),
        (of(vec![imported(THING, r#"{"pin": "1"}"#)]), invalid(LEAKED)),
        (ImportAnswer { deferred: deferred(), ..of(vec![one()]) }, invalid(DEFERRED)),
    ] {
        let stage = stage().await;
        stage.script.answer("ImportResourceState", answer);
        let resource = stage.provider.resource(THING).expect("there is one");
        let failed = resource.import("1", &mut Vec::new()).await.unwrap_err();
        assert_eq!(failed.to_string(), error);
        assert_eq!(stage.script.calls().last().map(String::as_str), Some("ImportResourceState"));
    }
}

#[tokio::test]
async fn an_import_deferred_by_either_call_fails() {
    for reason in 1..=3 {
        let stage = stage().await;
        let deferred = deferred_for(reason);
        stage.script.answer("ImportResourceState", ImportAnswer { deferred, ..ImportAnswer::default() });
        let resource = stage.provider.resource(THING).expect("there is one");
        let error = resource.import("1", &mut Vec::new()).await.unwrap_err();
        assert_eq!(error.to_string(), not_yet("imported", reason));

        let imported_resources = vec![imported(THING, r#"{"id": "1"}"#)];
        let answer = ImportAnswer { imported_resources, ..ImportAnswer::default() };
        stage.script.answer("ImportResourceState", answer);
        stage.script.answer("ReadResource", ReadAnswer { deferred, ..ReadAnswer::default() });
        let error = resource.import("1", &mut Vec::new()).await.unwrap_err();
        assert_eq!(error.to_string(), not_yet("imported", reason));
    }
}

#[tokio::test]
async fn what_is_imported_by_its_identity_has_one() {
    let given = || identity("given").expect("there is one");
    for (found, error) in
        [(identity("found"), None), (None, Some("the object was imported by its identity, and has none"))]
    {
        let stage = stage().await;
        let imported_resources = vec![tfplugin6::import_resource_state::ImportedResource {
            identity: found.clone(),
            ..imported(THING, r#"{"id": "1"}"#)
        }];
        let answer = ImportAnswer { imported_resources, ..ImportAnswer::default() };
        stage.script.answer("ImportResourceState", answer);
        stage.script.answer(
            "ReadResource",
            ReadAnswer { new_state: sent(r#"{"id": "1"}"#), ..ReadAnswer::default() },
        );
        let resource = stage.provider.resource(THING).expect("there is one");
        let object = resource.import_by_identity(given(), &mut Vec::new()).await;
        let request: tfplugin6::import_resource_state::Request = stage.script.request("ImportResourceState");
        assert_eq!((&*request.id, request.identity), ("", identity("given")));
        match error {
            None => {
                object.expect("it is imported").expect("it is there");
                let request: tfplugin6::read_resource::Request = stage.script.request("ReadResource");
                assert_eq!(request.current_identity, found);
            }
            Some(reason) => {
                assert_eq!(object.unwrap_err().to_string(), invalid("ImportResourceState", reason));
            }
        }
    }
}

#[tokio::test]
async fn an_imported_identity_fits_its_schema_and_the_read_makes_it_known() {
    for (found, read, refused) in [
        (identity("?"), identity("read"), None),
        (identity("found"), identity("?"), Some("its identity has unknown values")),
        (strange_identity(), None, Some("its identity does not fit its schema")),
    ] {
        let stage = stage().await;
        let first = tfplugin6::import_resource_state::ImportedResource {
            identity: found,
            ..imported(THING, r#"{"id": "1"}"#)
        };
        let answer = ImportAnswer { imported_resources: vec![first], ..ImportAnswer::default() };
        stage.script.answer("ImportResourceState", answer);
        let answer = ReadAnswer {
            new_state: sent(r#"{"id": "1"}"#),
            new_identity: read.clone(),
            ..ReadAnswer::default()
        };
        stage.script.answer("ReadResource", answer);
        let resource = stage.provider.resource(THING).expect("there is one");
        let object = resource.import("1", &mut Vec::new()).await;
        match refused {
            None => assert_eq!(object.expect("it is imported").expect("it is there").identity, read),
            Some(reason) => {
                let error = object.unwrap_err().to_string();
                assert!(error.contains(reason), "{error}");
            }
        }
    }
}
