//! The calls of a resource in order.

use super::testing::{ApplyAnswer, PlanAnswer, THING, apply, plan, received, sent, stage, value};
use crate::testing::{diagnostic, identity};
use tfplugin6::diagnostic::Severity;

use super::*;

#[tokio::test]
async fn a_resource_is_validated_planned_and_applied() {
    let stage = stage().await;
    let resource = stage.provider.resource(THING).expect("there is one");
    let mut warnings = Vec::new();
    let valid = tfplugin6::validate_resource_config::Response {
        diagnostics: vec![diagnostic(Severity::Warning, "careful")],
    };
    stage.script.answer("ValidateResourceConfig", valid);
    let config = value(r#"{"name": "a", "pin": "1234"}"#);
    resource.validate(&config, &mut warnings).await.expect("it is valid");
    assert_eq!(warnings.len(), 1, "{warnings:?}");

    let plan = plan(
        &stage,
        None,
        r#"{"name": "a", "pin": "1234"}"#,
        PlanAnswer {
            planned_state: sent(r#"{"id": "?", "name": "a"}"#),
            planned_private: Bytes::from_static(b"planned"),
            planned_identity: identity("planned"),
            // Providers of the legacy SDK return paths in creations too.
            requires_replace: vec![tfplugin6::AttributePath::default()],
            ..PlanAnswer::default()
        },
    )
    .await
    .expect("the plan is valid");
    assert_eq!(plan.action, Action::Create);
    assert_eq!(plan.planned, value(r#"{"id": "?", "name": "a"}"#));

    let applied = apply(
        &stage,
        &plan,
        ApplyAnswer {
            new_state: sent(r#"{"id": "1", "name": "a"}"#),
            private: Bytes::from_static(b"applied"),
            new_identity: identity("new"),
            ..ApplyAnswer::default()
        },
    )
    .await
    .expect("it is applied");
    let object = applied.expect("it exists");
    assert_eq!(object.value, value(r#"{"id": "1", "name": "a"}"#));
    assert_eq!((&*object.private, object.identity), (&b"applied"[..], identity("new")));

    assert_eq!(
        stage.script.calls(),
        [
            "GetProviderSchema",
            "ValidateResourceConfig",
            "PlanResourceChange",
            "GetResourceIdentitySchemas",
            "ApplyResourceChange"
        ]
    );
    let request: tfplugin6::plan_resource_change::Request = stage.script.request("PlanResourceChange");
    assert_eq!(received(request.prior_state.as_ref()), Value::Null);
    assert_eq!(received(request.config.as_ref()), config);
    assert_eq!(received(request.proposed_new_state.as_ref()), config);
    assert_eq!((request.prior_private.len(), request.prior_identity), (0, None));
    let request: tfplugin6::apply_resource_change::Request = stage.script.request("ApplyResourceChange");
    assert_eq!(received(request.prior_state.as_ref()), Value::Null);
    assert_eq!(received(request.planned_state.as_ref()), plan.planned);
    assert_eq!(received(request.config.as_ref()), config);
    assert_eq!((&*request.planned_private, request.planned_identity), (&b"planned"[..], identity("planned")));
}

#[tokio::test]
async fn a_type_that_the_provider_does_not_have_is_not_asked_for() {
    let stage = stage().await;
    let error = stage.provider.resource("x_other").unwrap_err();
    assert_eq!(error.to_string(), "the provider has no resource x_other");
}
