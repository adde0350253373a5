//! Stored results, and refused ones.

use super::super::testing::{
    ApplyAnswer, LEAKED, PlanAnswer, THING, apply, creation, existing, invalid, plan, refusal, sent, stage,
    value,
};
use bytes::Bytes;
use tfplugin6::diagnostic::Severity;

use super::*;
use crate::testing::{diagnostic, identity, strange_identity};

#[tokio::test]
async fn of_the_legacy_type_system_broken_rules_are_tolerated() {
    let stage = stage().await;
    let plan = creation(&stage, r#"{"name": "a"}"#, r#"{"id": "?", "name": "A"}"#, true).await;
    let answer = ApplyAnswer { new_state: sent(r#"{"id": "1", "name": "AA"}"#), ..ApplyAnswer::default() };
    let applied = apply(&stage, &plan, answer).await.expect("it is tolerated");
    let tolerated = "this is tolerated, because the provider uses the legacy type system";
    let logged = [
        format!("the plan of x_thing: name: the planned value is not the configured one; {tolerated}"),
        format!("the result of the apply of x_thing: name: the value is not the planned one; {tolerated}"),
    ];
    assert_eq!(stage.logged(), logged);
    let again = ApplyAnswer { new_state: sent(r#"{"id": "1", "name": "AAA"}"#), ..ApplyAnswer::default() };
    apply(&stage, &plan, again).await.expect("it is tolerated");
    assert_eq!(stage.logged().len(), 2, "each is logged once");
    assert_eq!(applied.expect("it exists").value, value(r#"{"id": "1", "name": "AA"}"#));
}

#[tokio::test]
async fn an_identity_that_is_null_is_none() {
    let null = |msgpack: &'static [u8], json: &'static [u8]| {
        let data = tfplugin6::DynamicValue { msgpack: msgpack.into(), json: json.into() };
        Some(tfplugin6::ResourceIdentityData { identity_data: Some(data) })
    };
    let nothing = Some(tfplugin6::ResourceIdentityData { identity_data: None });
    for identity in [null(b"\xc0", b""), null(b"", b"null"), null(b"", b""), nothing] {
        let stage = stage().await;
        let answer = PlanAnswer {
            planned_state: sent(r#"{"id": "?", "name": "a"}"#),
            planned_identity: identity.clone(),
            ..PlanAnswer::default()
        };
        let plan = plan(&stage, None, r#"{"name": "a"}"#, answer).await.expect("the plan is valid");
        let answer = ApplyAnswer {
            new_state: sent(r#"{"id": "1", "name": "a"}"#),
            new_identity: identity,
            ..ApplyAnswer::default()
        };
        let applied = apply(&stage, &plan, answer).await.expect("it is applied");
        let request: tfplugin6::apply_resource_change::Request = stage.script.request("ApplyResourceChange");
        assert_eq!(request.planned_identity, None);
        assert_eq!(applied.expect("it exists").identity, None);
    }
}

#[tokio::test]
async fn a_deletion_that_leaves_something_has_failed() {
    for (answer, expected) in [
        (
            ApplyAnswer { new_state: sent(r#"{"id": "1"}"#), ..ApplyAnswer::default() },
            invalid(
                "ApplyResourceChange",
                "it has deleted the object without an error, and answered with one that is still there",
            ),
        ),
        (
            ApplyAnswer {
                new_state: sent(r#"{"id": "1"}"#),
                diagnostics: refusal("in use"),
                ..ApplyAnswer::default()
            },
            "in use".to_owned(),
        ),
    ] {
        let stage = stage().await;
        let resource = stage.provider.resource(THING).expect("there is one");
        let prior = existing(r#"{"id": "1"}"#);
        let plan = resource.plan_destroy(&prior, &mut Vec::new()).await.expect("it is planned");
        let failure = apply(&stage, &plan, answer).await.unwrap_err();
        assert_eq!(failure.error.to_string(), expected);
        assert_eq!(failure.object.expect("it is still there").value, prior.value);
    }
}

/// The error when nothing exists.
fn gone() -> String {
    format!(
        "the provider scripted produced an inconsistent result after apply for {THING}; this is a fault of the \
         provider:\n  - was there, but is now absent"
    )
}

#[tokio::test]
async fn nothing_where_something_was_planned_is_a_failure_of_any_type_system() {
    let silent = invalid("ApplyResourceChange", "it does not say what exists now");
    for legacy in [false, true] {
        for (new_state, expected) in [(sent("null"), gone()), (None, silent.clone())] {
            let stage = stage().await;
            let plan = creation(&stage, r#"{"name": "a"}"#, r#"{"id": "?", "name": "a"}"#, legacy).await;
            let answer = ApplyAnswer { new_state, legacy_type_system: legacy, ..ApplyAnswer::default() };
            let failure = apply(&stage, &plan, answer).await.unwrap_err();
            assert_eq!(failure.error.to_string(), expected, "legacy: {legacy}");
            assert!(failure.object.is_none(), "{:?}", failure.object);
        }
    }
}

#[tokio::test]
async fn what_a_failed_apply_made_is_kept_with_its_private_data() {
    // The response, its diagnostics, and the stored object.
    let planned = r#"{"id": "?", "name": "a"}"#;
    let inconsistent = format!(
        "the provider scripted produced an inconsistent result after apply for {THING}; this is a fault of the \
         provider:\n  - name: the value is not the planned one"
    );
    let still_unknown = invalid(
        "ApplyResourceChange",
        "after applying, some values are still unknown, and are kept as null: id",
    );
    for (answered, said, expected, kept) in [
        (r#"{"id": "1", "name": "a"}"#, "timed out", "timed out", Some(r#"{"id": "1", "name": "a"}"#)),
        // Whatever else is wrong, the provider's error comes first.
        (r#"{"id": "?", "name": "b"}"#, "timed out", "timed out", Some(r#"{"name": "b"}"#)),
        (r#"{"id": "1", "pin": "1"}"#, "timed out", "timed out", Some(r#"{"id": "1"}"#)),
        ("null", "name taken", "name taken", None),
        (r#"{"id": "?", "name": "a"}"#, "", &still_unknown, Some(r#"{"name": "a"}"#)),
        (
            r#"{"id": "1", "name": "a", "pin": "1"}"#,
            "",
            &invalid("ApplyResourceChange", LEAKED),
            Some(r#"{"id": "1", "name": "a"}"#),
        ),
        (r#"{"id": "1", "name": "b"}"#, "", &inconsistent, Some(r#"{"id": "1", "name": "b"}"#)),
        ("null", "", &gone(), None),
    ] {
        let stage = stage().await;
        let plan = creation(&stage, r#"{"name": "a"}"#, planned, false).await;
        let failure = apply(
            &stage,
            &plan,
            ApplyAnswer {
                new_state: sent(answered),
                private: Bytes::from_static(b"half"),
                new_identity: identity("half"),
                diagnostics: if said.is_empty() { vec![] } else { refusal(said) },
                ..ApplyAnswer::default()
            },
        )
        .await
        .unwrap_err();
        assert_eq!(failure.error.to_string(), expected, "{answered}");
        assert_eq!(failure.object.as_ref().map(|object| object.value.clone()), kept.map(value), "{answered}");
        if let Some(object) = failure.object {
            assert_eq!((&*object.private, object.identity), (&b"half"[..], identity("half")), "{answered}");
        }
    }
}

/// The SDK returns what was planned of an update that has failed; of a newer library it is what exists.
#[tokio::test]
async fn what_a_failed_update_only_planned_is_not_what_exists() {
    let prior = r#"{"id": "1", "name": "a", "tags": {"k": "old"}}"#;
    let planned = r#"{"id": "?", "name": "b", "tags": {"k": "new"}}"#;
    for (legacy, answered, left) in [
        (true, r#"{"id": "1", "name": "b", "tags": {"k": "new"}}"#, prior),
        (true, r#"{"name": "b", "tags": {"k": "new"}}"#, prior),
        (
            true,
            r#"{"id": "2", "name": "c", "tags": {"k": "new"}}"#,
            r#"{"id": "2", "name": "c", "tags": {"k": "old"}}"#,
        ),
        (
            false,
            r#"{"id": "1", "name": "b", "tags": {"k": "old"}}"#,
            r#"{"id": "1", "name": "b", "tags": {"k": "old"}}"#,
        ),
    ] {
        let stage = stage().await;
        let answer =
            PlanAnswer { planned_state: sent(planned), legacy_type_system: legacy, ..PlanAnswer::default() };
        let config = r#"{"name": "b", "tags": {"k": "new"}}"#;
        let plan = plan(&stage, Some(&existing(prior)), config, answer).await.expect("the plan is valid");
        let answer = ApplyAnswer {
            new_state: sent(answered),
            diagnostics: refusal("not permitted"),
            legacy_type_system: legacy,
            ..ApplyAnswer::default()
        };
        let failure = apply(&stage, &plan, answer).await.unwrap_err();
        assert_eq!(failure.object.expect("it exists").value, value(left), "{legacy} {answered}");
    }
}

#[tokio::test]
async fn an_apply_whose_answer_cannot_be_read_keeps_the_providers_words() {
    for (diagnostics, expected) in [(refusal("boom"), "boom"), (vec![], "with something invalid")] {
        let stage = stage().await;
        let plan = creation(&stage, r#"{"name": "a"}"#, r#"{"id": "?", "name": "a"}"#, false).await;
        let garbage = tfplugin6::DynamicValue { msgpack: Bytes::from_static(&[0xc1]), json: Bytes::new() };
        let answer = ApplyAnswer { new_state: Some(garbage), diagnostics, ..ApplyAnswer::default() };
        let failure = apply(&stage, &plan, answer).await.unwrap_err();
        assert!(failure.error.to_string().contains(expected), "{}", failure.error);
        assert!(failure.object.is_none(), "{:?}", failure.object);
    }
}

#[tokio::test]
async fn warnings_are_collected_whether_an_operation_fails_or_not() {
    let stage = stage().await;
    let plan = creation(&stage, r#"{"name": "a"}"#, r#"{"id": "?", "name": "a"}"#, false).await;
    let diagnostics = vec![diagnostic(Severity::Warning, "slow"), diagnostic(Severity::Error, "too slow")];
    stage.script.answer("ApplyResourceChange", ApplyAnswer { diagnostics, ..ApplyAnswer::default() });
    let mut warnings = Vec::new();
    let resource = stage.provider.resource(THING).expect("there is one");
    let failure = resource.apply(&plan, &mut warnings).await.unwrap_err();
    assert_eq!(failure.error.to_string(), "too slow");
    let said: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["slow"]);
}

/// Terraform normalizes null blocks in reads, before it plans again.
#[tokio::test]
async fn null_blocks_of_the_legacy_type_system_are_kept_as_they_came() {
    let stage = stage().await;
    let plan = creation(&stage, r#"{"name": "a"}"#, r#"{"id": "?", "name": "a"}"#, true).await;
    let answered = r#"{"id": "1", "name": "a", "rule": null}"#;
    let answer = ApplyAnswer { new_state: sent(answered), ..ApplyAnswer::default() };
    let applied = apply(&stage, &plan, answer).await.expect("it is applied");
    assert_eq!(applied.expect("it exists").value, value(answered));
    assert_eq!(stage.logged(), Vec::<String>::new());
}

#[tokio::test]
async fn an_invalid_identity_is_an_error_and_replaces_no_valid_one() {
    let prior = existing(r#"{"id": "1", "name": "a"}"#);
    for (new_identity, reason) in [
        (identity("?"), "its identity has unknown values"),
        (strange_identity(), "its identity does not fit its schema"),
    ] {
        for (prior, kept) in [(None, None), (Some(&prior), identity("before"))] {
            let stage = stage().await;
            let planned_state = sent(r#"{"id": "1", "name": "b"}"#);
            let answer = PlanAnswer { planned_state: planned_state.clone(), ..PlanAnswer::default() };
            let plan = plan(&stage, prior, r#"{"name": "b"}"#, answer).await.expect("it is valid");
            let answer = ApplyAnswer {
                new_state: planned_state,
                new_identity: new_identity.clone(),
                ..ApplyAnswer::default()
            };
            let failure = apply(&stage, &plan, answer).await.expect_err(reason);
            assert!(failure.error.to_string().contains(reason), "{}", failure.error);
            let object = failure.object.expect("it exists");
            assert_eq!((object.value, object.identity), (plan.planned, kept));
        }
    }
}

#[tokio::test]
async fn an_identity_of_a_type_without_one_is_an_error() {
    let stage = stage().await;
    let plan = creation(&stage, r#"{"name": "a"}"#, r#"{"id": "1", "name": "a"}"#, false).await;
    stage.script.forget("GetResourceIdentitySchemas");
    let answer = ApplyAnswer {
        new_state: sent(r#"{"id": "1", "name": "a"}"#),
        new_identity: identity("new"),
        ..ApplyAnswer::default()
    };
    let failure = apply(&stage, &plan, answer).await.expect_err("there is no schema of it");
    let reason = "it has an identity, of which the provider has no schema for this type";
    assert_eq!(failure.error.to_string(), invalid("ApplyResourceChange", reason));
    assert_eq!(failure.object.expect("it exists").identity, None);
}
