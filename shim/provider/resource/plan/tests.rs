//! Plans, and refused ones.

use isthmus_cty::{PathStep, Type};

use super::super::testing::{
    ApplyAnswer, DEFERRED, LEAKED, PlanAnswer, THING, apply, creation, deferred, deferred_for, existing,
    invalid, not_yet, plan, received, refusal, sent, stage, stage_with, value,
};
use super::*;
use crate::testing::{identity, strange_identity, wire};

#[tokio::test]
async fn what_a_plan_amounts_to_is_seen_from_prior_and_planned_state() {
    let prior = r#"{"id": "1", "name": "a"}"#;
    let name = tfplugin6::AttributePath {
        steps: vec![tfplugin6::attribute_path::Step {
            selector: Some(tfplugin6::attribute_path::step::Selector::AttributeName("name".to_owned())),
        }],
    };
    let by_name = Action::Replace(vec![attribute_path(name.clone())]);
    for (config, planned, requires_replace, expected) in [
        (r#"{"name": "a"}"#, prior, vec![], Action::NoOp),
        (r#"{"name": "a"}"#, prior, vec![name.clone()], Action::NoOp),
        (r#"{"name": "b"}"#, r#"{"id": "1", "name": "b"}"#, vec![], Action::Update),
        (r#"{"name": "a"}"#, r#"{"id": "?", "name": "a"}"#, vec![], Action::Update),
        (r#"{"name": "b"}"#, r#"{"id": "?", "name": "b"}"#, vec![name.clone()], by_name.clone()),
        (r#"{"name": "?"}"#, r#"{"id": "1", "name": "?"}"#, vec![name], by_name),
    ] {
        let stage = stage().await;
        let answer = PlanAnswer { planned_state: sent(planned), requires_replace, ..PlanAnswer::default() };
        let plan = plan(&stage, Some(&existing(prior)), config, answer).await.expect("the plan is valid");
        assert_eq!(plan.action, expected, "{config} planned as {planned}");
        let request: tfplugin6::plan_resource_change::Request = stage.script.request("PlanResourceChange");
        assert_eq!((&*request.prior_private, request.prior_identity), (&b"stored"[..], identity("before")));
        let proposed = received(request.proposed_new_state.as_ref());
        assert_eq!(proposed.attribute("id"), Some(&"1".into()), "computed values are proposed as they were");
    }
}

#[tokio::test]
async fn plans_that_break_a_rule_are_refused() {
    let config = r#"{"name": "a"}"#;
    let planned = |text: &str| PlanAnswer { planned_state: sent(text), ..PlanAnswer::default() };
    let nowhere = tfplugin6::AttributePath {
        steps: vec![tfplugin6::attribute_path::Step {
            selector: Some(tfplugin6::attribute_path::step::Selector::AttributeName("nme".to_owned())),
        }],
    };
    for (answer, expected) in [
        (PlanAnswer { diagnostics: refusal("no such name"), ..planned("null") }, "no such name".to_owned()),
        (PlanAnswer { deferred: deferred(), ..planned(config) }, invalid("PlanResourceChange", DEFERRED)),
        (
            planned("null"),
            invalid("PlanResourceChange", "nothing is planned for a resource that is configured"),
        ),
        (
            PlanAnswer { legacy_type_system: true, ..PlanAnswer::default() },
            invalid("PlanResourceChange", "nothing is planned for a resource that is configured"),
        ),
        (planned(r#"{"name": "a", "pin": "1"}"#), invalid("PlanResourceChange", LEAKED)),
        (
            planned(r#"{"name": "b"}"#),
            format!(
                "the provider scripted produced an invalid plan for {THING}; this is a fault of the provider:\n  - name: \
                 the planned value is not the configured one"
            ),
        ),
        (
            PlanAnswer { requires_replace: vec![nowhere], ..planned(config) },
            invalid(
                "PlanResourceChange",
                "the provider wants a replacement because of nme, which is neither in the prior nor in the planned object",
            ),
        ),
    ] {
        let stage = stage().await;
        let error = plan(&stage, Some(&existing(config)), config, answer).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[tokio::test]
async fn a_response_that_violates_the_schema_is_reported_with_its_path() {
    let stage = stage().await;
    let other = wire(&Value::object([("id", "1".into())]), &Type::object([("id", Type::String)]));
    let answer = PlanAnswer { planned_state: other, ..PlanAnswer::default() };
    let error = plan(&stage, None, "{}", answer).await.unwrap_err();
    assert!(matches!(error, ProviderError::InvalidAnswer { .. }), "{error:?}");
    assert!(
        error.to_string().contains("the MessagePack of a value of type object cannot be read"),
        "{error}"
    );
}

/// In plans of SDKv2, a list of absent computed blocks is unknown. SDKv2 would treat one unknown
/// block as a configured one.
#[tokio::test]
async fn blocks_of_a_legacy_plan_go_back_to_the_provider_as_they_came() {
    for blocks in ["null", r#""?""#] {
        let stage = stage().await;
        let planned = format!(r#"{{"id": "?", "name": "a", "rule": {blocks}}}"#);
        let plan = creation(&stage, r#"{"name": "a"}"#, &planned, true).await;
        let answer = ApplyAnswer { new_state: sent(r#"{"id": "1", "name": "a"}"#), ..ApplyAnswer::default() };
        apply(&stage, &plan, answer).await.expect("it is applied");
        let request: tfplugin6::apply_resource_change::Request = stage.script.request("ApplyResourceChange");
        assert_eq!(received(request.planned_state.as_ref()), value(&planned));
    }
}

#[tokio::test]
async fn a_destroy_is_only_planned_by_providers_with_the_capability() {
    let prior = existing(r#"{"id": "1"}"#);
    let old = stage().await;
    let resource = old.provider.resource(THING).expect("there is one");
    let plan = resource.plan_destroy(&prior, &mut Vec::new()).await.expect("it is planned");
    assert_eq!((&plan.action, &plan.planned), (&Action::Delete, &Value::Null));
    assert_eq!(old.script.calls(), ["GetProviderSchema"]);
    apply(&old, &plan, ApplyAnswer::default()).await.expect("it is deleted");
    let request: tfplugin6::apply_resource_change::Request = old.script.request("ApplyResourceChange");
    assert_eq!((&*request.planned_private, request.planned_identity), (&b"stored"[..], identity("before")));

    let new = stage_with(tfplugin6::ServerCapabilities { plan_destroy: true, ..Default::default() }).await;
    let answer = PlanAnswer { planned_private: Bytes::from_static(b"planned"), ..PlanAnswer::default() };
    new.script.answer("PlanResourceChange", answer);
    let resource = new.provider.resource(THING).expect("there is one");
    let plan = resource.plan_destroy(&prior, &mut Vec::new()).await.expect("it is planned");
    let applied = apply(&new, &plan, ApplyAnswer { new_state: sent("null"), ..ApplyAnswer::default() }).await;
    assert!(applied.expect("it is deleted").is_none());
    let request: tfplugin6::plan_resource_change::Request = new.script.request("PlanResourceChange");
    assert_eq!(received(request.prior_state.as_ref()), prior.value);
    assert_eq!(received(request.proposed_new_state.as_ref()), Value::Null);
    assert_eq!(received(request.config.as_ref()), Value::Null);
    assert_eq!((&*request.prior_private, request.prior_identity), (&b"stored"[..], identity("before")));
    let request: tfplugin6::apply_resource_change::Request = new.script.request("ApplyResourceChange");
    assert_eq!(received(request.prior_state.as_ref()), prior.value);
    assert_eq!(received(request.planned_state.as_ref()), Value::Null);
    assert_eq!(received(request.config.as_ref()), Value::Null);
    assert_eq!(&*request.planned_private, b"planned");
}

#[tokio::test]
async fn a_destroy_plan_must_be_null() {
    let stage = stage_with(tfplugin6::ServerCapabilities { plan_destroy: true, ..Default::default() }).await;
    stage
        .script
        .answer("PlanResourceChange", PlanAnswer { planned_state: sent("{}"), ..PlanAnswer::default() });
    let resource = stage.provider.resource(THING).expect("there is one");
    let error = resource.plan_destroy(&existing("{}"), &mut Vec::new()).await.unwrap_err();
    let reason = "the planned value of a destroyed object is not null";
    assert_eq!(error.to_string(), invalid("PlanResourceChange", reason));
}

#[tokio::test]
async fn a_deferred_plan_shows_the_configuration_and_cannot_be_applied() {
    let changed = r#"{"id": "1", "name": "a"}"#;
    for (prior, what) in [(None, "created"), (Some(existing(changed)), "changed")] {
        for reason in 1..=3 {
            // The last is the response of frameworks: the complete proposed state.
            for answered in [sent("null"), None, sent(r#"{"name": "b", "pin": "1"}"#)] {
                let stage = stage().await;
                let answer = PlanAnswer {
                    planned_state: answered,
                    deferred: deferred_for(reason),
                    ..PlanAnswer::default()
                };
                let plan = plan(&stage, prior.as_ref(), r#"{"name": "b", "pin": "1"}"#, answer).await;
                let plan = plan.expect("nothing is asked of a plan that is put off");
                assert_eq!(plan.planned, value(r#"{"id": "?", "name": "b"}"#));
                assert!(plan.deferral.is_some());
                let request: tfplugin6::plan_resource_change::Request =
                    stage.script.request("PlanResourceChange");
                assert!(request.client_capabilities.expect("they are sent").deferral_allowed);

                let resource = stage.provider.resource(THING).expect("there is one");
                let failure = resource.apply(&plan, &mut Vec::new()).await.unwrap_err();
                assert_eq!(failure.error.to_string(), not_yet(what, reason));
                assert!(failure.object.is_none(), "{:?}", failure.object);
                assert_eq!(stage.script.calls().last().map(String::as_str), Some("PlanResourceChange"));
            }
        }
    }
}

#[tokio::test]
async fn a_reason_that_no_protocol_has_is_the_providers_fault() {
    let stage = stage().await;
    let answer =
        PlanAnswer { planned_state: sent("{}"), deferred: deferred_for(77), ..PlanAnswer::default() };
    let error = plan(&stage, None, "{}", answer).await.unwrap_err();
    let reason = "it deferred the operation for reason 77, which no protocol has";
    assert_eq!(error.to_string(), invalid("PlanResourceChange", reason));
}

#[tokio::test]
async fn a_destroy_cannot_be_deferred() {
    let stage = stage_with(tfplugin6::ServerCapabilities { plan_destroy: true, ..Default::default() }).await;
    stage
        .script
        .answer("PlanResourceChange", PlanAnswer { deferred: deferred_for(3), ..PlanAnswer::default() });
    let resource = stage.provider.resource(THING).expect("there is one");
    let error = resource.plan_destroy(&existing("{}"), &mut Vec::new()).await.unwrap_err();
    let reason = "it deferred the operation, which was not offered to it";
    assert_eq!(error.to_string(), invalid("PlanResourceChange", reason));
    let request: tfplugin6::plan_resource_change::Request = stage.script.request("PlanResourceChange");
    assert!(!request.client_capabilities.expect("they are sent").deferral_allowed);
}

/// A provider that always plans another name, and requires replacement for it.
#[tokio::test]
async fn what_is_ignored_is_put_back_into_plans_of_the_legacy_type_system_before_they_are_judged() {
    let prior = existing(r#"{"id": "1", "name": "a"}"#);
    let name = || AttributePath(vec![PathStep::attribute("name")]);
    let step = tfplugin6::attribute_path::step::Selector::AttributeName("name".to_owned());
    let steps = vec![tfplugin6::attribute_path::Step { selector: Some(step) }];
    let requires_replace = vec![tfplugin6::AttributePath { steps }];
    for (ignored, action, planned) in [
        (vec![], Action::Replace(vec![name()]), r#"{"id": "1", "name": "A"}"#),
        (vec![name()], Action::NoOp, r#"{"id": "1", "name": "a"}"#),
    ] {
        let stage = stage().await;
        let answer = PlanAnswer {
            planned_state: sent(r#"{"id": "1", "name": "A"}"#),
            requires_replace: requires_replace.clone(),
            legacy_type_system: true,
            ..PlanAnswer::default()
        };
        stage.script.answer("PlanResourceChange", answer);
        let resource = stage.provider.resource(THING).expect("there is one").ignoring(ignored);
        let plan = resource.plan(Some(&prior), &value(r#"{"name": "a"}"#), &mut Vec::new()).await;
        let plan = plan.expect("the plan is tolerated");
        assert_eq!((plan.action, plan.planned), (action, value(planned)));
    }
}

#[tokio::test]
async fn what_is_ignored_changes_nothing_in_the_plans_of_all_others_and_of_new_objects() {
    let ignored = || vec![AttributePath(vec![PathStep::attribute("id")])];
    for (prior, legacy) in [(Some(existing(r#"{"id": "1", "name": "a"}"#)), false), (None, true)] {
        let stage = stage().await;
        let answer = PlanAnswer {
            planned_state: sent(r#"{"id": "?", "name": "b"}"#),
            legacy_type_system: legacy,
            ..PlanAnswer::default()
        };
        stage.script.answer("PlanResourceChange", answer);
        let resource = stage.provider.resource(THING).expect("there is one").ignoring(ignored());
        let plan = resource.plan(prior.as_ref(), &value(r#"{"name": "b"}"#), &mut Vec::new()).await;
        assert_eq!(plan.expect("it is valid").planned, value(r#"{"id": "?", "name": "b"}"#));
    }
}

#[tokio::test]
async fn a_planned_identity_is_known_but_of_a_new_object_and_fits_its_schema() {
    let unknown = "its identity has unknown values, which only a planned new object may have";
    let name = tfplugin6::attribute_path::step::Selector::AttributeName("name".to_owned());
    let name =
        tfplugin6::AttributePath { steps: vec![tfplugin6::attribute_path::Step { selector: Some(name) }] };
    let prior = existing(r#"{"id": "1", "name": "a"}"#);
    for (prior, requires_replace, planned_identity, refused) in [
        (None, vec![], identity("?"), None),
        (Some(&prior), vec![name], identity("?"), None),
        (Some(&prior), vec![], identity("new"), None),
        (Some(&prior), vec![], identity("?"), Some(unknown)),
        (None, vec![], strange_identity(), Some("its identity does not fit its schema")),
        (Some(&prior), vec![], strange_identity(), Some("its identity does not fit its schema")),
    ] {
        let stage = stage().await;
        let planned_state = sent(r#"{"id": "?", "name": "b"}"#);
        let answer =
            PlanAnswer { planned_state, requires_replace, planned_identity, ..PlanAnswer::default() };
        let plan = plan(&stage, prior, r#"{"name": "b"}"#, answer.clone()).await;
        match refused {
            None => assert_eq!(plan.expect("it is valid").identity, answer.planned_identity),
            Some(reason) => {
                let error = plan.expect_err(reason).to_string();
                assert!(error.contains("PlanResourceChange") && error.contains(reason), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn the_identity_in_the_plan_of_a_destroy_is_known_and_fits_its_schema() {
    let prior = existing(r#"{"id": "1"}"#);
    for (planned_identity, reason) in [
        (identity("?"), "its identity has unknown values"),
        (strange_identity(), "its identity does not fit its schema"),
    ] {
        let stage =
            stage_with(tfplugin6::ServerCapabilities { plan_destroy: true, ..Default::default() }).await;
        stage.script.answer("PlanResourceChange", PlanAnswer { planned_identity, ..PlanAnswer::default() });
        let resource = stage.provider.resource(THING).expect("there is one");
        let error = resource.plan_destroy(&prior, &mut Vec::new()).await.expect_err(reason).to_string();
        assert!(error.contains(reason), "{error}");
    }
}
