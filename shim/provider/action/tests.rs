//! Invocation of actions. Progress is covered by the contract tests.

use std::collections::HashMap;

use bytes::Bytes;
use isthmus_cty::Type;
use prost::Message as _;
use tfplugin6::diagnostic::Severity;
use tonic::Status;

use super::*;
use crate::schema::testing::{attribute, block, schema};
use crate::testing::{Stage, diagnostic, unwired};

const BLAST: &str = "x_blast";

fn config() -> Value {
    Value::object([("target", "moon".into())])
}

async fn stage() -> Stage {
    let own = schema(block(vec![attribute("target", "\"string\"", "r")], vec![]));
    let own = tfplugin6::ActionSchema { schema: Some(own) };
    Stage::of(tfplugin6::get_provider_schema::Response {
        provider: Some(schema(block(vec![], vec![]))),
        action_schemas: HashMap::from([(BLAST.to_owned(), Bytes::from(own.encode_to_vec()))]),
        ..Default::default()
    })
    .await
}

/// A provider that validates and plans the action.
async fn planned() -> Stage {
    let stage = stage().await;
    stage.script.answer("ValidateActionConfig", tfplugin6::validate_action_config::Response::default());
    stage.script.answer("PlanAction", tfplugin6::plan_action::Response::default());
    stage
}

async fn carry_out(stage: &Stage) -> (Result<(), ProviderError>, Vec<String>) {
    let mut progress = Vec::new();
    let told = |text| progress.push(text);
    let outcome = stage.provider.carry_out_action(BLAST, &config(), told, &mut Vec::new()).await;
    (outcome, progress)
}

fn completed(diagnostics: Vec<tfplugin6::Diagnostic>) -> tfplugin6::invoke_action::Event {
    let completed = tfplugin6::invoke_action::event::Completed { diagnostics };
    tfplugin6::invoke_action::Event { r#type: Some(Event::Completed(completed)) }
}

#[tokio::test]
async fn an_action_is_validated_planned_and_invoked() {
    let stage = planned().await;
    stage.script.answer("InvokeAction", completed(vec![diagnostic(Severity::Warning, "loud")]));
    let mut warnings = Vec::new();
    stage.provider.carry_out_action(BLAST, &config(), |_| {}, &mut warnings).await.expect("it is done");
    assert_eq!(warnings, [Diagnostic::warning("loud", "")]);
    assert_eq!(stage.script.calls()[1..], ["ValidateActionConfig", "PlanAction", "InvokeAction"]);
    let request: tfplugin6::invoke_action::Request = stage.script.request("InvokeAction");
    assert_eq!(request.action_type, BLAST);
    let own = Type::object([("target", Type::String)]);
    assert_eq!(unwired(request.config.as_ref(), &own), config());
}

#[tokio::test]
async fn a_failed_action_returns_its_diagnostics() {
    let stage = planned().await;
    stage.script.answer("InvokeAction", completed(vec![diagnostic(Severity::Error, "missed")]));
    let (outcome, _) = carry_out(&stage).await;
    let error = outcome.expect_err("it failed");
    assert!(
        matches!(error, ProviderError::Diagnostics { operation: "InvokeAction", .. }),
        "it was begun: {error:?}"
    );
    assert_eq!(error.to_string(), "missed");
}

#[tokio::test]
async fn an_action_refused_before_is_not_invoked() {
    let deferred = Some(tfplugin6::Deferred::default());
    for (plan, expected) in [
        (
            tfplugin6::plan_action::Response {
                diagnostics: vec![diagnostic(Severity::Error, "too far")],
                deferred: None,
            },
            "too far",
        ),
        (tfplugin6::plan_action::Response { diagnostics: vec![], deferred }, "it deferred the operation"),
    ] {
        let stage = stage().await;
        stage.script.answer("ValidateActionConfig", tfplugin6::validate_action_config::Response::default());
        stage.script.answer("PlanAction", plan);
        let (outcome, _) = carry_out(&stage).await;
        let error = outcome.expect_err("it is refused").to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!stage.script.calls().contains(&"InvokeAction".to_owned()));
    }
    let stage = stage().await;
    let invalid = tfplugin6::validate_action_config::Response {
        diagnostics: vec![diagnostic(Severity::Error, "no target")],
    };
    stage.script.answer("ValidateActionConfig", invalid);
    let (outcome, _) = carry_out(&stage).await;
    assert_eq!(outcome.expect_err("it is invalid").to_string(), "no target");
    assert_eq!(stage.script.calls().len(), 2);
}

#[tokio::test]
async fn an_action_without_a_completion_has_an_unknown_outcome() {
    let progress = tfplugin6::invoke_action::event::Progress { message: "aiming".to_owned() };
    let progress = tfplugin6::invoke_action::Event { r#type: Some(Event::Progress(progress)) };
    let stage = planned().await;
    stage.script.answer("InvokeAction", progress);
    let (outcome, told) = carry_out(&stage).await;
    assert_eq!(told, ["aiming"]);
    assert_eq!(
        outcome.expect_err("it did not end").to_string(),
        "the provider scripted interrupted InvokeAction of x_blast: it ended its answer without saying so; it is unknown \
         whether the action was carried out, so check before you invoke it again"
    );

    // An unknown event is not the completion either.
    let stage = planned().await;
    stage.script.answer("InvokeAction", tfplugin6::invoke_action::Event::default());
    let (outcome, _) = carry_out(&stage).await;
    assert!(matches!(outcome, Err(ProviderError::Unfinished { .. })), "{outcome:?}");

    let stage = planned().await;
    stage.script.fail("InvokeAction", Status::internal("overheated"));
    let (outcome, _) = carry_out(&stage).await;
    let error = outcome.expect_err("it broke").to_string();
    assert!(error.contains("overheated") && error.contains("whether the action was carried out"), "{error}");
}

#[tokio::test]
async fn an_unknown_action_is_not_invoked() {
    let stage = planned().await;
    let (outcome, _) = carry_out(&stage).await;
    assert!(matches!(outcome, Err(ProviderError::Unsupported { .. })), "{outcome:?}");
}
