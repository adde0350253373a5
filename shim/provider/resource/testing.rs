//! A resource for the tests of its lifecycle, and responses of its provider.

use std::collections::HashMap;

use bytes::Bytes;
use isthmus_cty::Value;
use isthmus_proto::tfplugin6;
use prost::Message as _;
use tfplugin6::diagnostic::Severity;
use tfplugin6::schema::nested_block::NestingMode as Mode;

use super::{ApplyFailure, Object, Plan};
use crate::ProviderError;
use crate::rules::testing::object;
use crate::schema::Block;
use crate::schema::testing::{attribute, block, compiled, nested_block, schema};
use crate::testing::{Stage, answer_identity_schema, diagnostic, identity, unwired, wire};

pub(super) type PlanAnswer = tfplugin6::plan_resource_change::Response;
pub(super) type ApplyAnswer = tfplugin6::apply_resource_change::Response;
pub(super) type ReadAnswer = tfplugin6::read_resource::Response;
pub(super) type ImportAnswer = tfplugin6::import_resource_state::Response;
pub(super) type UpgradeAnswer = tfplugin6::upgrade_resource_state::Response;

pub(super) const THING: &str = "x_thing";
pub(super) const UNKNOWN: &str = "some values are unknown, which only plans may have";
pub(super) const LEAKED: &str = "the write-only attribute pin has a value";
pub(super) const DEFERRED: &str = "it deferred the operation without a reason";

pub(super) fn message() -> tfplugin6::Schema {
    let text = |name: &str, flags: &str| attribute(name, "\"string\"", flags);
    let rule = block(vec![text("port", "o")], vec![]);
    let block = block(
        vec![
            text("id", "c"),
            text("name", "o"),
            text("pin", "ow"),
            attribute("tags", r#"["map","string"]"#, "o"),
        ],
        vec![nested_block("rule", Mode::List, rule)],
    );
    tfplugin6::Schema { version: 2, ..schema(block) }
}

pub(super) fn thing() -> Block {
    compiled(message().block.expect("there is one"))
}

/// A value of the resource in JSON; missing attributes are null, missing blocks absent.
pub(super) fn value(text: &str) -> Value {
    object(&thing(), text)
}

pub(super) fn sent(text: &str) -> Option<tfplugin6::DynamicValue> {
    wire(&value(text), &thing().implied_type)
}

pub(super) fn received(message: Option<&tfplugin6::DynamicValue>) -> Value {
    unwired(message, &thing().implied_type)
}

pub(super) async fn stage() -> Stage {
    stage_with(tfplugin6::ServerCapabilities::default()).await
}

pub(super) async fn stage_with(capabilities: tfplugin6::ServerCapabilities) -> Stage {
    let stage = Stage::of(tfplugin6::get_provider_schema::Response {
        provider: Some(schema(block(vec![], vec![]))),
        resource_schemas: HashMap::from([(THING.to_owned(), message().encode_to_vec().into())]),
        server_capabilities: Some(capabilities),
        ..Default::default()
    })
    .await;
    answer_identity_schema(&stage.script, THING);
    stage
}

pub(super) fn existing(text: &str) -> Object {
    Object { value: value(text), private: Bytes::from_static(b"stored"), identity: identity("before") }
}

pub(super) fn refusal(summary: &str) -> Vec<tfplugin6::Diagnostic> {
    vec![diagnostic(Severity::Error, summary)]
}

/// The error of a response that violates the protocol.
pub(super) fn invalid(operation: &str, reason: &str) -> String {
    format!(
        "the provider scripted answered {operation} of {THING} with something invalid: {reason}; this is a fault of the \
         provider"
    )
}

pub(super) fn deferred() -> Option<tfplugin6::Deferred> {
    Some(tfplugin6::Deferred::default())
}

pub(super) fn deferred_for(reason: i32) -> Option<tfplugin6::Deferred> {
    Some(tfplugin6::Deferred { reason })
}

/// The error of a deferred operation, by the number of the reason.
pub(super) fn not_yet(what: &str, reason: i32) -> String {
    let first = match reason {
        1 => "all of its inputs must be known",
        2 => "all of the provider's own configuration must be known",
        _ => "something that it depends on must exist",
    };
    format!(
        "this {THING} cannot be {what} yet, and nothing was changed: before the provider scripted can go on, {first}; see to \
         that first, then try again"
    )
}

/// Plans the change from `prior` to `config` with a response, and returns the plan.
pub(super) async fn plan(
    stage: &Stage,
    prior: Option<&Object>,
    config: &str,
    answer: PlanAnswer,
) -> Result<Plan, ProviderError> {
    stage.script.answer("PlanResourceChange", answer);
    let resource = stage.provider.resource(THING).expect("there is one");
    resource.plan(prior, &value(config), &mut Vec::new()).await
}

/// A plan that creates the object with this planned state.
pub(super) async fn creation(stage: &Stage, config: &str, planned: &str, legacy: bool) -> Plan {
    let answer =
        PlanAnswer { planned_state: sent(planned), legacy_type_system: legacy, ..PlanAnswer::default() };
    plan(stage, None, config, answer).await.expect("the plan is valid")
}

pub(super) async fn apply(
    stage: &Stage,
    plan: &Plan,
    answer: ApplyAnswer,
) -> Result<Option<Object>, Box<ApplyFailure>> {
    stage.script.answer("ApplyResourceChange", answer);
    let resource = stage.provider.resource(THING).expect("there is one");
    resource.apply(plan, &mut Vec::new()).await
}
