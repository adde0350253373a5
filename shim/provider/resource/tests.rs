//! The lifecycle of a resource, call by call, and what is refused on the way.

use std::collections::HashMap;

use prost::Message as _;
use tfplugin6::diagnostic::Severity;
use tfplugin6::schema::nested_block::NestingMode as Mode;

use super::*;
use crate::cty::json::Json;
use crate::provider::testing::{Stage, diagnostic, unwired, wire};
use crate::rules::testing::object;
use crate::schema::Block;
use crate::schema::testing::{attribute, block, compiled, nested_block, schema};

type PlanAnswer = tfplugin6::plan_resource_change::Response;
type ApplyAnswer = tfplugin6::apply_resource_change::Response;
type ReadAnswer = tfplugin6::read_resource::Response;
type ImportAnswer = tfplugin6::import_resource_state::Response;
type UpgradeAnswer = tfplugin6::upgrade_resource_state::Response;

const THING: &str = "x_thing";

fn message() -> tfplugin6::Schema {
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

fn thing() -> Block {
    compiled(message().block.expect("there is one"))
}

/// A value of the resource in JSON; what is left out is null, or no block.
fn value(text: &str) -> Value {
    object(&thing(), text)
}

fn sent(text: &str) -> Option<tfplugin6::DynamicValue> {
    wire(&value(text), &thing().implied_type)
}

fn received(message: Option<&tfplugin6::DynamicValue>) -> Value {
    unwired(message, &thing().implied_type)
}

async fn stage() -> Stage {
    stage_with(tfplugin6::ServerCapabilities::default()).await
}

async fn stage_with(capabilities: tfplugin6::ServerCapabilities) -> Stage {
    Stage::of(tfplugin6::get_provider_schema::Response {
        provider: Some(schema(block(vec![], vec![]))),
        resource_schemas: HashMap::from([(THING.to_owned(), message().encode_to_vec().into())]),
        server_capabilities: Some(capabilities),
        ..Default::default()
    })
    .await
}

fn identity(text: &'static str) -> Option<tfplugin6::ResourceIdentityData> {
    let identity_data =
        tfplugin6::DynamicValue { msgpack: Bytes::from_static(text.as_bytes()), json: Bytes::new() };
    Some(tfplugin6::ResourceIdentityData { identity_data: Some(identity_data) })
}

fn existing(text: &str) -> Object {
    Object { value: value(text), private: Bytes::from_static(b"stored"), identity: identity("before") }
}

fn refusal(summary: &str) -> Vec<tfplugin6::Diagnostic> {
    vec![diagnostic(Severity::Error, summary)]
}

/// What is said of an answer that breaks the protocol.
fn invalid(operation: &str, reason: &str) -> String {
    format!(
        "the provider scripted answered {operation} of {THING} with something invalid: {reason}; this is a fault of the \
         provider"
    )
}

const UNKNOWN: &str = "some values are unknown, which only plans may have";
const LEAKED: &str = "the write-only attribute pin has a value";
const DEFERRED: &str = "it deferred the operation without a reason";

fn deferred() -> Option<tfplugin6::Deferred> {
    Some(tfplugin6::Deferred::default())
}

/// Plans the change from `prior` to `config` by an answer, and takes the plan.
async fn plan(
    stage: &Stage,
    prior: Option<&Object>,
    config: &str,
    answer: PlanAnswer,
) -> Result<Plan, ProviderError> {
    stage.script.answer("PlanResourceChange", answer);
    let resource = stage.provider.resource(THING).expect("there is one");
    resource.plan(prior, &value(config), &mut Vec::new()).await
}

/// A plan that creates the thing with this planned state.
async fn creation(stage: &Stage, config: &str, planned: &str, legacy: bool) -> Plan {
    let answer =
        PlanAnswer { planned_state: sent(planned), legacy_type_system: legacy, ..PlanAnswer::default() };
    plan(stage, None, config, answer).await.expect("the plan is valid")
}

async fn apply(stage: &Stage, plan: &Plan, answer: ApplyAnswer) -> Result<Applied, Box<ApplyFailure>> {
    stage.script.answer("ApplyResourceChange", answer);
    let resource = stage.provider.resource(THING).expect("there is one");
    resource.apply(plan, &mut Vec::new()).await
}

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
            // Providers of the legacy SDK name paths on creation too.
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
    let object = applied.object.expect("it exists");
    assert_eq!(object.value, value(r#"{"id": "1", "name": "a"}"#));
    assert_eq!((&*object.private, object.identity), (&b"applied"[..], identity("new")));

    assert_eq!(
        stage.script.calls(),
        ["GetProviderSchema", "ValidateResourceConfig", "PlanResourceChange", "ApplyResourceChange"]
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
async fn an_answer_that_does_not_fit_the_schema_is_told_with_its_place() {
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

#[tokio::test]
async fn of_the_legacy_type_system_broken_rules_are_tolerated() {
    let stage = stage().await;
    let plan = creation(&stage, r#"{"name": "a"}"#, r#"{"id": "?", "name": "A"}"#, true).await;
    let answer = ApplyAnswer { new_state: sent(r#"{"id": "1", "name": "AA"}"#), ..ApplyAnswer::default() };
    let applied = apply(&stage, &plan, answer).await.expect("it is tolerated");
    let said: Vec<String> = applied.inconsistencies.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["name: the value is not the planned one"]);
    assert_eq!(applied.object.expect("it exists").value, value(r#"{"id": "1", "name": "AA"}"#));
}

/// A list of blocks that nobody wrote and the provider fills is unknown in the older SDK's plans. If one unknown block came
/// back instead, the SDK would take it for one that was written.
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
        assert_eq!(applied.object.expect("it exists").identity, None);
    }
}

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
    // Private data is replaced even by none.
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
    ] {
        let stage = stage().await;
        stage.script.answer("ReadResource", answer);
        let resource = stage.provider.resource(THING).expect("there is one");
        let error = resource.read(&existing("{}"), &mut Vec::new()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

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
    assert_eq!(stage.script.calls()[1..], ["ImportResourceState", "ReadResource"]);
    let request: tfplugin6::read_resource::Request = stage.script.request("ReadResource");
    assert_eq!(received(request.current_state.as_ref()), value(r#"{"id": "1"}"#));
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
                "what it found under this id is a x_other; import it as that, or look up the id of the x_thing",
            ),
        ),
        (of(vec![imported(THING, "null")]), invalid("the imported object is null")),
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
async fn the_end_is_only_planned_by_providers_that_say_they_can() {
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
    assert!(applied.expect("it is deleted").object.is_none());
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
async fn a_planned_end_leaves_nothing() {
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

/// What is said when nothing exists after all.
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
    // What the provider answers, what it says, and what is kept of it.
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
        // Whatever else is wrong with a half-made object, the provider's own words matter most.
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

fn deferred_for(reason: i32) -> Option<tfplugin6::Deferred> {
    Some(tfplugin6::Deferred { reason })
}

/// What is said of what cannot be done yet, by the number of the reason.
fn not_yet(what: &str, reason: i32) -> String {
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

#[tokio::test]
async fn a_plan_that_is_put_off_shows_what_the_configuration_says_and_cannot_be_applied() {
    let changed = r#"{"id": "1", "name": "a"}"#;
    for (prior, what) in [(None, "created"), (Some(existing(changed)), "changed")] {
        for reason in 1..=3 {
            // The last is what frameworks answer: what was proposed, with everything in it.
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
        "The provider puts reading this x_thing off: Before it can go on, something that it depends on must exist. Until \
         then it is taken to be as it was."
    );
    let request: tfplugin6::read_resource::Request = stage.script.request("ReadResource");
    assert!(request.client_capabilities.expect("they are sent").deferral_allowed);
}

#[tokio::test]
async fn an_import_that_is_put_off_at_either_call_has_failed() {
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
async fn a_reason_that_no_protocol_has_is_the_providers_fault() {
    let stage = stage().await;
    let answer =
        PlanAnswer { planned_state: sent("{}"), deferred: deferred_for(77), ..PlanAnswer::default() };
    let error = plan(&stage, None, "{}", answer).await.unwrap_err();
    let reason = "it deferred the operation for reason 77, which no protocol has";
    assert_eq!(error.to_string(), invalid("PlanResourceChange", reason));
}

#[tokio::test]
async fn the_end_of_an_object_cannot_be_put_off() {
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

#[tokio::test]
async fn a_type_that_the_provider_does_not_have_is_not_asked_for() {
    let stage = stage().await;
    let error = stage.provider.resource("x_other").unwrap_err();
    assert_eq!(error.to_string(), "the provider has no resource x_other");
}
